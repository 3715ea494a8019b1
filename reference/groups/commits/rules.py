"""Every decision of the offsets that members commit which has a name: the twin of CommitRules.tla.

Law of this file: as of reference/groups/rules.py.
"""

from __future__ import annotations

from kraftcheck.reference.groups.commits.messages import CommitsRecord
from kraftcheck.reference.groups.commits.types import CommitsCoordinator, Constants
from kraftcheck.reference.groups.messages import MemberRecord
from kraftcheck.reference.groups.rules import GroupRules, holding


class CommitRules(GroupRules):
    """The decisions, for one set of constants."""

    __slots__ = ()
    constants: Constants

    def accepts_commit(self, group: CommitsRecord, member: MemberRecord, epoch: int) -> bool:
        """G30. A member's own epoch, or an earlier one since it has the partition (KIP-1251)."""
        has_it = self.constants.followed in holding(member)
        earlier = epoch < member.epoch and has_it and group.since <= epoch
        return epoch == member.epoch or earlier

    def is_answered(self, row: CommitsCoordinator) -> bool:
        """G3. A commit is answered when it is committed."""
        return not row.log.leader

    def beginning(self, group: CommitsRecord) -> int:
        """G28. Where who takes the partition begins."""
        return group.offset

    def tells_offset(self, member: MemberRecord, epoch: int) -> bool:
        """G33. Who asks what is committed is a member in its epoch."""
        return member.state != "None" and epoch == member.epoch
