"""Logs of compacted topics: what may be missing, and what is promised all the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from kraftcheck.reference.clients.promises import Compaction, Configuration, Envelope
from kraftcheck.traces.checkers.compaction import keys_of, successors
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED
from kraftcheck.traces.history import Operation
from kraftcheck.traces.values import typed
from tests.traces.checkers.calls import call, check_what_was_read as check_history, history
from tests.traces.checkers.log_world import SETTINGS
from tests.traces.checkers.valid_logs import tally

COMPACTIONS: tuple[Compaction, ...] = ("none", "keyed", "keys-unknown")
SETTING = next(s for s in SETTINGS if (s.level, s.fault) == ("compacted, keyed", "expired"))
A1, A2, A3, B1, C1 = ("a", 1), ("a", 2), ("a", 3), ("b", 1), ("c", 1)


def wrote(*values: Any, first: int = 0) -> tuple[Operation, ...]:
    """Appends, one after the other from time 0 on, each at the next offset."""
    return tuple(
        call("append", 10 * at, 10 * at + 5, value, first + at) for at, value in enumerate(values)
    )


def verdict(
    *calls: Operation, compaction: Compaction = "keyed", idempotence: bool = True, **more: Any
) -> str:
    configuration = Configuration(compaction=compaction, idempotence=idempotence, one_client=False)
    found = check_history(
        history(*calls, model="partition-log"), configuration=configuration, **more
    )
    return found.verdict


REPLACED = (*wrote(A1, A2, B1), call("fetch", 100, 105, 0, ((1, A2), (2, B1))))
LOST = (*wrote(A1, A2, B1), call("fetch", 100, 105, 0, ((0, A1), (2, B1))))


def test_what_a_later_record_replaced_may_be_gone() -> None:
    for compaction, expected in zip(COMPACTIONS, (VIOLATED, HOLDS, HOLDS), strict=True):
        assert verdict(*REPLACED, compaction=compaction) == expected
        assert verdict(*REPLACED, compaction=compaction, complete=True) == expected


def test_the_newest_record_of_each_key_survives() -> None:
    """Without keys, any that others stand behind may have been replaced."""
    for compaction, expected in zip(COMPACTIONS, (VIOLATED, VIOLATED, HOLDS), strict=True):
        assert verdict(*LOST, compaction=compaction) == expected


def test_an_append_whose_place_nobody_knows_may_have_replaced_a_record() -> None:
    lost = call("append", 20, None, ("b", 2))
    calls = (call("append", 30, 35, C1, 3), call("fetch", 40, 45, 0, ((0, A1), (3, C1))))
    assert verdict(*wrote(A1, B1), lost, *calls, complete=False) == UNKNOWN
    other = call("append", 20, None, ("c", 2))
    assert verdict(*wrote(A1, B1), other, *calls, complete=False) == VIOLATED


def test_a_record_goes_only_after_what_replaced_it_has_come() -> None:
    early = call("fetch", 20, 25, 0, ((1, B1),))
    for begun, expected in ((15, HOLDS), (60, VIOLATED)):
        calls = (*wrote(A1, B1), call("append", begun, 70, A2, 2), early)
        assert verdict(*calls) == expected
        assert verdict(*calls, compaction="keys-unknown") == HOLDS
    # Kafka takes the end before the records, so that cleaning may have come in between.
    calls = (*wrote(A1, B1), call("append", 15, 70, A2, 2))
    told = call("fetch", 20, 25, 0, ((1, B1),), end=2)
    assert verdict(*calls, told) == UNKNOWN


@pytest.mark.parametrize(
    ("values", "asked", "end", "expected"),
    [
        ((A1, A2, ("a", None)), 0, 3, (VIOLATED, HOLDS, HOLDS)),
        ((A1, A2, ("a", None)), 0, None, (VIOLATED, HOLDS, HOLDS)),
        ((A1, A2), 0, 1, (VIOLATED, VIOLATED, VIOLATED)),
        # The first of them is gone, and the fetch ended with what was cleaned.
        ((A1, B1, A2), 0, 3, (VIOLATED, HOLDS, HOLDS)),
        ((A1, B1), 0, 2, (VIOLATED, VIOLATED, HOLDS)),
        ((A1, B1), 0, None, (VIOLATED, VIOLATED, HOLDS)),
        # The last one is replaced by none.
        ((A1, A2), 1, 2, (VIOLATED, VIOLATED, VIOLATED)),
        ((A1, A2), 1, None, (VIOLATED, VIOLATED, VIOLATED)),
        ((A1, A2), 2, 2, (HOLDS, HOLDS, HOLDS)),
    ],
)
def test_a_fetch_finds_nothing_where_records_were_replaced(
    values: tuple[Any, ...], asked: int, end: int | None, expected: tuple[str, ...]
) -> None:
    nothing = call("fetch", 100, 105, asked, (), end=end)
    for compaction, each in zip(COMPACTIONS, expected, strict=True):
        assert verdict(*wrote(*values), nothing, compaction=compaction) == each, compaction


@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        # Nothing else stands behind it; or what does was sent when the fetch was over.
        ((), UNKNOWN),
        ((call("append", 200, 205, A3, 2),), UNKNOWN),
        ((call("append", 10, 15, A3, 2),), HOLDS),
    ],
)
def test_a_fetch_finds_nothing_where_only_an_append_without_a_place_can_have_replaced(
    behind: tuple[Operation, ...], expected: str
) -> None:
    calls = (*wrote(A1), call("append", 15, 30, A2), call("fetch", 20, 25, 0, ()))
    for compaction in COMPACTIONS[1:]:
        assert verdict(*calls, *behind, compaction=compaction) == expected
    # It may have begun before the record was there.
    early = (call("append", 0, 22, A1, 0), *calls[1:])
    assert verdict(*early, *behind) == HOLDS


def test_a_record_may_go_between_the_end_and_the_records_of_a_fetch() -> None:
    calls = (*wrote(A1), call("append", 15, 70, A2, 1), call("fetch", 20, 25, 0, (), end=1))
    for compaction, expected in zip(COMPACTIONS, (VIOLATED, UNKNOWN, UNKNOWN), strict=True):
        assert verdict(*calls, compaction=compaction) == expected


def test_an_append_without_an_offset_may_have_gone_between_the_end_and_the_records() -> None:
    """It can stand at 0 alone, and what replaced it there stands at the end that was told."""
    calls = (call("append", 0, 5, A1), call("append", 6, 9, B1, 1), call("append", 15, 70, A2, 2))
    for end, expected in ((2, UNKNOWN), (3, HOLDS)):
        shown = ((1, B1), (2, A2))[: end - 1]
        assert verdict(*calls, call("fetch", 20, 25, 0, shown, end=end)) == expected


@pytest.mark.slow
def test_what_is_there_below_an_end_has_no_key_of_another_history() -> None:
    """A place below an end took the key of the batch's first value, and so replaced records: the
    verdict was another beside other histories.
    """
    found = tally(SETTING, 51_000_000, 51_000_250)
    assert found.wrong == []


def test_a_tombstone_goes_by_itself() -> None:
    gone = call("fetch", 100, 105, 0, ((2, B1),))
    assert verdict(*wrote(A1, ("a", None), B1), gone) == HOLDS
    assert verdict(*wrote(A1, A2, B1), gone) == VIOLATED
    # Whatever came behind it, and only later.
    late = call("append", 200, 205, A3, 3)
    assert verdict(*wrote(A1, ("a", None), B1), gone, late) == HOLDS
    assert verdict(*wrote(B1, A1, C1), call("fetch", 100, 105, 0, ((0, B1), (2, C1))), late) == (
        VIOLATED
    )


def test_an_append_without_a_known_place_may_have_replaced_a_record() -> None:
    """Nothing else can have; whether it did nobody knows, so that nothing is concluded."""
    maybe = call("append", 35, None, A2)
    missed = call("fetch", 100, 105, 0, ((1, B1),))
    assert verdict(*wrote(A1, B1), missed) == VIOLATED
    assert verdict(*wrote(A1, B1), maybe, missed) == UNKNOWN
    assert verdict(*wrote(A1, B1), call("append", 35, None, C1), missed) == VIOLATED
    # What is known to have replaced it came in time: it does not matter.
    assert verdict(*wrote(A1, B1, A3), maybe, missed) == HOLDS


def test_a_copy_that_nobody_saw_may_have_replaced_a_record() -> None:
    """Jepsen's rules know of no copies: what they call lost or skipped may be replaced by one."""
    polled = call("fetch", 100, 105, None, ((0, A1), (2, B1)))
    for calls in (LOST, (*wrote(A1, A2, B1), polled)):
        assert verdict(*calls) == VIOLATED
        assert verdict(*calls, idempotence=False) == UNKNOWN
    assert verdict(*REPLACED, idempotence=False) == HOLDS


