"""Z245: a deletion of a topic removes offsets that were committed to the new topic of its name.

The topic is made anew, and a member commits to it before the coordinator has heard that the old
one was deleted. The guard is the comparison of topic ids in
`OffsetMetadataManager.onTopicsDeleted`. A mutant; no report is known.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import CommittedOffset


class Z245NewTopicForgotten(GroupRules):
    __slots__ = ()

    def goes_with_topic(self, each: CommittedOffset) -> bool:
        return True


BUG = declared(
    __name__,
    Z245NewTopicForgotten,
    "OffsetsKept",
    source="G36; a mutant of OffsetMetadataManager.onTopicsDeleted",
    nodes=1,
    detectors=NO_CLIENT,
    field="committed (anew)",
)
