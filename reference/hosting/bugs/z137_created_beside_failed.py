"""Z137 (KAFKA-16234): a replica whose directory has failed is made anew in another one.

The next change of its partition finds no replica that serves, and makes one: empty, and in the ISR
until the controller has heard of the directory.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.hosting.rules import HostingRules
from kraftcheck.reference.hosting.types import HostRow


class Z137CreatedBesideFailed(HostingRules):
    def may_create(self, row: HostRow) -> bool:
        return True


BUG = declared(
    __name__,
    Z137CreatedBesideFailed,
    "LeaderCandidateCompleteness",
    source="R20; KAFKA-16234, PR 15335",
    year=2024,
    nodes=1,
    field="replica",
    detectors=NO_CLIENT,
)
