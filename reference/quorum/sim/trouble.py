"""Who makes trouble, and who ends it: episodes of faults in the first phase, then healing.

Law of this file: it acts on the world only as the world allows, by crashing and restarting nodes,
asking a leader to resign, and cutting links; and it stops for good when `heal` is called.
"""

from __future__ import annotations

from kraftcheck.reference.quorum.messages import Crash, Resign, Restart
from kraftcheck.reference.quorum.sim.disk import Disk
from kraftcheck.reference.quorum.sim.faults import (
    BRIEF_OUTAGE_MS,
    Options,
    Outage,
    draw_episode,
    draw_outage,
)
from kraftcheck.reference.quorum.sim.machine import APPENDED, ELECTED, TRUNCATED, VOTED
from kraftcheck.reference.quorum.sim.run import QuorumRun
from kraftcheck.reference.sim.choices import Stream, chance
from kraftcheck.reference.sim.network import Network, Partition
from kraftcheck.reference.sim.trouble import Episodes

TRIGGERS = {"": 0, "vote": VOTED, "election": ELECTED, "append": APPENDED, "truncation": TRUNCATED}
"""After which steps a crash may follow, for each value of `Options.crash_on`."""

TRIGGERED_CRASHES = 2
RESTART_MS = 50
STRAY_APPEND_US = 20_000


class Trouble(Episodes):
    """The faults of one run, other than those of single messages, disks and clocks."""

    first_calm_ms = 1500
    """By then most clusters have a leader."""

    def __init__(
        self, options: Options, stream: Stream, world: QuorumRun, network: Network, disk: Disk
    ) -> None:
        super().__init__(options.calm_ms, stream, world.call, (network,))
        self._options = options
        self._world = world
        self._disk = disk
        self._nodes = world.nodes
        self._left_out: int | None = None
        self._triggered = 0
        self.trigger = TRIGGERS[options.crash_on]
        """Steps that are notable in this way may be followed by a crash."""
        self.crashes = self.lossy_crashes = self.resignations = 0

    def episode(self) -> None:
        leader = self._world.leader()
        episode = draw_episode(self._stream, self._options, self._nodes, leader)
        if isinstance(episode, Partition):
            self._cut(episode)
        elif isinstance(episode, Outage):
            self._crash(episode)
        elif episode is not None:
            self.resignations += 1
            self._world.give(episode.node, Resign())
        self._calm(0)

    def _cut(self, partition: Partition) -> None:
        self.cut(partition)
        leader = self._world.leader()
        if leader is not None and leader in partition.sources and chance(self._stream, 700):
            # A client on the leader's side, whose record nobody else may ever see.
            self._world.call(STRAY_APPEND_US, self._world.append_astray, leader)

    def _crash(self, outage: Outage) -> None:
        if self._world.is_running(outage.node):
            self._stop(outage.node)
            self._world.call(1000 * outage.lasts_ms, self._restart, outage.node)

    def _stop(self, node: int) -> None:
        row = self._world.rows[node]
        keep = max(self._disk.kept(row), self._world.least_kept(node))
        self.crashes += 1
        self.lossy_crashes += keep < len(row.log)
        self._world.give(node, Crash(keep))

    def _restart(self, node: int) -> None:
        if node != self._left_out and not self._world.is_running(node):
            self._world.give(node, Restart())

    def follow(self, node: int) -> None:
        """A step has just been taken at which this run likes to crash a node."""
        if self._over or self._triggered == TRIGGERED_CRASHES:
            return
        if chance(self._stream, 700):
            self._triggered += 1
            # Some messages leave first, and some of them arrive.
            delay = 2000 * self._stream.below(4)
            outage = draw_outage(self._stream, node, BRIEF_OUTAGE_MS)
            self._world.call(delay, lambda _: None if self._over else self._crash(outage), node)

    def heal(self) -> tuple[int, ...]:
        """Ends all trouble for good. The core: all nodes, or all but one that stays down."""
        self.end()
        self.trigger = 0
        self._disk.heal()
        if self._options.crashes and len(self._nodes) > 2 and chance(self._stream, 250):
            left_out = self._stream.below(len(self._nodes))
            self._left_out = left_out if self._world.may_miss(left_out) else None
            if self._left_out is not None and self._world.is_running(self._left_out):
                self._stop(self._left_out)
        core = tuple(node for node in self._nodes if node != self._left_out)
        for node in core:
            self._world.call(1000 * RESTART_MS, self._restart, node)
        return core