def test_an_append_without_an_offset_may_be_gone_from_where_fetches_went() -> None:
    lost = call("append", 10, 15, B1)
    calls = (call("append", 0, 5, A1, 0), lost, call("append", 20, 25, C1, 2))
    through = call("fetch", 100, 105, 0, ((0, A1), (2, C1)))
    for compaction, expected in zip(COMPACTIONS, (VIOLATED, UNKNOWN, HOLDS), strict=True):
        assert verdict(*calls, through, compaction=compaction) == expected


def test_consumers_that_read_on_may_pass_over_what_was_replaced() -> None:
    """Polls without a position, as Jepsen's: nothing says where the second began."""

    def polled(value: Any) -> tuple[Operation, ...]:
        first, second = (
            call("fetch", begun, begun + 5, None, records)
            for begun, records in ((100, ((0, B1),)), (110, ((2, A2),)))
        )
        return (*wrote(B1, value, A2), first, second)

    def of_one(calls: tuple[Operation, ...], compaction: Compaction) -> str:
        made = history(*calls, model="partition-log")
        one = tuple(replace(each, process=0) for each in made.operations)
        found = check_history(
            replace(made, operations=one), configuration=Configuration(compaction=compaction)
        )
        return found.verdict

    for value, expected in ((A1, (VIOLATED, HOLDS, HOLDS)), (C1, (VIOLATED, VIOLATED, HOLDS))):
        for compaction, each in zip(COMPACTIONS, expected, strict=True):
            assert of_one(polled(value), compaction) == each


