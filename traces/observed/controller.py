"""Is every record of a real metadata log a step of our controller's rules?

The log says what was decided, not what was asked. So each change of a partition is explained by an
input that would have led to it: what happened to a broker, which the log tells by the record at
whose side the change stands (C6: fencing and an unclean registration write changes first and their
own record last; unfencing and controlled shutdown the other way round), or else a request of the
leader (AlterPartition) or an election. The handler of reference/partition/controller.py, given that
input, must decide exactly the same: leader, epochs, ISR, ELR, last known leader, recovery.

The other way round as well: when a broker comes or goes, no partition may lack the change that the
rules demand.

What cannot be judged is counted as such: heartbeats, sessions and refusals leave no record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kraftcheck.reference.partition.controller import PartitionControllerHandlers
from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    NOBODY,
    AlterPartitionRequest,
    ControllerInput,
    ElectLeaders,
    Member,
    Partition,
)
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import (
    UNDEFINED,
    ControllerRow,
    PartitionConstants,
    Registration,
)
from kraftcheck.traces.observed import moves
from kraftcheck.traces.observed.blocks import (
    FENCE,
    OFFLINE,
    REGISTER,
    STOP,
    UNFENCE,
    Block,
    blocks,
    broker_event,
)
from kraftcheck.traces.observed.directories import Directories
from kraftcheck.traces.observed.image import LISTS, NEVER, Image, Key, changed, moved
from kraftcheck.traces.observed.records import Record
from kraftcheck.traces.observed.verdicts import Finding
from kraftcheck.traces.observed.voters import Voters

MOVES = ("replicas", *LISTS)
"""Fields of a change that belong to reassignment (moves.py)."""

FIRST, RESTART = "first registration", "registration of a new process"
AFTER_KILL = "registration after an unclean stop that cost something"
AGAIN, REPEATED = "registration of the same process again", "fencing of one that is fenced"
FAILOVER = "new controller"
ALTER, PREFERRED, UNCLEAN = "AlterPartition", "preferred election", "unclean election"


@dataclass
class Report:
    """What came of a log."""

    records: int = 0
    steps: Counter[str] = field(default_factory=Counter)
    """Explained ones by what they are."""
    unjudged: Counter[str] = field(default_factory=Counter)
    """Records by kind."""
    findings: list[Finding] = field(default_factory=list)

    @property
    def judged(self) -> int:
        return sum(self.steps.values())


def judge(
    records: Sequence[Record],
    defaults: Mapping[str, str] | None = None,
    rules: type[PartitionRules] = PartitionRules,
) -> Report:
    """The whole log, from its beginning.

    defaults: settings of the brokers' files (min.insync.replicas and the like).
    """
    replay = _Replay(defaults, rules)
    for block in blocks(records):
        replay.take(block)
    replay.report.records = len(records)
    return replay.report


Rule = Callable[[PartitionControllerHandlers, ControllerRow], Partition]
"""What becomes of a partition when something happens to a broker."""


class _Replay:
    def __init__(self, defaults: Mapping[str, str] | None, rules: type[PartitionRules]) -> None:
        self.image = Image(defaults)
        self.report = Report()
        self.voters = Voters()
        self._directories = Directories()
        self._rules = rules
        self._known_handlers: dict[PartitionConstants, PartitionControllerHandlers] = {}

    def take(self, block: Block) -> None:
        if block.other is not None:
            self._other(block.other)
            return
        left: dict[Key, list[Record]] = {}
        for record in block.changes:
            left.setdefault((record.data["topicId"], record.data["partitionId"]), []).append(record)
        if block.opening is not None:
            self._open(block.opening, left)
        if block.closing is None:
            for key, changes in left.items():
                self._on_their_own(key, changes)
        elif block.closing.kind == REGISTER:
            self._register(block.closing, left)
        elif broker_event(block.closing) == OFFLINE:
            self._offline(block.closing, left)
        else:
            self._fence(block.closing, left)

    # -- What happens to brokers

    def _open(self, record: Record, left: dict[Key, list[Record]]) -> None:
        """Unfencing and the beginning of a controlled shutdown: changes come after."""
        b, what = _broker(record), str(broker_event(record))
        known = self._known(record, b)
        if known.fenced != (what == UNFENCE):
            self._find(record, f"broker {b}", f"{what}, and it was fenced: {known.fenced}")
        for key in self._with_replica(b):
            if self._directories.is_offline(key, b):
                continue
            handlers, row = self._handlers(key), self._row(key, record)
            after = handlers.after_unfencing if what == UNFENCE else handlers.after_fencing
            wanted = after(row, b)
            if wanted == row.partition:
                continue
            changes = left.get(key, [])
            if changes and changed(row.partition, changes[0].data) == wanted:
                self._accept(key, changes.pop(0), what)
            else:
                self._find(record, self._name(key), f"{what} of {b} asks for {_told(wanted)}")
        self.image.registrations[b] = msgspec.structs.replace(
            known, fenced=known.fenced and what != UNFENCE, stopping=known.stopping or what == STOP
        )
        self.report.steps[what] += 1

    def _fence(self, record: Record, left: dict[Key, list[Record]]) -> None:
        b = _broker(record)
        known = self._known(record, b)
        what = REPEATED if known.fenced else FENCE
        self._event(record, b, left, lambda handlers, row: handlers.after_fencing(row, b), what)
        self.image.registrations[b] = msgspec.structs.replace(known, fenced=True)
        self.report.steps[what] += 1

    def _offline(self, record: Record, left: dict[Key, list[Record]]) -> None:
        """R19: of what was in a directory that has failed, as if the broker were fenced."""
        b = _broker(record)
        self._known(record, b)
        for key, changes in left.items():  # which may be of earlier batches, and say where it is
            for change in changes:
                self._directories.note(key, change.data)
        had = {key for key in self._with_replica(b) if not self._directories.is_offline(key, b)}
        self._directories.online(b, record.data["logDirs"])
        gone = {key for key in had if self._directories.is_offline(key, b)}
        for key in left:
            if key not in gone:
                self._on_their_own(key, left[key])
        among = {key: left.get(key, []) for key in gone}
        self._event(
            record, b, among, lambda handlers, row: handlers.after_fencing(row, b), OFFLINE, gone
        )
        self.report.steps[OFFLINE] += 1

    def _register(self, record: Record, left: dict[Key, list[Record]]) -> None:
        """C2, C3. Whether the last stop was clean is not in the log: what fits was so."""
        b = _broker(record)
        known = self.image.registrations.get(b, NEVER)
        new = self.image.registration(record.data, record.offset)

        def unclean(handlers: PartitionControllerHandlers, row: ControllerRow) -> Partition:
            return handlers.after_unclean_restart(row, b)

        rule: Rule = _as_it_was
        what = RESTART
        if known.epoch == UNDEFINED:
            what = FIRST
        elif known.incarnation == new.incarnation:
            what = AGAIN
            if new.epoch != known.epoch:
                self._find(record, f"broker {b}", "the same process was given another epoch")
        elif new.epoch < record.offset or not self._all_follow(record, b, left, _as_it_was):
            # The epoch is where the registration's records begin: changes of its own stand before
            # it, though a leader could have asked for the same.
            what, rule = AFTER_KILL, unclean
        written = self._event(record, b, left, rule, what)
        if what != AGAIN and new.epoch != record.offset - written:
            begins = record.offset - written
            reason = f"its epoch is {new.epoch}, and its records begin at {begins}"
            self._find(record, f"broker {b}", reason)
        self.image.registrations[b] = new
        self._directories.online(b, record.data.get("logDirs") or ())
        self.report.steps[what] += 1

    def _event(
        self,
        record: Record,
        b: int,
        left: dict[Key, list[Record]],
        rule: Rule,
        what: str,
        among: Collection[Key] | None = None,
    ) -> int:
        """Update every partition, or those given, after something happened to b.

        Returns how many changes that made.
        """
        written = 0
        concerned = self._with_replica(b) if among is None else among
        for key in dict.fromkeys([*left, *concerned]):
            changes = left.get(key, [])
            own = self._own(key, changes, record, rule)
            if own is None:
                wanted = rule(self._handlers(key), self._row(key, record))
                self._find(record, self._name(key), f"{what} of {b} asks for {_told(wanted)}")
                own = len(changes)
            self._on_their_own(key, changes[:own])
            for change in changes[own:]:
                self._accept(key, change, what)
                written += 1
        return written

    def _all_follow(
        self, record: Record, b: int, left: dict[Key, list[Record]], rule: Rule
    ) -> bool:
        """Whether every change before the record is explained without it, or by the rule."""
        for key in self._with_replica(b):
            changes = left.get(key, [])
            own = self._own(key, changes, record, rule)
            if own is None or not self._explained(key, changes[:own]):
                return False
        return True

    def _own(self, key: Key, changes: list[Record], record: Record, rule: Rule) -> int | None:
        """How many of the changes are not the event's; None: they do not end as the rule asks."""
        if key not in self.image.partitions:
            return len(changes)
        handlers, row = self._handlers(key), self._row(key, record)
        for change in changes[:-1]:
            row = _moved(row, change)
        if changes:
            wanted = rule(handlers, row)
            after = _moved(row, changes[-1])
            if wanted == after.partition:
                return len(changes) - 1
            row = after
        return len(changes) if rule(handlers, row) == row.partition else None

    # -- Changes that somebody asked for

    def _on_their_own(self, key: Key, changes: Sequence[Record]) -> None:
        for change in changes:
            if key not in self.image.partitions:
                self._find(change, str(key), "a change of a partition that there is not")
            elif any(change.data.get(each) is not None for each in MOVES):
                self._reassign(key, change)
            elif {*change.data} == {"partitionId", "topicId", "directories"}:
                self.report.unjudged["directories"] += 1
                self._apply(key, change)
            else:
                what = self._why(key, change)
                if what is None:
                    wanted = changed(self.image.partitions[key].state, change.data)
                    self._find(change, self._name(key), f"nothing leads to {_told(wanted)}")
                self._accept(key, change, what)

    def _why(self, key: Key, change: Record) -> str | None:
        """What may have been asked."""
        handlers, row = self._handlers(key), self._row(key, change)
        wanted = changed(row.partition, change.data)
        for what, asked in _inputs(handlers.constants.brokers, row, wanted):
            outcome = handlers.step(row, asked)
            if outcome is not None and outcome.row.partition == wanted:
                return what
        return None

    def _explained(self, key: Key, changes: Sequence[Record]) -> bool:
        """Whether somebody may have asked for each of them. Nothing is noted."""
        observed = self.image.partitions[key]
        before = observed.state
        try:
            for change in changes:
                if self._why(key, change) is None:
                    return False
                observed.state = changed(observed.state, change.data)
        finally:
            observed.state = before
        return True

    def _reassign(self, key: Key, change: Record) -> None:
        observed = self.image.partitions[key]
        wanted, what = moved(observed.moving(), change.data), moves.why(self.image, key, change)
        if what is None:
            lists = f"replicas {list(wanted.replicas)}, adding {list(wanted.adding)}, removing "
            told = f"{lists}{list(wanted.removing)}, {_told(wanted)}"
            self._find(change, self._name(key), f"nothing leads to {told}")
        observed.replicas, observed.adding = wanted.replicas, wanted.adding
        observed.removing = wanted.removing
        self._accept(key, change, what)

    # -- Other records

    def _other(self, record: Record) -> None:
        image = self.image
        kinds: dict[str, Callable[[Mapping[str, Any]], None]] = {
            "TOPIC_RECORD": image.make_topic,
            "REMOVE_TOPIC_RECORD": image.remove_topic,
            "CONFIG_RECORD": image.configure,
            "CLEAR_ELR_RECORD": image.clear_elr,
        }
        if record.kind == "REMOVE_TOPIC_RECORD" and record.data["topicId"] not in image.topics:
            self._find(record, record.data["topicId"], "the deletion of a topic that there is not")
        if record.kind in kinds:
            kinds[record.kind](record.data)
        elif record.kind == "PARTITION_RECORD":
            self._created(record)
        elif record.kind == "FEATURE_LEVEL_RECORD":
            if record.data["name"] == "eligible.leader.replicas.version":
                image.elr = record.data["featureLevel"] > 0
        elif record.kind == "LEADER_CHANGE":
            self.report.steps[FAILOVER] += 1
            self.voters.led(record)
            return
        elif record.kind == "KRAFT_VOTERS":
            step, reason = self.voters.changed(record)
            if reason:
                self._find(record, "voters", reason)
            self.report.steps[step] += 1
            return
        self.report.unjudged[record.kind] += 1

    def _created(self, record: Record) -> None:
        """C9: a new partition is led by the first replica of its ISR, and that is who is active."""
        data = record.data
        self.image.make_partition(data)
        self._directories.note((data["topicId"], data["partitionId"]), data)
        replicas = tuple(data["replicas"])
        active = [b for b in replicas if self._is_active(b)]
        if data["isr"] != active or data["leader"] != active[0]:
            name = self._name((data["topicId"], data["partitionId"]))
            self._find(
                record, name, f"of {replicas}, {active} are active: {data['isr']} were taken"
            )

    # -- Small things

    def _is_active(self, b: int) -> bool:
        known = self.image.registrations.get(b, NEVER)
        return known.epoch >= 0 and not known.fenced and not known.stopping

    def _known(self, record: Record, b: int) -> Registration:
        """The registration that a broker's record speaks of (C4)."""
        known = self.image.registrations.get(b, NEVER)
        epoch = record.data.get("brokerEpoch", record.data.get("epoch"))
        if known.epoch != epoch:
            reason = f"a record for its epoch {epoch}, and it has {known.epoch}"
            self._find(record, f"broker {b}", reason)
        return known

    def _with_replica(self, b: int) -> list[Key]:
        return [key for key, each in self.image.partitions.items() if b in each.replicas]

    def _handlers(self, key: Key) -> PartitionControllerHandlers:
        constants = self.image.constants(key)
        if constants not in self._known_handlers:
            handlers = PartitionControllerHandlers(constants, self._rules(constants))
            self._known_handlers[constants] = handlers
        return self._known_handlers[constants]

    def _row(self, key: Key, record: Record) -> ControllerRow:
        """Who has the partition in a directory that has failed, counts as fenced."""
        row = self.image.row(key, record.offset)
        brokers = sorted(self.image.partitions[key].replicas)
        known = zip(brokers, row.registrations, strict=True)
        return msgspec.structs.replace(
            row,
            registrations=tuple(
                msgspec.structs.replace(of, fenced=True)
                if self._directories.is_offline(key, b)
                else of
                for b, of in known
            ),
        )

    def _accept(self, key: Key, change: Record, what: str | None) -> None:
        if what is not None:
            self.report.steps[f"change by {what}"] += 1
        self._apply(key, change)

    def _apply(self, key: Key, change: Record) -> None:
        observed = self.image.partitions[key]
        observed.state = changed(observed.state, change.data)
        self._directories.note(key, change.data)

    def _name(self, key: Key) -> str:
        return f"{self.image.topics.get(key[0], key[0])}-{key[1]}"

    def _find(self, record: Record, subject: str, reason: str) -> None:
        self.report.findings.append(Finding(record.offset, subject, reason))


