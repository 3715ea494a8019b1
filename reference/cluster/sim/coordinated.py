"""Runs of a cluster whose first partition is the log of a coordinator, so that brokers fail over
beneath it.

The coordinator and those that ask it move as if they were alone (reference/sim/plain.py); what its
log does is left to the partition:

    append      is a produce request with acks=all at the broker that leads, in the same step: where
                that broker would refuse it, is down or has been told of another leader, the
                coordinator takes no step
    commit      a step that calls something committed may come when the high watermark of that
                broker is at the end of its log
    election    comes when a broker takes up a larger epoch, with the tail that its log has

A coordinator that was replaced does nothing (docs/proofs.md, Transactions 4). Compaction is left
out: of a key the last record counts.

So each run checks that a partition is what a TailLog says (specs/common/TailLog.tla): an election
whose tail is none of those that the coordinator's row has violates TailLogRefined.

Law of this file: rows are changed by the steps of the components alone, and nothing here knows of
a protocol over the log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from heapq import heappop
from typing import Any, Final

import msgspec

from reference.bugs.catalog import bug as known_bug
from reference.cluster.sim.family import FAMILY as CLUSTER_FAMILY, LEGEND, bugs_of_parts
from reference.cluster.sim.options import ClusterOptions, draw
from reference.cluster.sim.scenario import CLUSTER, ClusterScenario
from reference.cluster.sim.scheduler import ClusterMemo, ClusterSimulation
from reference.cluster.types import coordinated, on_cluster
from reference.kit.protocol import Protocol
from reference.moving.sim.machine import MovingMemo
from reference.partition.messages import CLIENTS, ProduceRequest, ProduceResponse
from reference.partition.types import UNDEFINED, BrokerRow
from reference.protocols import kind_of_row
from reference.quorum.sim.machine import QuorumMemo
from reference.sim.choices import Chooser, pick
from reference.sim.events import CALL, Queue
from reference.sim.family import Family
from reference.sim.interning import KnownInput
from reference.sim.memo import Step
from reference.sim.operations import Operation
from reference.sim.plain import (
    PlainMemo,
    PlainSimulation,
    columns as plain_columns,
    options_of,
    scenario_of,
)
from reference.sim.recorder import Recorder, Violation
from traces.schema import STOPPED

LOG: Final = 0
"""The partition that is the log."""
COORDINATOR_CLIENT: Final = -2
"""Who asks the broker, as its requests say."""
FIRST_VALUE: Final = 1_000_000
"""The first record of the coordinator, as a value: no other client's is as large."""
BETWEEN_MS: Final = (10, 30, 80)
"""From a move of the coordinator, or of those that ask it, to the next one."""
PREFIX: Final = "coordinator_"
"""Before the options of the coordinator; those of the cluster have their own names."""
_CLUSTER: Final[Mapping[str, Any]] = {
    **{"topics": 2, "topic_partitions": 1, "hot_topic": "topic-1"},
    **{"acks": "all", "unclean": False, "reckless": False},
}
"""A log of its own, and one that promises what a coordinator counts on."""
_PALETTES: Final = {
    **CLUSTER.palettes,
    "quorum": {name: CLUSTER.palettes["quorum"][name] for name in ("voters", "flush_ms")},
    "data": {
        **CLUSTER.palettes["data"],
        **{"crashes": ((1, 3), (1, 6)), "racks": ((1, 0),), "stale": ((1, 0), (1, 2))},
        **{"elections": ((1, 6), (1, 10)), "calm_ms": ((1, 1600), (1, 900))},
    },
}
"""Those of a cluster, but with trouble for its brokers alone: leaders of the log are to change."""
_FAULTY_MS: Final = (12_000, 16_000)
"""As long as the coordinator's moves last."""
EPOCHS: Final = 10
"""So many leader epochs of the log have a coordinator; later ones have none."""


class CoordinatedMemo(ClusterMemo):
    """What is known of the steps of all components."""

    def __init__(self, quorum: QuorumMemo, partition: MovingMemo, coordinator: PlainMemo) -> None:
        super().__init__(quorum, partition)
        self.coordinator = coordinator

    @property
    def steps(self) -> int:
        return super().steps + self.coordinator.steps

    @property
    def told(self) -> set[str] | None:
        return super().told

    @told.setter
    def told(self, told: set[str] | None) -> None:
        self.quorum.told = self.partition.told = self.coordinator.told = told

    def forget(self) -> None:
        super().forget()
        self.coordinator.forget()


