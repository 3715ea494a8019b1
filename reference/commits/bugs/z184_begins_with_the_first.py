"""Z184: who takes a partition begins with its first record, whatever is committed.

Everything is processed again at each hand-over. A mutant; no report is known.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.commits.messages import CommitsRecord
from kraftcheck.reference.commits.rules import CommitRules


class Z184BeginsWithTheFirst(CommitRules):
    __slots__ = ()

    def beginning(self, group: CommitsRecord) -> int:
        return 0


BUG = declared(
    __name__,
    Z184BeginsWithTheFirst,
    "StartAtCommitted",
    source="G28; a mutant",
    nodes=2,
    detectors=NO_CLIENT,
    field="position",
)
