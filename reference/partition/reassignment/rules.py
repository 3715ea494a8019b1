"""Decisions about partitions whose replicas change: the twin of ReassignmentRules.tla.

Law of this file: a rule has no state and no effects, and asks other rules only through `self`. How
a leader is chosen under one list of replicas is decided in reference/partition/rules.py; here is
decided which list that is, and who of it is eligible. Rule ids (R1 ...) are those of
docs/reference/protocol-rules.md.
"""

from __future__ import annotations

from collections.abc import Collection

from kraftcheck.reference.partition.messages import NOBODY
from kraftcheck.reference.partition.reassignment.types import (
    UNASSIGNED,
    BrokerRegistration,
    Constants,
    LeaderNotes,
    MovingPartition,
    TopicRow,
    Why,
    min_isr_of,
)


def without(listed: tuple[int, ...], brokers: Collection[int]) -> tuple[int, ...]:
    """A list without these, in its order."""
    return tuple([b for b in listed if b not in brokers])


def _set(brokers: Collection[int]) -> tuple[int, ...]:
    return tuple(sorted(brokers))


class ReassignmentRules:
    """The decisions, for one set of constants."""

    __slots__ = ("_position", "constants")

    def __init__(self, constants: Constants) -> None:
        self.constants = constants
        self._position = {broker: at for at, broker in enumerate(constants.brokers)}

    # --- Reassignment: R1 to R4 ---

    def placement_refused(self, row: TopicRow, replicas: tuple[int, ...]) -> Why:
        """R9. A list of replicas: not empty, nobody twice, all registered."""
        if not replicas or len(set(replicas)) != len(replicas):
            return "INVALID_REPLICA_ASSIGNMENT"
        known = [row.registrations[self._position[b]].state for b in replicas]
        return "INVALID_REPLICA_ASSIGNMENT" if "Unregistered" in known else ""

    def takes_turns(
        self, active: tuple[int, ...], usable: tuple[int, ...], taken: tuple[int, ...], b: int
    ) -> bool:
        """R9 (StripedReplicaPlacer.RackList.place).

        Racks take turns: after one broker comes one of the other rack, as long as that has any
        left. Its fenced ones may be passed over behind active ones: the placer begins to count anew
        when as many lists were made as brokers are active, and takes who was asked last at the same
        count for used up. Where the turn is a rack's without anybody active, the first one is of
        the other rack, whose own turn falls out: then the third may be of the same rack as the
        second. taken: those of the list before b, in its order.
        """
        second = self.constants.second_rack
        mine = {o for o in usable if (o in second) == (b in second)}
        others, left_out = {*usable} - mine, len(taken) == 2 and mine.isdisjoint(active)
        passed_over = len(active) > 1 and not others.isdisjoint(active)
        left = (others & {*active} if passed_over else others) - {*taken}
        return taken[-1] not in mine or not left or left_out

    def placer_chooses(self, row: TopicRow, replicas: tuple[int, ...]) -> bool:
        """R9 (StripedReplicaPlacer).

        Whether the placer may choose a list: nobody who is stopping, the first one active, and
        within a rack who is active before who is fenced.
        """
        known = list(zip(self.constants.brokers, row.registrations, strict=True))
        active = tuple([b for b, r in known if r.state == "Active"])
        usable = tuple([b for b, r in known if r.state in ("Active", "Fenced")])
        if not replicas or replicas[0] not in active:
            return False
        second = self.constants.second_rack
        for i, b in enumerate(replicas):
            before = replicas[:i]
            if b not in usable or b in before:
                return False
            if i and not self.takes_turns(active, usable, before, b):
                return False
            rack = {o for o in active if (o in second) == (b in second)}
            if b not in active and not rack <= {*before}:
                return False
        return True

    def adding_after(self, partition: MovingPartition, target: tuple[int, ...]) -> tuple[int, ...]:
        """R1, R2.

        Who is added: the target without those that were there before the running reassignment.
        """
        return _set(set(target) - (set(partition.replicas) - set(partition.adding)))

    def removing_after(
        self, partition: MovingPartition, target: tuple[int, ...]
    ) -> tuple[int, ...]:
        """R1, R2. Who is removed: all that are there and not in the target."""
        return _set(set(partition.replicas) - set(target))

    def keeps_min_isr(
        self, partition: MovingPartition, kept: tuple[int, ...], min_isr: int
    ) -> bool:
        """R3.

        The ISR that is left is large enough for the replicas that are left, or as large as it was
        (KAFKA-15665).
        """
        left = set(partition.replicas) - set(partition.removing)
        return len(kept) >= min(min_isr, len(left), len(partition.isr))

    def completes_reassignment(
        self, partition: MovingPartition, isr: tuple[int, ...], min_isr: int
    ) -> bool:
        """R3.

        Whether a reassignment ends with this ISR, of which those that go are taken: all that are
        added are in it, and who stays, if more go than come (KAFKA-19975).
        """
        adding, removing = partition.adding, partition.removing
        kept = without(isr, removing)
        if not (adding or removing) or (removing and not kept) or not set(adding) <= set(kept):
            return False
        target = set(partition.replicas) - set(removing)
        if len(adding) < len(removing) and not target <= set(kept):
            return False
        return self.keeps_min_isr(partition, kept, min_isr)

    def cancel_refused(self, partition: MovingPartition) -> Why:
        """R4.

        Why a reassignment is not given up. Where nobody of the ISR is left, that would be an
        unclean election.
        """
        if not (partition.adding or partition.removing):
            return "NO_REASSIGNMENT_IN_PROGRESS"
        empties = set(partition.isr) <= set(partition.adding)
        refused = empties and not self.constants.unclean_election
        return "INVALID_REPLICA_ASSIGNMENT" if refused else ""

    # --- What a change makes of the partition: C1, C11, R3, R5 ---

    def effective_min_isr(self, row: TopicRow) -> int:
        """The controller counts the replicas of the topic's first partition."""
        return min(min_isr_of(self.constants, row), len(row.partitions[0].replicas))

    def clears_eligible(self, partition: MovingPartition) -> bool:
        """R24 (KIP-966, KAFKA-16540).

        A change of min.insync.replicas empties the ELR: its members are eligible because nothing
        was committed below the old value.
        """
        return self.constants.elr_enabled

    def eligible_after(
        self,
        partition: MovingPartition,
        replicas: tuple[int, ...],
        isr: tuple[int, ...],
        unclean: Collection[int],
        min_isr: int,
    ) -> tuple[int, ...]:
        """C11, R5.

        Members that leave an ISR below min ISR stay eligible as long as they are replicas, unless
        they came back without proof of a clean stop.
        """
        if not self.constants.elr_enabled or len(isr) >= min_isr:
            return ()
        left = {*partition.elr, *partition.isr}.difference(isr, unclean)
        return _set(left.intersection(replicas))

    def last_leader(self, old: MovingPartition, new: MovingPartition) -> int:
        """C11. Who led last, where nobody leads."""
        if not self.constants.elr_enabled or new.leader != NOBODY:
            return NOBODY
        return old.leader if old.leader != NOBODY else old.last_known_leader

    def last_known_after(self, old: MovingPartition, new: MovingPartition) -> int:
        """R5. The last known leader is forgotten when it is no replica any more."""
        last = self.last_leader(old, new)
        return last if last in new.replicas else NOBODY

    def leader_epoch_bumped(self, old: MovingPartition, new: MovingPartition) -> bool:
        """C1, R3.

        A leader epoch begins where the leader changes, or a replica leaves, whose late fetches must
        not count.
        """
        return new.leader != old.leader or not set(old.replicas) <= set(new.replicas)

    # --- What a leader knows of fetches: P9, R6 ---

    def keeps_end_offsets(self, known: LeaderNotes, partition: MovingPartition) -> bool:
        """P9. Ends that a leader has noted count in the leader epoch in which they were fetched.

        A replica that left has begun one (R3), so what was fetched before it came back does not
        count, although one update of the metadata may tell the leader of both.
        """
        return known.leader_epoch == partition.leader_epoch

    def joins_isr(self, known: LeaderNotes, b: int) -> bool:
        """P9. Whoever has fetched all that the leader has is in sync."""
        return known.ends[self.constants.brokers.index(b)] >= known.end_offset

    # --- Brokers and directories: R15 to R20 ---

    def is_active(self, registration: BrokerRegistration) -> bool:
        return registration.state == "Active"

    def is_unclean_restart(self, registration: BrokerRegistration, clean: bool) -> bool:
        """C3, R15.

        Was the stop before this registration unclean? Of a broker that is not registered nothing is
        known.
        """
        return not clean or registration.state == "Unregistered"

    def directory_of_new(self, registration: BrokerRegistration) -> int:
        """R16. Where a new replica is: known if the broker has one directory."""
        online = registration.directories
        return online[0] if len(online) == 1 else UNASSIGNED

    def directory_online(self, registration: BrokerRegistration, directory: int) -> bool:
        """R17. Whether a replica's directory is online."""
        return directory == UNASSIGNED or directory in registration.directories

    def base_of_second(self, before: TopicRow, first: TopicRow) -> TopicRow:
        """R19. Two changes of one batch: the second builds on the first."""
        return first
