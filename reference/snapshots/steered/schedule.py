"""Controllers whose voters change under a schedule, with snapshots of their log or without.

As reference/quorum/steered, which takes each step by the node's part that is the quorum's. What
there is besides to be told: what an administrator asks for, and what nodes do by themselves where
voters change, of which the protocol says what may come (`World.local`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from typing import Any, ClassVar, Final

from kraftcheck.reference.kit.log import Log
from kraftcheck.reference.kit.properties import Due
from kraftcheck.reference.kit.protocol import HISTORY
from kraftcheck.reference.protocols import protocol_of
from kraftcheck.reference.quorum.handlers import QuorumHandlers
from kraftcheck.reference.quorum.messages import CheckQuorumTimeout, Input, Request
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.sim.machine import QuorumMemo
from kraftcheck.reference.quorum.steered.recorded import RecordedSchedule
from kraftcheck.reference.quorum.steered.schedule import (
    ISOLATED_LEADER_RESIGNS,
    SPREAD,
    TIMEOUTS,
    TRUE_RATE,
)
from kraftcheck.reference.quorum.timers import TimerEffect, initial_timer_effects
from kraftcheck.reference.quorum.types import AWAITING, READY, Outcome, Row
from kraftcheck.reference.sim.recorder import Recorder
from kraftcheck.reference.snapshots.messages import MESSAGES, CleanSnapshots, CreateSnapshot
from kraftcheck.reference.snapshots.sim.administrator import leaves_nobody
from kraftcheck.reference.snapshots.sim.machine import effects_of, voter_of
from kraftcheck.reference.steered.failures import Named, Violation
from kraftcheck.reference.voters import messages as voters
from kraftcheck.reference.voters.types import in_force

CHANGES: Final = (
    *(voters.AddVoter, voters.RemoveVoter, voters.VoterChangeTimeout, voters.FetchFromBootstrap),
    *(voters.UpgradeKraftVersion, voters.ChangeListeners),
    *(voters.UpdateVoterTimeout, voters.AutoJoinTimeout, CreateSnapshot, CleanSnapshots),
)
"""What comes by itself only where voters change, or snapshots are made. No disk is replaced: its
voter is down for good, and with it perhaps the majority that progress needs."""


class ChangingSchedule(RecordedSchedule):
    """One run. `rows` are the quorum's; `whole` has all of each node. may_vote: who may be asked to
    be a voter.
    """

    messages: ClassVar[tuple[type[Any], ...]] = (*MESSAGES, *voters.MESSAGES)

    def __init__(
        self,
        constants: Any,
        memo: QuorumMemo,
        recorder: Recorder,
        may_vote: Container[int],
        watched: bool = True,
    ) -> None:
        world = protocol_of(constants).world
        assert world is not None and world.history is not None, "as runs of moves have them"
        self._local, self._next, self._due = world.local, world.history, Due(world.properties)
        self._may_vote = may_vote
        self._has_asked: Counter[int] = Counter()
        super().__init__(constants, memo, recorder, watched)
        self.whole: dict[int, Any] = {n: s.known.row for n, s in self._states.items()}
        self.whole[HISTORY] = None

    def handlers_of(self, rules: type[QuorumRules]) -> QuorumHandlers:
        """Those of each node's own set are the memo's."""
        of: Any = self.constants
        return QuorumHandlers(in_force(of, of.first_voters))

    def first_timers(self, node: int) -> tuple[TimerEffect, ...]:
        of: Any = self.constants
        return initial_timer_effects(in_force(of, of.nodes), node)

    def effects(
        self, node: int, before: Row, input: Input, outcome: Outcome
    ) -> tuple[TimerEffect, ...]:
        set_before = voter_of(self.whole[node]).history[-1].voters
        return effects_of(self.constants, set_before, node, before, input, outcome)

    def wrong(self, before: Mapping[int, Row], node: int) -> tuple[Named, str] | None:
        was = self.whole
        now = self.whole = {**was, node: self._states[node].known.row}
        now[HISTORY] = self._next(self.constants, was, now)
        return next(iter(self._due.wrong(self.constants, was, now)), None)

    def committed(self) -> Log:
        return self.whole[HISTORY] or ()

    def least_kept(self, node: int) -> int:
        """A set that was in force stays (KafkaRaftClient.maybeAppendBatches)."""
        return max(self.rows[node].flushed, voter_of(self.whole[node]).history[-1].offset + 1)

    def lives(self, m: Any) -> bool:
        row = self.rows[m.destination]
        if hasattr(m, "request"):
            return row.connections[self.constants.nodes.index(m.source)] == AWAITING
        epoch = m.epoch if isinstance(m, Request) else row.epoch
        return epoch >= row.epoch or self.rows[m.source].epoch <= epoch

    def named_rows(self) -> dict[str, Any]:
        return {f"voter {node}": row for node, row in self.whole.items() if node != HISTORY}

    # --- Who is no voter, and the only one

    def _nothing_happened(self, node: int, before: Row, input: Input) -> None:
        """Timers of elections and fetches are to an observer when it asks another node (V25), one
        after the other; of check-quorum a sole voter's goes on.
        """
        if isinstance(input, CheckQuorumTimeout) and before.role == "Leader":
            if self.watched and voter_of(self.whole[node]).history[-1].voters != (node,):
                what = f"leader {node} of epoch {before.epoch} goes on"
                raise Violation(ISOLATED_LEADER_RESIGNS, what, self.moves)
            self._arm(node, input, TIMEOUTS.check_quorum)
            return
        self._arm(node, input, TIMEOUTS.election_timeout + SPREAD * node)
        able = [
            peer
            for peer, connection in zip(self.constants.nodes, before.connections, strict=True)
            if peer != node and connection == READY
        ]
        if able:
            peer = able[self._has_asked[node] % len(able)]
            self._has_asked[node] += 1
            asks: Any = voters.FetchFromBootstrap(peer)
            self._step(node, before, asks)

    def _arm(self, node: int, timer: Any, wait: int) -> None:
        self.due[node, timer] = self.now + wait * self.rates[node] // TRUE_RATE

    # --- Moves

    def changes(self) -> Iterator[tuple[int, Any]]:
        """What comes by itself, to whom, that comes to no voter whose set is one for all time."""
        for node in self.constants.nodes:
            for input in self._local(self.constants, node, self.whole[node]):
                if isinstance(input, CHANGES) and self._may_come(node, input):
                    yield node, input

    def _may_come(self, node: int, input: Any) -> bool:
        asks = isinstance(input, voters.UpdateVoterTimeout | voters.AutoJoinTimeout)
        if (asks and node not in self._may_vote) or not self._is_of_voters(node, input):
            return False
        return self._machine.step(self._states[node], self._intern(input)) is not None

    def _is_of_voters(self, node: int, input: Any) -> bool:
        if not isinstance(input, voters.Change):
            return True
        known = voter_of(self.whole[node]).history[-1].voters
        removed = isinstance(input, voters.RemoveVoter)
        return input.voter in self._may_vote and not (
            removed and leaves_nobody(node, input.voter, known)
        )
