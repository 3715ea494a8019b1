"""Who makes trouble for a partition, and who ends it; and what of it counts against the promise.

Law of this file: as in trouble.py, it acts on the world only as the world allows, and stops for
good when `heal` is called. What was lost is noted in `losses`. Unless a run is reckless, no more
brokers have lost at once than the promise allows for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kraftcheck.reference.clients.promises import spared
from kraftcheck.reference.partition.log import ends_batch
from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    BrokerCrash,
    BrokerRestart,
    ControlledShutdown,
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


class FaultsEnvironment(Protocol):
    """What trouble needs of the simulation."""

    brokers: tuple[int, ...]
    losses: Losses

    @property
    def controller(self) -> ControllerRow: ...
    def row(self, node: int) -> BrokerRow: ...
    def is_running(self, node: int) -> bool: ...
    def give(self, node: int, input: Input) -> object: ...
    def stand_still(self, node: int, what: str, lasts: int) -> None: ...
    def judge_promise(self) -> None:
        """More was lost: perhaps more than what is promised allows for."""
        ...

    def call(self, delay: int, what: Callable[[int], None], argument: int) -> None: ...


class Trouble(Episodes):
    """The faults of one run, other than those of single messages."""

    first_calm_ms = 400

    def __init__(
        self, options: PartitionOptions, stream: Stream, world: FaultsEnvironment, network: Network
    ) -> None:
        super().__init__(options.calm_ms, stream, world.call, (network,))
        self._options = options
        self._world = world
        self._held: Episode | None = None
        """What waits for its moment."""
        self.moment = 0
        """Steps of a leader that are notable in this way are one."""
        self.crashes = self.lossy_crashes = self.shutdowns = 0

    def episode(self) -> None:
        world = self._world
        partition = world.controller.partition
        leader = partition.leader if partition.leader >= 0 else None
        episode = draw_episode(self._stream, self._options, world.brokers, leader, partition.isr)
        if episode is not None and self._options.aim and strikes(episode, leader):
            self._held = episode
            self.moment = MOMENTS[self._options.aim]
            world.call(1000 * PATIENCE_MS, lambda _: self._strike(episode), 0)
            return
        self._begin(episode)
        self._calm(0)

    def leader_stepped(self, node: int) -> None:
        """A leader has done what trouble waits for."""
        held = self._held
        if held is not None and strikes(held, node):
            self._world.call(0, lambda _: self._strike(held), 0)

    def _strike(self, episode: Episode) -> None:
        if self._over or self._held is not episode:
            return
        self._held, self.moment = None, 0
        self._begin(episode)
        self._calm(0)

    def _begin(self, episode: Episode | None) -> None:
        world = self._world
        match episode:
            case Partition():
                world.losses.cuts += 1
                self.cut(episode)
            case Outage():
                for node, lasts in zip(episode.nodes, episode.lasts_ms, strict=True):
                    if world.is_running(node):
                        self._stop(node)
                        world.call(1000 * lasts, self._restart, node)
            case Shutdown():
                self._shut_down(episode)
            case Standstill():
                world.stand_still(episode.node, episode.what, 1000 * episode.lasts_ms)
            case Election():
                world.give(CONTROLLER, ElectLeaders(episode.election))
            case Failover():
                world.give(CONTROLLER, ControllerFailover())

    def crash(self, node: int) -> None:
        """A broker crashes now, and starts again after a while, if it has not by then."""
        self._begin(Outage((node,), (pick(self._stream, OUTAGE_MS),)))

    def _shut_down(self, episode: Shutdown) -> None:
        if self._world.row(episode.node).status == "Running":
            self.shutdowns += 1
            self._world.give(episode.node, ControlledShutdown())
            # It stops when the controller lets it; by then it may have been killed instead.
            self._world.call(1000 * (episode.lasts_ms + 500), self._restart, episode.node)

    def _stop(self, node: int) -> None:
        row = self._world.row(node)
        keep, corrupt = draw_damage(self._stream, self._options, self._world.losses, node, row)
        self.crashes += 1
        if keep < len(row.log) or corrupt != UNDEFINED:
            self.lossy_crashes += 1
            self._world.losses.has_lost(node)
            self._world.judge_promise()
        crashed = self._world.give(node, BrokerCrash(keep, corrupt))
        assert crashed is not None, "a running broker may crash with what its disk keeps"

    def _restart(self, node: int) -> None:
        if self._world.row(node).status == "Down":
            self._world.give(node, BrokerRestart())

    def heal(self) -> None:
        """Ends all trouble for good."""
        self.end()
        for node in self._world.brokers:
            self._world.call(1000 * RESTART_MS, self._revive, node)

    def _revive(self, node: int) -> None:
        """Whoever is down, or about to be, comes back."""
        if self._world.row(node).status == "ShuttingDown":
            self._world.call(1000 * RESTART_MS, self._revive, node)
        self._restart(node)


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
