"""One run of a cluster: the quorum and every partition by one clock, in two phases.

Law of this file: it joins the parts; nodes are changed by the steps of the components alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from kraftcheck.reference.bugs.catalog import producer_rules
from kraftcheck.reference.cluster.sim.administrators import administrators_of
from kraftcheck.reference.cluster.sim.brokers import Heard
from kraftcheck.reference.cluster.sim.joints import Joints
from kraftcheck.reference.cluster.sim.link import Link
from kraftcheck.reference.cluster.sim.options import ClusterOptions, topics_written
from kraftcheck.reference.cluster.sim.partition import ClusterPartition
from kraftcheck.reference.cluster.sim.scenario import ClusterScenario
from kraftcheck.reference.cluster.sim.trouble import ClusterTrouble
from kraftcheck.reference.cluster.types import QUORUM
from kraftcheck.reference.drivers.joined import JoinedRun
from kraftcheck.reference.partition.messages import ControllerFailover, Input, Partition
from kraftcheck.reference.partition.sim.clients import Clients
from kraftcheck.reference.partition.sim.progress import Progress
from kraftcheck.reference.quorum.messages import Append, Resign
from kraftcheck.reference.quorum.sim.machine import QuorumMemo
from kraftcheck.reference.quorum.sim.scheduler import QuorumClients, Simulation
from kraftcheck.reference.quorum.snapshots.sim.changes import changes
from kraftcheck.reference.quorum.snapshots.sim.scheduler import ChangingSimulation
from kraftcheck.reference.quorum.types import Row
from kraftcheck.reference.sim.choices import Chooser, Stream, pick
from kraftcheck.reference.sim.memo import JoinedMemo, Step
from kraftcheck.reference.sim.recorder import Recorder
from kraftcheck.traces.schema import PROGRESSED


class _OfCluster(Simulation):
    """A quorum whose clients are the active controllers."""

    def __init__(
        self,
        cluster: ClusterSimulation,
        scenario: Any,
        options: ClusterOptions,
        chooser: Chooser,
        memo: QuorumMemo,
        recorder: Recorder,
    ) -> None:
        self._cluster, self.part_of, self.component = cluster, cluster, QUORUM
        super().__init__(scenario, options.quorum, chooser, memo, recorder)

    def make_clients(self, stream: Stream) -> QuorumClients:
        return self._cluster.controllers

    def append_astray(self, node: int) -> None:
        """Nobody but an active controller appends."""


class _Quorum(_OfCluster):
    """Its voters are the same all the time."""


class _ChangingQuorum(_OfCluster, ChangingSimulation):
    """Voters, observers and snapshots come and go."""


class ClusterSimulation(JoinedRun, Joints):
    """One run of a cluster."""

    partitions: list[ClusterPartition]

    def __init__(
        self,
        scenario: ClusterScenario,
        options: ClusterOptions,
        chooser: Chooser,
        memo: JoinedMemo,
        recorder: Recorder,
    ) -> None:
        self._scenario, self._chooser = scenario, chooser
        super().__init__(options, recorder)
        network, data, load = chooser.stream("network"), options.data, scenario.partition.load
        self.build(
            scenario,
            memo.of["partition"],
            chooser,
            lambda: Link(self.constants.brokers, data, network, self.queue),
            self.queue,
            1000 * scenario.partition.paces.session,
        )
        kind = _ChangingQuorum if changes(options.quorum) else _Quorum
        self.quorum = kind(self, scenario, options, chooser, memo.of["quorum"], recorder)
        networks = [self._carrier, *[each.network for each in self.partitions]]
        faults, brokers = chooser.stream("faults"), self.brokers
        of_trouble = faults, self.call, brokers.all, brokers, self.partitions, networks, self._asked
        self._trouble = ClusterTrouble(data, *of_trouble)
        topics, written = options.shape.topics, topics_written(options)
        self._administrators = administrators_of(options, written, chooser, self)
        workload, of = chooser.stream("workload"), self.catalog.partitions_of
        rules = producer_rules(memo.of["partition"].bug)
        self.clients = Clients(load, data, workload, self.partitions, topics, written, of, rules)
        self.lanes = [self.quorum, self, *self.partitions]
        self._progress: list[Progress] = []

    # --- The loop

    def execute(self) -> None:
        """Runs to the end: a violation, the progress of the healed cluster, or a bound."""
        self.quorum.begin()
        self.brokers.start()
        self.clients.start()
        self._trouble.start()
        faulty = self.options.data.faulty_ms
        if not faulty:
            faulty = pick(self._chooser.stream("faults"), self._scenario.faulty_ms)
        lasts = 1000 * faulty * self.options.data.stretch
        for administrator in self._administrators:
            administrator.start(lasts)
        self.call(lasts, self._heal, 0)
        self.run_events(self._scenario.max_events * self.options.data.stretch)
        self.clients.finish()

    # --- What partitions say

    def began(self, node: int) -> None:
        self.brokers.read_soon(node)

    def receive(self, partition: int, message: object) -> None:
        self.clients.receive(partition, message)

    def stepped(self, of: ClusterPartition, step: Step) -> None:
        if step.notable & self._trouble.moment:
            self._trouble.leader_stepped(of, step.before.node)
        if self._progress and all(each.is_complete() for each in self._progress):
            self.end(PROGRESSED)

    # --- What brokers and controllers ask for

    def is_voter_running(self, node: int) -> bool:
        return self.quorum.is_running(node)

    def voter(self, node: int) -> Row:
        row: Row = self.quorum.rows[node]
        return row

    def has_heard(self, broker: int) -> Heard | None:
        """As far as it observes."""
        if self.options.shape.observing is not True:
            return None
        assert isinstance(self.quorum, ChangingSimulation), "with observers"
        node = self.quorum.nodes[broker - self.options.shape.brokers]
        row = self.quorum.rows[node]
        return Heard(row.high_watermark, getattr(row, "log_start", 0))

    def give_voter(self, node: int, input: Append) -> str:
        step = self.quorum.give(node, input)
        assert step is not None, "an append is never disabled"
        return step.ignored

    def later(self, delay: int, node: int, epoch: int, broker: int) -> None:
        self.call(delay, lambda _: self.controllers.session_over(node, epoch, broker), 0)

    def ask(self, inputs: Mapping[int, Input]) -> bool:
        return self.controllers.ask(inputs)

    def known(self, partition: int) -> Partition | None:
        return self.controllers.known(partition)

    def placements(self, partition: int, replicas: int) -> Sequence[tuple[int, ...]]:
        return self.controllers.placements(partition, replicas)

    def _asked(self, of: ClusterPartition, input: Input) -> None:
        """Give an input to the controller. For a failover, the active controller resigns."""
        active = self.controllers.active()
        if not isinstance(input, ControllerFailover):
            self.ask({of.number: input})
        elif active is not None:
            self.quorum.give(active, Resign())

    def unregistered(self, broker: int) -> None:
        self._trouble.unregistered(broker)

    # --- The second phase, and the end

    def _heal(self, _: int) -> None:
        self.quorum.heal()
        self._trouble.heal()
        for administrator in self._administrators:
            administrator.end()
        self._carrier.heal()
        self.clients.stop_producing()
        self.brokers.heal()
        self._progress = [
            Progress(partial(self.clients.probe, number), partition)
            for number, partition in enumerate(self.partitions)
        ]
        self.call(1000 * self._scenario.healed_ms, self._give_up, 0)

    def _give_up(self, _: int) -> None:
        missing = [each.verdict() for each in self._progress]
        wrong = [text for text in missing if text != PROGRESSED]
        where = missing.index(wrong[0]) if wrong else 0
        self.end(f"partition {where}: {wrong[0]}" if wrong else PROGRESSED)

    def statistics(self) -> dict[str, int]:
        """What happened, counted over all components; what promises ask for, at its worst."""
        trouble, link = self._trouble, self._carrier
        of_quorum = self.quorum.statistics()
        total = dict.fromkeys(of_quorum, 0)
        for part in (of_quorum, *[each.statistics() for each in self.partitions]):
            for name, count in part.items():
                total[name] = total.get(name, 0) + count
        for name in ("lossy_replicas", "zombies", "unpromised"):
            total[name] = max(each.statistics()[name] for each in self.partitions)
        total["leader_changes"] -= of_quorum["leader_changes"]
        total["crashes"] += trouble.crashes
        total["lossy_crashes"] += trouble.lossy_crashes
        total["partitions"] += trouble.partitions
        total["lost"] += link.lost
        total["blocked"] += link.blocked
        total["held"] += link.held
        return total | {
            "duration": self.now,
            "acked": sum(o.op == "append" and o.outcome == "ok" for o in self.clients.history),
            "failovers": self.controllers.failovers,
            "batches": self.controllers.values,
            "stale_answers": self.controllers.stale_answers,
        }
