"""The partition's invariants, checked after every step at the price of what the step changed.

Law of this file: what the properties *are* is said once, in properties.py; here is only
when they need not be looked at. `PartitionChecker.after_step` enters the step in the history, asks
whether anything could have broken, and only then evaluates the properties themselves. So a
suspicion may be mistaken, at some cost in time; a missed violation is a defect, and tests compare
both ways of checking on random walks, with bugs and without.

A property of one row (`OF_ROWS`) or of the controller alone is itself evaluated, where it may have
changed. Numbers decide about the others. One step in four is entered, which takes 8 microseconds;
to evaluate all properties takes 98.

Most of what is promised compares logs with what is committed. So for each broker the checker keeps
`agrees`: how far its log is, record by record, the committed one (or deleted). With that at hand,
comparing two logs is comparing two numbers.

A checker presumes that every property that it judges held before the step: whoever checks runs
stops at the first violation. Properties that a run does not promise are left out by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from operator import attrgetter
from typing import Any, Final

from kraftcheck.reference.kit.log import cache_append
from kraftcheck.reference.kit.properties import Invariant
from kraftcheck.reference.partition.broker import BrokerHandlers
from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    Message,
    MetadataRecord,
    ProduceResponse,
)
from kraftcheck.reference.partition.properties import (
    OF_ROWS,
    PARTITION_INVARIANTS as PARTITION_INVARIANTS,
    PartitionHistory,
    PartitionState,
    Rows,
    acked_in,
    folded,
    initial_state,
    merged,
    values_of,
)
from kraftcheck.reference.partition.types import (
    GONE,
    INITIAL_OFFSET,
    NOBODY,
    UNDEFINED,
    BrokerRow,
    Image,
    PartitionConstants,
    RecordLog,
)

PARTITION_INVARIANT_NAMES: tuple[str, ...] = tuple(each.name for each in PARTITION_INVARIANTS)
_BY_NAME = {each.name: each for each in PARTITION_INVARIANTS}
OF_CONTROLLER: Final = frozenset(
    {
        *("ControllerTypeInv", "LeaderInIsr", "ValidControllerIsrAndElr"),
        *("ValidControllerState", "FencedNeverElected"),
    }
)
"""Those that look at nothing else."""


ANSWERS, SUSPICIOUS = 1, 2
"""What the checker must know of a step, as bits of `Step.notable`: a client is answered; a row is
such that a property may be broken."""


def partition_invariant(name: str) -> Invariant:
    return _BY_NAME[name]


def agreement(log: RecordLog, committed: RecordLog) -> int:
    """How many records, from offset 0 on, are those that are committed, or deleted."""
    end = min(len(log), len(committed))
    if log[:end] == committed[:end]:
        return end
    for offset in range(end):
        record = log[offset]
        if record != committed[offset] and record != GONE:
            return offset
    return end


class PartitionChecker:
    """Checks one run. The handlers are those of the run: they say what a client would be told."""

    __slots__ = (
        "_agrees",
        "_clear",
        "_committed_values",
        "_deletes",
        "_images",
        "_judged",
        "_min_isr",
        "_of_controller",
        "_unproven",
        "handlers",
        "history",
        "invariants",
        "settled",
    )

    def __init__(
        self,
        handlers: BrokerHandlers,
        names: Collection[str] | None = None,
        invariants: tuple[Invariant, ...] = PARTITION_INVARIANTS,
    ) -> None:
        """`names`: the properties that are judged, all of `invariants` by default."""
        unknown = set(names or ()) - set(PARTITION_INVARIANT_NAMES)
        assert not unknown, f"no invariants of the partition: {sorted(unknown)}"
        constants = handlers.constants
        self.handlers = handlers
        self.history = PartitionHistory()
        self.invariants = invariants
        self._judged = [e for e in invariants if names is None or e.name in names]
        self._of_controller = [e for e in invariants if e.name in OF_CONTROLLER]
        self._min_isr = constants.effective_min_isr
        self._agrees = dict.fromkeys(constants.brokers, 0)
        self._images: list[Image] = [handlers.initial.image]
        """The image after each committed metadata record."""
        self._clear = False
        """Whether nothing was suspicious after the last step that was entered."""
        self._deletes = False
        """Whether something that is committed is known to be deleted only."""
        self._committed_values: set[int] = set()
        self._unproven: set[int] = set()
        """Acked values that are not committed."""
        self.settled = True
        """Whether the last step committed and answered nothing: then a harmless step need not be
        entered at all."""

    # --- What a run asks for

    def __call__(
        self, step: Any, before: PartitionState, after: PartitionState
    ) -> tuple[Invariant, str] | None:
        """The first invariant that a step violates, and what is wrong (`World.judge`)."""
        node, noted = step.before.node, step.notable
        if node == CONTROLLER:
            broken = self.after_controller_step(before, after)
        else:
            sent = tuple([m.value for _, m in step.sent]) if noted & ANSWERS else ()
            broken = self.after_harmful_step(node, before, after, sent, bool(noted & SUSPICIOUS))
        if broken is None:
            return None
        return broken, str(broken.check(before, after, self.history, self.handlers))

    def judge_only(self, names: Collection[str]) -> None:
        """From now on no other property is judged: the run promises no more than these."""
        self._judged = [each for each in self.invariants if each.name in names]

    def after_step(
        self,
        node: int,
        before: PartitionState,
        after: PartitionState,
        sent: tuple[Message, ...],
    ) -> Invariant | None:
        """Enters a step of one node; the first invariant that it violates, or None.

        Only the row of `node` may differ between the two. What is wrong, in words, is
        `violated.check(before, after, history, handlers)`.
        """
        if node == CONTROLLER:
            return self.after_controller_step(before, after)
        old, new = before.rows[node], after.rows[node]
        # Before the step is entered: whether the step before it committed or answered nothing.
        constants = self.handlers.constants
        harmless = new is old or is_harmless(constants, node, old, new)
        if self.settled and harmless and not _acks(sent):
            return None
        suspicious = is_row_suspicious(constants, node, old, new)
        return self.after_harmful_step(node, before, after, sent, suspicious)

    def after_harmful_step(
        self,
        node: int,
        before: PartitionState,
        after: PartitionState,
        sent: tuple[Message, ...],
        suspicious: bool,
    ) -> Invariant | None:
        """The same for a step that has to be entered, of which `is_row_suspicious` is known."""
        old, new, history = before.rows[node], after.rows[node], self.history
        self._enter(node, old, new, sent if sent and _acks(sent) else ())
        alone = self._clear and history.committed is history.committed_before
        self._clear = not (
            suspicious
            or self.has_misread(old, new)
            or self._suspicious(after, (node,) if alone else after.rows)
        )
        return None if self._clear else self.first_violated(before, after)

    def after_controller_step(
        self, before: PartitionState, after: PartitionState
    ) -> Invariant | None:
        """The same for a step of the controller."""
        self.read(after.metadata)
        old, new = before.controller, after.controller
        self.history.committed_before = self.history.committed
        self.history.acked_before = self.history.acked
        self.settled = True
        if new.partition is old.partition and new.registrations is old.registrations:
            return None
        if new.partition == old.partition and new.registrations == old.registrations:
            return None
        asked = before, after, self.history, self.handlers
        self._clear = not (
            any(e.check(*asked) for e in self._of_controller) or self._suspicious(after, after.rows)
        )
        return None if self._clear else self.first_violated(before, after)

    def first_violated(self, before: PartitionState, after: PartitionState) -> Invariant | None:
        """Give the first property, in the order of the spec, that does not hold.

        Each is evaluated whole.
        """
        for each in self._judged:
            if each.check(before, after, self.history, self.handlers) is not None:
                return each
        return None

    # --- The history

    def _enter(self, node: int, old: BrokerRow, new: BrokerRow, sent: tuple[Message, ...]) -> None:
        """What `partition_properties.history_next` makes of a step of one broker, in place."""
        history = self.history
        history.committed_before = committed = history.committed
        history.acked_before = acked_before = history.acked
        if new.role == "Leader" and new.high_watermark > len(committed):
            history.committed = merged(new.log, committed, new.high_watermark)
            self._committed_values.update(r.value for r in history.committed[len(committed) :])
            self._agree_again(node, new)
        elif new.log is not old.log:
            self._agrees[node] = agreement(new.log, committed)
        if sent:
            acked = acked_in(sent)
            if not acked <= history.acked:
                history.acked |= acked
                self._unproven |= acked - self._committed_values
        if self._unproven:
            self._unproven -= self._committed_values
        self.settled = history.committed is committed and history.acked is acked_before

    def _agree_again(self, node: int, new: BrokerRow) -> None:
        """More is committed: what agreed so far may agree further.

        Only `node` is known here, so others are found again when they are asked for.
        """
        for broker in self._agrees:
            self._agrees[broker] = UNDEFINED
        self._agrees[node] = agreement(new.log, self.history.committed)

    def read(self, metadata: tuple[MetadataRecord, ...]) -> None:
        """These metadata records are committed."""
        brokers = self.handlers.constants.brokers
        for record in metadata[len(self._images) - 1 :]:
            self._images.append(folded(brokers, self._images[-1], (record,)))

    # --- Suspicions. False is a promise that nothing is violated.

    def has_misread(self, old: BrokerRow, new: BrokerRow) -> bool:
        """MetadataLogMatching, of a broker that is up."""
        if new.image is old.image or new.status == "Down":
            return False
        read = new.image.offset - INITIAL_OFFSET
        return read >= len(self._images) or new.image != self._images[read]

    def _suspicious(self, after: PartitionState, changed: Iterable[int]) -> bool:
        """What concerns several brokers, or what is committed.

        changed: the brokers whose rows have changed since nothing was suspicious; all of them, if
        more is committed.
        """
        history, rows, partition = self.history, after.rows, after.controller.partition
        committed = history.committed
        end = len(committed)
        if committed is not history.committed_before:
            if committed[: len(history.committed_before)] != history.committed_before:
                return True
            self._deletes |= GONE in committed[len(history.committed_before) :]
            if self._deletes:
                return True  # what is deleted agrees with anything, so that numbers say nothing
        if self._unproven:
            return True
        known = self._agrees
        for n, agrees in known.items():
            if agrees == UNDEFINED:
                known[n] = agreement(rows[n].log, committed)
        for n in changed:
            row, agrees = rows[n], known[n]
            if row.status == "Down":
                continue
            if row.high_watermark > agrees:
                return True
            visible = self.handlers.rules.visible_end(row)
            if visible > agrees and visible > row.log_start:  # ReadOnlyCommitted
                return True
            # Whoever agrees up to the end of what is committed holds all that leaders know.
            is_member = n in partition.isr or n in partition.elr
            if agrees < end and is_member and row.broker_epoch != UNDEFINED:
                return True
        for row in rows.values():
            if row.role == "Leader" and row.status != "Down" and self._members_lack(row, rows):
                return True
        holders = [*known.values()].count(end)
        """How many hold all that is committed."""
        if holders < (1 if history.acked is history.acked_before else self._min_isr):
            return True
        return self._leader_suspicious(after)

    def _members_lack(self, row: BrokerRow, rows: Rows) -> bool:
        """WeakIsr, of one leader."""
        position = self.handlers.position
        for r in row.isr:
            other = rows[r]
            if (
                other.broker_epoch == row.image.brokers[position[r]].epoch
                and other.status != "Down"
                and other.broker_epoch != UNDEFINED
                and self._agrees[r] < row.high_watermark
            ):
                return True
        return False

    def _leader_suspicious(self, after: PartitionState) -> bool:
        """Say whether a leader's step may break a property.

        PartitionLeaderCompleteness, ReplicationQuorumSuperset, MonotonicListOffsets,
        DeletedEverywhere.
        """
        partition = after.controller.partition
        leader = partition.leader
        if leader == NOBODY:
            return False
        row = after.rows[leader]
        if row.status == "Down":
            return False
        end = len(self.history.committed)
        if row.broker_epoch != UNDEFINED:
            if self._agrees[leader] < end:
                return True
            # A leader that has all records has all acked values, unless some are deleted.
            if row.log_start == 0 and row.log and row.log[0] == GONE:
                return True
        if row.role != "Leader" or row.leader_epoch != partition.leader_epoch:
            return False
        rules = self.handlers.rules
        if rules.visible_end(row) < end and rules.list_offsets_error(row) == "NONE":
            return True
        if 0 < row.log_start <= rules.low_watermark(row) and any(
            other.log_start < row.log_start for other in after.rows.values()
        ):
            return True
        if len(row.isr) >= self._min_isr and not (partition.isr == row.isr and not partition.elr):
            counted = row.isr
            if row.pending.kind == "Expand":
                counted = (*counted, *(member.broker for member in row.pending.isr))
            return not set(counted).issuperset((*partition.isr, *partition.elr))
        return False


def first_violation(run: Any) -> tuple[int, str, str] | None:
    """Give the first property that a recorded run breaks, promised or not.

    As (step, property, explanation), by the correct rules.
    """
    constants = run.result.constants
    checker, after = PartitionChecker(BrokerHandlers(constants)), initial_state(constants)
    for number, step in enumerate(run.steps):
        before, after = after, after.stepped(step.node, step.after, step.sent)
        broken = checker.after_step(step.node, before, after, step.sent)
        if broken is not None:
            wrong = broken.check(before, after, checker.history, checker.handlers)
            return number, broken.name, str(wrong)
    return None


def has_repeated(old: RecordLog, new: RecordLog) -> bool:
    """NoDuplicate: whether a log has a value twice, and had none before."""
    return _repeats(new) and not _repeats(old)


def is_row_suspicious(
    constants: PartitionConstants,
    n: int,
    old: BrokerRow,
    new: BrokerRow,
    repeated: Callable[[RecordLog, RecordLog], bool] = has_repeated,
) -> bool:
    """Say whether one broker's row alone may break a property.

    Those that are declared of a row, if it changed where they look, and MonotonicTrueHighWatermark.
    Of one step the same in all runs. repeated: `has_repeated`, or what says the same of long logs.
    """
    if new.role == old.role == "Leader" and new.high_watermark < old.high_watermark:
        return True
    for name, (check, looked_at) in OF_ROWS.items():
        if looked_at(new) == looked_at(old):
            continue
        if name == "NoDuplicate":
            wrong = repeated(old.log, new.log)
        elif name == "PartitionEpochCacheSound" and _cache_grew(old, new):
            continue
        else:
            wrong = check(n, new, constants.brokers) is not None
        if wrong:
            return True
    return False


def is_harmless(constants: PartitionConstants, n: int, old: BrokerRow, new: BrokerRow) -> bool:
    """Say whether nothing changed that a property of several brokers looks at, and the row is fine.

    These are requests in flight, what is flushed or checkpointed, what a leader knows of its
    followers.
    """
    return (
        _looked_at(new) == _looked_at(old)
        and (new.log_start == 0 or new.remotes is old.remotes)
        and OF_ROWS["PartitionRowTypeInv"].check(n, new, constants.brokers) is None
    )


_looked_at = attrgetter(
    *("log", "high_watermark", "role", "status", "isr", "pending", "image", "epoch_cache"),
    *("broker_epoch", "leader_epoch", "leader", "log_start", "epoch_start", "corrupt"),
)


def _acks(sent: tuple[Message, ...]) -> bool:
    return any(isinstance(m, ProduceResponse) for m in sent)


def _repeats(log: RecordLog) -> bool:
    values = values_of(log)
    return len(set(values)) < len(values)


def _cache_grew(old: BrokerRow, new: BrokerRow) -> bool:
    """Whether a cache that was sound follows its log, of which the beginning is what it was."""
    kept = len(old.log)
    if old.status == "Down" or new.log[:kept] != old.log:
        return False
    return new.epoch_cache == cache_append(old.epoch_cache, kept, new.log[kept:])
