"""The controller's side of one partition: the twin of specs/partition/PartitionController.tla.

Law of this file: a handler sees the controller's row and one input, and answers with one outcome
that the spec allows, or with None where the spec allows none (the input is disabled). Every
decision is asked of `rules`. Same names and order as in the spec: records and outcomes; one change
of the partition (C7); what happens when brokers come and go (C6); then the handlers.

This controller commits at once: what a step decides is sent to the METADATA_LOG, and the reply goes
out with it. Where the spec lets several replicas be chosen, the first in assignment order is.

Left out: topics other than one, directories; for reassignment see reference/partition/reassignment.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar

from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import action_name, handlers_of
from kraftcheck.reference.kit.fields import put
from kraftcheck.reference.kit.messages import canonical
from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    CONTROLLER_INPUTS,
    METADATA_LOG,
    NOBODY,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerRecord,
    BrokerState,
    ControllerFailover,
    ControllerInput,
    Election,
    ElectLeaders,
    HeartbeatRequest,
    HeartbeatResponse,
    Message,
    MetadataRecord,
    MetadataRecords,
    Partition,
    PartitionRecord,
    RegisterBrokerRequest,
    RegisterBrokerResponse,
    SessionTimeout,
)
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import (
    UNDEFINED,
    Contact,
    ControllerOutcome,
    ControllerRow,
    PartitionConstants,
    Registration,
)

CONTROLLER_HANDLERS: dict[type, str] = {of: action_name(of) for of in CONTROLLER_INPUTS}
"""From the type of an input to the name of its action, as in the spec and in traces."""

UNCHANGED = Partition(UNDEFINED, UNDEFINED, UNDEFINED, (), (), UNDEFINED, recovering=False)
"""What an answer says that carries no partition."""

P = TypeVar("P", bound=Partition)


def _without(brokers: tuple[int, ...], broker: int) -> tuple[int, ...]:
    """The sorted set of brokers with one taken out."""
    return tuple(b for b in brokers if b != broker)


class PartitionControllerHandlers:
    """The handlers, for one set of constants and one set of rules."""

    records_type: type[MetadataRecords] = MetadataRecords

    def __init__(self, constants: PartitionConstants, rules: PartitionRules | None = None) -> None:
        self.constants = constants
        self.rules = PartitionRules(constants) if rules is None else rules
        assert self.rules.constants == constants, "rules for another partition"
        self._brokers = constants.brokers
        self._position = {broker: at for at, broker in enumerate(constants.brokers)}
        self._handlers: dict[type, Callable[[ControllerRow, Any], ControllerOutcome | None]] = (
            handlers_of(self, CONTROLLER_INPUTS)
        )

    def step(self, row: ControllerRow, input: ControllerInput) -> ControllerOutcome | None:
        """One step of the controller, or None where the input is disabled."""
        return self._handlers[type(input)](row, input)

    def active(self, row: ControllerRow) -> tuple[int, ...]:
        """The brokers that may lead and be in the ISR, sorted."""
        is_active = self.rules.is_active
        return tuple(
            b for b, known in zip(self._brokers, row.registrations, strict=True) if is_active(known)
        )

    # --- Records, replies, outcomes.

    def broker_record(self, b: int, registration: Registration) -> BrokerRecord:
        return BrokerRecord(
            b, BrokerState(registration.epoch, registration.fenced, registration.stopping)
        )

    def partition_record(self, partition: Partition) -> PartitionRecord:
        return PartitionRecord(partition)

    def partition_records(self, old: Partition, new: Partition) -> tuple[MetadataRecord, ...]:
        """Nothing is written where nothing changed."""
        return () if new == old else (self.partition_record(new),)

    def committed(
        self, row: ControllerRow, records: tuple[MetadataRecord, ...], *replies: Message
    ) -> ControllerOutcome:
        """Written, committed, answered."""
        if not records:
            return ControllerOutcome(row, canonical(replies), "")
        batch = self.records_type(CONTROLLER, METADATA_LOG, row.offset, records)
        # The metadata log comes before every broker in the order of `canonical`.
        sent = (batch, *canonical(replies))
        return ControllerOutcome(replace(row, offset=row.offset + len(records)), sent, "")

    # --- C7. One change of the partition. `isr` is what the ISR should become, `unclean` who came
    # --- back without proof, `acceptable` who may lead.

    def bumped(self, old: Partition, new: Partition) -> Partition:
        if new == old:
            return old
        bump = self.rules.leader_epoch_bumped(old, new.leader)
        return replace(
            new,
            partition_epoch=new.partition_epoch + 1,
            leader_epoch=new.leader_epoch + 1 if bump else new.leader_epoch,
        )

    def clean_choices(
        self, partition: Partition, valid: tuple[int, ...], election: Election
    ) -> tuple[int, ...]:
        """C9. Who may be chosen, in Kafka's order of preference."""
        if election == "PREFERRED":
            preferred = self.rules.preferred_choices(partition, valid)
            if preferred:
                return preferred
        if partition.leader in valid:
            return (partition.leader,)
        return self.rules.leader_choices(valid)

    def unclean_choices(
        self,
        partition: Partition,
        isr: tuple[int, ...],
        elr: tuple[int, ...],
        acceptable: Collection[int],
        election: Election,
    ) -> tuple[int, ...]:
        if self.rules.last_known_leader_electable(partition, isr, elr, acceptable):
            return (partition.last_known_leader,)
        return self.rules.leader_choices(acceptable) if election == "UNCLEAN" else ()

    def elected(
        self,
        partition: P,
        isr: tuple[int, ...],
        elr: tuple[int, ...],
        leader: int,
        unclean: bool,
    ) -> P:
        """The ISR and ELR that come with the chosen leader."""
        if unclean:
            return replace(partition, leader=leader, isr=(leader,), elr=(), recovering=True)
        if leader != partition.leader and leader in elr:
            return replace(partition, leader=leader, isr=(leader,), elr=_without(elr, leader))
        kept = isr or self.rules.isr_when_emptied(partition)
        return replace(partition, leader=leader, elr=elr, isr=kept)

    def with_last_known_leader(self, old: Partition, new: P) -> P:
        """C11. Who led when the ISR became empty."""
        if self.constants.elr_enabled and not new.isr and old.isr:
            return replace(new, last_known_leader=old.leader)
        if new.leader != NOBODY and new.last_known_leader != NOBODY:
            return replace(new, last_known_leader=NOBODY)
        return new

    def chosen(
        self,
        partition: P,
        isr: tuple[int, ...],
        elr: tuple[int, ...],
        acceptable: Collection[int],
        election: Election,
    ) -> P:
        """Who leads, and the ISR and ELR that come with it; epochs are as before."""
        valid = self.rules.valid_leaders(isr, elr, acceptable)
        choices = self.clean_choices(partition, valid, election)
        leader, was_unclean = NOBODY, False
        if choices:
            leader = choices[0]
        else:
            choices = self.unclean_choices(partition, isr, elr, acceptable, election)
            if choices:
                leader, was_unclean = choices[0], choices[0] != partition.leader
        found = self.elected(partition, isr, elr, leader, was_unclean)
        return self.with_last_known_leader(partition, found)

    def changes(
        self,
        partition: Partition,
        isr: tuple[int, ...],
        unclean: tuple[int, ...],
        acceptable: Collection[int],
        election: Election,
    ) -> Partition:
        """C7. The spec allows one such change for each leader that may be chosen."""
        elr = self.rules.target_elr(partition, isr, unclean)
        return self.bumped(partition, self.chosen(partition, isr, elr, acceptable, election))

    def election(self) -> Election:
        return "UNCLEAN" if self.constants.unclean_election else "ONLINE"

    # --- C6. What happens to the partition when a broker comes or goes.

    def after_fencing(self, row: ControllerRow, b: int) -> Partition:
        old = row.partition
        if b not in old.isr:
            return old
        acceptable = _without(self.active(row), b)
        return self.changes(old, _without(old.isr, b), (), acceptable, self.election())

    def after_unfencing(self, row: ControllerRow, b: int) -> Partition:
        old = row.partition
        if old.leader != NOBODY:
            return old
        return self.changes(old, old.isr, (), {*self.active(row), b}, self.election())

    def after_unclean_restart(self, row: ControllerRow, b: int) -> Partition:
        old = row.partition
        if b not in old.isr and b not in old.elr:
            return old
        acceptable = _without(self.active(row), b)
        return self.changes(old, _without(old.isr, b), (b,), acceptable, self.election())

    def _with_broker(
        self,
        row: ControllerRow,
        b: int,
        partition: Partition,
        registration: Registration,
        contact: Contact,
    ) -> ControllerRow:
        at = self._position[b]
        return replace(
            row,
            registrations=put(row.registrations, at, registration),
            partition=partition,
            contacts=put(row.contacts, at, contact),
        )

    def fence(
        self, row: ControllerRow, b: int, contact: Contact, *replies: Message
    ) -> ControllerOutcome:
        partition = self.after_fencing(row, b)
        fenced = replace(row.registrations[self._position[b]], fenced=True)
        change = self.partition_records(row.partition, partition)
        records = (*change, self.broker_record(b, fenced))
        return self.committed(
            self._with_broker(row, b, partition, fenced, contact), records, *replies
        )

    def unfence(
        self, row: ControllerRow, b: int, contact: Contact, *replies: Message
    ) -> ControllerOutcome:
        partition = self.after_unfencing(row, b)
        unfenced = replace(row.registrations[self._position[b]], fenced=False)
        change = self.partition_records(row.partition, partition)
        records = (self.broker_record(b, unfenced), *change)
        return self.committed(
            self._with_broker(row, b, partition, unfenced, contact), records, *replies
        )

    def enter_controlled_shutdown(
        self, row: ControllerRow, b: int, contact: Contact, *replies: Message
    ) -> ControllerOutcome:
        partition = self.after_fencing(row, b)
        stopping = replace(row.registrations[self._position[b]], stopping=True)
        change = self.partition_records(row.partition, partition)
        records = (self.broker_record(b, stopping), *change)
        noted = replace(contact, shutdown_offset=row.offset + len(records))
        return self.committed(
            self._with_broker(row, b, partition, stopping, noted), records, *replies
        )

    # --- Registration: C2, C3.

    def register_broker_response(
        self, m: RegisterBrokerRequest, error: str, broker_epoch: int
    ) -> RegisterBrokerResponse:
        return RegisterBrokerResponse(CONTROLLER, m.source, m, error, broker_epoch)

    def register_anew(self, row: ControllerRow, m: RegisterBrokerRequest) -> ControllerOutcome:
        """The epoch of a new incarnation is where its batch begins in the log."""
        b = m.source
        old = row.registrations[self._position[b]]
        partition = row.partition
        if self.rules.is_unclean_restart(old, m):
            partition = self.after_unclean_restart(row, b)
        change = self.partition_records(row.partition, partition)
        new = Registration(
            epoch=row.offset,
            incarnation=m.incarnation,
            record_offset=row.offset + len(change),
            fenced=True,
            stopping=False,
        )
        contact = Contact(live=True, metadata_offset=UNDEFINED, shutdown_offset=UNDEFINED)
        return self.committed(
            self._with_broker(row, b, partition, new, contact),
            (*change, self.broker_record(b, new)),
            self.register_broker_response(m, "NONE", new.epoch),
        )

    def amend_registration(self, row: ControllerRow, m: RegisterBrokerRequest) -> ControllerOutcome:
        """A retry of the same incarnation keeps its epoch and flags."""
        b = m.source
        at = self._position[b]
        amended = replace(row.registrations[at], record_offset=row.offset)
        contact = replace(row.contacts[at], live=True)
        return self.committed(
            self._with_broker(row, b, row.partition, amended, contact),
            (self.broker_record(b, amended),),
            self.register_broker_response(m, "NONE", amended.epoch),
        )

    def handle_register_broker_request(
        self, row: ControllerRow, m: RegisterBrokerRequest
    ) -> ControllerOutcome:
        at = self._position[m.source]
        registration = row.registrations[at]
        if self.rules.is_duplicate_registration(registration, row.contacts[at], m):
            error = "DUPLICATE_BROKER_REGISTRATION"
            response = self.register_broker_response(m, error, UNDEFINED)
            return ControllerOutcome(row, (response,), "")
        if registration.epoch != UNDEFINED and registration.incarnation == m.incarnation:
            return self.amend_registration(row, m)
        return self.register_anew(row, m)

    # --- Heartbeats and sessions: C4 to C6.

    def heartbeat_response(
        self,
        m: HeartbeatRequest,
        error: str,
        is_caught_up: bool,
        is_fenced: bool,
        should_shut_down: bool,
    ) -> HeartbeatResponse:
        return HeartbeatResponse(
            source=CONTROLLER,
            destination=m.source,
            request=m,
            error=error,
            is_caught_up=is_caught_up,
            is_fenced=is_fenced,
            should_shut_down=should_shut_down,
        )

    def next_control_state(self, row: ControllerRow, m: HeartbeatRequest) -> str:
        """C5."""
        b = m.source
        registration = row.registrations[self._position[b]]
        leads = row.partition.leader == b
        if registration.fenced:
            if m.want_shut_down:
                return "SHUTDOWN_NOW"
            caught_up = self.rules.is_caught_up_with_registration(registration, m)
            return "UNFENCED" if caught_up and not m.want_fence else "FENCED"
        if registration.stopping:
            may = not leads and self.rules.may_shut_down(row.contacts, self.active(row), b)
            return "SHUTDOWN_NOW" if may else "CONTROLLED_SHUTDOWN"
        if m.want_fence:
            return "SHUTDOWN_NOW" if m.want_shut_down else "FENCED"
        if m.want_shut_down:
            return "CONTROLLED_SHUTDOWN" if leads else "SHUTDOWN_NOW"
        return "UNFENCED"

    def handle_heartbeat_request(
        self, row: ControllerRow, m: HeartbeatRequest
    ) -> ControllerOutcome:
        b = m.source
        at = self._position[b]
        registration = row.registrations[at]
        if self.rules.is_stale_broker_epoch(registration, m.broker_epoch):
            refused = self.heartbeat_response(
                m, "STALE_BROKER_EPOCH", is_caught_up=False, is_fenced=False, should_shut_down=False
            )
            return ControllerOutcome(row, (refused,), "")
        state = self.next_control_state(row, m)
        fenced = state in ("FENCED", "SHUTDOWN_NOW")
        caught_up = self.rules.is_caught_up_with_registration(registration, m)
        stops = state == "SHUTDOWN_NOW"
        reply = self.heartbeat_response(m, "NONE", caught_up, fenced, stops)
        old = row.contacts[at]
        contact = Contact(True, m.metadata_offset, old.shutdown_offset)
        if fenced and not registration.fenced:
            return self.fence(row, b, contact, reply)
        if state == "UNFENCED" and registration.fenced:
            return self.unfence(row, b, contact, reply)
        if state == "CONTROLLED_SHUTDOWN" and not registration.stopping:
            return self.enter_controlled_shutdown(row, b, contact, reply)
        if contact == old:
            return ControllerOutcome(row, (reply,), "")
        return ControllerOutcome(
            replace(row, contacts=put(row.contacts, at, contact)), (reply,), ""
        )

    def handle_session_timeout(
        self, row: ControllerRow, input: SessionTimeout
    ) -> ControllerOutcome | None:
        """broker.session.timeout.ms without a heartbeat."""
        b = input.broker
        at = self._position[b]
        registration, contact = row.registrations[at], row.contacts[at]
        if not contact.live or registration.epoch == UNDEFINED:
            return None
        silent = replace(contact, live=False)
        if registration.fenced:
            contacts = put(row.contacts, at, silent)
            return ControllerOutcome(replace(row, contacts=contacts), (), "")
        return self.fence(row, b, silent)

    # --- AlterPartition: C4, C12, C13.

    def alter_partition_response(
        self, m: AlterPartitionRequest, error: str, partition: Partition
    ) -> AlterPartitionResponse:
        return AlterPartitionResponse(
            source=CONTROLLER,
            destination=m.source,
            request=m,
            error=error,
            leader=partition.leader,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            isr=partition.isr,
        )

    def members(self, m: AlterPartitionRequest) -> tuple[int, ...]:
        return tuple(member.broker for member in m.isr)

    def members_eligible(self, row: ControllerRow, m: AlterPartitionRequest) -> bool:
        for member in m.isr:
            registration = row.registrations[self._position[member.broker]]
            if not (
                self.rules.isr_member_active(registration)
                and self.rules.isr_member_epoch_matches(registration, member)
            ):
                return False
        return True

    def alter_partition_error(self, row: ControllerRow, m: AlterPartitionRequest) -> str:
        """C12, in Kafka's order."""
        partition = row.partition
        epoch_error = self.rules.leader_epoch_error(partition, m)
        cas_error = self.rules.partition_epoch_error(partition, m)
        if "NOT_CONTROLLER" in (epoch_error, cas_error):
            return "NOT_CONTROLLER"
        if epoch_error != "NONE":
            return epoch_error
        if m.source != partition.leader:
            return "INVALID_REQUEST"
        if cas_error != "NONE":
            return cas_error
        members = self.members(m)
        if m.source not in members or not set(members).issubset(self._brokers):
            return "INVALID_REQUEST"
        if m.recovering and (len(members) > 1 or not partition.recovering):
            return "INVALID_REQUEST"
        return "NONE" if self.members_eligible(row, m) else "INELIGIBLE_REPLICA"

    def after_alteration(self, row: ControllerRow, isr: tuple[int, ...]) -> Partition:
        return self.changes(row.partition, isr, (), self.active(row), self.election())

    def handle_alter_partition_request(
        self, row: ControllerRow, m: AlterPartitionRequest
    ) -> ControllerOutcome:
        if self.rules.is_stale_broker_epoch(
            row.registrations[self._position[m.source]], m.broker_epoch
        ):
            refused = self.alter_partition_response(m, "STALE_BROKER_EPOCH", UNCHANGED)
            return ControllerOutcome(row, (refused,), "")
        error = self.alter_partition_error(row, m)
        if error != "NONE":
            refused = self.alter_partition_response(m, error, UNCHANGED)
            return ControllerOutcome(row, (refused,), "")
        old = row.partition
        new = self.after_alteration(row, self.members(m))
        # The recovery state is part of the same record (C13).
        if new.recovering != m.recovering:
            if new == old:
                new = self.bumped(old, replace(old, recovering=m.recovering))
            else:
                new = replace(new, recovering=m.recovering)
        leads = new.leader == m.source
        reply = self.alter_partition_response(
            m, "NONE" if leads else "NEW_LEADER_ELECTED", new if leads else UNCHANGED
        )
        changed = row if new == old else replace(row, partition=new)
        return self.committed(changed, self.partition_records(old, new), reply)

    # --- Elections that an administrator, or the leader balancer, asks for.

    def handle_elect_leaders(self, row: ControllerRow, input: ElectLeaders) -> ControllerOutcome:
        old = row.partition
        preferred = self.rules.preferred_replica()
        if (input.election == "PREFERRED" and old.leader == preferred) or (
            input.election == "UNCLEAN" and old.leader != NOBODY
        ):
            return ControllerOutcome(row, (), "ELECTION_NOT_NEEDED")
        new = self.changes(old, old.isr, (), self.active(row), input.election)
        if new == old:
            return ControllerOutcome(row, (), "")
        return self.committed(replace(row, partition=new), self.partition_records(old, new))

    def handle_controller_failover(
        self, row: ControllerRow, input: ControllerFailover
    ) -> ControllerOutcome:
        """Another controller takes over.

        It knows what is committed, and nobody's session has expired yet.
        """
        contacts = tuple(
            Contact(True, UNDEFINED, row.offset if registration.stopping else UNDEFINED)
            for registration in row.registrations
        )
        return ControllerOutcome(replace(row, contacts=contacts), (), "")