@pytest.mark.parametrize(
    "calls",
    [
        # Another value, another place, another order, the end that goes back.
        (*wrote(A1, A2, B1), call("fetch", 100, 105, 1, ((1, A3), (2, B1)))),
        (*wrote(A1, A2, B1), call("fetch", 100, 105, 1, ((1, A2), (3, B1)))),
        (*wrote(A1, A2, B1), call("fetch", 100, 105, 1, ((2, B1), (1, A2)))),
        (*wrote(A1, A2, B1), call("fetch", 100, 105, 2, ())),
        (*wrote(A1, A2, B1), call("latest", 100, 105, None, 2)),
        (*wrote(A2), *wrote(A1, first=0)),
        (call("append", 0, 5, A1, 1), call("append", 10, 15, A2, 0)),
    ],
)
@pytest.mark.parametrize("compaction", ["keyed", "keys-unknown"])
def test_what_stays_promised(calls: tuple[Operation, ...], compaction: Compaction) -> None:
    assert verdict(*calls, compaction=compaction) == VIOLATED
    assert verdict(*calls[:-1], compaction=compaction) == HOLDS


def test_a_leader_that_moved_hides_records_and_brings_none_back_to_life() -> None:
    stale = (*wrote(A1, A2, B1), call("fetch", 100, 105, 1, ((1, A2),), end=2))
    moved = Envelope(leader_moves=1)
    assert verdict(*stale) == VIOLATED and verdict(*stale, envelope=moved) == HOLDS
    assert verdict(*LOST, envelope=moved) == VIOLATED


def test_what_an_empty_fetch_proves_in_real_time_does_not_bind_stale_reads() -> None:
    """The last of them missed both records, so that in real time the others were too early to find
    the first one replaced. Stale reads are allowed here; nothing else is wrong.
    """
    calls = (
        *(call("append", 7, 13, A1, 0), call("append", 13, 19, A2, 1)),
        *(call("fetch", 13, 19, 0, (), end=1), call("fetch", 46, 60, 0, (), end=0)),
    )
    assert verdict(*calls) == VIOLATED
    assert verdict(*calls, envelope=Envelope(leader_moves=1)) == UNKNOWN


