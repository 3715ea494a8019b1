"""Properties of whole histories: Jepsen's own cases, planted faults, and plain definitions."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from kraftcheck.traces.checkers.models import model_named
from kraftcheck.traces.checkers.properties import PROPERTIES, Judgement, judge
from kraftcheck.traces.checkers.search import check
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED
from kraftcheck.traces.history import FAIL, OK, History, Operation
from kraftcheck.traces.values import Map
from tests.traces.checkers.calls import call, history

DRAWN = 2_000


def said(name: str, *calls: Operation, **options: Any) -> tuple[str, set[str]]:
    found = judge(history(*calls), name, **options)
    return found.verdict, {each.name for each in found.anomalies if not each.allowed}


def reads(*answers: Any, begin: int = 50) -> list[Operation]:
    return [call("read", begin + 2 * n, begin + 2 * n + 1, None, a) for n, a in enumerate(answers)]


def elements(*some: int) -> frozenset[int]:
    return frozenset(some)


def balances(**some: int) -> Map:
    return Map(frozenset(some.items()))


A0, A0_OPEN = call("add", 0, 1, 0), call("add", 0, None, 0)
CASES: list[tuple[str, list[Operation], str, set[str]]] = [
    # jepsen.checker-test: set-full-test, total-queue-test, unique-ids-test, as facts
    ("set-full", [A0], UNKNOWN, set()),
    ("set-full", [A0_OPEN, *reads(elements())], UNKNOWN, set()),
    ("set-full", [A0, *reads(elements(0))], HOLDS, set()),
    ("set-full", [call("add", 0, 9, 0), call("read", 1, 2, None, elements(0))], HOLDS, set()),
    ("set-full", [A0, *reads(elements())], VIOLATED, {"lost"}),
    ("set-full", [call("add", 0, 9, 0), call("read", 1, 5, None, elements())], UNKNOWN, set()),
    ("set-full", [A0, *reads(elements(0), elements(), elements(0))], HOLDS, set()),
    ("set-full", [A0, *reads(elements(0), elements(0, 30))], VIOLATED, {"unexpected"}),
    ("set-full", [A0, *reads((0, 0))], VIOLATED, {"duplicated"}),
    (
        "set-full",
        [A0, call("add", 2, 3, 1, outcome=FAIL), *reads(elements(0, 1))],
        VIOLATED,
        {"G1a"},
    ),
    ("total-queue", [call("enqueue", 0, None, 1), call("dequeue", 1, 2, None, 1)], HOLDS, set()),
    (
        "total-queue",
        [
            call("enqueue", 0, None, "hung"),
            call("enqueue", 0, 1, "enqueued"),
            call("enqueue", 0, 1, "dup"),
            call("dequeue", 2, 3, None, "wtf"),
            call("dequeue", 2, 3, None, "dup"),
            call("dequeue", 4, 5, None, "dup"),
            call("dequeue", 6, 7),
        ],
        VIOLATED,
        {"unexpected", "lost"},
    ),
    ("total-queue", [call("enqueue", 0, 1, 1), call("dequeue", 2, 3)], VIOLATED, {"lost"}),
    (
        "total-queue",
        [call("enqueue", 0, 1, 1), call("dequeue", 2, None), call("dequeue", 4, 5)],
        UNKNOWN,
        set(),
    ),
    (
        "unique-ids",
        [call("generate", n, n + 1, None, n % 2) for n in range(3)],
        VIOLATED,
        {"duplicated"},
    ),
    ("unique-ids", [call("generate", n, n + 1, None, n) for n in range(3)], HOLDS, set()),
    ("unique-ids", [call("generate", 0, 1, None, 7)], UNKNOWN, set()),
    # jepsen.tests.bank and causal-reverse
    ("bank", reads(balances(a=5, b=5), balances(a=4, b=6)), HOLDS, set()),
    ("bank", reads(balances(a=5, b=5), balances(a=5, b=6)), VIOLATED, {"wrong-total"}),
    ("bank", reads(balances(a=5, b=5), balances(a=11, b=-1)), VIOLATED, {"negative-value"}),
    ("bank-negative", reads(balances(a=5, b=5), balances(a=11, b=-1)), HOLDS, set()),
    ("bank", reads(balances(a=5, b=5), balances(a=10)), VIOLATED, {"unexpected-key"}),
    ("bank", reads(balances(a=5, b=5), Map(frozenset({("a", None)}))), VIOLATED, {"nil-balance"}),
    ("bank", reads(balances(a=5, b=5)), UNKNOWN, set()),
    ("bank", [call("transfer", 0, 1, balances(a=1))], UNKNOWN, set()),
    (
        "comments",
        [call("write", 0, 1, 1), call("write", 2, 3, 2), *reads(elements(2))],
        VIOLATED,
        {"missing"},
    ),
    (
        "comments",
        [call("write", 0, 3, 1), call("write", 2, 4, 2), *reads(elements(2))],
        HOLDS,
        set(),
    ),
    ("comments", [call("write", 0, 1, 1), *reads(elements())], UNKNOWN, set()),
    # jepsen.cockroach.sequential
    ("sequential", [call("write", 0, 9, 7), *reads((7, ("c", None)))], VIOLATED, {"missing"}),
    ("sequential", [call("write", 0, 9, 7), *reads((7, (None, "a")))], HOLDS, set()),
    ("sequential", [call("write", 0, 9, 7), *reads((7, (None, None)))], UNKNOWN, set()),
    ("sequential", reads((7, (None, "a"))), VIOLATED, {"unexpected"}),
    (
        "sequential",
        [call("write", 0, 9, 7, outcome=FAIL), *reads((7, ("b", "a")))],
        VIOLATED,
        {"unexpected"},
    ),
    ("sequential", [call("write", 0, 9, 7), *reads(7)], VIOLATED, {"unexpected"}),
]


@pytest.mark.parametrize(("name", "calls", "verdict", "anomalies"), CASES)
def test_a_case(name: str, calls: list[Operation], verdict: str, anomalies: set[str]) -> None:
    assert said(name, *calls) == (verdict, anomalies)


SET_FULL: list[tuple[str, str, set[str]]] = [
    # jepsen.checker-test, set-full-test: add N begins, ends (!), read by P begins, ends (=)
    ("0 0!", UNKNOWN, set()),
    ("0 r r=", UNKNOWN, set()),
    ("r 0 r=0 0!", HOLDS, set()),
    ("r 0 0! r=0", HOLDS, set()),
    ("0 r r=0 0!", HOLDS, set()),
    ("0 r 0! r=0", HOLDS, set()),
    ("0 0! r r=0", HOLDS, set()),
    ("0 0! r r=", VIOLATED, {"lost"}),
    ("r 0 r= 0!", UNKNOWN, set()),
    ("r 0 0! r=", UNKNOWN, set()),
    ("0 r r= 0!", UNKNOWN, set()),
    ("0 r 0! r=", UNKNOWN, set()),
    ("0 1 r r=1 0! 1! r r=01 r r=0 r r=", VIOLATED, {"lost"}),
    ("0 0! 1 r r=1 1! r s s=1 r=0", VIOLATED, {"lost", "stale"}),
]


@pytest.mark.parametrize(("events", "verdict", "anomalies"), SET_FULL)
def test_a_case_of_jepsens_set_full(events: str, verdict: str, anomalies: set[str]) -> None:
    begun: dict[str, int] = {}
    calls = []
    for time, word in enumerate(events.split()):
        name, read, elements_ = word.rstrip("!").partition("=")
        if not read and "!" not in word:
            begun[name] = time
        elif read:
            some = frozenset(map(int, elements_))
            calls.append(call("read", begun.pop(name), time, None, some))
        else:
            calls.append(call("add", begun.pop(name), time, int(name)))
    calls += [call("add", at, None, int(name)) for name, at in begun.items()]
    found = judge(history(*calls), "set-full")
    assert found.verdict == verdict
    assert {each.name for each in found.anomalies} == anomalies


def test_every_anomaly_is_planted_in_some_case() -> None:
    planted = {(name, each) for name, _, _, anomalies in CASES for each in anomalies}
    planted |= {("set-full", "stale"), ("total-queue", "duplicated")}
    planted |= {("bank-negative", each) for each in PROPERTIES["bank"].anomalies}
    assert planted == {(n, each) for n, wanted in PROPERTIES.items() for each in wanted.anomalies}


def test_what_is_allowed_is_told_and_counts_where_linearizability_is_asked_for() -> None:
    flutter = [A0, *reads(elements(0), elements(), elements(0))]
    assert said("set-full", *flutter, strict=True) == (VIOLATED, {"stale"})
    again = [call("enqueue", 0, 1, 1), *(call("dequeue", n, n + 1, None, 1) for n in (2, 4))]
    assert said("total-queue", *again) == (HOLDS, set())
    assert said("total-queue", *again, strict=True) == (VIOLATED, {"duplicated"})


def test_what_nobody_enqueued_is_told_apart_from_what_came_out_twice() -> None:
    taken = (call("dequeue", at, at + 1, None, each) for at, each in ((2, 1), (4, 1), (6, 2)))
    found = judge(history(call("enqueue", 0, 1, 1), *taken), "total-queue")
    assert {e.name: e.certificates[0].sentence for e in found.anomalies} == {
        "unexpected": "operation 3 dequeued 2, which nobody enqueued",
        "duplicated": "operation 2 dequeued 1, once more than it went in",
    }


def test_the_total_may_be_said() -> None:
    one = reads(balances(a=5, b=5))
    assert said("bank", *one, start=10) == (HOLDS, set())
    assert said("bank", *one, start=11) == (VIOLATED, {"wrong-total"})


# -- Plain definitions, over small histories


def _set_history(dice: random.Random) -> History:
    calls = []
    for _ in range(dice.randint(1, 6)):
        begin = dice.randint(0, 12)
        end = begin + dice.randint(0, 5)
        if dice.random() < 0.4:
            ends = end if dice.random() < 0.8 else None
            calls.append(call("add", begin, ends, dice.randint(0, 2)))
        else:
            some = frozenset(n for n in range(3) if dice.random() < 0.5)
            calls.append(call("read", begin, end, None, some))
    return history(*calls)


def _set_by_definition(found: History) -> set[tuple[str, Any]]:
    reads = [each for each in found.operations if each.f == "read"]
    adds = [each for each in found.operations if each.f == "add"]
    expected = set()
    for value in range(3):
        added = [each for each in adds if each.argument == value]
        with_it = [each for each in reads if value in each.result]
        if not added:
            expected |= {("unexpected", value)} if with_it else set()
            continue
        moments = [each.completed for each in (*added, *with_it) if each.outcome == OK]
        known = min((each for each in moments if each is not None), default=None)
        if known is None:
            continue
        missed = [each for each in reads if value not in each.result and each.invoked > known]
        if not missed:
            continue
        seen_later = any(all(there.invoked >= each.invoked for each in missed) for there in with_it)
        expected.add(("stale" if seen_later else "lost", value))
    return expected


def _by_value(found: Judgement, names: tuple[str, ...]) -> dict[str, int]:
    return {each.name: each.count for each in found.anomalies if each.name in names}


def test_elements_are_judged_by_definition_and_never_harder_than_linearizability() -> None:
    names, verdicts = ("lost", "stale", "unexpected"), set()
    for seed in range(DRAWN):
        drawn = _set_history(random.Random(f"set {seed}"))
        found = judge(drawn, "set-full", strict=True)
        expected = _set_by_definition(drawn)
        counts = {name: sum(each[0] == name for each in expected) for name in names}
        assert _by_value(found, names) == {n: c for n, c in counts.items() if c}, seed
        verdicts.add(found.verdict)
        if found.verdict == VIOLATED:
            (linearized,) = check(drawn, model_named("set"))
            assert linearized.verdict == VIOLATED, seed
    assert verdicts == {HOLDS, VIOLATED, UNKNOWN}


def _queue_history(dice: random.Random) -> History:
    calls = []
    for _ in range(dice.randint(1, 6)):
        begin = dice.randint(0, 12)
        end = None if dice.random() < 0.15 else begin + dice.randint(0, 5)
        if dice.random() < 0.5:
            calls.append(call("enqueue", begin, end, dice.randint(0, 2)))
        else:
            result = dice.choice((None, 0, 1, 2)) if end is not None else None
            calls.append(call("dequeue", begin, end, None, result))
    return history(*calls)


def _comments_history(dice: random.Random) -> History:
    calls = []
    for value in range(dice.randint(1, 4)):
        begin = dice.randint(0, 9)
        calls.append(call("write", begin, begin + dice.randint(0, 4), value))
    some = frozenset(n for n in range(4) if dice.random() < 0.5)
    return history(*calls, call("read", 20, 21, None, some))


def _is_missing(found: History) -> bool:
    writes = [each for each in found.operations if each.f == "write"]
    seen = next(each.result for each in found.operations if each.f == "read")
    return any(
        one.argument not in seen
        and other.argument in seen
        and one.completed is not None
        and one.completed < other.invoked
        for one in writes
        for other in writes
    )


def test_queues_are_never_judged_harder_than_a_bag() -> None:
    verdicts = set()
    for seed in range(DRAWN):
        drawn = _queue_history(random.Random(f"queue {seed}"))
        found = judge(drawn, "total-queue", strict=True)
        verdicts.add(found.verdict)
        if found.verdict == VIOLATED:
            (linearized,) = check(drawn, model_named("unordered-queue"))
            assert linearized.verdict == VIOLATED, seed
    assert verdicts == {HOLDS, VIOLATED, UNKNOWN}


def test_comments_are_judged_by_definition() -> None:
    verdicts = set()
    for seed in range(DRAWN):
        drawn = _comments_history(random.Random(f"comments {seed}"))
        found = judge(drawn, "comments")
        assert (found.verdict == VIOLATED) == _is_missing(drawn), seed
        verdicts.add(found.verdict)
    assert verdicts == {HOLDS, VIOLATED, UNKNOWN}


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("set-full", lambda n: [call("add", k, k + 1, k) for k in range(n)]),
        ("comments", lambda n: [call("write", k, k + 1, k) for k in range(n)]),
    ],
)
def test_many_take_no_square(name: str, made: Callable[[int], list[Operation]]) -> None:
    calls = made(2_000)
    calls += [
        call("read", 10_000 + k, 10_000 + k, None, frozenset(range(2_000))) for k in range(50)
    ]
    assert said(name, *calls)[0] == HOLDS
