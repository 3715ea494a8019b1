"""Z221: a coordinator that has loaded does not look which topics were deleted meanwhile.

The offsets of a topic that is deleted while nobody coordinates the group stay, and are those of the
topic that is made anew with its name: who takes that begins where the old one had come to, and is
not given what lies before. Apache Kafka 4.3.1 has the coordinators that a broker runs forget a
topic's offsets once, as the broker hears of the deletion (GroupCoordinatorService,
handleTopicsDeletion); one that is loading answers COORDINATOR_LOAD_IN_PROGRESS, which is logged.
Only who asks with the new topic's id is told that there is none.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules


class Z221OffsetsOutlive(GroupRules):
    __slots__ = ()

    def forgets_when_loaded(self) -> bool:
        return False


BUG = declared(
    __name__,
    Z221OffsetsOutlive,
    "NothingOfDeleted",
    source="G36; Apache Kafka 4.3.1; no report was found",
    nodes=1,
    detectors=NO_CLIENT,
    field="committed",
)