def test_what_a_process_did_before_binds_it_where_its_clock_touches() -> None:
    """B1 stands before A1, which its process appended next; but offset 0 was seen to be taken."""
    told = call("fetch", 1, 3, None, (), end=1)
    stale = call("latest", 6, 12, None, 0)
    moved = Envelope(leader_moves=1)
    for process, expected in ((7, VIOLATED), (8, HOLDS)):
        made = history(
            *(told, call("append", 6, 36, B1), stale, call("append", 36, 66, A1, 1)),
            model="partition-log",
        )
        operations = tuple(
            replace(each, process=p)
            for each, p in zip(made.operations, (1, 7, 2, process), strict=True)
        )
        found = check_history(
            replace(made, operations=operations),
            configuration=Configuration(compaction="keyed", one_client=False),
            envelope=moved,
        )
        assert found.verdict == expected


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        # A tombstone, and what A2 replaces; another key's stays.
        *[(("a", None), UNKNOWN), (A1, UNKNOWN), (("c", None), UNKNOWN), (C1, VIOLATED)],
    ],
)
@pytest.mark.parametrize("end", [None, 2])
def test_a_fetch_may_end_with_what_nobody_saw(sent: Any, expected: str, end: int | None) -> None:
    calls = (
        call("append", 0, None, sent),
        call("append", 10, 15, A2, 1),
        call("fetch", 20, 25, 0, (), end=end),
    )
    assert verdict(*calls) == expected
    assert verdict(*calls, compaction="keys-unknown") == UNKNOWN
    assert verdict(*calls[1:]) == VIOLATED


def test_what_was_there_and_was_not_found_was_replaced() -> None:
    """The append's record can only stand at 0, which was taken when the fetch found nothing."""
    calls = (
        *(call("latest", 3, 5, None, 1), call("append", 4, 35, B1)),
        *(call("fetch", 9, 15, 0, ()), call("append", 36, 38, A1, 1)),
    )
    for idempotence in (True, False):
        assert verdict(*calls, compaction="keys-unknown", idempotence=idempotence) == UNKNOWN
    assert verdict(*calls, compaction="none", gaps=True) == VIOLATED
    late = (calls[0], calls[1], call("fetch", 40, 45, 0, ((1, A1),)), calls[3])
    assert verdict(*late, compaction="keys-unknown") == HOLDS


@pytest.mark.parametrize("compaction", ["none", "keyed"])
def test_what_was_seen_may_be_a_copy(compaction: Compaction) -> None:
    """B1 came first; if it stands at 1, then C1 has no place. Only a copy of it may be there."""
    calls = (
        *(call("append", 0, 1, B1), call("latest", 2, 40, None, 3)),
        *(call("append", 6, 12, C1), call("append", 7, 13, A1)),
        *(call("append", 32, 34, A2), call("fetch", 41, 48, 1, ((1, B1), (2, A1), (3, A2)))),
    )
    given: dict[str, Any] = {"compaction": compaction, "gaps": True}
    assert verdict(*calls, idempotence=False, **given) == UNKNOWN
    assert verdict(*calls, **given) == VIOLATED
    assert verdict(*calls[:2], *calls[3:], idempotence=False, **given) == HOLDS


def test_keys_are_those_of_pairs() -> None:
    keys = keys_of(typed(((1, "x"), (True, "x"), ("1", None), (1, "y"))))
    assert keys.key.tolist() == [0, 1, 2, 0]
    assert keys.tombstone.tolist() == [False, False, True, False]
    for value in ("ab", (1, 2, 3), None):
        with pytest.raises(ValueError, match=r"is no \[key value\]"):
            keys_of(((1, "x"), value))


def test_successors_stay_in_their_log() -> None:
    segment, key = np.array([0, 0, 0, 1, 1]), np.array([7, 8, 7, 7, 8])
    assert successors(segment, key).tolist() == [2, -1, -1, -1, -1]
    assert successors(np.array([0, 1]), np.array([7, 7])).tolist() == [-1, -1]
