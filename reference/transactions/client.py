"""What an instance of the producer does: the twin of TransactionClient.tla (X32, X33, X37).

Law of this file: a handler is a pure function of the row and the input. A transaction writes at
most one batch to a partition; offsets it may send again, once it is answered. A producer that is
told an error does nothing more; it differs from one that waits in that no later answer reaches it,
so errors change nothing here, unless producers hear errors: then one notes those that no producer
survives when it ends a transaction (X36); or recover: then one hears them all, gives batches up,
and goes on where it can.
"""

from __future__ import annotations

from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.protocol import Outcome
from kraftcheck.reference.transactions.messages import (
    COORDINATOR,
    PRODUCER_INPUTS,
    Abort,
    AddPartitions,
    Bumped,
    BumpEpoch,
    Commit,
    Decision,
    Ended,
    EndRefused,
    EndTxn,
    GiveUp,
    Initialize,
    Initialized,
    InitProducerId,
    PartitionAdded,
    Produce,
    Produced,
    Refused,
    Retry,
    Send,
    SendMore,
)
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import Client, Constants, Status, initial_client


def produce(c: int, row: Client, p: int, sequence: int) -> Produce:
    return Produce(c, p, c, p, row.epoch, row.txn, sequence)


def add(c: int, row: Client, p: int) -> AddPartitions:
    return AddPartitions(c, COORDINATOR, c, p, row.epoch, 0)


