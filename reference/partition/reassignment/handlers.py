"""The controller of a topic whose partitions move: the twin of Reassignments.tla.

Law of this file: a handler sees the controller's row and one input, and answers with the one
outcome that the spec allows, or with None where the spec allows none (the input is disabled). Every
decision is asked of `rules`; who leads under one list of replicas is chosen by the handlers of a
partition under that list.

Brokers are inputs of the controller: what they ask, and that they are silent. Every step is
committed at once; what is answered is the reason for which an input was ignored.

Left out: names of topics and all of their configurations but min.insync.replicas, which a leader
knows as soon as it is set; racks and the choice of the placer (R9), moves between directories
(R21), the brokers' part of R6, R13, R18, R20 and R22.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.fields import put
from kraftcheck.reference.kit.log import UNDEFINED
from kraftcheck.reference.kit.protocol import Outcome, Substitution, correct
from kraftcheck.reference.partition.controller import PartitionControllerHandlers
from kraftcheck.reference.partition.messages import Election
from kraftcheck.reference.partition.reassignment.messages import (
    INPUTS,
    AlterPartition,
    AssignDirectory,
    CancelReassignment,
    ChangeMinIsr,
    CreatePartition,
    CreateTopic,
    DeleteTopic,
    DirectoryFailure,
    ElectPartitionLeader,
    FenceBroker,
    Input,
    MetadataUpdate,
    PlacePartition,
    PlaceTopic,
    Produce,
    Reassign,
    RegisterBroker,
    ReplicaFetch,
    SendAlterPartition,
    ShutDownBroker,
    UnfenceBroker,
    UnregisterBroker,
)
from kraftcheck.reference.partition.reassignment.rules import ReassignmentRules, without
from kraftcheck.reference.partition.reassignment.types import (
    GONE,
    NOBODY,
    UNASSIGNED,
    BrokerRegistration,
    Constants,
    LeaderNotes,
    MovingPartition,
    State,
    Target,
    TopicRow,
    Why,
    min_isr_of,
    partition_constants,
)
from kraftcheck.reference.partition.rules import PartitionRules

ACTIVE_OR_STOPPING = ("Active", "Stopping")


def made(row: TopicRow) -> Outcome:
    return Outcome(row)


def refused(row: TopicRow, why: Why) -> Outcome:
    return Outcome(row, (), why)


def over(base: MovingPartition, first: MovingPartition, second: MovingPartition) -> MovingPartition:
    """What is written over `first` of a change of `base` to `second`."""
    if second == base:
        return first
    fields = {
        name: getattr(second, name)
        for name in second.__struct_fields__
        if getattr(second, name) != getattr(base, name)
    }
    fields["partition_epoch"] = first.partition_epoch + 1
    fields["leader_epoch"] = first.leader_epoch + second.leader_epoch - base.leader_epoch
    return replace(first, **fields)


def initial_topic_row(constants: Constants) -> TopicRow:
    """All are registered and unfenced, and one topic has one partition."""
    known = BrokerRegistration("Active", constants.directories)
    none = TopicRow((known,) * len(constants.brokers), 0, 0, (), ())
    created = ReassignmentHandlers(constants).step(none, CreateTopic(constants.first_replicas))
    assert created is not None and not created.ignored, "all are active"
    row: TopicRow = created.row
    return row


class ReassignmentHandlers:
    """The handlers, for one set of constants and one set of rules."""

    def __init__(
        self,
        constants: Constants,
        rules: ReassignmentRules | None = None,
        of: Substitution = correct,
    ) -> None:
        self.constants = constants
        self._substituted = of
        self.rules = ReassignmentRules(constants) if rules is None else rules
        self._position = {broker: at for at, broker in enumerate(constants.brokers)}
        self._under: dict[tuple[int, ...], PartitionControllerHandlers] = {}
        self._handlers: dict[type, Callable[[TopicRow, Any], Outcome | None]] = handlers_of(
            self, INPUTS
        )

    def step(self, row: TopicRow, input: Input) -> Outcome | None:
        """One step of the controller, or None where the input is disabled."""
        return self._handlers[type(input)](row, input)

    def under(self, replicas: tuple[int, ...]) -> PartitionControllerHandlers:
        """The controller of a partition that has this list of replicas."""
        if replicas not in self._under:
            known = partition_constants(self.constants, replicas)
            of = self._substituted
            rules = of(PartitionRules)(known)
            self._under[replicas] = of(PartitionControllerHandlers)(known, rules)
        return self._under[replicas]

    def registration(self, row: TopicRow, b: int) -> BrokerRegistration:
        return row.registrations[self._position[b]]

    def active(self, row: TopicRow) -> set[int]:
        known = zip(self.constants.brokers, row.registrations, strict=True)
        return {b for b, registration in known if self.rules.is_active(registration)}

    def election(self) -> Election:
        return "UNCLEAN" if self.constants.unclean_election else "ONLINE"

    # --- One change of a partition (C7, R3, R5; PartitionChangeBuilder). `old` is what it is,
    # --- `asked` the same with the lists that it is to have, `isr` what the ISR should become,
    # --- `unclean` who came back without proof, `acceptable` who may lead.

    def bumped(self, old: MovingPartition, new: MovingPartition) -> MovingPartition:
        if new == old:
            return old
        bump = self.rules.leader_epoch_bumped(old, new)
        return replace(
            new,
            partition_epoch=old.partition_epoch + 1,
            leader_epoch=old.leader_epoch + bump,
        )

    def completed(self, partition: MovingPartition) -> MovingPartition:
        """The list without those that go."""
        gone = partition.removing
        known = zip(self.constants.brokers, partition.directories, strict=True)
        return replace(
            partition,
            replicas=without(partition.replicas, gone),
            adding=(),
            removing=(),
            directories=tuple([UNASSIGNED if b in gone else d for b, d in known]),
        )

    def change(
        self,
        row: TopicRow,
        old: MovingPartition,
        asked: MovingPartition,
        isr: tuple[int, ...],
        unclean: Collection[int],
        acceptable: Collection[int],
        election: Election,
    ) -> MovingPartition:
        rules = self.rules
        min_isr = rules.effective_min_isr(row)
        listed, kept = asked, isr
        if rules.completes_reassignment(asked, isr, min_isr):
            listed, kept = self.completed(asked), without(isr, asked.removing)
        eligible = rules.eligible_after(listed, listed.replicas, kept, unclean, min_isr)
        may = {b for b in listed.replicas if b in acceptable and self._online(row, listed, b)}
        chosen = self.under(listed.replicas).chosen(listed, kept, eligible, may, election)
        known = rules.last_known_after(old, chosen)
        return self.bumped(old, replace(chosen, last_known_leader=known))

    def _online(self, row: TopicRow, partition: MovingPartition, b: int) -> bool:
        directory = partition.directories[self._position[b]]
        return self.rules.directory_online(self.registration(row, b), directory)

    def change_of_isr(
        self,
        row: TopicRow,
        old: MovingPartition,
        isr: tuple[int, ...],
        unclean: Collection[int],
        acceptable: Collection[int],
    ) -> MovingPartition:
        """A change that asks for no other lists."""
        return self.change(row, old, old, isr, unclean, acceptable, self.election())

    # --- Brokers that come and go: C6, R14, R15. All partitions are changed as they were before.

    def without_broker(self, row: TopicRow, b: int) -> TopicRow:
        others = self.active(row) - {b}
        partitions = [
            self.change_of_isr(row, p, without(p.isr, (b,)), (), others) if b in p.isr else p
            for p in row.partitions
        ]
        return replace(row, partitions=tuple(partitions))

    def after_unclean_restart(self, row: TopicRow, b: int) -> TopicRow:
        others = self.active(row) - {b}
        partitions = [
            self.change_of_isr(row, p, without(p.isr, (b,)), (b,), others)
            if b in p.isr or b in p.elr
            else p
            for p in row.partitions
        ]
        return replace(row, partitions=tuple(partitions))

    def after_unfencing(self, row: TopicRow, b: int) -> TopicRow:
        among = self.active(row) | {b}
        partitions = [
            p if p.leader != NOBODY else self.change_of_isr(row, p, p.isr, (), among)
            for p in row.partitions
        ]
        return replace(row, partitions=tuple(partitions))

    def with_registration(
        self, row: TopicRow, b: int, registration: BrokerRegistration
    ) -> TopicRow:
        known = put(row.registrations, self._position[b], registration)
        return replace(row, registrations=known)

    def with_state(self, row: TopicRow, b: int, state: State) -> TopicRow:
        registration = replace(self.registration(row, b), state=state)
        return self.with_registration(row, b, registration)

    def handle_register_broker(self, row: TopicRow, input: RegisterBroker) -> Outcome:
        b = input.broker
        known = self.registration(row, b)
        if known.state in ACTIVE_OR_STOPPING:
            return refused(row, "DUPLICATE_BROKER_REGISTRATION")
        unclean = self.rules.is_unclean_restart(known, input.clean)
        after = self.after_unclean_restart(row, b) if unclean else self.without_broker(row, b)
        new = BrokerRegistration("Fenced", input.directories)
        return made(self.with_registration(after, b, new))

    def handle_fence_broker(self, row: TopicRow, input: FenceBroker) -> Outcome | None:
        """A session that runs out, or a broker that asks to be fenced."""
        b = input.broker
        if self.registration(row, b).state not in ACTIVE_OR_STOPPING:
            return None
        return made(self.with_state(self.without_broker(row, b), b, "Fenced"))

    def handle_shut_down_broker(self, row: TopicRow, input: ShutDownBroker) -> Outcome | None:
        b = input.broker
        if self.registration(row, b).state != "Active":
            return None
        return made(self.with_state(self.without_broker(row, b), b, "Stopping"))

    def handle_unregister_broker(self, row: TopicRow, input: UnregisterBroker) -> Outcome:
        """R15.

        The broker stays in the ELR, and is put there: whoever registers without a registration
        before it comes without proof.
        """
        b = input.broker
        if self.registration(row, b).state == "Unregistered":
            return refused(row, "BROKER_ID_NOT_REGISTERED")
        return made(self.with_registration(self.without_broker(row, b), b, GONE))

    # --- Directories: R16, R17, R19.

    def without_directories(
        self, before: TopicRow, row: TopicRow, b: int, failed: tuple[int, ...]
    ) -> TopicRow:
        """Replicas in these directories leave the ISR and do not lead.

        `before` is the row before the batch, `row` after what the batch has so far.
        """
        based = self.rules.base_of_second(before, row)
        others, at = self.active(based) - {b}, self._position[b]

        def second(p: MovingPartition) -> MovingPartition:
            if p.directories[at] not in failed:
                return p
            return self.change_of_isr(based, p, without(p.isr, (b,)), (), others)

        known = self.registration(row, b)
        left = replace(known, directories=without(known.directories, failed))
        partitions = [
            over(base, first, second(base))
            for base, first in zip(based.partitions, row.partitions, strict=True)
        ]
        return replace(self.with_registration(row, b, left), partitions=tuple(partitions))

    def handle_unfence_broker(self, row: TopicRow, input: UnfenceBroker) -> Outcome | None:
        """A heartbeat that lets a broker be unfenced may name directories that have failed."""
        b = input.broker
        if self.registration(row, b).state != "Fenced":
            return None
        unfenced = self.with_state(self.after_unfencing(row, b), b, "Active")
        return made(self.without_directories(row, unfenced, b, input.failed))

    def handle_directory_failure(self, row: TopicRow, input: DirectoryFailure) -> Outcome | None:
        b = input.broker
        if input.directory not in self.registration(row, b).directories:
            return None
        return made(self.without_directories(row, row, b, (input.directory,)))

    def handle_assign_directory(self, row: TopicRow, input: AssignDirectory) -> Outcome:
        """A replica says where it is."""
        b = input.broker
        known = self.registration(row, b)
        if known.state == "Unregistered":
            return refused(row, "BROKER_ID_NOT_REGISTERED")
        old = self.partition(row, input.partition)
        if old is None:
            return refused(row, "UNKNOWN_TOPIC_OR_PARTITION")
        if b not in old.replicas:
            return refused(row, "NOT_LEADER_OR_FOLLOWER")
        online = self.rules.directory_online(known, input.directory)
        places = put(old.directories, self._position[b], input.directory)
        asked = replace(old, directories=places)
        isr = old.isr if online else without(old.isr, (b,))
        election = self.election()
        new = self.change(row, old, asked, isr, (), self.active(row), election)
        return made(self.with_partition(row, input.partition, new))

    # --- AlterPartition: C12, C13, R7.

    def partition(self, row: TopicRow, i: int) -> MovingPartition | None:
        """None: there is no such partition."""
        return row.partitions[i - 1] if 1 <= i <= len(row.partitions) else None

    def with_partition(self, row: TopicRow, i: int, partition: MovingPartition) -> TopicRow:
        return replace(row, partitions=put(row.partitions, i - 1, partition))

    def alter_partition_error(
        self, row: TopicRow, partition: MovingPartition, input: AlterPartition
    ) -> Why:
        rules, m = self.under(partition.replicas).rules, _epochs(input)
        if error := _error(rules.leader_epoch_error(partition, m)):
            return error
        if input.source != partition.leader:
            return "INVALID_REQUEST"
        if error := _error(rules.partition_epoch_error(partition, m)):
            return error
        if input.source not in input.isr or not set(input.isr) <= set(partition.replicas):
            return "INVALID_REQUEST"
        return "" if set(input.isr) <= self.active(row) else "INELIGIBLE_REPLICA"

    def handle_alter_partition(self, row: TopicRow, input: AlterPartition) -> Outcome:
        old = self.partition(row, input.partition)
        if old is None:
            return refused(row, "UNKNOWN_TOPIC_OR_PARTITION")
        if error := self.alter_partition_error(row, old, input):
            return refused(row, error)
        recovered = replace(old, recovering=False)
        active, election = self.active(row), self.election()
        new = self.change(row, old, recovered, input.isr, (), active, election)
        why = "" if new.leader == input.source else "NEW_LEADER_ELECTED"
        return refused(self.with_partition(row, input.partition, new), why)

    # --- The broker that leads, where its notes are told: P9, R6.

    def led(self, row: TopicRow, i: int) -> MovingPartition | None:
        """The partition, if it has a leader whose notes are told."""
        partition = self.partition(row, i) if self.constants.leader_notes else None
        return partition if partition is not None and partition.leader != NOBODY else None

    def up_to_date(self, row: TopicRow, i: int) -> bool:
        """The leader has applied the newest metadata of the partition."""
        p, known = row.partitions[i - 1], row.leaders[i - 1]
        applied = (known.broker, known.leader_epoch, known.partition_epoch)
        return applied == (p.leader, p.leader_epoch, p.partition_epoch)

    def noted(self, row: TopicRow, i: int, notes: LeaderNotes) -> Outcome:
        return made(replace(row, leaders=put(row.leaders, i - 1, notes)))

    def handle_metadata_update(self, row: TopicRow, input: MetadataUpdate) -> Outcome | None:
        """However many changes there were, they are one update to it.

        Who is no replica is forgotten.
        """
        i = input.partition
        p = self.led(row, i)
        if p is None or self.up_to_date(row, i):
            return None
        known = row.leaders[i - 1]
        keeps = known.broker == p.leader and self.rules.keeps_end_offsets(known, p)
        ends = [
            end if keeps and b in p.replicas else UNDEFINED
            for b, end in zip(self.constants.brokers, known.ends, strict=True)
        ]
        applied = LeaderNotes(
            p.leader, p.leader_epoch, p.partition_epoch, known.end_offset, tuple(ends)
        )
        return self.noted(row, i, applied)

    def handle_produce(self, row: TopicRow, input: Produce) -> Outcome | None:
        """A record that all in the ISR have is acknowledged."""
        i = input.partition
        p = self.led(row, i)
        if p is None or not self.up_to_date(row, i):
            return None
        if len(p.isr) < min(min_isr_of(self.constants, row), len(p.replicas)):
            return refused(row, "NOT_ENOUGH_REPLICAS")
        known = row.leaders[i - 1]
        end = known.end_offset + 1
        noted = zip(self.constants.brokers, known.ends, strict=True)
        ends = tuple([end if b in p.isr else before for b, before in noted])
        return self.noted(row, i, replace(known, end_offset=end, ends=ends))

    def handle_replica_fetch(self, row: TopicRow, input: ReplicaFetch) -> Outcome | None:
        """A replica has copied all that the leader has."""
        i, b = input.partition, input.broker
        p = self.led(row, i)
        if p is None or not self.up_to_date(row, i):
            return None
        if b == p.leader or b not in p.replicas:
            return None
        known = row.leaders[i - 1]
        ends = put(known.ends, self._position[b], known.end_offset)
        return self.noted(row, i, replace(known, ends=ends))

    def handle_send_alter_partition(
        self, row: TopicRow, input: SendAlterPartition
    ) -> Outcome | None:
        """The leader proposes that a replica joins the ISR."""
        i, b = input.partition, input.broker
        p = self.led(row, i)
        if p is None or not self.up_to_date(row, i):
            return None
        if b in p.isr or not self.rules.joins_isr(row.leaders[i - 1], b):
            return None
        isr = tuple(sorted((*p.isr, b)))
        proposal = AlterPartition(i, p.leader, isr, p.leader_epoch, p.partition_epoch)
        return self.handle_alter_partition(row, proposal)

    # --- What an administrator asks for: R1, R2, R4, R8, R10 to R12.

    def lists(
        self,
        row: TopicRow,
        partition: MovingPartition,
        replicas: tuple[int, ...],
        adding: tuple[int, ...],
        removing: tuple[int, ...],
    ) -> MovingPartition:
        places = [
            UNASSIGNED
            if b not in replicas
            else known
            if b in partition.replicas
            else self.rules.directory_of_new(registration)
            for b, known, registration in zip(
                self.constants.brokers, partition.directories, row.registrations, strict=True
            )
        ]
        return replace(
            partition,
            replicas=replicas,
            adding=adding,
            removing=removing,
            directories=tuple(places),
        )

    def _asked(
        self, row: TopicRow, i: int, new: MovingPartition, target: tuple[int, ...]
    ) -> Outcome:
        accepted = replace(row, targets=put(row.targets, i - 1, Target(target)))
        return made(self.with_partition(accepted, i, new))

    def handle_reassign(self, row: TopicRow, input: Reassign) -> Outcome:
        old, target, rules = self.partition(row, input.partition), input.target, self.rules
        if old is None:
            return refused(row, "UNKNOWN_TOPIC_OR_PARTITION")
        if why := rules.placement_refused(row, target):
            return refused(row, why)
        replicas = (*target, *without(old.replicas, target))
        adding, removing = rules.adding_after(old, target), rules.removing_after(old, target)
        asked = self.lists(row, old, replicas, adding, removing)
        new = self.change(row, old, asked, old.isr, (), self.active(row), "ONLINE")
        return self._asked(row, input.partition, new, target)

    def handle_cancel_reassignment(self, row: TopicRow, input: CancelReassignment) -> Outcome:
        old = self.partition(row, input.partition)
        if old is None:
            return refused(row, "UNKNOWN_TOPIC_OR_PARTITION")
        if why := self.rules.cancel_refused(old):
            return refused(row, why)
        replicas = without(old.replicas, old.adding)
        asked = self.lists(row, old, replicas, (), ())
        isr = without(old.isr, old.adding) or replicas[:1]
        new = self.change(row, old, asked, isr, (), self.active(row), self.election())
        return self._asked(row, input.partition, new, replicas)

    def handle_elect_partition_leader(self, row: TopicRow, input: ElectPartitionLeader) -> Outcome:
        old = self.partition(row, input.partition)
        if old is None:
            return refused(row, "UNKNOWN_TOPIC_OR_PARTITION")
        preferred = input.election == "PREFERRED"
        if old.leader == old.replicas[0] if preferred else old.leader != NOBODY:
            return refused(row, "ELECTION_NOT_NEEDED")
        new = self.change(row, old, old, old.isr, (), self.active(row), input.election)
        if new == old:
            of = "PREFERRED_LEADER" if preferred else "ELIGIBLE_LEADERS"
            return refused(row, f"{of}_NOT_AVAILABLE")
        return made(self.with_partition(row, input.partition, new))

    def new_partition(self, row: TopicRow, replicas: tuple[int, ...]) -> Why:
        """R10, R11. Why there is none of this list."""
        if why := self.rules.placement_refused(row, replicas):
            return why
        return "" if self.active(row) & set(replicas) else "INVALID_REPLICA_ASSIGNMENT"

    def added(self, row: TopicRow, replicas: tuple[int, ...]) -> TopicRow:
        """R10, R11. Who is active is in the ISR at once."""
        isr = tuple(sorted(self.active(row) & set(replicas)))
        known = zip(self.constants.brokers, row.registrations, strict=True)
        new = MovingPartition(
            leader=next(b for b in replicas if b in isr),
            leader_epoch=0,
            partition_epoch=0,
            isr=isr,
            elr=(),
            last_known_leader=NOBODY,
            recovering=False,
            replicas=replicas,
            adding=(),
            removing=(),
            directories=tuple(
                [self.rules.directory_of_new(r) if b in replicas else UNASSIGNED for b, r in known]
            ),
        )
        return replace(
            row,
            partitions=(*row.partitions, new),
            targets=(*row.targets, Target(replicas)),
            leaders=(*row.leaders, *self.first_notes(new)),
        )

    def first_notes(self, partition: MovingPartition) -> tuple[LeaderNotes, ...]:
        """Who is in the ISR of a new partition has all that the leader has."""
        if not self.constants.leader_notes:
            return ()
        ends = [0 if b in partition.isr else UNDEFINED for b in self.constants.brokers]
        return (LeaderNotes(partition.leader, 0, 0, 0, tuple(ends)),)

    def handle_create_topic(self, row: TopicRow, input: CreateTopic) -> Outcome:
        if row.topic_id:
            return refused(row, "TOPIC_ALREADY_EXISTS")
        if why := self.new_partition(row, input.replicas):
            return refused(row, why)
        made_so_far = row.topics_made + 1
        named = replace(row, topics_made=made_so_far, topic_id=made_so_far)
        return made(self.added(named, input.replicas))

    def handle_create_partition(self, row: TopicRow, input: CreatePartition) -> Outcome:
        if not row.topic_id:
            return refused(row, "UNKNOWN_TOPIC_OR_PARTITION")
        if len(input.replicas) != len(row.partitions[0].replicas):
            return refused(row, "INVALID_REPLICA_ASSIGNMENT")
        if why := self.new_partition(row, input.replicas):
            return refused(row, why)
        return made(self.added(row, input.replicas))

    def handle_place_topic(self, row: TopicRow, input: PlaceTopic) -> Outcome | None:
        """R9. As without a list: what the placer chooses comes with the input."""
        chosen = self.rules.placer_chooses(row, input.replicas)
        return self.handle_create_topic(row, CreateTopic(input.replicas)) if chosen else None

    def handle_place_partition(self, row: TopicRow, input: PlacePartition) -> Outcome | None:
        """R9."""
        chosen = self.rules.placer_chooses(row, input.replicas)
        return (
            self.handle_create_partition(row, CreatePartition(input.replicas)) if chosen else None
        )

    def handle_delete_topic(self, row: TopicRow, input: DeleteTopic) -> Outcome:
        if not row.topic_id:
            return refused(row, "UNKNOWN_TOPIC_OR_PARTITION")
        return made(replace(row, topic_id=0, partitions=(), targets=(), leaders=(), min_isr=0))

    def handle_change_min_isr(self, row: TopicRow, input: ChangeMinIsr) -> Outcome:
        """R24.

        In one batch with the emptied ELRs. Nobody is elected by it. A value that is there already
        writes nothing (ConfigurationControlManager.incrementalAlterConfigResource).
        """
        if not row.topic_id:
            return refused(row, "UNKNOWN_TOPIC_OR_PARTITION")
        if input.min_isr == min_isr_of(self.constants, row):
            return made(row)
        partitions = [
            self.bumped(p, replace(p, elr=(), last_known_leader=NOBODY))
            if self.rules.clears_eligible(p)
            else p
            for p in row.partitions
        ]
        return made(replace(row, min_isr=input.min_isr, partitions=tuple(partitions)))


def _epochs(input: AlterPartition) -> Any:
    """As the rules of a partition read them: from a message that has these fields."""
    return input


def _error(error: str) -> Why:
    return "" if error == "NONE" else error
