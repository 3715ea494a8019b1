"""The leader's side of the ISR: the twin of specs/partition/IsrMembership.tla.

Law of this file: when a replica has fallen behind, when it may join, what is proposed to the
controller, and what each answer does (KIP-497, KIP-841, KIP-903; Kafka's Partition and
AlterPartitionManager). One proposal at a time, one request in flight.
"""

from __future__ import annotations

from msgspec.structs import replace

from kraftcheck.reference.kit.fields import put
from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    NO_REQUEST,
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrShrinkTimeout,
    Member,
    ReplicaLagTimeout,
    SendAlterPartition,
)
from kraftcheck.reference.partition.row import PartitionRowSteps
from kraftcheck.reference.partition.types import (
    NO_PENDING,
    BrokerOutcome,
    BrokerRow,
    Kind,
    Pending,
    is_leader,
)


class IsrMembershipSteps(PartitionRowSteps):
    """The handlers of the ISR."""

    def proposal(self, n: int, row: BrokerRow, kind: Kind, isr: tuple[int, ...]) -> Pending:
        members = tuple(Member(r, self.rules.proposed_epoch(n, row, r)) for r in isr)
        return Pending(kind, members, refused=False)

    def maybe_expand_isr(self, n: int, row: BrokerRow, r: int) -> BrokerRow:
        """P9. Tried whenever the leader has heard from r."""
        if not self.rules.may_expand_isr(row, r):
            return row
        isr = tuple(sorted((*row.isr, r)))
        return replace(row, pending=self.proposal(n, row, "Expand", isr))

    def handle_replica_lag_timeout(
        self, n: int, row: BrokerRow, input: ReplicaLagTimeout
    ) -> BrokerOutcome | None:
        """P10. replica.lag.time.max.ms has passed since the replica was last caught up."""
        at = self.position[input.replica]
        remote = row.remotes[at]
        if not (is_leader(row) and remote.caught_up) or remote.end_offset == len(row.log):
            return None
        remotes = put(row.remotes, at, replace(remote, caught_up=False))
        return BrokerOutcome(replace(row, remotes=remotes), (), "")

    def handle_isr_shrink_timeout(
        self, n: int, row: BrokerRow, input: IsrShrinkTimeout
    ) -> BrokerOutcome | None:
        """P10. The periodic check: propose an ISR without those that lag."""
        if not is_leader(row) or row.pending != NO_PENDING:
            return None
        isr = tuple(r for r in row.isr if r == n or not self.rules.is_out_of_sync(row, r))
        if len(isr) == len(row.isr):
            return None
        pending = self.proposal(n, row, "Shrink", isr)
        return BrokerOutcome(replace(row, pending=pending), (), "")

    def alter_partition_request(self, n: int, row: BrokerRow) -> AlterPartitionRequest:
        return AlterPartitionRequest(
            source=n,
            destination=CONTROLLER,
            broker_epoch=row.broker_epoch,
            leader_epoch=row.leader_epoch,
            partition_epoch=row.partition_epoch,
            isr=row.pending.isr,
            recovering=False,
        )

    def handle_send_alter_partition(
        self, n: int, row: BrokerRow, input: SendAlterPartition
    ) -> BrokerOutcome | None:
        if not is_leader(row) or not self.rules.may_send_alter_partition(row):
            return None
        request = self.alter_partition_request(n, row)
        return BrokerOutcome(replace(row, alter_request=request), (request,), "")

    def answers_pending(self, row: BrokerRow, request: AlterPartitionRequest) -> bool:
        """P11. The answer is to the change that is still proposed."""
        return (
            is_leader(row)
            and row.pending != NO_PENDING
            and row.pending.isr == request.isr
            and row.partition_epoch == request.partition_epoch
            and row.leader_epoch == request.leader_epoch
        )

    def handle_alter_partition_response(
        self, n: int, row: BrokerRow, m: AlterPartitionResponse
    ) -> BrokerOutcome:
        if row.alter_request != m.request:
            return self.ignore(row, "NotAwaited")
        answered = replace(row, alter_request=NO_REQUEST)
        if not self.answers_pending(row, m.request):
            return BrokerOutcome(answered, (), "")
        if m.error == "NONE":
            if m.leader_epoch != row.leader_epoch or m.partition_epoch < row.partition_epoch:
                return BrokerOutcome(answered, (), "")
            confirmed = replace(
                answered, pending=NO_PENDING, isr=m.isr, partition_epoch=m.partition_epoch
            )
            if self.rules.advances_after_alter_partition():
                return self.advance_and_finish(n, confirmed)
            return BrokerOutcome(confirmed, (), "")
        if self.rules.is_reverting_error(m.error):
            return BrokerOutcome(replace(answered, pending=NO_PENDING), (), "")
        if self.rules.is_final_error(m.error):
            refused = replace(row.pending, refused=True)
            return BrokerOutcome(replace(answered, pending=refused), (), "")
        return BrokerOutcome(answered, (), "")
