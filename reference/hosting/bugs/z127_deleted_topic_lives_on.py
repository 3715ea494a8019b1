"""Z127 (KAFKA-14894): topics that were deleted before a snapshot live on.

What is read of a snapshot is what it has. If the loader does not compare with the image before it,
no topic is found to be gone.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.hosting.rules import HostingRules
from kraftcheck.reference.hosting.types import HostRow


class Z127DeletedTopicLivesOn(HostingRules):
    def is_of_deleted_topic(self, row: HostRow, by_snapshot: bool) -> bool:
        return not by_snapshot and super().is_of_deleted_topic(row, by_snapshot)


BUG = declared(
    __name__,
    Z127DeletedTopicLivesOn,
    "LocalChangesSound",
    "NoReplicaOfOldTopic",
    source="V27; KAFKA-14894, PR 13541",
    year=2023,
    nodes=1,
    field="replica",
    detectors=NO_CLIENT,
)
