"""Anomalies of logs: one planted of each name, none in a clean log, and the slow twin agrees."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from kraftcheck.traces.checkers.anomalies import JEPSEN, NAMES, OURS, Anomalies, anomalies_of
from kraftcheck.traces.checkers.anomalies_moves import move_anomalies
from kraftcheck.traces.checkers.anomalies_values import value_anomalies
from kraftcheck.traces.checkers.columns import LogBatch, from_history
from kraftcheck.traces.checkers.findings import Finding
from kraftcheck.traces.checkers.levels import levels_of
from kraftcheck.traces.checkers.log import BROKEN, judge
from kraftcheck.traces.checkers.version_order import numbered, version_order
from kraftcheck.traces.history import FAIL, INDETERMINATE, OK, History, Operation
from tests.traces.checkers.calls import together
from tests.traces.checkers.slow_anomalies import Anomaly, slow_anomalies

KEY = "t-0"


def made(*groups: tuple[Any, ...]) -> History:
    """Operations one after the other: (process, (f, argument, result, more), ...)."""
    found: list[Operation] = []
    for at, (process, *parts) in enumerate(groups):
        for f, argument, result, *more in parts:
            fields: dict[str, Any] = {"key": KEY, "outcome": OK, "completed": 10 * at + 5}
            fields |= more[0] if more else {}
            found.append(
                Operation(
                    index=len(found),
                    process=process,
                    f=f,
                    argument=argument,
                    result=result,
                    invoked=fields.pop("invoked", 10 * at),
                    group=at,
                    **fields,
                )
            )
    return History(source="test", format="test", time_unit="event", operations=tuple(found))


def send(value: Any, offset: int | None = None, /, **more: Any) -> tuple[Any, ...]:
    return ("append", value, offset, more)


def poll(*records: tuple[int, Any], start: int | None = None, **more: Any) -> tuple[Any, ...]:
    return ("fetch", start, records, more)


def client(f: str, *keys: str, rewound: bool | None = None) -> tuple[Any, ...]:
    return (f, keys, rewound, {"key": None})


def anomalies(history: History, **options: Any) -> Anomalies:
    return anomalies_of(judge(from_history(history), **options))


FAILED: dict[str, Any] = {"outcome": FAIL}
OPEN: dict[str, Any] = {"outcome": INDETERMINATE, "completed": None}
ABC = ((0, send("a", 0)), (0, send("b", 1)), (0, send("c", 2)))
EITHER = ((0, send("a")), (0, send("b", 1)), (1, send("a")))

PLANTED: dict[str, tuple[tuple[Any, ...], ...]] = {
    "G1a": ((0, send("a", **FAILED)), (1, poll((0, "a")))),
    "inconsistent-offsets": ((0, send("a", 0)), (1, send("b", 0)), (2, poll((0, "b")))),
    "lost-write": (*ABC, (1, poll((0, "a"))), (2, poll((2, "c")))),
    "duplicate": (*ABC, (1, poll((0, "a"), (1, "b"), (2, "c"), (3, "a")))),
    "precommitted-read": ((0, send("a", 0), poll((0, "a"))),),
    "int-nonmonotonic-poll": (*ABC, (1, poll((0, "a"), (2, "c"), (1, "b")))),
    "int-poll-skip": (*ABC, (1, poll((0, "a"), (2, "c")))),
    "nonmonotonic-poll": (*ABC, (1, poll((0, "a"), (1, "b"))), (1, poll((1, "b"), (2, "c")))),
    "poll-skip": (*ABC, (1, poll((0, "a"))), (1, poll((2, "c"))), (2, poll((1, "b")))),
    "nonmonotonic-send": ((0, send("b", 1)), (0, send("a", 0)), (1, poll((0, "a"), (1, "b")))),
    "int-nonmonotonic-send": ((0, send("b", 1), send("a", 0)),),
    "int-send-skip": (
        (0, send("a", 0, completed=99), send("c", 2, completed=99)),
        (1, send("b", 1)),
    ),
    "unseen": ((0, send("a", 0)),),
    "unread": ((0, send("a", 0)), (0, send("b", 1)), (1, poll((1, "b"), start=1))),
    "phantom": ((1, poll((0, "x"))),),
    "offset-acked-twice": ((0, send("a", 0)), (1, send("a", 0))),
    "append-order": ((0, send("b", 1)), (1, send("a", 0))),
    "future-read": (
        (2, send("b", None, **OPEN)),
        (1, poll((1, "b"), start=1)),
        (0, send("a", 0)),
    ),
    "stale-read": ((0, send("a", 0)), (1, poll(start=0, end=0))),
    "poll-before-position": (*ABC, (1, poll((0, "a"), start=1))),
    "hole": (
        (0, send("b", 1, completed=99)),
        (1, poll((1, "b"), start=1)),
        (2, send("a", **OPEN)),
    ),
    "unplaced-append": (
        (0, send("a", None)),
        (1, send("b", 0)),
        (2, poll((0, "b"), start=0, end=1)),
    ),
    "session-regress": ((0, send("a", 0)), (0, poll(start=0, end=0))),
    "start-regress": (*ABC, (1, ("earliest", None, 1)), (2, poll((0, "a"), start=0))),
}
"""A history for each name."""

CLEAN = made(
    (0, send("a", 0)),
    (1, poll((0, "a"))),
    (0, send("b", 1)),
    (2, poll((0, "a"), (1, "b"), start=0, end=2)),
    (0, send("c", None, **FAILED)),
    (3, send("d", None, **OPEN)),
    (1, poll((1, "b"), (2, "d"))),
    (0, send("e", 3)),
    (1, poll((3, "e"))),
)


# -- Every name


def test_every_name_is_planted_and_has_a_meaning() -> None:
    assert set(PLANTED) == set(NAMES) == set(JEPSEN) | set(OURS)
    assert not set(JEPSEN) & set(OURS) and len(NAMES) == len(set(NAMES))


def test_values_of_one_offset_are_told_together() -> None:
    found = anomalies(made(*((at, send(value, at // 2)) for at, value in enumerate("abcd"))))
    told = found.certificates("inconsistent-offsets", 0)
    assert {each.operations for each in told} == {(0, 1), (2, 3)}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_anomaly_is_found(name: str) -> None:
    history = made(*PLANTED[name])
    found = anomalies(history)
    assert name in found.names, found.names
    assert found.counts(name).tolist() == [1]
    (certificate,) = found.certificates(name, 0)
    assert certificate.kind == name and certificate.key == KEY
    assert 1 <= len(certificate.operations) <= 2
    assert set(certificate.operations) <= {each.index for each in history.operations}
    assert "{" not in certificate.sentence and "-1" not in certificate.sentence


def test_a_clean_log_has_none() -> None:
    assert anomalies(CLEAN).names == ()


OF_P: dict[str, Any] = {"mark": "p", "completed": 99}


@pytest.mark.parametrize(
    ("groups", "found"),
    [
        # What one producer sends overlaps, and keeps its order.
        (((0, send("b", 1, **OF_P)), (1, send("a", 0, **OF_P))), True),
        (((0, send("a", 0, **OF_P)), (1, send("b", 1, **OF_P))), False),
        # Of two producers, and of two clients that overlap, nobody knows.
        (((0, send("b", 1, **OF_P)), (1, send("a", 0, mark="q", completed=99))), False),
        (((0, send("b", 1, completed=99)), (1, send("a", 0, completed=99))), False),
        # One that stands nowhere hides nothing; one that failed counts for nothing.
        (
            (
                (0, send("b", 1, **OF_P)),
                (1, send("c", mark="p", **OPEN)),
                (2, send("a", 0, **OF_P)),
            ),
            True,
        ),
        (((0, send("b", 1, mark="p", **FAILED)), (1, send("a", 0, **OF_P))), False),
    ],
)
def test_the_appends_of_a_mark_keep_their_order(groups: tuple[Any, ...], found: bool) -> None:
    names = anomalies(made(*groups)).names
    assert ("nonmonotonic-send" in names) == found, names
    assert "append-order" not in names


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        # What is aborted, or not known to have happened, need not be read.
        ("lost-write", ((0, send("a", **FAILED)), (0, send("b", 0)), (1, poll((0, "b"))))),
        ("unseen", ((0, send("a", None, **OPEN)),)),
        # An offset that nobody touched may hold a control record.
        (
            "poll-skip",
            ((0, send("a", 0)), (1, poll((0, "a"))), (0, send("b", 5)), (1, poll((5, "b")))),
        ),
        # Whoever asks for an offset is not reading on.
        ("nonmonotonic-poll", (*ABC, (1, poll((2, "c"), start=2)), (1, poll((0, "a"), start=0)))),
        ("lost-write", (*ABC, (1, poll((2, "c"), start=2)))),
        # Another consumer, a new assignment, a crash.
        ("poll-skip", (*ABC, (1, poll((0, "a"))), (2, poll((2, "c"))))),
        (
            "poll-skip",
            (*ABC, (1, poll((0, "a"))), (1, client("assign", "other")), (1, poll((2, "c")))),
        ),
        (
            "nonmonotonic-poll",
            (
                *ABC,
                (1, poll((2, "c"))),
                (1, client("assign", KEY, rewound=True)),
                (1, poll((0, "a"))),
            ),
        ),
        (
            "nonmonotonic-poll",
            (*ABC, (1, poll((2, "c"))), (1, client("crash")), (1, poll((0, "a")))),
        ),
        # The same value on purpose.
        ("duplicate", ((0, send("a", 0)), (0, send("a", 1)), (1, poll((0, "a"), (1, "a"))))),
        ("G1a", ((0, send("a", **FAILED)), (1, send("a", 0)), (2, poll((0, "a"))))),
        # A poll without an answer is compared, but moves nobody on.
        (
            "poll-skip",
            (
                *ABC,
                (1, poll((0, "a"))),
                (1, poll((1, "b"), **FAILED)),
                (1, poll((1, "b"), (2, "c"))),
            ),
        ),
        # A read that contradicts itself, by as much as its process knew.
        ("session-regress", ((0, send("a", 0)), (0, poll((0, "a"), (1, "b"), start=0, end=1)))),
        # Of two that sent a value, either may have written it; the other one knows of no record.
        ("session-regress", (*EITHER, (2, poll((1, "b"), (2, "a"), start=1)), (3, poll(start=1)))),
        # Retention took it.
        ("lost-write", (*ABC, (1, ("earliest", None, 1)), (2, poll((1, "b"), (2, "c"))))),
    ],
)
def test_what_is_no_anomaly(name: str, groups: tuple[Any, ...]) -> None:
    assert name not in anomalies(made(*groups)).names


def test_latest_may_not_go_back() -> None:
    history = made(*ABC, (1, ("latest", None, 3)), (1, ("latest", None, 1)))
    assert "session-regress" in anomalies(history).names


def test_a_kept_assignment_keeps_the_place() -> None:
    history = made(
        *ABC, (1, poll((0, "a"))), (1, client("assign", "other", KEY)), (1, poll((2, "c")))
    )
    assert "poll-skip" in anomalies(history).names


def test_a_rebalance_may_come_within_an_operation() -> None:
    history = made(*ABC, (1, poll((0, "a")), poll((2, "c"))), (2, poll((1, "b"))))
    found = judge(from_history(history))
    assert set(anomalies_of(found).names) == {"int-poll-skip"}
    assert set(anomalies_of(found, subscribed=True).names) == {"poll-skip"}


@pytest.mark.parametrize("before", [(), ((9, send("z", **FAILED)),)])
def test_parts_of_one_operation_are_of_one_time(before: tuple[Any, ...]) -> None:
    """Also of the first."""
    missed = poll(start=0, end=0)
    found = anomalies(made(*before, (0, send("a", 0), missed), (1, missed)))
    assert set(found.names) == {"stale-read", "unseen"}


def test_a_sentence_says_where_if_that_is_known() -> None:
    sent = made((0, send("a", 0)), (0, send("b")))
    known, unknown = anomalies(sent).certificates("unseen", 0)
    assert known.sentence == "a was acknowledged at offset 0, and nobody ever read it"
    assert unknown.sentence == "b was acknowledged, and nobody ever read it"


def test_sentences_show_values_on_one_line() -> None:
    nasty = "<script>\n" + "x" * 500
    found = anomalies(made((0, send(nasty, **FAILED)), (1, poll((0, nasty)))))
    (certificate,) = found.certificates("G1a", 0)
    assert "\n" not in certificate.sentence and len(certificate.sentence) < 200


# -- The twin


def chaos(seed: int) -> History:
    """Anything at all: small numbers, so that everything clashes with everything."""
    chance = random.Random(seed)
    groups: list[tuple[Any, ...]] = []
    values = chance.choice((6, 12, 40))
    for _ in range(chance.randint(2, 14)):
        process = chance.randrange(3)
        if chance.random() < 0.15:
            keys = chance.sample([KEY, "t-1"], chance.randint(0, 2))
            f = chance.choice(("assign", "subscribe", "crash"))
            groups.append((process, client(f, *keys, rewound=chance.choice((None, None, True)))))
            continue
        outcome = chance.choices((OK, FAIL, INDETERMINATE), (7, 1, 1))[0]
        parts = [
            part(chance, values, outcome) for _ in range(chance.choices((1, 2, 3), (6, 2, 1))[0])
        ]
        groups.append((process, *parts))
    return made(*groups)


def part(chance: random.Random, values: int, outcome: str) -> tuple[Any, ...]:
    more = {"key": chance.choice((KEY, KEY, "t-1")), "outcome": outcome}
    if chance.random() < 0.05:
        return ("earliest", None, chance.randrange(3), more)
    if chance.random() < 0.5:
        offset = chance.randrange(8) if outcome == OK and chance.random() < 0.8 else None
        return send(chance.randrange(values), offset, **more)
    begin = chance.randrange(6)
    records = [
        (max(0, begin + at + chance.choice((0, 0, 0, -1, 1))), chance.randrange(values))
        for at in range(chance.randrange(4))
    ]
    start = begin if chance.random() < 0.3 else None
    return poll(*records, start=start, **more)


def quick(history: History, subscribed: bool) -> Counter[Anomaly]:
    batch = from_history(history)
    order = version_order(batch)
    found: Counter[Anomaly] = Counter()
    for each in (*value_anomalies(batch, order), *move_anomalies(batch, order, subscribed)):
        for row in range(len(each.segment)):
            found[each.name, batch.label(int(each.segment[row])), details(each, row, batch)] += 1
    return found


def details(found: Finding, row: int, batch: Any) -> tuple[Any, ...]:
    offset, value = int(found.offset[row]), batch.value(int(found.value[row]))
    first, second = int(found.first[row]), int(found.second[row])
    match found.name:
        case "inconsistent-offsets":
            return (offset,)
        case "duplicate":
            return (value,)
        case "lost-write":
            return (first,)
        case "unseen" | "unread":
            return (second,)
        case "G1a" | "precommitted-read":
            return (second, offset, value)
    return (first, second)


def marked(history: History, producers: int) -> History:
    """The same, where all but every third append is of one of these producers."""
    told = [
        replace(each, mark=f"p{each.index % producers}" if each.index % 3 else None)
        if each.f == "append"
        else each
        for each in history.operations
    ]
    return replace(history, operations=tuple(told))


@pytest.mark.slow
def test_the_slow_twin_agrees() -> None:
    seen: Counter[str] = Counter()
    for seed in range(1500):
        history, subscribed = marked(chaos(seed), 2) if seed % 2 else chaos(seed), seed % 3 == 0
        try:
            found = quick(history, subscribed)
        except ValueError as error:
            assert "no operation on a log" in str(error)
            continue
        assert found == slow_anomalies(history, subscribed), seed
        seen.update(name for name, _, _ in found)
    assert set(seen) == {*JEPSEN, "unread"} and min(seen.values()) > 50, seen


def of_key(seed: int) -> LogBatch | None:
    """What was done to one partition; None: nothing."""
    history = chaos(seed)
    operations = tuple(each for each in history.operations if each.key == KEY)
    return from_history(replace(history, operations=operations)) if operations else None


def test_many_segments_are_judged_as_each_by_itself() -> None:
    batches = [batch for batch in map(of_key, range(300)) if batch is not None]
    expected = [judge(batch, gaps=True) for batch in batches]
    found = judge(together(*batches), gaps=True)
    levels = [int(levels_of(one).held[0]) for one in expected]
    assert levels_of(found).held.tolist() == levels and len(set(levels)) >= 5
    all_of, apart = anomalies_of(found), [anomalies_of(one) for one in expected]
    for name in NAMES:
        assert all_of.counts(name).tolist() == [int(one.counts(name)[0]) for one in apart]


@pytest.mark.slow
def test_every_rejection_has_an_anomaly() -> None:
    rejected = 0
    for seed in range(600):
        batch = of_key(seed)
        if batch is None:
            continue
        for gaps, at_least_once in ((False, False), (True, False), (False, True)):
            found = judge(batch, gaps=gaps, at_least_once=at_least_once)
            named = anomalies_of(found)
            if found.verdicts[0] == BROKEN:
                rejected += 1
                assert named.names, seed
            for name in named.names:
                for certificate in named.certificates(name, 0):
                    assert certificate.kind == name and len(certificate.operations) <= 2
    assert rejected > 500


@pytest.mark.parametrize("base", [0, 1 << 61])
def test_each_log_of_a_batch_has_its_own_places(base: int) -> None:
    """However large its offsets are: then places are counted, and not computed."""
    log = made(
        *((0, send(each, base + at)) for at, each in enumerate("abc")),
        (1, poll((base, "a"), start=base)),
        (2, poll((base + 1, "b"), (base + 2, "c"), start=base + 1)),
        (1, poll((base + 2, "c"), start=base + 1)),
    )
    found = anomalies_of(judge(together(*[from_history(log)] * 3), gaps=True))
    assert {name: found.counts(name).tolist() for name in found.names} == {"poll-skip": [1, 1, 1]}


# -- Numbers


@pytest.mark.parametrize(
    "pairs",
    [
        [],
        [(0, 5), (0, 5), (1, 5), (0, 4)],
        [(0, -7), (3, 1 << 40), (3, -7), (0, 1 << 40)],
        [(2, (1 << 62) - 1), (0, -(1 << 62)), (1, 0), (2, 0)],
    ],
)
def test_pairs_are_numbered_in_their_order(pairs: list[tuple[int, int]]) -> None:
    table = np.array(pairs, np.int64).reshape(-1, 2)
    numbers, first = numbered(table[:, 0], table[:, 1])
    distinct = sorted(set(pairs))
    assert [distinct[each] for each in numbers.tolist()] == pairs
    assert first.tolist() == [pairs.index(each) for each in distinct]
