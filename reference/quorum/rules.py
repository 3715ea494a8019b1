"""Every decision of the controller quorum that has a name: the twin of QuorumRules.tla.

Law of this file: a rule has no state and no effects, asks other rules only through `self`, and
looks at the identity of a node only by equality. Handlers (handlers.py) decide nothing themselves.
A bug is a subclass that overrides one or more methods (reference/quorum/bugs.py), and nothing
here refers to any.

Names, order and parameters are those of the spec, except that the spec's constants are in
`self.constants`. Rule ids (Q1 ...) are those of docs/reference/protocol-rules.md.
"""

from __future__ import annotations

from kraftcheck.reference.kit import log
from kraftcheck.reference.kit.log import EpochCache, EpochEnd, Log
from kraftcheck.reference.quorum.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    Error,
    FetchRequest,
    FetchResponse,
    Request,
    Response,
    VoteRequest,
)
from kraftcheck.reference.quorum.types import (
    AWAITING,
    NOBODY,
    Constants,
    QuorumStateFile,
    Role,
    Row,
)


class QuorumRules:
    """The decisions, for one set of constants."""

    __slots__ = ("constants",)

    def __init__(self, constants: Constants) -> None:
        self.constants = constants

    def last_fetched_epoch(self, row: Row) -> int:
        """Q6, Q12. The epoch of the last record, as the epoch cache has it."""
        return log.latest_epoch(row.epoch_cache)

    # --- Durability and restart: Q2, Q3 ---

    def persisted_quorum_state(self, row: Row) -> QuorumStateFile:
        """Q2, Q7. What the quorum-state file holds after a step."""
        return QuorumStateFile(row.epoch, row.leader, row.voted)

    def startup_role(self, n: int, quorum_state: QuorumStateFile, last_epoch: int) -> Role:
        """Q3. The role in which a voter starts.

        A known leader comes before the vote: a candidate that lost follows the winner in the same
        epoch, and must not stand in it again.
        """
        if quorum_state.epoch < last_epoch:
            return "Unattached"
        if quorum_state.leader == n:
            return "Resigned"
        if quorum_state.leader != NOBODY:
            return "Follower"
        if quorum_state.voted == n:
            return "Candidate"
        return "Unattached"

    def remembered_leader(self, quorum_state: QuorumStateFile) -> int:
        """Q3. The leader that a starting voter remembers for its epoch."""
        return quorum_state.leader

    def recovered_epoch_cache(self, cache: EpochCache, end_offset: int) -> EpochCache:
        """S6. The epoch cache after a restart: entries past the end are dropped."""
        return log.cache_truncate(cache, end_offset)

    # --- Elections: Q4 to Q9 ---

    def log_ok(self, row: Row, m: VoteRequest) -> bool:
        """Q6 logOk. Whether a nominee's log is at least as long as this one."""
        last_epoch = self.last_fetched_epoch(row)
        return m.last_epoch > last_epoch or (
            m.last_epoch == last_epoch and m.last_offset >= log.end_offset(row.log)
        )

    def vote_request_error(self, row: Row, m: VoteRequest) -> Error:
        """Q5 (c), (d)."""
        if m.last_offset < 0 or m.last_epoch < 0:
            return "INVALID_REQUEST"
        if m.last_epoch > m.epoch or (not m.pre_vote and m.last_epoch == m.epoch):
            return "INVALID_REQUEST"
        if m.epoch < row.epoch:
            return "FENCED_LEADER_EPOCH"
        return "NONE"

    def vote_granted(self, row: Row, m: VoteRequest) -> bool:
        """Q6, standard vote."""
        if row.role not in ("Unattached", "Prospective"):
            return False
        if row.voted != NOBODY:
            return row.voted == m.source
        if row.leader != NOBODY:
            return False
        return self.log_ok(row, m)

    def follower_grants_pre_vote(self, row: Row, m: VoteRequest) -> bool:
        """Q6, pre-vote of a follower: refused once it has fetched in this epoch."""
        return not row.has_fetched and self.log_ok(row, m)

    def pre_vote_granted(self, row: Row, m: VoteRequest) -> bool:
        """Q6, pre-vote."""
        if row.role == "Leader":
            return False
        if row.role == "Follower":
            return self.follower_grants_pre_vote(row, m)
        return self.log_ok(row, m)

    def vote_recorded(self, m: VoteRequest) -> bool:
        """Q7. Only a standard vote is recorded."""
        return not m.pre_vote

    def voted_within_epoch(self, row: Row) -> int:
        """Q4, Q7. The vote that survives a change of role within one epoch."""
        return row.voted

    def election_won(self, granted: tuple[int, ...]) -> bool:
        """Q8. A majority said yes."""
        return self.constants.is_majority(granted)

    def election_lost(self, rejected: tuple[int, ...]) -> bool:
        """Q8. Too many said no for a majority to say yes."""
        return not self.constants.is_majority(
            [v for v in self.constants.voters if v not in rejected]
        )

    def epoch_after_resigned(self, epoch: int) -> int:
        """1.2 (KAFKA-18379). A resigned leader leaves its epoch."""
        return epoch + 1

    def may_announce_leader(self, row: Row) -> bool:
        """Q9 (KAFKA-17333). When the state machine learns that it leads."""
        return row.role == "Leader" and row.high_watermark > row.epoch_start

    def check_quorum_applies(self) -> bool:
        """Q15 (KAFKA-16144). A sole voter has no fetches to wait for."""
        return len(self.constants.voters) > 1

    def check_quorum_satisfied(self, fetched: tuple[int, ...], n: int) -> bool:
        """Q15. Fetches of how many other voters show that the quorum is alive."""
        voters = self.constants.voters
        return self.constants.is_majority([v for v in voters if v in fetched or v == n])

    # --- Requests and responses: Q8, Q10, Q22 ---

    def leader_request_error(
        self, row: Row, m: BeginQuorumEpochRequest | EndQuorumEpochRequest
    ) -> Error:
        """Q10 (a) for Begin and EndQuorumEpoch."""
        return "FENCED_LEADER_EPOCH" if m.epoch < row.epoch else "NONE"

    def answers_in_flight(self, row: Row, m: Response, in_flight: Request | None) -> bool:
        """Q22. A response counts only if it answers the request in flight."""
        connection = row.connections[self.constants.nodes.index(m.source)]
        return connection == AWAITING and m.request == in_flight

    def is_stale_response(self, row: Row, m: Response) -> bool:
        """Q8, Q16. A response of an older epoch teaches nothing."""
        return m.epoch < row.epoch or m.error == "UNKNOWN_LEADER_EPOCH"

    def conflicting_leader(self, n: int, row: Row, leader: int, epoch: int) -> bool:
        """Q10. Two leaders of one epoch: Kafka stops here, and so does the reference."""
        if leader == n:
            return row.role != "Leader" or epoch != row.epoch
        return epoch == row.epoch and NOBODY not in (leader, row.leader) and leader != row.leader

    # --- Fetch, divergence, high watermark: Q12 to Q16 ---

    def fetch_request_error(self, row: Row, m: FetchRequest) -> Error:
        """Q12."""
        if m.fetch_offset < 0 or m.last_fetched_epoch < 0 or m.last_fetched_epoch > m.epoch:
            return "INVALID_REQUEST"
        if m.epoch < row.epoch:
            return "FENCED_LEADER_EPOCH"
        if m.epoch > row.epoch:
            return "UNKNOWN_LEADER_EPOCH"
        if row.role != "Leader":
            return "NOT_LEADER_OR_FOLLOWER"
        return "NONE"

    def fetch_diverges(self, row: Row, m: FetchRequest) -> bool:
        """Q13. Whether the fetching voter's log departs from this one."""
        if m.fetch_offset <= 0:
            return False
        end = log.end_offset_for_epoch(
            row.epoch_cache, log.end_offset(row.log), m.last_fetched_epoch
        )
        return end.epoch != m.last_fetched_epoch or end.end_offset < m.fetch_offset

    def fetch_updates_end_offset(self, diverges: bool) -> bool:
        """Q13. Whether the leader learns the end of the follower's log from a fetch."""
        return not diverges

    def servable_end_offset(self, row: Row) -> int:
        """Q14. The leader serves only what is flushed."""
        return row.flushed

    def own_end_offset(self, row: Row) -> int:
        """Q14. The leader counts for itself only what is flushed."""
        return row.flushed

    def majority_end_offset(self, n: int, row: Row) -> int:
        """Q14. The offset that a majority has reached."""
        reached = [
            self.own_end_offset(row) if v == n else offset
            for v, offset in zip(self.constants.nodes, row.end_offsets, strict=True)
            if v in self.constants.voters
        ]
        reached.sort(reverse=True)
        return reached[len(reached) // 2]

    def covers_own_epoch(self, row: Row, offset: int) -> bool:
        """Q14 (KAFKA-12619). The leader's own LeaderChange lies below the offset."""
        return offset > row.epoch_start

    def may_advance_high_watermark(self, row: Row, offset: int) -> bool:
        """Q14. Own epoch first, and never back."""
        return self.covers_own_epoch(row, offset) and offset > row.high_watermark

    def truncation_offset(self, row: Row, diverging: EpochEnd) -> int:
        """Q16. Where a follower cuts its log on a diverging response."""
        end = log.end_offset(row.log)
        own = log.end_offset_for_epoch(row.epoch_cache, end, diverging.epoch)
        if diverging.epoch == 0:
            return min(diverging.end_offset, end)
        if own.epoch == diverging.epoch:
            return min(own.end_offset, diverging.end_offset)
        return own.end_offset

    def truncation_refused(self, row: Row, diverging: EpochEnd) -> bool:
        """Q16.

        Whether a diverging response contradicts what the follower knows to be committed: its leader
        lacks that, and the follower stops.
        """
        end = min(diverging.end_offset, self.truncation_offset(row, diverging))
        return end < row.high_watermark

    def truncated_epoch_cache(self, row: Row, offset: int) -> EpochCache:
        """P12 (KAFKA-10706). The epoch cache is cut even when no record is."""
        return log.cache_truncate(row.epoch_cache, offset)

    def appendable(self, row: Row, m: FetchResponse) -> Log:
        """Q16, P15 (KAFKA-18723). Records of a later epoch than the follower's are not appended."""
        return log.up_to_epoch(m.records, row.epoch)

    def flushed_after_follower_append(self, row: Row) -> int:
        """Q16. A follower flushes what it appends in the same handler."""
        return log.end_offset(row.log)

    def flushed_after_leader_append(self, row: Row) -> int:
        """Q14. A leader flushes in a step of its own, which nothing may overtake."""
        return row.flushed

    def follower_high_watermark(self, row: Row, offset: int) -> int:
        """Q16. -1 in a response: the leader has not committed in its epoch yet.

        A request that was sent twice may be answered twice, the older answer last; so the
        follower's high watermark never goes back either.
        """
        return max(row.high_watermark, min(offset, log.end_offset(row.log)))