def bump(c: int, row: Client) -> BumpEpoch:
    return BumpEpoch(c, COORDINATOR, c, row.epoch)


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
        """Send a batch; with version 1 ask the coordinator before.

        It is asked once, as it answers the next time without a record (X9).
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

    def handle_send_more(self, c: int, row: Client, input: SendMore) -> Outcome | None:
        """A further batch, whatever has become of those before it."""
        p = input.partition
        if row.status != "Open" or p not in row.sent or p in self._constants.offsets:
            return None
        if not self.rules.epoch_per_transaction and p not in row.added:
            return None
        acked = tuple([each for each in row.acked if each != p])
        return self._batched(c, replace(row, acked=acked), p)

    def handle_partition_added(self, c: int, row: Client, m: PartitionAdded) -> Outcome | None:
        p = m.partition
        if row.status != "Open" or p not in row.sent or p in row.added:
            return None
        return self._batched(c, replace(row, added=tuple(sorted({*row.added, p}))), p)

    def handle_produced(self, c: int, row: Client, m: Produced) -> Outcome | None:
        """X33: of a copy nobody hears. The answer to the last batch tells of those before it."""
        at = self._partitions.index(m.partition)
        if row.status != "Open" or m.txn != row.txn or m.sequence + 1 != row.sequences[at]:
            return None
        return Outcome(replace(row, acked=tuple(sorted({*row.acked, m.partition}))))

    def handle_commit(self, c: int, row: Client, input: Commit) -> Outcome | None:
        """Commit waits for every batch."""
        return self._ended(c, row, "Commit") if self.rules.may_commit(row) else None

    def handle_abort(self, c: int, row: Client, input: Abort) -> Outcome | None:
        return self._ended(c, row, "Abort") if self.rules.may_abort(row) else None

    def _ended(self, c: int, row: Client, decision: Decision) -> Outcome | None:
        """Nothing is ended that the coordinator knows nothing of."""
        by_epoch = self.rules.epoch_per_transaction
        survives = row.status == "Abortable" and decision == "Abort" and not by_epoch
        if row.status in ("Open", "Abortable") and (by_epoch or row.added):
            status: Status = "Recovering" if survives else "Ending"
            after = replace(row, status=status, decision=decision)
            return Outcome(after, (end_of(c, after),))
        return self._recovered(c, row) if survives else None

    def handle_ended(self, c: int, row: Client, m: Ended) -> Outcome | None:
        if m.txn != row.txn:
            return None
        if row.status == "Recovering":
            return self._recovered(c, row)
        return Outcome(self._restarted(row, m.epoch)) if row.status == "Ending" else None

    def _restarted(self, row: Client, epoch: int) -> Client:
        """It has an epoch, and nothing else."""
        ready = replace(initial_client(self._constants, "Ready"), epoch=epoch)
        if self.rules.epoch_per_transaction:
            return ready
        return replace(ready, sequences=row.sequences)

    def _recovered(self, c: int, row: Client) -> Outcome:
        """Of version 1: its transaction was aborted after an error."""
        if not self.rules.bumps_epoch():
            return Outcome(self._restarted(row, row.epoch))
        after = replace(initial_client(self._constants, "Bumping"), epoch=row.epoch)
        return Outcome(after, (bump(c, after),))

    def handle_bumped(self, c: int, row: Client, m: Bumped) -> Outcome | None:
        if row.status != "Bumping" or m.was != row.epoch:
            return None
        return Outcome(replace(initial_client(self._constants, "Ready"), epoch=m.epoch))

    def handle_refused(self, c: int, row: Client, m: Refused) -> Outcome | None:
        after = self._after_error(row, m)
        if after == "Retry" or not self._constants.recovers:
            return None
        # What is not "Retry" is a status.
        return Outcome(replace(row, status=after))

    def _after_error(self, row: Client, m: Refused) -> str:
        """What an error makes of the one who asked; nothing, if it has its answer."""
        asked, rules = m.request, self.rules
        match asked:
            case InitProducerId() if row.status == "Initializing":
                return rules.after_init_error(m.error)
            case BumpEpoch() if row.status == "Bumping" and asked.epoch == row.epoch:
                return rules.after_init_error(m.error)
            case EndTxn() if row.status in ("Ending", "Recovering") and asked.txn == row.txn:
                return rules.after_end_error(asked.decision, m.error)
            case AddPartitions() if row.status == "Open" and asked.epoch == row.epoch:
                p = asked.partition
                waits = p in row.sent and p not in row.added
                of_offsets = p in self._constants.offsets
                return rules.after_add_error(of_offsets, m.error) if waits else "Retry"
            case Produce() if row.status == "Open" and asked.txn == row.txn:
                p = asked.partition
                waits = p in row.sent and p not in row.acked
                if not waits or asked.sequence + 1 != row.sequences[self._partitions.index(p)]:
                    return "Retry"
                if p in self._constants.offsets:
                    return rules.after_offsets_error(m.error)
                return rules.after_batch_error(m.error)
        return "Retry"

    def handle_give_up(self, c: int, row: Client, input: GiveUp) -> Outcome | None:
        """X36.

        Offsets are refused by their group, which has another generation (KIP-447). A copy may
        arrive yet.
        """
        p, rules = input.partition, self.rules
        after = rules.after_batch_error("TIMED_OUT")
        if p in self._constants.offsets:
            after = rules.after_offsets_error("ILLEGAL_GENERATION")
        waits = p in row.sent and p not in row.acked
        if not self._constants.recovers or after == "Retry" or row.status != "Open" or not waits:
            return None
        return Outcome(replace(row, status=after))

    def handle_end_refused(self, c: int, row: Client, m: EndRefused) -> Outcome | None:
        if row.status != "Ending" or m.txn != row.txn or not self._constants.hears_errors:
            return None
        fenced = m.error == "PRODUCER_FENCED"
        return Outcome(replace(row, status="Fenced" if fenced else "Failed"))

    def handle_retry(self, c: int, row: Client, input: Retry) -> Outcome | None:
        """X33.

        Of several batches of a transaction in a partition, as nobody has noted which were answered,
        all; with version 1 the last one.
        """
        if row.status in ("Ending", "Recovering"):
            return Outcome(row, (end_of(c, row),))
        if row.status == "Bumping":
            return Outcome(row, (bump(c, row),))
        if row.status != "Open":
            return None
        by_epoch = self.rules.epoch_per_transaction
        sequence = dict(zip(self._partitions, row.sequences, strict=True))
        batched = [p for p in (row.sent if by_epoch else row.added) if p not in row.acked]
        several = [p for p in batched if by_epoch and p not in self._constants.offsets]
        first = {p: 0 if p in several else sequence[p] - 1 for p in batched}
        again = [produce(c, row, p, each) for p in batched for each in range(first[p], sequence[p])]
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
