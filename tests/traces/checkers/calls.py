"""Histories as tests write them: one line an operation, in any order."""

from __future__ import annotations

from typing import Any

import numpy as np

from kraftcheck.traces.checkers.assessment import Report
from kraftcheck.traces.checkers.check import check_history
from kraftcheck.traces.checkers.columns import UNKNOWN, Appends, LogBatch, Reads
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
    return tuple(
        Operation(
            **{name: getattr(each, name) for name in each.__struct_fields__}
            | {"index": at, "process": at, "group": at}
        )
        for at, each in enumerate(ordered)
    )


def history(*calls: Operation, model: str | None = None) -> History:
    return History(
        source="test",
        format="test",
        time_unit="event",
        operations=numbered(*calls),
        model=model,
    )


def together(*batches: LogBatch) -> LogBatch:
    """The segments of some batches as those of one."""
    appends, reads = [], []
    segment = records = session = 0
    values: list[Any] = []
    for each in batches:
        a, r = each.appends, each.reads
        appends.append(a._replace(segment=a.segment + segment, value=a.value + len(values)))
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
