"""Who makes trouble for brokers and their partitions, and who ends it.

The same episodes as for a single partition (reference/partition/sim/options.py), but a process that
crashes takes down its rows in all partitions, and each of its logs loses its own. The quorum has
trouble of its own (reference/quorum/sim/trouble.py), controller failovers among it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from kraftcheck.reference.cluster.sim.brokers import Brokers
from kraftcheck.reference.cluster.sim.partition import ClusterPartition
from kraftcheck.reference.partition.messages import BrokerCrash, ElectLeaders, Input
from kraftcheck.reference.partition.sim.options import (
    Election,
    Outage,
    PartitionOptions,
    Shutdown,
    Standstill,
    draw_episode,
)
from kraftcheck.reference.partition.sim.trouble import RESTART_MS, draw_damage
from kraftcheck.reference.partition.types import UNDEFINED
from kraftcheck.reference.sim.choices import Stream, pick
from kraftcheck.reference.sim.network import Network, Partition
from kraftcheck.reference.sim.trouble import Episodes

UNREGISTERED_MS = 900
"""So long a broker runs that is not registered any more."""


class ClusterEnvironment(Protocol):
    def ask(self, inputs: Mapping[int, Input]) -> bool: ...
    def call(self, delay: int, what: Callable[[int], None], argument: int) -> None: ...


class Trouble(Episodes):
    """The faults of one run's brokers, other than those of single messages."""

    first_calm_ms = 1800
    """By then most clusters have a controller, and leaders."""

    def __init__(
        self,
        options: PartitionOptions,
        stream: Stream,
        world: ClusterEnvironment,
        brokers: Brokers,
        partitions: Sequence[ClusterPartition],
        networks: Sequence[Network],
    ) -> None:
        super().__init__(options.calm_ms, stream, world.call, networks)
        self._options = options
        self._world = world
        self._brokers = brokers
        self._partitions = partitions
        self.crashes = self.lossy_crashes = 0

    def episode(self) -> None:
        world, brokers = self._world, self._brokers
        of = pick(self._stream, self._partitions)
        known = of.controller.partition
        leader = known.leader if known.leader >= 0 else None
        episode = draw_episode(self._stream, self._options, brokers.all, leader, known.isr)
        match episode:
            case Partition():
                for partition in self._partitions:
                    partition.losses.cuts += 1
                self.cut(episode)
            case Outage():
                for node, lasts in zip(episode.nodes, episode.lasts_ms, strict=True):
                    if brokers.is_running(node):
                        self._stop(node)
                        world.call(1000 * lasts, self._restart, node)
            case Standstill():
                brokers.stand_still(episode.node, episode.what, 1000 * episode.lasts_ms)
            case Election():
                world.ask({of.number: ElectLeaders(episode.election)})
            case Shutdown():
                if brokers.shut_down(episode.node):
                    # It stops when the controller lets it; by then it may have been killed instead.
                    world.call(1000 * (episode.lasts_ms + 500), self._restart, episode.node)
            case _:
                assert episode is None, f"no cluster has {type(episode).__name__}"
        self._calm(0)

    def _stop(self, node: int) -> None:
        self.crashes += 1
        lost = False

        def crash(partition: ClusterPartition) -> None:
            nonlocal lost
            row = partition.row(node)
            keep, corrupt = draw_damage(self._stream, self._options, partition.losses, node, row)
            if keep < len(row.log) or corrupt != UNDEFINED:
                lost = True
                partition.losses.has_lost(node)
                partition.judge_promise()
            crashed = partition.give(node, BrokerCrash(keep, corrupt))
            assert crashed is not None, "a running broker may crash with what its disk keeps"

        self._brokers.stop(node, crash)
        self.lossy_crashes += lost

    def _restart(self, node: int) -> None:
        self._brokers.start_again(node)

    def unregistered(self, node: int) -> None:
        """Start a broker anew that the controller does not know any more.

        The controller refuses what it asks: whoever runs it starts it anew, and looks again.
        """
        self._world.call(1000 * UNREGISTERED_MS, self._start_anew, node)

    def _start_anew(self, node: int) -> None:
        of = self._brokers.partitions_of[node][0]
        known = of.controller.registrations[of.brokers.index(node)]
        if known.epoch != UNDEFINED:
            return
        if of.is_running(node) and of.row(node).broker_epoch != UNDEFINED:
            self._brokers.kill(node)
            self._world.call(1000 * RESTART_MS, self._restart, node)
        self.unregistered(node)

    def heal(self) -> None:
        """Ends all trouble for good."""
        self.end()
        for node in self._brokers.all:
            self._world.call(1000 * RESTART_MS, self._revive, node)

    def _revive(self, node: int) -> None:
        """Whoever is down, or about to be, comes back."""
        if self._brokers.partitions_of[node][0].row(node).status == "ShuttingDown":
            self._world.call(1000 * RESTART_MS, self._revive, node)
        self._restart(node)
