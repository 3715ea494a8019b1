"""Who has all that may have been acknowledged."""

from __future__ import annotations

import pytest

from kraftcheck.reference.partition.reassignment.properties import holders_of
from tests.reference.partition.reassignment.plants import THREE, first_row, moving


@pytest.mark.parametrize(("known", "copied", "has"), [((1, 2), (), (1,)), ((1,), (3,), (1, 3))])
def test_who_is_no_replica_any_more_has_nothing(
    known: tuple[int, ...], copied: tuple[int, ...], has: tuple[int, ...]
) -> None:
    """A broker that is no replica deletes its log."""
    before = first_row().partitions[0]
    after = moving(replicas=(1, 3), adding=(), removing=()).partitions[0]
    assert holders_of(THREE, before, after, known, copied, new_records=False) == has
