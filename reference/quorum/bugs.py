"""Known bugs of the quorum, by the numbers of bugs.toml."""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.kit.log import UNDEFINED, EpochCache, EpochEnd, end_offset
from kraftcheck.reference.quorum import quorum41
from kraftcheck.reference.quorum.messages import FetchRequest, Request, Response, VoteRequest
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import AWAITING, NOBODY, QuorumStateFile, Role, Row


class Z01VoteNotPersisted(QuorumRules):
    def persisted_quorum_state(self, row: Row) -> QuorumStateFile:
        return QuorumStateFile(row.epoch, row.leader, NOBODY)


class Z02LeaderResumesItsEpoch(QuorumRules):
    def startup_role(self, n: int, quorum_state: QuorumStateFile, last_epoch: int) -> Role:
        role = super().startup_role(n, quorum_state, last_epoch)
        return "Leader" if role == "Resigned" else role

    def servable_end_offset(self, row: Row) -> int:
        return end_offset(row.log)

    def own_end_offset(self, row: Row) -> int:
        return end_offset(row.log)


class Z03NoFlushBeforeFetch(QuorumRules):
    def flushed_after_follower_append(self, row: Row) -> int:
        return row.flushed


class Z04CommitsOlderEpochs(QuorumRules):
    def covers_own_epoch(self, row: Row, offset: int) -> bool:
        return True


class Z05OwnEpochOffByOne(QuorumRules):
    def covers_own_epoch(self, row: Row, offset: int) -> bool:
        return offset >= row.epoch_start


class Z06VoteWithoutLogCheck(QuorumRules):
    def log_ok(self, row: Row, m: VoteRequest) -> bool:
        return True


class Z07FetchWithoutDivergence(QuorumRules):
    def fetch_diverges(self, row: Row, m: FetchRequest) -> bool:
        return False


class Z08CountsDivergingFetch(QuorumRules):
    def fetch_updates_end_offset(self, diverges: bool) -> bool:
        return True


class Z09NoCheckQuorum(QuorumRules):
    def check_quorum_applies(self) -> bool:
        return False


class Z10SoleVoterChecksQuorum(QuorumRules):
    def check_quorum_applies(self) -> bool:
        return True


class Z12FollowersRefusePreVotes(QuorumRules):
    def follower_grants_pre_vote(self, row: Row, m: VoteRequest) -> bool:
        return False


class Z13VoteForgotten(QuorumRules):
    def voted_within_epoch(self, row: Row) -> int:
        return NOBODY


class Z14LeaderForgotten(QuorumRules):
    def persisted_quorum_state(self, row: Row) -> QuorumStateFile:
        voted = row.voted if row.leader == NOBODY else NOBODY
        return QuorumStateFile(row.epoch, row.leader, voted)

    def startup_role(self, n: int, quorum_state: QuorumStateFile, last_epoch: int) -> Role:
        role = super().startup_role(n, quorum_state, last_epoch)
        return "Unattached" if role == "Follower" else role

    def remembered_leader(self, quorum_state: QuorumStateFile) -> int:
        return NOBODY


class Z15ResignedKeepsItsEpoch(QuorumRules):
    def epoch_after_resigned(self, epoch: int) -> int:
        return epoch


class Z16ResignedAnnounced(QuorumRules):
    def may_announce_leader(self, row: Row) -> bool:
        return row.role in ("Leader", "Resigned")


class Z20EpochCacheKept(QuorumRules):
    def truncated_epoch_cache(self, row: Row, offset: int) -> EpochCache:
        if offset >= end_offset(row.log):
            return row.epoch_cache
        return super().truncated_epoch_cache(row, offset)

    def recovered_epoch_cache(self, cache: EpochCache, end_offset: int) -> EpochCache:
        return cache


class Z68LoserStandsAgain(QuorumRules):
    def startup_role(self, n: int, quorum_state: QuorumStateFile, last_epoch: int) -> Role:
        role = super().startup_role(n, quorum_state, last_epoch)
        return "Candidate" if role == "Follower" and quorum_state.voted == n else role


class Z302CutsCommitted(QuorumRules):
    def log_ok(self, row: Row, m: VoteRequest) -> bool:
        return True

    def truncation_refused(self, row: Row, diverging: EpochEnd) -> bool:
        return False


class Z304UsesLateResponse(QuorumRules):
    def answers_in_flight(self, row: Row, m: Response, in_flight: Request | None) -> bool:
        connection = row.connections[self.constants.nodes.index(m.source)]
        return connection == AWAITING and type(m.request) is type(in_flight)


class Z167TakesOverHighWatermark(quorum41.Quorum41Rules):
    def high_watermark_after_fetch(self, row: Row, m: Any) -> int:
        return row.high_watermark if m.high_watermark == UNDEFINED else m.high_watermark
