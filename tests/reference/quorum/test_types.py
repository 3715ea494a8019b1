"""Rows are values: equal content, equal hash, equal bytes."""

from __future__ import annotations

import pickle

import msgspec
import pytest
from msgspec.structs import replace

from kraftcheck.reference.quorum.types import (
    ROLES,
    UNDEFINED,
    Constants,
    Outcome,
    Row,
    initial_row,
    is_running,
)
from tests.reference.quorum.builders import FIVE, THREE, fetch_request, leader_of, log_of


def full_row() -> Row:
    """A row with something in every field that holds more than a number."""
    return leader_of(
        1,
        2,
        log_of(1, 1, 2),
        end_offsets=(-1, 2, 3),
        fetched_voters=(2,),
        successors=(3, 2),
        unacked=(2, 3),
        granted=(1, 2),
        rejected=(3,),
        connections=("Ready", "Awaiting", "BackingOff"),
        parked=(fetch_request(2), fetch_request(3)),
    )


def test_a_row_comes_back_from_its_bytes() -> None:
    row = full_row()
    data = msgspec.msgpack.encode(row)
    again = msgspec.msgpack.decode(data, type=Row)
    assert again == row
    assert hash(again) == hash(row)
    assert msgspec.msgpack.encode(again) == data
    assert pickle.loads(pickle.dumps(row)) == row


def test_a_changed_row_has_a_hash_of_its_own() -> None:
    """The hash is kept in the row; a copy with a change must not inherit it."""
    row = full_row()
    hash(row)
    changed = replace(row, epoch=9)
    assert changed != row
    assert hash(changed) == hash(replace(full_row(), epoch=9))
    assert hash(changed) != hash(row)


def test_a_row_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        full_row().epoch = 9  # type: ignore[misc]


def test_an_outcome_is_a_value() -> None:
    assert Outcome(full_row(), (fetch_request(),), "") == Outcome(
        full_row(), (fetch_request(),), ""
    )


def test_the_first_row_knows_nothing() -> None:
    row = initial_row(FIVE)
    assert row.role == "Unattached" and row.epoch == 0 and row.log == ()
    assert row.end_offsets == (UNDEFINED,) * 5 and row.connections == ("Ready",) * 5


def test_majorities() -> None:
    assert [THREE.is_majority(range(k)) for k in range(4)] == [False, False, True, True]
    assert [Constants((1, 2, 3, 4), 1).is_majority(range(k)) for k in range(5)] == [
        *(False, False, False),
        *(True, True),
    ]
    assert THREE.others(2) == (1, 3)


@pytest.mark.parametrize(
    ("voters", "limit"), [((), 1), ((2, 1), 1), ((1, 1), 1), ((-1, 2), 1), ((1, 2), 0)]
)
def test_impossible_constants_are_refused(voters: tuple[int, ...], limit: int) -> None:
    with pytest.raises(AssertionError):
        Constants(voters, limit)


def test_two_roles_do_not_run() -> None:
    assert [r for r in ROLES if not is_running(replace(full_row(), role=r))] == ["Down", "Halted"]
