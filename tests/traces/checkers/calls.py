"""Histories as tests write them: one line an operation, in any order."""

from __future__ import annotations

from typing import Any

from kraftcheck.traces.checkers.assessment import Report
from kraftcheck.traces.checkers.check import check_history
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


def check_what_was_read(history: History, **options: Any) -> Report:
    """As `check_history`, where consumers stopped before the end: most tests are about what they
    read, and test_hand_made.py about what they did not.
    """
    return check_history(history, **{"complete": False, **options})
