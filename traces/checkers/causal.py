"""Registers: are all answers causally consistent? And which session guarantee is broken, if not?

Operations are ordered by *causality*: those of one process in their order, a read after the write
that it returned, and what follows from both. Where each value is written once, a history is
causally consistent if and only if it has none of these [Bouajjani, Enea, Guerraoui, Hamza: On
Verifying Causal Consistency, POPL 2017, theorem 4, bad patterns of CC]:

    phantom         a read returned what nobody wrote
    causal-cycle    causality is a cycle
    an overwritten read: it returned w1, and before it (by causality) stands a w2 of the same
    register, before which w1 stands. The initial value stands before every write.

An overwritten read bears the name of the session guarantee of Terry et al. (PDIS 1994) that the
reader misses: `read-your-writes` (w2 is its own), `monotonic-reads` (it had read a newer one
before), `monotonic-writes` (it had read a later write of w2's process), `writes-follow-reads` (any
other way to know of w2). Causal consistency is the four together.

Each operation has a vector clock: of each process, how many of its operations stand before. So time
and memory are operations times processes, and beyond CLOCKS_MAX the verdict is unknown.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from kraftcheck.traces.checkers.verdict import Certificate, shown
from kraftcheck.traces.history import FAIL, OK, History, Operation

CLOCKS_MAX: Final = 100_000_000
"""Operations times processes: 400 MB of clocks."""
ANOMALIES: Final = {
    "phantom": "a value was read that nobody wrote",
    "causal-cycle": "an operation is the cause of itself",
    "read-your-writes": "a process missed what it had written itself",
    "monotonic-reads": "a process read an older version than before",
    "monotonic-writes": "a process saw a write and missed an earlier one of the same process",
    "writes-follow-reads": "a process saw a write and missed one that its writer had seen",
}
"""By name, what each is."""
Clocks = npt.NDArray[np.int32]


class Undecided(Exception):
    """Why nothing can be said."""


class _Ops(NamedTuple):
    """What is judged."""

    all: list[Operation]
    rows: list[list[int]]
    """Of each process, its operations in their order."""
    place: list[tuple[int, int]]
    """Of each operation, its process and how many of that stand before it."""
    source: dict[int, int]
    """Of a read, the operation that wrote its value; -1: the initial value."""


def violations(history: History, initial: Any = None) -> list[Certificate]:
    """Return everything that contradicts causal consistency.

    Args:
        history: of a key-value store or register.
        initial: the first value.

    Returns:
        Certificates whose `kind` is one of ANOMALIES.

    Raises:
        Undecided: values are not unique, nothing was read, or there are too many processes.
    """
    operations = [
        each
        for each in history.operations
        if each.outcome == OK or (each.f == "write" and each.outcome != FAIL)
    ]
    reads = [each for each in operations if each.f == "read"]
    if not reads:
        raise Undecided("nobody read")
    writers = _writers(operations, initial)
    found: list[Certificate] = []
    source: dict[int, int] = {}
    for at, each in enumerate(operations):
        if each.f != "read" or each.result == initial:
            continue
        writer = writers.get((each.key, each.result))
        if writer is None:
            said = f"operation {each.index} read {shown(each.result)}, which nobody wrote"
            found.append(_certificate("phantom", (each,), said))
        else:
            source[at] = writer
    if found:
        return found
    ops = _placed(operations, source)
    clocks = _clocks(ops)
    if clocks is None:
        said = "reads and the order within processes are a cycle"
        return [Certificate(operations=_some_cycle(ops), kind="causal-cycle", sentence=said)]
    return list(_overwritten(ops, clocks))


def _certificate(kind: str, operations: Sequence[Operation], sentence: str) -> Certificate:
    return Certificate(
        operations=tuple(each.index for each in operations),
        kind=kind,
        sentence=sentence,
        key=operations[-1].key,
    )


def _writers(operations: Sequence[Operation], initial: Any) -> dict[tuple[str | None, Any], int]:
    found: dict[tuple[str | None, Any], int] = {}
    for at, each in enumerate(operations):
        if each.f != "write":
            continue
        version = each.key, each.argument
        if version in found or each.argument == initial:
            what = f"{shown(each.argument)} was written twice, or is the initial value"
            raise Undecided(f"{what}: reads of it have no one writer")
        found[version] = at
    return found


def _placed(operations: list[Operation], source: dict[int, int]) -> _Ops:
    rows: dict[int, list[int]] = {}
    place = []
    numbers: dict[int, int] = {}
    for at, each in enumerate(operations):
        row = rows.setdefault(each.process, [])
        place.append((numbers.setdefault(each.process, len(numbers)), len(row)))
        row.append(at)
    if len(operations) * len(rows) > CLOCKS_MAX:
        raise Undecided(f"{len(operations):,} operations of {len(rows):,} processes are too many")
    return _Ops(operations, list(rows.values()), place, source)


def _clocks(ops: _Ops) -> Clocks | None:
    """Count for each operation how many of each process stand before it, itself included.

    None: there is a cycle.
    """
    clocks = np.zeros((len(ops.all), len(ops.rows)), np.int32)
    done = [False] * len(ops.all)
    next_of = [0] * len(ops.rows)
    blocked: dict[int, list[int]] = {}
    ready = list(range(len(ops.rows)))
    left = len(ops.all)
    while ready:
        process = ready.pop()
        row = ops.rows[process]
        while next_of[process] < len(row):
            at = row[next_of[process]]
            writer = ops.source.get(at)
            if writer is not None and not done[writer]:
                blocked.setdefault(writer, []).append(process)
                break
            clock = clocks[at]
            if next_of[process]:
                clock[:] = clocks[row[next_of[process] - 1]]
            if writer is not None:
                np.maximum(clock, clocks[writer], out=clock)
            next_of[process] += 1
            clock[process] = next_of[process]
            done[at] = True
            left -= 1
            ready += blocked.pop(at, [])
    return None if left else clocks


def _some_cycle(ops: _Ops) -> tuple[int, ...]:
    """Give the operations of a cycle.

    It goes from a read back to its write, and on to the earlier read of that process that is on a
    cycle too.
    """
    seen: dict[int, int] = {}
    path: list[int] = []
    stuck = _stuck(ops)
    at = min(stuck)
    while at not in seen:
        seen[at] = len(path)
        path.append(at)
        writer = ops.source[at]
        process, number = ops.place[writer]
        at = next(read for read in ops.rows[process][:number] if read in stuck)
    return tuple(ops.all[each].index for each in path[seen[at] :])


def _stuck(ops: _Ops) -> set[int]:
    """The first read of each process that waits for ever."""
    reached = [0] * len(ops.rows)
    moved = True
    while moved:
        moved = False
        for process, row in enumerate(ops.rows):
            while reached[process] < len(row):
                writer = ops.source.get(row[reached[process]])
                if writer is not None and ops.place[writer][1] >= reached[ops.place[writer][0]]:
                    break
                reached[process] += 1
                moved = True
    return {row[n] for row, n in zip(ops.rows, reached, strict=True) if n < len(row)}


def _overwritten(ops: _Ops, clocks: Clocks) -> Iterator[Certificate]:
    # Of each register and process, its writes: how many of the process' operations there are up to
    # each, and which it is.
    writes: dict[str | None, dict[int, tuple[list[int], list[int]]]] = {}
    for at, each in enumerate(ops.all):
        if each.f == "write":
            process, number = ops.place[at]
            counts, which = writes.setdefault(each.key, {}).setdefault(process, ([], []))
            counts.append(number + 1)
            which.append(at)
    for at, each in enumerate(ops.all):
        if each.f != "read":
            continue
        source = ops.source.get(at, -1)
        for process, (counts, which) in writes.get(each.key, {}).items():
            known = bisect_right(counts, int(clocks[at, process]))
            if not known:
                continue
            newer = which[known - 1]
            if newer != source and _before(ops, clocks, source, newer):
                yield _named(ops, clocks, at, source, newer)
                break


def _before(ops: _Ops, clocks: Clocks, one: int, other: int) -> bool:
    """Whether an operation stands before another one; -1 stands before all."""
    if one < 0:
        return True
    process, number = ops.place[one]
    return one != other and bool(clocks[other, process] > number)


def _named(ops: _Ops, clocks: Clocks, at: int, source: int, newer: int) -> Certificate:
    each, write = ops.all[at], ops.all[newer]
    process, number = ops.place[at]
    earlier = [read for read in ops.rows[process][:number] if ops.all[read].f == "read"]
    kind = "writes-follow-reads"
    through: Operation | None = None
    if ops.place[newer][0] == process:
        kind = "read-your-writes"
    else:
        for read in reversed(earlier):
            writer = ops.source.get(read, -1)
            if writer < 0:
                continue
            same = ops.all[read].key == each.key
            if same and writer != source and _before(ops, clocks, source, writer):
                kind, through = "monotonic-reads", ops.all[read]
                break
            if ops.place[writer][0] == ops.place[newer][0] and ops.place[writer] > ops.place[newer]:
                kind, through = "monotonic-writes", ops.all[read]
    seen = "nothing" if source < 0 else f"{shown(each.result)} (operation {ops.all[source].index})"
    said = f"operation {each.index} read {seen}, though {shown(write.argument)} (operation "
    said += f"{write.index}) is newer, and its process knew of that"
    said += "" if through is None else f" from operation {through.index}"
    named = [write, each] if through is None else [write, through, each]
    return _certificate(kind, named, said)
