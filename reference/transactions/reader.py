"""Read every partition from its beginning, as a consumer does (X17, X18).

It is the twin of TransactionReader.tla.

Law of this file: a handler is a pure function of the row and the input; what is decided is asked of
the rules.
"""

from __future__ import annotations

from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.protocol import Outcome
from kraftcheck.reference.transactions.messages import (
    READER_INPUTS,
    ConsumerFetch,
    Fetched,
    Isolation,
    Poll,
)
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import Constants, Read, Reader


def isolation(constants: Constants, r: int) -> Isolation:
    return "read_committed" if r in constants.read_committed else "read_uncommitted"


class ReaderHandlers:
    """The handlers, for one set of rules."""

    __slots__ = ("_constants", "_handlers", "rules")

    def __init__(self, rules: TransactionRules) -> None:
        self.rules = rules
        self._constants = rules.constants
        self._handlers = handlers_of(self, READER_INPUTS)

    def step(self, r: int, row: Reader, input: object) -> Outcome | None:
        outcome: Outcome | None = self._handlers[type(input)](r, row, input)
        return outcome

    def handle_poll(self, r: int, row: Reader, input: Poll) -> Outcome | None:
        p = input.partition
        offset = row.read[self._constants.partitions.index(p)].position
        return Outcome(row, (ConsumerFetch(r, p, offset, isolation(self._constants, r)),))

    def handle_fetched(self, r: int, row: Reader, m: Fetched) -> Outcome | None:
        """An answer that is not about what it reads next is one to an earlier request."""
        at = self._constants.partitions.index(m.source)
        known = row.read[at]
        if m.offset != known.position or not m.records:
            return None
        seen = [
            number
            for number, entry in enumerate(m.records, m.offset + 1)
            if entry.kind == "Batch" and not self.rules.is_dropped(m.aborted, number)
        ]
        now = Read(m.offset + len(m.records), (*known.shown, *seen))
        return Outcome(Reader((*row.read[:at], now, *row.read[at + 1 :])))
