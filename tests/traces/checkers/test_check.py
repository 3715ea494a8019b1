"""The checker as a library: verdict, level and promise, evidence, and what is refused."""

from __future__ import annotations

import pytest

from reference.core.promises import ANYTHING_CLEAN, Configuration, Envelope, Level, promised
from tests.traces.checkers.calls import call, history
from traces.checkers.assessment import assess
from traces.checkers.check import check_history
from traces.checkers.columns import Builder
from traces.checkers.models import Register
from traces.history import History, HistoryError

LOG = "partition-log"
APPENDS = (call("append", 0, 5, "a", 0), call("append", 10, 15, "b", 1))
STALE = history(*APPENDS, call("fetch", 20, 25, 1, (), end=1), model=LOG)
LOST = history(
    *APPENDS,
    call("append", 20, 25, "c", 1),
    call("fetch", 30, 35, 0, ((0, "a"), (1, "c"))),
    model=LOG,
)
NOWHERE = history(
    call("append", 0, 5, "a"),
    call("append", 0, 5, "b", 0),
    call("fetch", 30, 35, 0, ((0, "b"),), end=1),
    model=LOG,
)


def test_a_log_that_holds() -> None:
    found = check_history(history(*APPENDS, model=LOG))
    assert found.holds and (found.level, found.promised) == ("linearizable", "linearizable")
    assert str(found).startswith("holds: held linearizable, promised linearizable")


def test_a_log_that_breaks_its_promise_says_why() -> None:
    found = check_history(STALE)
    assert found.verdict == "violated" and not found.holds
    (part,) = found.parts
    assert part.certificate is not None and part.certificate.operations == (1, 2)
    said = str(found).splitlines()
    assert said[0] == "violated: held bounded-staleness, promised linearizable"
    assert "missed the record at offset 1" in said[2] and said[3] == "  [operations 1, 2]"
    assert said[4:] == ["not allowed: stale-read 1", "allowed: unseen 2"]
    (stale,) = found.staleness
    assert (stale.reads, stale.delays, stale.missed) == (1, (5,), (1,))


def test_what_went_wrong_excuses_only_what_comes_of_it() -> None:
    assert check_history(STALE, envelope=ANYTHING_CLEAN).holds
    assert not check_history(LOST, envelope=ANYTHING_CLEAN).holds
    assert check_history(LOST, envelope=Envelope(unclean_moves=1)).promised == "nothing"
    assert check_history(LOST, envelope=Envelope(unclean_moves=1)).holds
    acks_one = Configuration(acks="1")
    assert check_history(LOST, configuration=acks_one, envelope=ANYTHING_CLEAN).holds
    assert not check_history(LOST, configuration=acks_one).holds


def test_a_level_takes_the_place_of_the_promise() -> None:
    assert check_history(STALE, level=Level.BOUNDED_STALENESS).holds
    found = check_history(STALE, level=Level.REGULAR_SESSIONS)
    assert not found.holds and found.because == "this level was asked for"
    assert "regular-sessions does not hold" in found.anomalies[0].reason


def test_an_append_without_a_place_is_lost_where_that_is_allowed() -> None:
    """With acks=0 nobody is told an offset, and a record may never come."""
    assert check_history(NOWHERE).verdict == "violated"
    assert check_history(NOWHERE, configuration=Configuration(acks="0")).holds
    moved = check_history(NOWHERE, envelope=ANYTHING_CLEAN)
    assert moved.verdict == "violated"
    assert moved.parts[0].certificate and moved.parts[0].certificate.kind == "unplaced-append"


def test_control_records_explain_gaps() -> None:
    gap = history(call("append", 0, 5, "a", 3), model=LOG)
    assert check_history(gap).verdict == "violated"
    assert check_history(gap, gaps=True).holds
    assert check_history(gap, configuration=Configuration(transactions=True)).holds


def test_what_nobody_saw_is_lost_if_everything_was_read() -> None:
    seen = history(*APPENDS, model=LOG)
    assert check_history(seen).holds and not check_history(seen, complete=True).holds


def test_other_models_are_searched() -> None:
    calls = (call("write", 0, 5, 1), call("read", 10, 15, None, 2))
    for model in ("register", Register()):
        found = check_history(history(*calls), model=model)
        assert (found.verdict, found.model) == ("violated", "register")
        assert found.parts[0].certificate is not None
    assert check_history(history(*calls[:1], model="register")).holds


def test_what_cannot_be_judged_is_said() -> None:
    with pytest.raises(ValueError, match="no model is known"):
        check_history(history(call("frobnicate", 0, 1)))
    with pytest.raises(ValueError, match="no operation on a log"):
        check_history(history(model=LOG))
    with pytest.raises(KeyError, match="no model 'tree'"):
        check_history(STALE, model="tree")
    with pytest.raises(HistoryError):
        check_history(STALE, model="register")


# -- In columns


def parts_of(*histories: History) -> Builder:
    builder = Builder()
    for each in histories:
        builder.add(each.operations)
    return builder


def test_each_segment_has_a_promise_of_its_own() -> None:
    strict, weak = promised(Configuration()), promised(Configuration(), ANYTHING_CLEAN)
    batch = parts_of(STALE, STALE, LOST, history(*APPENDS)).batch()
    found = assess(batch, [strict, weak, weak, strict])
    assert found.violated.tolist() == [True, False, True, False]
    assert [found.verdict(each) for each in found.segments] == [
        *("violated", "holds", "violated", "holds"),
    ]
    stale = next(each for each in found.told() if each.name == "stale-read")
    assert (stale.count, stale.allowed) == (2, False)
    assert stale.certificates[0].operations == (1, 2)


def test_a_promise_for_each_segment_is_needed() -> None:
    with pytest.raises(ValueError, match="1 promises for 2 partitions"):
        assess(parts_of(STALE, LOST).batch(), [promised(Configuration())])


def test_copies_are_told_where_another_segment_may_have_them() -> None:
    """One call judges all as at-least-once; who promised one record each is still held to that."""
    twice = history(*APPENDS, call("fetch", 20, 25, 1, ((1, "b"), (2, "a"))))
    once, often = promised(Configuration()), promised(Configuration(idempotence=False))
    found = assess(parts_of(twice, twice).batch(), [once, often])
    assert found.violated.tolist() == [True, False]
    (certificate,) = found.anomalies.certificates("duplicate", 0)
    assert certificate.sentence == "the record a stands at offset 0 and again at offset 2"
