"""A served cluster as a process, for the clients of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kraftcheck.kafka.serve.admin import Cluster, Process


@pytest.fixture(scope="module")
def process() -> Iterator[Process]:
    made = Process("--judge", "0", "--min-insync-replicas", "2")
    yield made
    made.close()


@pytest.fixture
def cluster(process: Process) -> Iterator[Cluster]:
    """What no client here may do: ask for what is not served, or find a rule broken."""
    yield process.cluster
    unserved = process.cluster.describe()["unserved"]
    verdict = process.cluster.end()
    assert unserved == []
    assert verdict.verdict == "holds", str(verdict)
