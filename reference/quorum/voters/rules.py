"""Every decision about changes of the voters (KIP-853) that has a name: the twin of VoterRules.tla.

Law of this file: a rule has no state and no effects, and asks other rules only through `self`. What
a voter does under one set is decided in reference/quorum/rules.py; here is decided which set that
is, and who may change it. Rule ids (V11 ...) are those of docs/reference/protocol-rules.md.
"""

from __future__ import annotations

import msgspec

from kraftcheck.reference.kit.log import UNDEFINED
from kraftcheck.reference.quorum.voters.types import (
    VOTERS_RECORD,
    Constants,
    History,
    Refusal,
    VoterRow,
    VotersAt,
    VotersLog,
)


class Read(msgspec.Struct, frozen=True):
    """What was read of a log."""

    history: History
    history_end: int


def sets_in(log: VotersLog, offset: int) -> History:
    """The sets of the Voters records of a log, from an offset on."""
    return tuple(
        [
            VotersAt(at, entry.voters)
            for at, entry in enumerate(log[offset:], offset)
            if entry.value == VOTERS_RECORD
        ]
    )


class VoterRules:
    """The decisions, for one set of constants."""

    __slots__ = ("constants",)

    def __init__(self, constants: Constants) -> None:
        self.constants = constants

    # --- The set in force: V10 to V13, V18 ---

    def voters_of(self, row: VoterRow) -> tuple[int, ...]:
        """V11. The last set of the log, committed or not."""
        return row.history[-1].voters

    def moved_of(self, row: VoterRow) -> tuple[int, ...]:
        """V17. Whom the set in force has with other listeners than at first."""
        offset = row.history[-1].offset
        return () if offset == UNDEFINED else row.log[offset].moved

    def kraft_version_of(self, row: VoterRow) -> int:
        """V23.

        The first set of a log that begins under version 0 comes with the record of version 1, in
        one batch.
        """
        if self.constants.kraft_version == 1:
            return 1
        return 0 if row.history[-1].offset == UNDEFINED else 1

    def writes_bootstrap_set(self, row: VoterRow) -> bool:
        """V22.

        Where the set in force is that of the bootstrap snapshot, a new leader writes it, for those
        who were formatted without it.
        """
        return bool(self.constants.unformatted) and row.history[-1].offset == UNDEFINED

    def history_after_append(self, row: VoterRow, after: VoterRow) -> Read:
        """V11. What the node's log has now has been read."""
        read = sets_in(after.log, row.history_end)
        return Read(row.history + read, max(row.history_end, len(after.log)))

    def history_after_truncation(self, row: VoterRow, offset: int) -> Read:
        """V11. Sets at or above the offset go, and what is appended there is read again."""
        kept = tuple([each for each in row.history if each.offset < offset])
        return Read(kept, min(row.history_end, offset))

    def may_stand(self, n: int, row: VoterRow) -> bool:
        """V13. Who is no voter does not stand for election."""
        return n in self.voters_of(row)

    def counts_itself(self, n: int, row: VoterRow) -> bool:
        """V20 (KAFKA-16530). A leader that is no voter is not counted for the high watermark."""
        return n in self.voters_of(row)

    def check_quorum_binds(self, n: int, row: VoterRow) -> bool:
        """V20.

        A leader waits for no fetches if it is the only voter; one that is no voter waits for those
        of voters, be it of one.
        """
        return self.voters_of(row) != (n,)

    def flushes_as_observer(self, row: VoterRow) -> bool:
        """V21 (KAFKA-17332).

        Who may become a voter flushes what it fetches, as voters do: it may be counted as soon as
        it is one.
        """
        return True

    def may_return_empty(self, row: VoterRow) -> bool:
        """V10.

        A voter is its id and the directory on its disk: who comes with an empty disk has another
        directory, and so is not taken for it.
        """
        return False

    # --- Changes: V14 to V20 ---

    def own_epoch_committed(self, row: VoterRow) -> bool:
        """V14. A record of the leader's own epoch is committed (Ongaro, 2015)."""
        return row.high_watermark != UNDEFINED

    def last_set_committed(self, row: VoterRow) -> bool:
        """V14. No set of the log is still to be committed."""
        return row.history[-1].offset < max(row.high_watermark, 0)

    def change_refused(self, row: VoterRow) -> Refusal:
        """V14. Why no change is begun now; empty: one may be."""
        if row.change != UNDEFINED:
            return "REQUEST_TIMED_OUT"
        if not self.own_epoch_committed(row):
            return "REQUEST_TIMED_OUT"
        if not self.last_set_committed(row):
            return "REQUEST_TIMED_OUT"
        return ""

    def is_caught_up(self, row: VoterRow, node: int) -> bool:
        """V15. The node was at the end of the leader's log in this epoch."""
        return node in row.caught_up

    def changes_voters(self, row: VoterRow) -> bool:
        """V14, V23. Under kraft.version 0 voters are configured, and stay."""
        return self.kraft_version_of(row) > 0

    def add_refused(self, row: VoterRow, node: int) -> Refusal:
        """V15."""
        if refused := self.change_refused(row):
            return refused
        if not self.changes_voters(row):
            return "UNSUPPORTED_VERSION"
        if node in self.voters_of(row):
            return "DUPLICATE_VOTER"
        return "" if self.is_caught_up(row, node) else "REQUEST_TIMED_OUT"

    def remove_refused(self, row: VoterRow, node: int) -> Refusal:
        """V16."""
        if refused := self.change_refused(row):
            return refused
        if not self.changes_voters(row):
            return "UNSUPPORTED_VERSION"
        voters = self.voters_of(row)
        return "VOTER_NOT_FOUND" if node not in voters or voters == (node,) else ""

    def changed_voters(self, row: VoterRow, node: int) -> tuple[int, ...]:
        """V15, V16. One voter comes or goes."""
        voters = self.voters_of(row)
        if node in voters:
            return tuple([v for v in voters if v != node])
        return tuple(sorted((*voters, node)))

    def moved_after(
        self, row: VoterRow, voters: tuple[int, ...], told: tuple[int, ...]
    ) -> tuple[int, ...]:
        """V17.

        Who has moved to other listeners, as a set says that has these voters, and moreover one of
        them who says so.
        """
        return tuple(sorted({*self.moved_of(row), *told} & {*voters}))

    def update_refused(self, row: VoterRow, node: int) -> Refusal:
        """V17. Of a voter, about itself."""
        if refused := self.change_refused(row):
            return refused
        return "" if node in self.voters_of(row) else "VOTER_NOT_FOUND"

    def updates_voter(self, n: int, row: VoterRow) -> bool:
        """V17.

        A voter tells each new leader of itself under kraft.version 0; then only what the set in
        force does not say.
        """
        if n not in self.voters_of(row):
            return False
        if self.kraft_version_of(row) == 0:
            return not row.has_updated_leader
        return row.moved and n not in self.moved_of(row)

    def every_voter_heard(self, n: int, row: VoterRow) -> bool:
        """V23. Of every voter the leader has heard in this epoch."""
        return {*self.voters_of(row)} <= {n, *[each.node for each in row.heard]}

    def upgrade_refused(self, n: int, row: VoterRow) -> Refusal:
        """V23."""
        if self.kraft_version_of(row) == 1 or not self.every_voter_heard(n, row):
            return "INVALID_UPDATE_VERSION"
        return ""

    def joins_by_itself(self, n: int, row: VoterRow) -> bool:
        """V24.

        Who is no voter asks to be one, unless it was removed (KAFKA-19850: Kafka asks all the
        same).
        """
        was = any([n in each.voters for each in row.history])
        return self.kraft_version_of(row) == 1 and not was

    def leaves_after_removal(self, n: int, row: VoterRow) -> bool:
        """V20. A leader that is no voter leads on until that is committed."""
        outside = row.role == "Leader" and n not in self.voters_of(row)
        return outside and self.last_set_committed(row)