def _as_it_was(_: PartitionControllerHandlers, row: ControllerRow) -> Partition:
    return row.partition


def _broker(record: Record) -> int:
    return int(record.data["brokerId"] if "brokerId" in record.data else record.data["id"])


def _moved(row: ControllerRow, change: Record) -> ControllerRow:
    return msgspec.structs.replace(row, partition=changed(row.partition, change.data))


def _inputs(
    brokers: tuple[int, ...], row: ControllerRow, wanted: Partition
) -> Iterator[tuple[str, ControllerInput]]:
    """What may have been asked, if `wanted` came of it."""
    old = row.partition
    epochs = {b: known.epoch for b, known in zip(brokers, row.registrations, strict=True)}
    if old.leader in epochs:
        asked = AlterPartitionRequest(
            source=old.leader,
            destination=CONTROLLER,
            broker_epoch=epochs[old.leader],
            leader_epoch=old.leader_epoch,
            partition_epoch=old.partition_epoch,
            isr=tuple(Member(b, epochs.get(b, UNDEFINED)) for b in wanted.isr),
            recovering=wanted.recovering,
        )
        yield ALTER, asked
    yield PREFERRED, ElectLeaders("PREFERRED")
    yield UNCLEAN, ElectLeaders("UNCLEAN")


def _told(partition: Partition) -> str:
    """A partition in words."""
    leader = "no leader" if partition.leader == NOBODY else f"leader {partition.leader}"
    known = f", last known {partition.last_known_leader}"
    return (
        f"{leader} in epoch {partition.leader_epoch}, ISR {list(partition.isr)}, "
        f"ELR {list(partition.elr)}{known if partition.last_known_leader != NOBODY else ''}"
        f"{', recovering' if partition.recovering else ''}"
    )
