"""Histories as tests write them: one line an operation, in any order."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from msgspec.structs import replace

from kraftcheck.traces.checkers.assessment import Report
from kraftcheck.traces.checkers.certificates import certificate_of
from kraftcheck.traces.checkers.check import check_history
from kraftcheck.traces.checkers.columns import UNKNOWN, Appends, LogBatch, Reads, from_history
from kraftcheck.traces.checkers.log import MODEL, judge
from kraftcheck.traces.checkers.verdict import Verdict
from kraftcheck.traces.history import INDETERMINATE, OK, History, Operation


def call(
    f: str, began: int, ended: int | None, argument: Any = None, result: Any = None, /, **more: Any
) -> Operation:
    """An operation of a process of its own; `ended` None: nobody knows what became of it."""
    fields: dict[str, Any] = {"index": 0, "process": 0, "group": 0}
    fields |= {"outcome": INDETERMINATE if ended is None else OK}
    fields |= {"argument": argument, "result": result}
    return Operation(f=f, invoked=began, completed=ended, **fields | more)


def numbered(*calls: Operation) -> tuple[Operation, ...]:
    """In order of invocation, with their numbers."""
    ordered = sorted(calls, key=lambda each: each.invoked)
    return tuple(replace(each, index=at, process=at, group=at) for at, each in enumerate(ordered))


def whole(
    operations: Iterable[Operation],
    *,
    source: str = "made",
    time_unit: str = "event",
    model: str | None = "partition-log",
    **more: Any,
) -> History:
    """A history of these operations, in this order."""
    told: dict[str, Any] = {"source": source, "time_unit": time_unit, "model": model, **more}
    return History(format="made", operations=tuple(operations), **told)


def history(*calls: Operation, model: str | None = None) -> History:
    return whole(numbered(*calls), model=model)


def tally(compare: Callable[[int], str]) -> None:
    """Compare many worlds, as the command line says, and print how often each thing came of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("histories", type=int)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    begin = asked.seed * 1_000_000
    found = Counter(compare(begin + at) for at in range(asked.histories))
    sys.stdout.write("".join(f"{name:<16} {times:>9,}\n" for name, times in sorted(found.items())))


def check_log(history: History, at_least_once: bool = False, gaps: bool = False) -> list[Verdict]:
    """A verdict of the scans for each topic-partition, in order of first appearance."""
    found = judge(from_history(history), at_least_once=at_least_once, gaps=gaps)
    return [
        Verdict(
            verdict=found.verdict(segment),
            model=MODEL,
            key=found.batch.label(segment),
            certificate=certificate_of(found, segment),
            reason=found.reason(segment),
        )
        for segment in range(found.batch.segments)
    ]


def together(*batches: LogBatch) -> LogBatch:
    """The segments of some batches as those of one."""
    appends, reads = [], []
    segment = records = session = 0
    values: list[Any] = []
    for each in batches:
        a, r = each.appends, each.reads
        producer = a.process if a.producer is None else a.producer
        appends.append(
            a._replace(segment=a.segment + segment, value=a.value + len(values), producer=producer)
        )
        reads.append(
            r._replace(
                segment=r.segment + segment,
                session=r.session + session,
                splits=r.splits[:-1] + records,
                values=r.values + len(values),
                to=np.full(len(r.segment), UNKNOWN) if r.to is None else r.to,
            )
        )
        segment += each.segments
        session += 1 + int(r.session.max(initial=0))
        records += len(r.offsets)
        values += each.values
    joined = Reads._make(map(np.concatenate, zip(*reads, strict=True)))
    return LogBatch(
        segment,
        np.concatenate([each.operations for each in batches]),
        Appends._make(map(np.concatenate, zip(*appends, strict=True))),
        joined._replace(
            splits=np.append(joined.splits, records),
            to=None if joined.to is None or (joined.to == UNKNOWN).all() else joined.to,
        ),
        tuple(label for each in batches for label in each.labels),
        tuple(values),
    )


def check_what_was_read(history: History, **options: Any) -> Report:
    """As `check_history`, where consumers stopped before the end: most tests are about what they
    read, and test_hand_made.py about what they did not.
    """
    return check_history(history, **{"complete": False, **options})
