"""Z183: a commit is answered before it is committed.

Another coordinator may lack it: what a member was told is committed is lost, and who takes the
partition begins before it. A mutant; no report is known.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.commits.rules import CommitRules
from kraftcheck.reference.commits.types import CommitsCoordinator


class Z183CommitAnsweredEarly(CommitRules):
    __slots__ = ()

    def is_answered(self, row: CommitsCoordinator) -> bool:
        return True


BUG = declared(
    __name__,
    Z183CommitAnsweredEarly,
    "CommitDurable",
    source="G3; a mutant",
    nodes=1,
    detectors=("tlc", "steps"),
    field="answers",
)
