"""Tests of one group run in one process, which is what keeps Spark and shared folders to one."""

from __future__ import annotations

import pytest


@pytest.mark.xdist_group("groups")
def test_a_group_reaches_those_who_distribute_tests(request: pytest.FixtureRequest) -> None:
    """They read it off a test's name; pytest 9.2 keeps that elsewhere than xdist 3.8 writes it, and
    nothing is said but that each process starts its own Spark.
    """
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("not distributed by group")
    assert request.node.nodeid.endswith("@groups")