class Coordinators(PlainSimulation):
    """The coordinator and those that ask it, with a queue of their own."""

    def __init__(
        self,
        cluster: CoordinatedSimulation,
        options: Any,
        chooser: Chooser,
        memo: PlainMemo,
        recorder: Recorder,
    ) -> None:
        super().__init__(options, chooser, memo, recorder)
        assert memo.protocol.coordinated is not None, "asked of protocols that have such a log"
        self._node, self._elected = memo.protocol.coordinated
        self._cluster = cluster
        self._partition = cluster.partitions[LOG]
        self._between = chooser.stream("workload")
        self.queue = Queue()
        self.now = 0
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

    # --- The loop

    def advance(self) -> None:
        self.now, _, _, node, what = heappop(self.queue.heap)
        what(node)

    def _move(self, _: int) -> None:
        if self.closed or self._moves >= self._options.moves * self._options.stretch:
            return
        self.queue.push(self.now + 1000 * pick(self._between, BETWEEN_MS), CALL, 0, self._move)
        self._follow(self._moved())

    def _follow(self, step: Step | None) -> None:
        self._moves += 1
        if step is not None and not self._take(self._cluster.now, step):
            self.closed = True
            self._cluster.stopped(STOPPED)

    # --- What its log does

    def look_soon(self) -> None:
        """The partition has taken a step. Where another broker leads, the coordinator hears of it
        when that broker has done the same for all its partitions.
        """
        if self._newest() != UNDEFINED and not self._looking and not self.closed:
            self._looking = True
            self.queue.push(self._cluster.now, CALL, 0, self._look)

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
        if broker != UNDEFINED and not self.closed:
            self._elect(broker, self._partition.row(broker))

    def _elect(self, broker: int, row: BrokerRow) -> None:
        first = self._broker == UNDEFINED
        self._broker, self._epoch, self._watermark = broker, row.leader_epoch, row.high_watermark
        if first:
            self.queue.push(self._cluster.now, CALL, 0, self._move)
            return
        records, log = self._behind(row), self._rows[self._node].log
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
        known = self._machine.interner.input(self._elected(tail))
        step = super()._step(self._node, known)
        if step is None:
            self.closed = True  # There are no more coordinators.
        else:
            self._follow(step)

    def _behind(self, row: BrokerRow) -> tuple[Any, ...] | None:
        """What a broker's log has behind what is committed; None: it lacks some of that."""
        if len(row.log) < self._end or (self._end and row.log[self._end - 1].value != self._last):
            return None
        numbers = [record.value - FIRST_VALUE for record in row.log[self._end :]]
        return tuple([self._records[n] if 0 <= n < len(self._records) else None for n in numbers])

    def _step(self, node: int, input: KnownInput) -> Step | None:
        step = super()._step(node, input)
        return step if step is None or node != self._node or self._may(step) else None

    def _may(self, step: Step) -> bool:
        """Whether the log lets the coordinator take the step."""
        if isinstance(step.input.value, self._elected) or self._broker == UNDEFINED:
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
        """A high watermark that came to the end since this broker leads has cut all others to its
        log; one that was there before says nothing of what they have behind it.
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

    def _record(self, time: int, step: Step) -> None:
        cluster = self._cluster
        cluster.enter(cluster.coordinator)
        super()._record(time, step)
        self._step_taken = cluster.steps_taken() - 1
        if step.before.node != self._node or isinstance(step.input.value, self._elected):
            return
        before, after = step.before.row.log, step.after.row.log
        if after.leader[: len(before.leader)] != before.leader:
            log = self._partition.row(self._broker).log
            self._end, self._last = len(log), log[-1].value
        for record in after.leader[len(before.leader) :]:
            self._append(record)

    def _append(self, record: Any) -> None:
        request, clients = self._request(), self._cluster.clients
        process = clients.new_process()
        operation = clients.operation(process, "append", self._broker, LOG)
        operation.values = [*request.value.values]
        self._operations[len(self._records)] = operation
        self._records.append(record)
        self._partition.take(self._broker, request)

    def told(self, m: ProduceResponse) -> None:
        """The broker has answered: for the history of who sees the log."""
        operation = self._operations.pop(m.request.values[0] - FIRST_VALUE, None)
        if operation is not None and m.error == "NONE":
            operation.outcome, operation.offset = "ok", m.offset
            operation.completed = self._cluster.now

    def _holds_after(self, step: Step) -> bool:
        holds = super()._holds_after(step)
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
        memo: CoordinatedMemo,
        recorder: Recorder,
    ) -> None:
        super().__init__(scenario, options, chooser, memo, recorder)
        self.coordinator = 1 + len(self.partitions)
        self.coordinators = Coordinators(
            self, options.coordinator, chooser, memo.coordinator, recorder
        )
        self._lanes.append(self.coordinators)
        self.constants = coordinated(protocol)(
            quorum=self.constants.quorum,
            partitions=self.constants.partitions,
            coordinator=self.coordinators.constants,
        )

    @property
    def handler_calls(self) -> int:
        return super().handler_calls + self.coordinators.handler_calls

    def stepped(self) -> None:
        super().stepped()
        self.coordinators.look_soon()

    def receive(self, partition: int, message: object) -> None:
        if isinstance(message, ProduceResponse) and message.request.client == COORDINATOR_CLIENT:
            self.coordinators.told(message)
        else:
            super().receive(partition, message)

    def _heal(self, argument: int) -> None:
        self.coordinators.closed = True
        super()._heal(argument)

    @property
    def violations(self) -> list[Violation]:
        found = [*super().violations, *self.coordinators.violations]
        return sorted(found, key=lambda each: each.step)

    def take_apart(self) -> None:
        coordinators = self.coordinators
        super().take_apart()
        vars(coordinators).clear()

    def statistics(self) -> dict[str, int]:
        total, own = super().statistics(), self.coordinators.statistics()
        return total | {name: total[name] + own[name] for name in ("lost", "duplicated")}


# --- The family


class CoordinatedScenario(ClusterScenario, frozen=True, kw_only=True):
    """All runs of a cluster with this coordinator. Palettes of its options are its protocol's."""

    protocol: Protocol


