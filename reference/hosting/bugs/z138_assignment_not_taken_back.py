"""Z138 (KAFKA-16297): the controller believes a replica where it did not move after all.

The assignment to the directory of a future replica is accepted, and then the move is given up, or
that directory fails. Nobody takes the assignment back: when the directory fails in which the
replica is, the controller does not know that it is meant.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.hosting.rules import HostingRules
from kraftcheck.reference.hosting.types import HostRow


class Z138AssignmentNotTakenBack(HostingRules):
    def takes_back_assignment(self, row: HostRow) -> bool:
        return False


BUG = declared(
    __name__,
    Z138AssignmentNotTakenBack,
    "OfflineDirNeverLeads",
    "DirectoryIsKnown",
    source="R21; KAFKA-16297, PR 15557",
    year=2024,
    nodes=1,
    field="image",
    detectors=NO_CLIENT,
)
