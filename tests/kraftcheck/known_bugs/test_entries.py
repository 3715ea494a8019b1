"""Bugs are selected by their ids, and met where their protocol runs."""

from __future__ import annotations

import pytest

from kraftcheck.known_bugs.entries import scenario_of, selected
from kraftcheck.reference.bugs.catalog import OutOfScope, bug


def test_without_ids_all_that_can_be_replayed_are_meant() -> None:
    assert [each.id for each in selected(["z28", "Z06", "Z28"])] == ["Z28", "Z06"]
    every = selected([])
    assert len(every) >= 45 and all(each.in_scope for each in every)
    with pytest.raises(OutOfScope, match="Z57 cannot be replayed: it needs two controllers"):
        selected(["Z57"])


def test_an_entry_says_where_it_is_met_and_what_it_replaces() -> None:
    assert scenario_of(bug("Z06")) == "quorum"
    assert scenario_of(bug("Z28")) == "partition"
    assert list(bug("Z06").replaces) == ["log_ok"]
    assert list(bug("Z44").replaces) == ["handle_replica_fetch_response"]
