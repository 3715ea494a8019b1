"""Z114: a leader changes the voters before a record of its own epoch is committed.

Two leaders in turn change the same set, each in its own log, and the majorities of the two sets
need not meet: two of four voters remove each other. It is Z18 in its smallest form, the hole that
Ongaro found in single-server changes.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.kit.log import UNDEFINED
from kraftcheck.reference.voters.rules import VoterRules
from kraftcheck.reference.voters.types import Refusal, VoterRow


class Z114ChangeBeforeOwnEpoch(VoterRules):
    def change_refused(self, row: VoterRow) -> Refusal:
        last = row.history[-1].offset
        if row.change != UNDEFINED or UNDEFINED != last >= row.quorum.high_watermark:
            return "REQUEST_TIMED_OUT"
        return ""


BUG = declared(
    __name__,
    Z114ChangeBeforeOwnEpoch,
    "NoDisjointMajorities",
    "ElectionSafety",
    "LeaderCompleteness",
    "NoIllegalJoin",
    "NoIllegalState",
    "CommittedSurvives",
    source="V14; raft-dev, single-server membership changes (Ongaro, 2015)",
    year=2015,
    nodes=4,
    field="history",
    detectors=NO_CLIENT,
)
