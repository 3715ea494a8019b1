"""How a cleaned replica's violations are told."""

from __future__ import annotations

from kraftcheck.reference.partition.compaction.properties import loaded_is_replayed
from tests.reference.partition.compaction.plants import TWO, cleaned


def test_what_was_loaded_is_told_by_key() -> None:
    said = loaded_is_replayed(TWO, cleaned(loaded=()))
    assert said == "loaded is nothing, the log says key 2 of 13"
