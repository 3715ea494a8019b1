"""Z02 (KAFKA-10527): a leader that restarts leads its epoch on.

What it lost with the unflushed tail is written again with other content under the same offset and
epoch, so (offset, epoch) no longer names one record and a fetch sees no divergence. It shows only
if the leader also serves and counts what is not flushed; so both belong to the bug.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.kit.log import end_offset
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import QuorumStateFile, Role, Row


class Z02LeaderResumesItsEpoch(QuorumRules):
    def startup_role(self, n: int, quorum_state: QuorumStateFile, last_epoch: int) -> Role:
        role = super().startup_role(n, quorum_state, last_epoch)
        return "Leader" if role == "Resigned" else role

    def servable_end_offset(self, row: Row) -> int:
        return end_offset(row.log)

    def own_end_offset(self, row: Row) -> int:
        return end_offset(row.log)


BUG = declared(
    __name__,
    Z02LeaderResumesItsEpoch,
    "UniqueEntry",
    "LogMatching",
    "DurableMajority",
    "CommittedSurvives",
    source="KAFKA-10527, PR 9348",
    year=2020,
    boundary="startup_role, servable_end_offset, own_end_offset; append / flush",
    field="flushed apart from log",
)
