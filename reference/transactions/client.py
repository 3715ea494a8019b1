"""What an instance of the producer does: the twin of TransactionClient.tla (X32, X33, X37).

Law of this file: a handler is a pure function of the row and the input. A transaction writes at
most one batch to a partition; offsets it may send again, once it is answered. A producer that is
told an error does nothing more; it differs from one that waits in that no later answer reaches it,
so errors change nothing here, unless producers hear errors: then one notes those that no producer
survives when it ends a transaction (X36).
"""

from __future__ import annotations

from msgspec.structs import replace

from reference.kit.dispatch import handlers_of
from reference.kit.protocol import Outcome
from reference.transactions.messages import (
    COORDINATOR,
    PRODUCER_INPUTS,
    Abort,
    AddPartitions,
    Commit,
    Decision,
    Ended,
    EndRefused,
    EndTxn,
    Initialize,
    Initialized,
    InitProducerId,
    PartitionAdded,
    Produce,
    Produced,
    Retry,
    Send,
)
from reference.transactions.rules import TransactionRules
from reference.transactions.types import Client, Constants, initial_client


def produce(c: int, row: Client, p: int, sequence: int) -> Produce:
    return Produce(c, p, c, p, row.epoch, row.txn, sequence)


def add(c: int, row: Client, p: int) -> AddPartitions:
    return AddPartitions(c, COORDINATOR, c, p, row.epoch, 0)


def may_send_again(constants: Constants, row: Client, p: int) -> bool:
    return p in constants.offsets and p in row.acked


def end_of(c: int, row: Client) -> EndTxn:
    assert row.decision != "None", "asked of one that ends its transaction"
    return EndTxn(c, COORDINATOR, c, row.epoch, row.decision, row.txn)


class ClientHandlers:
    """The handlers, for one set of rules."""

    __slots__ = ("_constants", "_handlers", "_partitions", "rules")

    def __init__(self, rules: TransactionRules) -> None:
        self.rules = rules
        self._constants, self._partitions = rules.constants, rules.constants.partitions
        self._handlers = handlers_of(self, PRODUCER_INPUTS)

    def step(self, c: int, row: Client, input: object) -> Outcome | None:
        outcome: Outcome | None = self._handlers[type(input)](c, row, input)
        return outcome

    def handle_send(self, c: int, row: Client, input: Send) -> Outcome | None:
        """With version 1 the coordinator is asked before the batch is sent: once, as it answers the
        next time without a record (X9).
        """
        p = input.partition
        if row.status not in ("Ready", "Open"):
            return None
        if p in row.sent and not may_send_again(self._constants, row, p):
            return None
        sent = tuple(sorted({*row.sent, p}))
        acked = tuple([each for each in row.acked if each != p])
        open = replace(row, status="Open", txn=input.txn, sent=sent, acked=acked)
        if not self.rules.epoch_per_transaction and p not in row.added:
            return Outcome(open, (add(c, open, p),))
        return self._batched(c, open, p)

    def handle_partition_added(self, c: int, row: Client, m: PartitionAdded) -> Outcome | None:
        p = m.partition
        if row.status != "Open" or p not in row.sent or p in row.added:
            return None
        return self._batched(c, replace(row, added=tuple(sorted({*row.added, p}))), p)

    def handle_produced(self, c: int, row: Client, m: Produced) -> Outcome | None:
        """X33: of a copy nobody hears."""
        at = self._partitions.index(m.partition)
        if row.status != "Open" or m.txn != row.txn or m.sequence + 1 != row.sequences[at]:
            return None
        return Outcome(replace(row, acked=tuple(sorted({*row.acked, m.partition}))))

    def handle_commit(self, c: int, row: Client, input: Commit) -> Outcome | None:
        """Commit waits for every batch."""
        return self._ended(c, row, "Commit") if row.acked == row.sent else None

    def handle_abort(self, c: int, row: Client, input: Abort) -> Outcome | None:
        """Abort may come at any time."""
        return self._ended(c, row, "Abort")

    def _ended(self, c: int, row: Client, decision: Decision) -> Outcome | None:
        """Nothing is ended that the coordinator knows nothing of."""
        if row.status != "Open" or not (self.rules.epoch_per_transaction or row.added):
            return None
        after = replace(row, status="Ending", decision=decision)
        return Outcome(after, (end_of(c, after),))

    def handle_ended(self, c: int, row: Client, m: Ended) -> Outcome | None:
        if row.status != "Ending" or m.txn != row.txn:
            return None
        ready = replace(initial_client(self._constants, "Ready"), epoch=m.epoch)
        if not self.rules.epoch_per_transaction:
            ready = replace(ready, sequences=row.sequences)
        return Outcome(ready)

    def handle_end_refused(self, c: int, row: Client, m: EndRefused) -> Outcome | None:
        if row.status != "Ending" or m.txn != row.txn or not self._constants.hears_errors:
            return None
        fenced = m.error == "PRODUCER_FENCED"
        return Outcome(replace(row, status="Fenced" if fenced else "Failed"))

    def handle_retry(self, c: int, row: Client, input: Retry) -> Outcome | None:
        """X33."""
        if row.status == "Ending":
            return Outcome(row, (end_of(c, row),))
        if row.status != "Open":
            return None
        by_epoch = self.rules.epoch_per_transaction
        sequence = dict(zip(self._partitions, row.sequences, strict=True))
        batched = [p for p in (row.sent if by_epoch else row.added) if p not in row.acked]
        again = [produce(c, row, p, sequence[p] - 1) for p in batched]
        adds = [] if by_epoch else [add(c, row, p) for p in row.sent if p not in row.added]
        return Outcome(row, (*again, *adds)) if again or adds else None

    def handle_initialize(self, c: int, row: Client, input: Initialize) -> Outcome | None:
        """It asks for an epoch, and again as long as it has none."""
        if row.status not in ("Off", "Initializing"):
            return None
        after = initial_client(self._constants, "Initializing") if row.status == "Off" else row
        return Outcome(after, (InitProducerId(c, COORDINATOR, c),))

    def handle_initialized(self, c: int, row: Client, m: Initialized) -> Outcome | None:
        if row.status != "Initializing":
            return None
        return Outcome(replace(initial_client(self._constants, "Ready"), epoch=m.epoch))

    def _batched(self, c: int, row: Client, p: int) -> Outcome:
        at = self._partitions.index(p)
        sequences = (*row.sequences[:at], row.sequences[at] + 1, *row.sequences[at + 1 :])
        return Outcome(replace(row, sequences=sequences), (produce(c, row, p, row.sequences[at]),))
