"""Z243: offsets of a transaction are accepted whatever epoch they carry.

A member that was removed sends what it has processed after its successor has committed, and its
transaction commits: the group goes back (KIP-447). The guard is
`validateTransactionalOffsetCommit` of `OffsetMetadataManager`, with `ConsumerGroup` and
`ClassicGroup.validateOffsetCommit`. A mutant; no report is known.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import GroupOffsets, RequestedCommit


class Z243OutdatedSends(GroupRules):
    __slots__ = ()

    def accepts_txn_offsets(self, row: GroupOffsets, request: RequestedCommit) -> bool:
        return True


BUG = declared(
    __name__,
    Z243OutdatedSends,
    "HandoverNoRegress",
    source="G30, KIP-447; a mutant of OffsetMetadataManager.validateTransactionalOffsetCommit",
    nodes=1,
    detectors=NO_CLIENT,
    field="requested (epoch)",
)
