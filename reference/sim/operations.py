"""What clients did, as it stands in a history (traces/schema.py, OPERATION)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Operation(msgspec.Struct, eq=False):
    """One operation of a client, as it will stand in the history."""

    process: int
    op: str
    node: int
    invoked: int
    partition: int = 0
    offset: int | None = None
    values: list[int] = []
    end: int | None = None
    completed: int | None = None
    outcome: str = ""

    def fields(self) -> tuple[object, ...]:
        """As `kraftcheck.traces.schema.OPERATION` orders them."""
        what = (
            self.process,
            self.partition,
            self.op,
            self.node,
            self.offset,
            self.values,
            self.end,
        )
        return (*what, self.invoked, self.completed, self.outcome)


def close(history: Iterable[Operation], now: int) -> None:
    """A run ends: what is open stays open, and a read that nobody answered had no effect."""
    for operation in history:
        if not operation.outcome:
            append = operation.op == "append"
            operation.outcome = "indeterminate" if append else "fail"
            operation.completed = None if append else now
