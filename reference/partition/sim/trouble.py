"""Who makes trouble for brokers and their partitions, and who ends it.

A process that crashes takes down its rows in all partitions that it holds, and each of its logs
loses its own. What of it counts against the promise is noted in each partition's `losses`.

Law of this file: as in trouble.py, it acts on the world only as the world allows, and stops for
good when `heal` is called. Unless a run is reckless, no more brokers have lost at once than the
promise allows for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from kraftcheck.reference.clients.promises import spared
from kraftcheck.reference.partition.log import ends_batch
from kraftcheck.reference.partition.messages import (
    BrokerCrash,
    ControllerFailover,
    ElectLeaders,
    Input,
)
from kraftcheck.reference.partition.sim.machine import APPENDED, PROPOSED
from kraftcheck.reference.partition.sim.options import (
    OUTAGE_MS,
    Election,
    Episode,
    Failover,
    Outage,
    PartitionOptions,
    Shutdown,
    Standstill,
    configuration_of,
    draw_episode,
)
from kraftcheck.reference.partition.sim.run import Losses
from kraftcheck.reference.partition.types import UNDEFINED, BrokerRow, ControllerRow
from kraftcheck.reference.sim.choices import Stream, chance, pick
from kraftcheck.reference.sim.network import Network, Partition
from kraftcheck.reference.sim.trouble import Episodes

RESTART_MS = 40
PATIENCE_MS = 1500
"""So long trouble waits for its moment."""
MOMENTS = {"": 0, "append": APPENDED, "proposal": PROPOSED}
"""After which steps of the leader trouble begins, for each value of `PartitionOptions.aim`."""


class Troubled(Protocol):
    """A partition."""

    brokers: tuple[int, ...]
    losses: Losses

    @property
    def controller(self) -> ControllerRow: ...
    def row(self, node: int) -> BrokerRow: ...
    def give(self, node: int, input: Input) -> object: ...
    def judge_promise(self) -> None:
        """More was lost: perhaps more than what is promised allows for."""
        ...


class Processes(Protocol):
    """The brokers, each of which is one process."""

    def is_running(self, node: int) -> bool: ...
    def stop(self, node: int, crash: Callable[[Any], None]) -> None:
        """A process ends. `crash` does it in one partition."""
        ...

    def shut_down(self, node: int) -> bool:
        """Whether a process may be asked to stop cleanly; then it is."""
        ...

    def start_again(self, node: int) -> None:
        """A process that is down."""
        ...

    def stand_still(self, node: int, what: str, lasts: int) -> None: ...


class Trouble(Episodes):
    """The faults of one run, other than those of single messages.

    ask: asks the controller of a partition for something.
    """

    first_calm_ms = 400

    def __init__(
        self,
        options: PartitionOptions,
        stream: Stream,
        call: Callable[[int, Callable[[int], None], int], None],
        nodes: tuple[int, ...],
        brokers: Processes,
        partitions: Sequence[Troubled],
        networks: Sequence[Network],
        ask: Callable[[Any, Input], object],
    ) -> None:
        super().__init__(options.calm_ms, stream, call, networks)
        self._options = options
        self._nodes, self._brokers, self._partitions, self._ask = nodes, brokers, partitions, ask
        self._of = partitions[0]
        self._held: Episode | None = None
        """What waits for its moment."""
        self.moment = 0
        """Steps of a leader that are notable in this way are one."""
        self.crashes = self.lossy_crashes = self.shutdowns = 0

    def episode(self) -> None:
        self._of = self.struck()
        known = self._of.controller.partition
        leader = known.leader if known.leader >= 0 else None
        episode = draw_episode(self._stream, self._options, self._nodes, leader, known.isr)
        if episode is not None and self._options.aim and strikes(episode, leader):
            self._held = episode
            self.moment = MOMENTS[self._options.aim]
            self._later(1000 * PATIENCE_MS, lambda _: self._strike(episode), 0)
            return
        self._begin(episode)
        self._calm(0)

    def struck(self) -> Troubled:
        """The partition whose leader is in trouble."""
        return self._partitions[0]

    def leader_stepped(self, of: Troubled, node: int) -> None:
        """A leader has done what trouble waits for."""
        held = self._held
        if held is not None and of is self._of and strikes(held, node):
            self._later(0, lambda _: self._strike(held), 0)

    def _strike(self, episode: Episode) -> None:
        if self._over or self._held is not episode:
            return
        self._held, self.moment = None, 0
        self._begin(episode)
        self._calm(0)

    def _begin(self, episode: Episode | None) -> None:
        brokers = self._brokers
        match episode:
            case Partition():
                for partition in self._partitions:
                    partition.losses.cuts += 1
                self.cut(episode)
            case Outage():
                for node, lasts in zip(episode.nodes, episode.lasts_ms, strict=True):
                    if brokers.is_running(node):
                        self._stop(node)
                        self._later(1000 * lasts, brokers.start_again, node)
            case Shutdown():
                if brokers.shut_down(episode.node):
                    self.shutdowns += 1
                    # It stops when the controller lets it; by then it may have been killed instead.
                    self._later(1000 * (episode.lasts_ms + 500), brokers.start_again, episode.node)
            case Standstill():
                brokers.stand_still(episode.node, episode.what, 1000 * episode.lasts_ms)
            case Election():
                self._ask(self._of, ElectLeaders(episode.election))
            case Failover():
                self._ask(self._of, ControllerFailover())

    def crash(self, node: int) -> None:
        """A broker crashes now, and starts again after a while, if it has not by then."""
        self._begin(Outage((node,), (pick(self._stream, OUTAGE_MS),)))

    def _stop(self, node: int) -> None:
        self.crashes += 1
        lost = False

        def crash(of: Troubled) -> None:
            nonlocal lost
            row = of.row(node)
            keep, corrupt = draw_damage(self._stream, self._options, of.losses, node, row)
            if keep < len(row.log) or corrupt != UNDEFINED:
                lost = True
                of.losses.has_lost(node)
                of.judge_promise()
            crashed = of.give(node, BrokerCrash(keep, corrupt))
            assert crashed is not None, "a running broker may crash with what its disk keeps"

        self._brokers.stop(node, crash)
        self.lossy_crashes += lost

    def heal(self) -> None:
        """Ends all trouble for good."""
        self.end()
        for node in self._nodes:
            self._later(1000 * RESTART_MS, self._revive, node)

    def _revive(self, node: int) -> None:
        """Whoever is down, or about to be, comes back."""
        held = next(each for each in self._partitions if node in each.brokers)
        if held.row(node).status == "ShuttingDown":
            self._later(1000 * RESTART_MS, self._revive, node)
        self._brokers.start_again(node)


def strikes(episode: Episode, node: int | None) -> bool:
    """Whether an episode is about this broker, or takes leadership from whoever has it."""
    match episode:
        case Partition():
            return node in episode.sources
        case Outage():
            return node in episode.nodes
        case Shutdown() | Standstill():
            return node == episode.node
    return isinstance(episode, Election)


def draw_damage(
    stream: Stream, options: PartitionOptions, losses: Losses, node: int, row: BrokerRow
) -> tuple[int, int]:
    """What a crash does to a log: where it will end, and its first unreadable batch (or -1)."""
    end, durable = len(row.log), max(row.flushed, row.log_start)
    if end == durable or not chance(stream, options.lossy):
        return end, UNDEFINED
    if not options.reckless and losses.at_once_with(node) > spared(configuration_of(options)):
        return end, UNDEFINED
    ends = [o for o in range(durable, end) if not o or ends_batch(row.log[o - 1])]
    cut = pick(stream, ends[::-1] or [durable])
    if ends and chance(stream, options.corrupt):
        return end, cut
    return cut, UNDEFINED
