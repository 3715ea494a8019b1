"""One run of controllers whose voters change: the quorum's, with an administrator and observers.

Clocks, disks, clients, network and trouble are those of reference/quorum/sim, of all nodes. What
the timers of elections and of fetches are to a voter, is to an observer the moment at which it asks
any other node (V25).
"""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.drivers.clock import DRAW, FIXED
from kraftcheck.reference.kit.properties import Invariant, Property
from kraftcheck.reference.kit.protocol import HISTORY
from kraftcheck.reference.quorum.messages import (
    CheckQuorumTimeout,
    ElectionTimeout,
    FetchTimeout,
    Restart,
)
from kraftcheck.reference.quorum.sim.faults import Options
from kraftcheck.reference.quorum.sim.machine import QuorumMemo
from kraftcheck.reference.quorum.sim.scenario import Scenario
from kraftcheck.reference.quorum.sim.scheduler import ISOLATED_LEADER_RESIGNS, Simulation
from kraftcheck.reference.quorum.snapshots.sim.administrator import Administrator
from kraftcheck.reference.quorum.snapshots.sim.changes import constants_of, may_vote
from kraftcheck.reference.quorum.types import READY
from kraftcheck.reference.quorum.voters.messages import (
    AutoJoinTimeout,
    FetchFromBootstrap,
    UpdateVoterTimeout,
)
from kraftcheck.reference.quorum.voters.types import VoterRow
from kraftcheck.reference.sim.choices import Chooser, pick
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import Step
from kraftcheck.reference.sim.recorder import Recorder


def asked_unbidden(options: Options) -> tuple[Any, ...]:
    """What a follower may ask its leader for by itself."""
    tells = options.kraft_version == 0 or options.listeners_change is True
    return (*[UpdateVoterTimeout()] * tells, *[AutoJoinTimeout()] * (options.auto_join is True))


class ChangingSimulation(Simulation):
    """One run."""

    def __init__(
        self,
        scenario: Scenario,
        options: Options,
        chooser: Chooser,
        memo: QuorumMemo,
        recorder: Recorder,
    ) -> None:
        super().__init__(scenario, options, chooser, memo, recorder)
        self._whole = self.system.rows(self.at)
        self._whole[HISTORY] = None
        self.rows = {state.node: state.row for state in self.at.states}
        self._drawn = chooser.stream("workload")
        self._administrator = Administrator(options, may_vote(options), chooser, self)
        self._may_vote = may_vote(options)
        self._asks = asked_unbidden(options)

    def make_constants(self, protocol: Any, options: Any) -> Any:
        return constants_of(options)

    def begin(self) -> None:
        super().begin()
        self._administrator.start(1000 * max(self._scenario.faulty_ms) * self._stretch)
        for node in self._may_vote if self._asks else ():
            self.call(self._asking_us, self._ask, node)

    @property
    def _asking_us(self) -> int:
        """Give how often a follower looks whether to ask its leader for something of its own.

        FollowerState.updateVoterPeriodMs, in microseconds.
        """
        return 1000 * self._scenario.timeouts.fetch_timeout

    def _ask(self, node: int) -> None:
        """V17, V24."""
        for asks in self._asks:
            if self.give(node, asks) is not None:
                break
        self.call(self._asking_us, self._ask, node)

    def give(self, node: int, input: Any) -> Step | None:
        if isinstance(input, Restart):
            self._administrator.before_start(node)
        return super().give(node, input)

    def heal(self) -> tuple[int, ...]:
        self._administrator.end()
        return super().heal()

    def least_kept(self, node: int) -> int:
        """What Kafka flushes before anybody hears of it: a set of voters (maybeAppendBatches)."""
        row: VoterRow = self.rows[node]
        return row.history[-1].offset + 1

    def may_miss(self, node: int) -> bool:
        """It may be one of two voters."""
        return False

    def wrong(self, step: Step, before: Any, after: Any) -> tuple[Property | Invariant, str] | None:
        """With what was committed before."""
        was = self._whole
        self._whole = {**was, step.before.node: step.after.row}
        return super().wrong(step, was, self._whole)

    def expired_in_vain(self, node: int, timer: KnownInput) -> None:
        """A timer of who is no voter, or of the only one; it may be another moment's."""
        row, timeouts = self.rows[node], self._scenario.timeouts
        what, least, span = FIXED, timeouts.check_quorum, 0
        if isinstance(timer.value, CheckQuorumTimeout):
            if self._watched and row.history[-1].voters != (node,):
                self.violated(
                    ISOLATED_LEADER_RESIGNS,
                    f"leader {node} of epoch {row.epoch} has heard from no majority for "
                    f"{least} ms and goes on",
                )
        else:
            assert isinstance(timer.value, ElectionTimeout | FetchTimeout), f"{timer.value} expired"
            able = [
                peer
                for peer, connection in zip(self.nodes, row.connections, strict=True)
                if peer != node and connection == READY
            ]
            if able:
                asks: Any = FetchFromBootstrap(pick(self._drawn, able))
                self.give(node, asks)
            what, least, span = DRAW, timeouts.election_timeout, timeouts.election_timeout
        self._clock.carry_out(self.now, node, ((what, timer, least, span),))
