"""What clients did, as it stands in a history (traces/schema.py, OPERATION)."""

from __future__ import annotations


class Operation:
    """One operation of a client, as it will stand in the history."""

    __slots__ = (
        *("completed", "end", "invoked", "node", "offset", "op", "outcome", "partition"),
        *("process", "values"),
    )

    def __init__(self, process: int, op: str, node: int, invoked: int, partition: int = 0) -> None:
        self.process = process
        self.op = op
        self.node = node
        self.partition = partition
        self.offset: int | None = None
        self.values: list[int] = []
        self.end: int | None = None
        self.invoked = invoked
        self.completed: int | None = None
        self.outcome = ""

    def fields(self) -> tuple[object, ...]:
        """As `traces.schema.OPERATION` orders them."""
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