@cache
def _options_type(protocol: Protocol) -> type[Any]:
    of = options_of(protocol)
    return msgspec.defstruct(
        f"{protocol.name}_on_cluster_options",
        [("coordinator", of.of, of.off)],
        bases=(ClusterOptions,),
        frozen=True,
        kw_only=True,
    )


def _draw(protocol: Protocol, chooser: Chooser, requested: Mapping[str, Any]) -> Any:
    """Raises ValueError: there is no such option, or it cannot have this value."""
    own: dict[str, Any] = {"max_coordinators": EPOCHS}
    of_cluster: dict[str, Any] = {**_CLUSTER}
    for option, value in requested.items():
        if option.startswith(PREFIX):
            own[option.removeprefix(PREFIX)] = value
        else:
            of_cluster[option] = value
    if "watched" in requested:
        own["watched"] = requested["watched"]
    cluster = draw(chooser, _PALETTES, of_cluster)
    coordinator = options_of(protocol).draw(chooser, scenario_of(protocol).palettes, own, PREFIX)
    return _options_type(protocol)(
        shape=cluster.shape, quorum=cluster.quorum, data=cluster.data, coordinator=coordinator
    )


def _memo(protocol: Protocol, bug: str | None, enabled: bool) -> CoordinatedMemo:
    own = bug is not None and known_bug(bug).protocol == protocol.name
    of_quorum, of_partition = bugs_of_parts(None if own else bug)
    return CoordinatedMemo(
        QuorumMemo(CLUSTER.timeouts, of_quorum, enabled),
        MovingMemo(of_partition, enabled),
        PlainMemo(protocol, bug if own else None, enabled),
    )


LEGEND_OF_COORDINATOR: Final = """\
        G the coordinator of partition 0, which is its log, and those that ask it: a line says what
        the step changed in the row
"""


def family_of(protocol: Protocol) -> Family:
    """The family of the runs of a cluster with this protocol's coordinator."""
    scenario = CoordinatedScenario(
        **msgspec.structs.asdict(CLUSTER)
        | {
            "name": on_cluster(protocol.name),
            "sentence": f"{protocol.sentence}; the coordinator's log is a partition of a cluster",
            "palettes": _PALETTES,
            "faulty_ms": _FAULTY_MS,
            "max_events": 2 * CLUSTER.max_events,
            "protocol": protocol,
        }
    )
    return CLUSTER_FAMILY._replace(
        scenario=scenario,
        of=_options_type(protocol),
        draw=lambda chooser, fixed: _draw(protocol, chooser, fixed),
        memo=lambda bug, enabled: _memo(protocol, bug, enabled),
        key=scenario.name,
        simulation=lambda *given: CoordinatedSimulation(protocol, *given),
        manner=CLUSTER_FAMILY.manner._replace(
            legend=LEGEND + LEGEND_OF_COORDINATOR,
            columns=lambda step: (
                plain_columns(step)
                if kind_of_row(step.after) in protocol.kinds
                else CLUSTER_FAMILY.manner.columns(step)
            ),
            options=_told,
        ),
        first_look=0,
    )


def _told(options: Any, told: Callable[[Any], str]) -> str:
    options_of_cluster = CLUSTER_FAMILY.manner.options
    assert options_of_cluster is not None, "a cluster tells its options in parts"
    return f"{options_of_cluster(options, told)}; coordinator: {told(options.coordinator)}"
