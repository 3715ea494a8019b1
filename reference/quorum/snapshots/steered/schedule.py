"""Controllers whose voters change under a schedule, with snapshots of their log or without.

As reference/quorum/steered. What there is besides to be told: what an administrator asks for, and
what nodes do by themselves where voters change, of which the protocol says what may come
(`World.local`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from typing import Any, ClassVar, Final

from kraftcheck.reference.quorum.messages import CheckQuorumTimeout, Input, Request
from kraftcheck.reference.quorum.sim.machine import QuorumMemo
from kraftcheck.reference.quorum.snapshots.messages import MESSAGES, CleanSnapshots, CreateSnapshot
from kraftcheck.reference.quorum.snapshots.sim.administrator import leaves_nobody
from kraftcheck.reference.quorum.steered.schedule import (
    ISOLATED_LEADER_RESIGNS,
    SPREAD,
    TIMEOUTS,
    Schedule,
)
from kraftcheck.reference.quorum.types import AWAITING, READY
from kraftcheck.reference.quorum.voters import messages as voters
from kraftcheck.reference.quorum.voters.types import VoterRow
from kraftcheck.reference.sim.recorder import Recorder
from kraftcheck.reference.steered.failures import Violation

CHANGES: Final = (
    *(voters.AddVoter, voters.RemoveVoter, voters.VoterChangeTimeout, voters.FetchFromBootstrap),
    *(voters.UpgradeKraftVersion, voters.ChangeListeners),
    *(voters.UpdateVoterTimeout, voters.AutoJoinTimeout, CreateSnapshot, CleanSnapshots),
)
"""What comes by itself only where voters change, or snapshots are made. No disk is replaced: its
voter is down for good, and with it perhaps the majority that progress needs."""


class ChangingSchedule(Schedule):
    """One run. may_vote: who may be asked to be a voter."""

    messages: ClassVar[tuple[type[Any], ...]] = (*MESSAGES, *voters.MESSAGES)

    def __init__(
        self,
        constants: Any,
        memo: QuorumMemo,
        recorder: Recorder,
        may_vote: Container[int],
    ) -> None:
        self._may_vote = may_vote
        self._has_asked: Counter[int] = Counter()
        super().__init__(constants, None, memo, recorder)

    def least_kept(self, node: int) -> int:
        """A set that was in force stays (KafkaRaftClient.maybeAppendBatches)."""
        row: VoterRow = self.rows[node]
        return max(row.flushed, row.history[-1].offset + 1)

    def lives(self, m: Any) -> bool:
        row = self.row(m.destination)
        if hasattr(m, "request"):
            return bool(row.connections[self.constants.nodes.index(m.source)] == AWAITING)
        epoch = m.epoch if isinstance(m, Request) else row.epoch
        return epoch >= row.epoch or self.row(m.source).epoch <= epoch

    # --- Who is no voter, and the only one

    def _nothing_happened(self, node: int, input: Input) -> None:
        """Say that nothing happened at a timer that cannot matter.

        Timers of elections and fetches are to an observer when it asks another node (V25), one
        after the other; of check-quorum a sole voter's goes on.
        """
        row = self.row(node)
        if isinstance(input, CheckQuorumTimeout) and row.role == "Leader":
            if self.watched and self.rows[node].history[-1].voters != (node,):
                what = f"leader {node} of epoch {row.epoch} goes on"
                raise Violation(ISOLATED_LEADER_RESIGNS, what, self.moves)
            self._arm(node, input, TIMEOUTS.check_quorum)
            return
        self._arm(node, input, TIMEOUTS.election_timeout + SPREAD * node)
        able = [
            peer
            for peer, connection in zip(self.constants.nodes, row.connections, strict=True)
            if peer != node and connection == READY
        ]
        if able:
            peer = able[self._has_asked[node] % len(able)]
            self._has_asked[node] += 1
            asks: Any = voters.FetchFromBootstrap(peer)
            self._step(node, asks)

    # --- Moves

    def changes(self) -> Iterator[tuple[int, Any]]:
        """What comes by itself, to whom, that comes to no voter whose set is one for all time."""
        for node in self.constants.nodes:
            for input in self._world.local(self.constants, node, self.rows[node]):
                if isinstance(input, CHANGES) and self._may_come(node, input):
                    yield node, input

    def _may_come(self, node: int, input: Any) -> bool:
        asks = isinstance(input, voters.UpdateVoterTimeout | voters.AutoJoinTimeout)
        if (asks and node not in self._may_vote) or not self._is_of_voters(node, input):
            return False
        return self.step(node, self.known(input)) is not None

    def _is_of_voters(self, node: int, input: Any) -> bool:
        if not isinstance(input, voters.Change):
            return True
        known = self.rows[node].history[-1].voters
        removed = isinstance(input, voters.RemoveVoter)
        return input.voter in self._may_vote and not (
            removed and leaves_nobody(node, input.voter, known)
        )
