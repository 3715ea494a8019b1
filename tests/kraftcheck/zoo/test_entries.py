"""Both catalogues under one roof: looked up, selected, with the nearest ids to what is unknown."""

from __future__ import annotations

import pytest

from kraftcheck.zoo.entries import ALL, entry_of, is_control, replaced, scenario_of, selected
from reference.bugs.catalog import OutOfScope, UnknownBug


def test_all_bugs_are_here_once_in_order() -> None:
    ids = [each.id for each in ALL]
    assert ids == sorted(set(ids)) and {"Z01", "Z20", "Z23", "Z67", "Z68", "Z69"} <= set(ids)


@pytest.mark.parametrize(
    ("asked", "near"),
    [("Z6", "Z06"), ("z77", "Z67"), ("unclean election", "Z53"), ("fencing", "known are Z01")],
)
def test_an_unknown_id_is_answered_with_the_nearest(asked: str, near: str) -> None:
    with pytest.raises(UnknownBug, match=near):
        entry_of(asked)


def test_without_ids_all_that_can_be_replayed_are_meant() -> None:
    assert [each.id for each in selected(["z28", "Z06", "Z28"])] == ["Z28", "Z06"]
    every = selected([])
    assert len(every) >= 45 and all(each.in_scope for each in every)
    with pytest.raises(OutOfScope, match="Z47 cannot be replayed: it needs reassignment"):
        selected(["Z47"])


def test_an_entry_says_where_it_is_met_and_what_it_replaces() -> None:
    assert scenario_of(entry_of("Z06")) == "quorum"
    assert scenario_of(entry_of("Z28")) == "partition"
    assert replaced(entry_of("Z06")) == ["log_ok"]
    assert replaced(entry_of("Z44")) == ["handle_replica_fetch_response"]
    controls = [each.id for each in ALL if is_control(each)]
    assert controls == ["Z40", "Z53", "Z54"] and not replaced(entry_of("Z53"))
