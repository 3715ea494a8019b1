"""Z112 (KAFKA-20661): a second change is made from the base of the first.

The record of a change waits in the accumulator while the controller writes; when its request has
been given up meanwhile, the next change sees neither, and its set is made from the same base. Here
what waits is what the leader has not flushed: nobody can fetch either.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.kit.log import UNDEFINED
from kraftcheck.reference.voters.rules import VoterRules
from kraftcheck.reference.voters.types import Refusal, VoterRow, VotersAt


def last_seen(row: VoterRow) -> VotersAt:
    """The last set whose record does not wait."""
    return [each for each in row.history if each.offset < row.quorum.flushed][-1]


class Z112SecondFromOneBase(VoterRules):
    def change_refused(self, row: VoterRow) -> Refusal:
        waits = row.change != UNDEFINED or not self.own_epoch_committed(row)
        if waits or last_seen(row).offset >= max(row.quorum.high_watermark, 0):
            return "REQUEST_TIMED_OUT"
        return ""

    def changed_voters(self, row: VoterRow, node: int) -> tuple[int, ...]:
        return tuple(sorted({*last_seen(row).voters} ^ {node}))


BUG = declared(
    __name__,
    Z112SecondFromOneBase,
    "AdjacentSets",
    "OneChangeAtATime",
    "NoIllegalJoin",
    "NoDisjointMajorities",
    source="V18; review of PR 22620 (KAFKA-20661)",
    field="history",
    detectors=NO_CLIENT,
    boundary="change_refused, changed_voters; decision / record in the log",
)
