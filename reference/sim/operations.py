"""What clients did, as it stands in a history (traces/schema.py, OPERATION)."""

from __future__ import annotations

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
