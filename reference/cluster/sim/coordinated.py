"""Run a cluster whose first partition is the log of a coordinator.

Brokers fail over beneath it.

The coordinator and those that ask it move as if they were alone (reference/drivers/chance.py);
what its log does is left to the partition:

    append      is a produce request with acks=all at the broker that leads, in the same step: where
                that broker would refuse it, is down or has been told of another leader, the
                coordinator takes no step
    commit      a step that calls something committed may come when the high watermark of that
                broker is at the end of its log
    election    comes when a broker takes up a larger epoch, with the tail that its log has

A coordinator that was replaced does nothing (docs/reference/reductions.md, Transactions 4).

The log is compacted: each broker cleans its replica, and a coordinator comes to be when its broker
has read what is left of that (compacted.py). A record of the coordinator is a batch of the keys of
which it says something else than the one before; what was loaded must say what the last one does
(LoadedIsReplayed).

So each run checks that a partition is what a TailLog says (specs/common/TailLog.tla): an election
whose tail is none of those that the coordinator's row has violates TailLogRefined.

Law of this file: rows are changed by the steps of the components alone, and nothing here knows of
a protocol over the log.
"""

from __future__ import annotations

from typing import Any, Final

from kraftcheck.reference.cluster.sim.compacted import CompactedReplicas
from kraftcheck.reference.cluster.sim.partition import ClusterPartition
from kraftcheck.reference.cluster.sim.scenario import ClusterScenario
from kraftcheck.reference.cluster.sim.scheduler import ClusterSimulation
from kraftcheck.reference.cluster.types import coordinated
from kraftcheck.reference.core.system import NodeMemo
from kraftcheck.reference.drivers.chance import RandomRun
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.partition.compaction.keys import written
from kraftcheck.reference.partition.messages import CLIENTS, ProduceRequest, ProduceResponse
from kraftcheck.reference.partition.types import UNDEFINED, BrokerRow
from kraftcheck.reference.sim.choices import Chooser, pick
from kraftcheck.reference.sim.events import CALL, EventLoop, Queue
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import JoinedMemo, Step
from kraftcheck.reference.sim.operations import Operation
from kraftcheck.reference.sim.recorder import Recorder
from kraftcheck.traces.schema import STOPPED

LOG: Final = 0
"""The partition that is the log."""
COORDINATOR_CLIENT: Final = -2
"""Who asks the broker, as its requests say."""
FIRST_VALUE: Final = 1_000_000
"""The first record of the coordinator, as a value: no other client's is as large."""
BETWEEN_MS: Final = (10, 30, 80)
"""From a move of the coordinator, or of those that ask it, to the next one."""


