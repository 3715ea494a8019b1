"""Z246: an offset of a deleted topic is returned to a member that asks for the new one of its name.

The member begins where the old topic had come to, and so skips records of the new one. The guard
is `OffsetMetadataManager.isMismatchedTopicId`. A mutant; no report is known.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import CommittedOffset, GroupOffsets


class Z246OffsetOfOldTopic(GroupRules):
    __slots__ = ()

    def is_of_topic(self, row: GroupOffsets, each: CommittedOffset) -> bool:
        return True


BUG = declared(
    __name__,
    Z246OffsetOfOldTopic,
    "StartAtCommitted",
    source="G33, G36; a mutant of OffsetMetadataManager.isMismatchedTopicId",
    nodes=1,
    detectors=NO_CLIENT,
    field="committed (anew), renewed",
)
