"""Who has the cluster change while it runs: requests for voters, snapshots, deleted prefixes.

Law of this file: it asks nodes for what an administrator, or a thread of their own, asks them for;
when, is drawn before the run, and it asks nothing any more when the faults have ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kraftcheck.reference.kit.log import UNDEFINED
from kraftcheck.reference.quorum.sim.faults import Options
from kraftcheck.reference.quorum.sim.run import QuorumRun
from kraftcheck.reference.quorum.snapshots.messages import CleanSnapshots, CreateSnapshot
from kraftcheck.reference.quorum.snapshots.sim.changes import number
from kraftcheck.reference.quorum.voters.messages import (
    AddVoter,
    ChangeListeners,
    RemoveVoter,
    UpgradeKraftVersion,
    VoterChangeTimeout,
)
from kraftcheck.reference.sim.choices import Chooser, chance, pick, stream_of_option

REQUEST_US: Final = 2_000_000
"""A request for a change is given up after so long (V15, V16)."""
FIRST_US: Final = 1_500_000
"""By then most runs have a leader."""
AGAIN_US: Final = 400_000
MOVES: Final = 500
"""Of nodes that start again so many, per mille, come with other listeners."""
TRIES: Final = 8
"""An administrator asks again where nobody led, or the change was refused."""


def leaves_nobody(leader: int, node: int, voters: Sequence[int]) -> bool:
    """Say whether perhaps nobody can lead after this removal.

    So it is when the leader, of two voters, is removed and resigns before the other has heard of it
    (Z164). Progress is asked of every run.
    """
    return node == leader and len(voters) == 2


class Administrator:
    """Asks for changes of the voters, and has nodes make and clean snapshots."""

    def __init__(
        self, options: Options, may_vote: Sequence[int], chooser: Chooser, world: QuorumRun
    ) -> None:
        self._options, self._world = options, world
        self._stream = chooser.stream("faults")
        self._upgrades = chooser.stream(stream_of_option("kraft_version"))
        self._moves = chooser.stream(stream_of_option("listeners_change"))
        self._may_vote = may_vote
        self._over = False
        self.changes = self.snapshots = 0
        """So many were made."""

    def start(self, lasts: int) -> None:
        """lasts: so many microseconds there are faults."""
        for asked, what in (
            (self._options.voter_changes, self._change),
            (self._options.snapshots, self._snapshot),
        ):
            for _ in range(number(asked)):
                at = FIRST_US + self._stream.below(max(1, lasts - FIRST_US))
                self._world.call(at, what, TRIES)
        if self._options.kraft_version == 0:
            at = FIRST_US + self._upgrades.below(max(1, (lasts - FIRST_US) // 2))
            self._world.call(at, self._upgrade, 0)

    def end(self) -> None:
        self._over = True

    def _change(self, tries: int) -> None:
        """V15, V16. A node becomes a voter, or is none any more."""
        leader = self._world.leader()
        if self._over or tries == 0:
            return
        if leader is None or not self._asked(leader):
            self._world.call(AGAIN_US, self._change, tries - 1)

    def _asked(self, leader: int) -> bool:
        """Whether a change began."""
        voters = self._world.rows[leader].history[-1].voters
        node = pick(self._stream, self._may_vote)
        if leaves_nobody(leader, node, voters):
            return False
        input = RemoveVoter(node) if node in voters else AddVoter(node)
        step = self._world.give(leader, input)
        if step is None or step.ignored:
            return False
        self.changes += 1
        row = step.after.row
        if row.change != UNDEFINED:
            at, epoch = row.change, row.epoch
            self._world.call(REQUEST_US, lambda _: self._give_up(leader, epoch, at), 0)
        return True

    def _upgrade(self, _: int) -> None:
        """V23. Asked for until it is done: not every voter may have been heard."""
        leader = self._world.leader()
        if self._over:
            return
        step = None if leader is None else self._world.give(leader, UpgradeKraftVersion())
        if step is None or step.ignored:
            self._world.call(AGAIN_US, self._upgrade, 0)

    def before_start(self, node: int) -> None:
        """V17. A node that is down may come back with other listeners, once."""
        moves = self._options.listeners_change is True and not self._over
        if moves and chance(self._moves, MOVES):
            self._world.give(node, ChangeListeners())

    def _give_up(self, leader: int, epoch: int, change: int) -> None:
        """V19."""
        row = self._world.rows[leader]
        if (row.epoch, row.change) == (epoch, change):
            self._world.give(leader, VoterChangeTimeout())

    def _snapshot(self, tries: int) -> None:
        """V2, V3. Of what a node knows to be committed; or what its latest one has is deleted."""
        node = pick(self._stream, self._world.nodes)
        if self._over or tries == 0:
            return
        row = self._world.rows[node]
        end = row.high_watermark
        made = None
        if self._world.is_running(node) and end > 0:
            ends = [each.end_offset for each in row.snapshots if each.end_offset > row.log_start]
            cleans = bool(ends) and chance(self._stream, 500)
            # Where the last one does not end, nothing may be deleted.
            input: Any = (
                CleanSnapshots(pick(self._stream, (ends[-1], end)))
                if cleans
                else CreateSnapshot(end)
            )
            made = self._world.give(node, input)
        if made is None:
            self._world.call(AGAIN_US, self._snapshot, tries - 1)
        self.snapshots += made is not None