class Coordinators(EventLoop, RandomRun):
    """The coordinator and those that ask it, with a queue of their own."""

    def __init__(
        self,
        cluster: CoordinatedSimulation,
        options: Any,
        chooser: Chooser,
        memo: NodeMemo,
        recorder: Recorder,
    ) -> None:
        self.part_of, self.component = cluster, 1 + len(cluster.partitions)
        super().__init__(options, chooser, memo, recorder)
        assert memo.protocol.coordinated is not None, "asked of protocols that have such a log"
        self._node, self._elected, self._said = memo.protocol.coordinated
        self._cluster = cluster
        self._partition = cluster.partitions[LOG]
        self._between = chooser.stream("workload")
        self.queue = Queue()
        self.closed = self._looking = False
        self._broker, self._epoch = UNDEFINED, 0
        self._watermark = 0
        """That of the broker, when it took over."""
        self._end = 0
        """Where in the partition's log the record that is committed ends, as the coordinator knows.
        """
        self._last = UNDEFINED
        """Its value."""
        self._records: list[Any] = []
        self._operations: dict[int, Operation] = {}
        self._step_taken = 0
        self._loading: tuple[int, ...] = ()
        """The broker that loads the log, and in which epoch; or empty."""
        self._first = self._said(self.rows[self._node].log.committed)
        self._keys = {key: number for number, key in enumerate(self._first, 1)}
        self.replicas: CompactedReplicas | None = None
        """Of the log; None: nobody cleans it."""

    @property
    def keys(self) -> int:
        """So many there are in the log."""
        return len(self._keys)

    # --- The loop

    def _move(self, _: int) -> None:
        if self.closed or self._moves >= self._options.moves * self._options.stretch:
            return
        self.queue.push(self.now + 1000 * pick(self._between, BETWEEN_MS), CALL, 0, self._move)
        self._follow(self.moved())

    def _follow(self, step: Step | None) -> None:
        self._moves += 1
        if step is not None and not self.make(self.now, step):
            self.closed = True
            self._cluster.end(STOPPED)

    # --- What its log does

    def look_soon(self) -> None:
        """The partition has taken a step.

        Where another broker leads, the coordinator hears of it when that broker has done the same
        for all its partitions.
        """
        if self._newest() != UNDEFINED and not self._looking and not self.closed:
            self._looking = True
            self.queue.push(self.now, CALL, 0, self._look)

    def _newest(self) -> int:
        """The broker that leads the log in a larger epoch than the coordinator has, or none."""
        epoch, newest = self._epoch, UNDEFINED
        for broker in self._partition.brokers:
            row = self._partition.row(broker)
            if row.role == "Leader" and row.leader_epoch > epoch:
                epoch, newest = row.leader_epoch, broker
        return newest

    def _look(self, _: int) -> None:
        self._looking = False
        broker = self._newest()
        if broker == UNDEFINED or self.closed:
            return
        row = self._partition.row(broker)
        if self.replicas is None:
            self._elect(broker, row)
        elif self._loading != (broker, row.leader_epoch):
            self._loading = broker, row.leader_epoch
            self.replicas.load(broker, lambda: self._loaded(broker))

    def _loaded(self, broker: int) -> None:
        """A broker has read the log; a coordinator that was elected since has not come about."""
        if not self.closed:
            self._elect(broker, self._partition.row(broker))
            self._loading = ()
            self.look_soon()

    def _elect(self, broker: int, row: BrokerRow) -> None:
        first = self._broker == UNDEFINED
        self._broker, self._epoch, self._watermark = broker, row.leader_epoch, row.high_watermark
        if first:
            self.queue.push(self.now, CALL, 0, self._move)
            return
        records, log = self._behind(row), self.rows[self._node].log
        tail = next((each for each in log.tails if each.records == records), None)
        if tail is None:
            self._partition.judge_promise()
            self.closed = True
            if not self._partition.is_promised:
                return
            told = "less than is committed" if records is None else f"{len(records)} records more"
            explanation = (
                f"broker {broker} leads the log in epoch {row.leader_epoch} with {told}, "
                f"which no replica can have: {len(log.tails)} tails are known"
            )
            self._cluster.violated("TailLogRefined", explanation)
            return
        if wrong := self._misread(broker, tail):
            self._cluster.violated("LoadedIsReplayed", wrong)
            return
        known = self.known(self._elected(tail))
        step = super().step(self._node, known)
        if step is None:
            self.closed = True  # There are no more coordinators.
        else:
            self._follow(step)

    def _misread(self, broker: int, tail: Any) -> str:
        """In what a broker has loaded something else than the log says; or empty."""
        if self.replicas is None:
            return ""
        committed = self.rows[self._node].log.committed
        says = self._said(tail.records[-1] if tail.records else committed)
        loaded = {each.key: each.value for each in self.replicas.row(broker).loaded}
        for key, number in self._keys.items():
            value = loaded.get(number)
            of = self._first if value is None else self._said(self._records[value - FIRST_VALUE])
            if of[key] != says[key]:
                told = f"{of[key]} of {key}, and the log says {says[key]}"
                return f"broker {broker} has loaded {told}"
        return ""

    def _behind(self, row: BrokerRow) -> tuple[Any, ...] | None:
        """What a broker's log has behind what is committed; None: it lacks some of that."""
        if len(row.log) < self._end or (self._end and row.log[self._end - 1].value != self._last):
            return None
        numbers = [record.value - FIRST_VALUE for record in row.log[self._end :]]
        return tuple([self._records[n] if 0 <= n < len(self._records) else None for n in numbers])

    def step(self, node: int, input: KnownInput) -> Step | None:
        step = super().step(node, input)
        return step if step is None or node != self._node or self._may(step) else None

    def _may(self, step: Step) -> bool:
        """Whether the log lets the coordinator take the step."""
        if isinstance(step.input.value, self._elected) or self._broker == UNDEFINED:
            return False
        if self._loading:
            return False
        row = self._partition.row(self._broker)
        if not self._partition.is_running(self._broker) or row.role != "Leader":
            return False
        before, after = step.before.row.log, step.after.row.log
        if row.leader_epoch != self._epoch:
            return False
        if after is before or after == before:
            return True
        return self._would_append(row) if after.leader else self._is_committed(row, before, after)

    def _would_append(self, row: BrokerRow) -> bool:
        state = self._partition.state(self._broker)
        step = self._partition.machine.step(state, self._request())
        return step is not None and len(step.after.row.log) > len(row.log)

    def _is_committed(self, row: BrokerRow, before: Any, after: Any) -> bool:
        """Say whether a high watermark shows that all others were cut to this broker's log.

        One that came to the end since this broker leads has cut them; one that was there before
        says nothing of what they have behind it.
        """
        if row.high_watermark < len(row.log):
            return False
        end = len(before.leader)
        behind = {t.records[end:] for t in before.tails if t.records[:end] == before.leader}
        return row.high_watermark > self._watermark or behind <= {t.records for t in after.tails}

    def _request(self) -> KnownInput:
        request = ProduceRequest(
            *(CLIENTS, self._broker, COORDINATOR_CLIENT, -1, (FIRST_VALUE + len(self._records),)),
            *(UNDEFINED, UNDEFINED, UNDEFINED),
        )
        return self._partition.machine.interner.input(request)

    def record(self, time: int, step: Step) -> None:
        super().record(time, step)
        self._step_taken = self.steps_taken() - 1
        if step.before.node != self._node or isinstance(step.input.value, self._elected):
            return
        before, after = step.before.row.log, step.after.row.log
        if after.leader[: len(before.leader)] != before.leader:
            log = self._partition.row(self._broker).log
            self._end, self._last = len(log), log[-1].value
        newest = before.leader[-1] if before.leader else before.committed
        for record in after.leader[len(before.leader) :]:
            self._append(record)
            if self.replicas is not None:
                self._write(self.replicas, newest, record)
            newest = record

    def _write(self, replicas: CompactedReplicas, before: Any, record: Any) -> None:
        """What a record says of other keys than the one before is a batch."""
        keys, removed = written(self._said(before), self._said(record), self._keys)
        replicas.append(self._broker, FIRST_VALUE + len(self._records) - 1, keys, removed)

    def _append(self, record: Any) -> None:
        request, clients = self._request(), self._cluster.clients
        process = clients.new_process()
        operation = clients.operation(process, "append", self._broker, LOG)
        operation.values = [*request.value.values]
        self._operations[len(self._records)] = operation
        self._records.append(record)
        self._partition.take(self._broker, request)

    def answered(self, m: ProduceResponse) -> None:
        """The broker has answered: for the history of who sees the log."""
        operation = self._operations.pop(m.request.values[0] - FIRST_VALUE, None)
        if operation is not None and m.error == "NONE":
            operation.outcome, operation.offset = "ok", m.offset
            operation.completed = self.now

    def holds_after(self, step: Step) -> bool:
        holds = super().holds_after(step)
        if not holds:
            self.violations[-1] = self.violations[-1]._replace(step=self._step_taken)
        return holds


