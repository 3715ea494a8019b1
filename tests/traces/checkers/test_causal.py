"""Causal consistency of registers, against its definition; and the session guarantees by name."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import permutations

import pytest

from kraftcheck import check
from kraftcheck.traces.checkers import causal
from kraftcheck.traces.checkers.causal import ANOMALIES, Undecided, violations
from kraftcheck.traces.history import INDETERMINATE, OK, History, Operation
from tests.traces.checkers.calls import whole

DRAWN = 5_000


def made(text: str) -> History:
    """`0w x1` is a write of 1 to x by process 0, `1r x-` a read of nothing by process 1."""
    operations = []
    for at, (head, place) in enumerate(each.split() for each in text.split(";")):
        key, value = place[0], None if place[1:] == "-" else int(place[1:])
        is_read = head[1] == "r"
        operations.append(
            Operation(
                index=at,
                group=at,
                process=int(head[0]),
                f="read" if is_read else "write",
                key=key,
                argument=None if is_read else value,
                result=value if is_read else None,
                invoked=2 * at,
                completed=2 * at + 1,
                outcome=INDETERMINATE if head[2:] == "?" else OK,
            )
        )
    return whole(operations, model="register")


PLANTED = {
    "phantom": "0w x1; 1r x2",
    "causal-cycle": "0r x1; 0w y1; 1r y1; 1w x1",
    "read-your-writes": "0w x1; 0w x2; 0r x1",
    "monotonic-reads": "0w x1; 0w x2; 1r x2; 1r x1",
    "monotonic-writes": "0w z1; 0w x1; 0w y1; 1r y1; 1r x-",
    "writes-follow-reads": "0w x1; 2r x1; 2w y1; 1r y1; 1r x-",
}


@pytest.mark.parametrize("name", ANOMALIES)
def test_each_anomaly_is_found(name: str) -> None:
    assert [each.kind for each in violations(made(PLANTED[name]))] == [name]


@pytest.mark.parametrize(
    "text",
    [
        "0w x1; 1w x2; 2r x1; 2r x2; 3r x2; 3r x1",  # concurrent writes, in two orders
        "0w x1; 1r x-; 1r x1",
        "0w? x1; 1r x1; 1r x1",
    ],
)
def test_what_causality_allows(text: str) -> None:
    assert violations(made(text)) == []


@pytest.mark.parametrize("text", ["0w x1", "0w x1; 1w x1; 1r x1"])
def test_what_cannot_be_said_is_said(text: str) -> None:
    with pytest.raises(Undecided):
        violations(made(text))


def test_too_many_processes_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causal, "CLOCKS_MAX", 3)
    with pytest.raises(Undecided, match="too many"):
        violations(made("0w x1; 1r x1"))


def test_the_command_has_it() -> None:
    told = [
        {"process": 0, "type": kind, "f": f, "value": value}
        for f, value in (("write", 1), ("write", 2), ("read", 1))
        for kind in ("invoke", "ok")
    ]
    found = check(told, level="causal")
    assert found.verdict == "violated"
    assert [each.name for each in found.anomalies] == ["read-your-writes"]
    assert check(told[:-2], level="causal").verdict == "unknown"


# -- The definition


def _drawn(seed: int) -> History:
    dice = random.Random(seed)
    written: dict[str, list[int]] = {"x": [], "y": []}
    words = []
    for number in range(dice.randint(2, 6)):
        key, process = dice.choice("xxy"), dice.randrange(3)
        if dice.random() < 0.5:
            written[key].append(number)
            words.append(f"{process}w {key}{number}")
        else:
            words.append(f"{process}r {key}?")
    values = {key: ["-", *map(str, some)] for key, some in written.items()}
    told = [word.replace("?", dice.choice(values[word[3]])) for word in words]
    return made("; ".join(told))


def _is_causal(history: History) -> bool:
    """For each read, some order of what is before it that keeps causality and explains it."""
    operations = history.operations
    before = {
        (one.index, other.index)
        for one in operations
        for other in operations
        if (one.process == other.process and one.index < other.index)
        or (one.f == "write" and other.f == "read" and _reads(other, one))
    }
    for middle in range(len(operations)):
        before |= {
            (one, other)
            for one in range(len(operations))
            for other in range(len(operations))
            if (one, middle) in before and (middle, other) in before
        }
    if any((each.index, each.index) in before for each in operations):
        return False
    for read in operations:
        if read.f == "read":
            past = [
                each
                for each in operations
                if each.f == "write" and each.key == read.key and (each.index, read.index) in before
            ]
            if not any(_explains(order, read, before) for order in permutations(past)):
                return False
    return True


def _reads(read: Operation, write: Operation) -> bool:
    return read.key == write.key and read.result == write.argument


def _explains(order: Sequence[Operation], read: Operation, before: set[tuple[int, int]]) -> bool:
    keeps = all(
        (later.index, earlier.index) not in before
        for at, earlier in enumerate(order)
        for later in order[at + 1 :]
    )
    return keeps and (order[-1].argument if order else None) == read.result


def test_it_agrees_with_the_definition() -> None:
    counted: Counter[bool] = Counter()
    for seed in range(DRAWN):
        history = _drawn(seed)
        if all(each.f == "write" for each in history.operations):
            continue
        expected = _is_causal(history)
        assert (not violations(history)) == expected, seed
        counted[expected] += 1
    assert min(counted.values()) > 500
