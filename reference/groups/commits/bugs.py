"""Known bugs of offsets that members commit, by the numbers of bugs.toml."""

from __future__ import annotations

from kraftcheck.reference.groups.commits.messages import CommitsRecord
from kraftcheck.reference.groups.commits.rules import CommitRules
from kraftcheck.reference.groups.commits.types import CommitsCoordinator
from kraftcheck.reference.groups.messages import MemberRecord


class Z182AnyEarlierEpoch(CommitRules):
    __slots__ = ()

    def accepts_commit(self, group: CommitsRecord, member: MemberRecord, epoch: int) -> bool:
        return epoch <= member.epoch


class Z183CommitAnsweredEarly(CommitRules):
    __slots__ = ()

    def is_answered(self, row: CommitsCoordinator) -> bool:
        return True


class Z184BeginsWithTheFirst(CommitRules):
    __slots__ = ()

    def beginning(self, group: CommitsRecord) -> int:
        return 0
