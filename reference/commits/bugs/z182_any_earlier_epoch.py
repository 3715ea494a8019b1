"""Z182: a commit of any earlier epoch is accepted, also of who has lost the partition.

KIP-1251 accepts an earlier epoch since which the member has had the partition. Without that, who
gave it up overwrites what its next owner has committed. A mutant; no report is known.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.commits.messages import CommitsRecord
from kraftcheck.reference.commits.rules import CommitRules
from kraftcheck.reference.groups.messages import MemberRecord


class Z182AnyEarlierEpoch(CommitRules):
    __slots__ = ()

    def accepts_commit(self, group: CommitsRecord, member: MemberRecord, epoch: int) -> bool:
        return epoch <= member.epoch


BUG = declared(
    __name__,
    Z182AnyEarlierEpoch,
    "CommitByOwner",
    source="G30; a mutant",
    nodes=2,
    detectors=NO_CLIENT,
    field="committed offset",
)