class CoordinatedSimulation(ClusterSimulation):
    """One run of a cluster with a coordinator."""

    def __init__(
        self,
        protocol: Protocol,
        scenario: ClusterScenario,
        options: Any,
        chooser: Chooser,
        memo: JoinedMemo,
        recorder: Recorder,
    ) -> None:
        super().__init__(scenario, options, chooser, memo, recorder)
        self.coordinators = Coordinators(
            self, options.coordinator, chooser, memo.of["coordinator"], recorder
        )
        self.lanes.append(self.coordinators)
        self.replicas: CompactedReplicas | None = None
        if options.cleaned:
            self.replicas = self.coordinators.replicas = CompactedReplicas(
                self,
                self.partitions[LOG],
                2 + len(self.partitions),
                self.coordinators.keys,
                chooser,
                memo.of["replicas"],
                recorder,
                options.watched,
            )
            self.lanes.append(self.replicas)
        self.constants = coordinated(protocol)(
            quorum=self.constants.quorum,
            partitions=self.constants.partitions,
            coordinator=self.coordinators.constants,
            replicas=None if self.replicas is None else self.replicas.constants,
        )

    @property
    def _plain(self) -> list[Coordinators | CompactedReplicas]:
        """The components that are no cluster's."""
        return [self.coordinators, *([] if self.replicas is None else [self.replicas])]

    def stepped(self, of: ClusterPartition, step: Step) -> None:
        super().stepped(of, step)
        if self.replicas is not None:
            self.replicas.look_soon()
        self.coordinators.look_soon()

    def receive(self, partition: int, message: object) -> None:
        if isinstance(message, ProduceResponse) and message.request.client == COORDINATOR_CLIENT:
            self.coordinators.answered(message)
        else:
            super().receive(partition, message)

    def _heal(self, argument: int) -> None:
        for each in self._plain:
            each.closed = True
        super()._heal(argument)

    def statistics(self) -> dict[str, int]:
        total, own = super().statistics(), self.coordinators.statistics()
        return total | {name: total[name] + own[name] for name in ("lost", "duplicated")}
