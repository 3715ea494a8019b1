"""The reference's side: a setup is run many times in the simulator, and what clients see is noted.

The partition, its controller and its clients are those of scenario `partition`; only the trouble is
another: one fault of the broker that leads, at a moment and for a time that are drawn, and then all
is healed. What is drawn besides is what a real cluster has of its own: how soon brokers read
metadata, all at once or batch by batch, how long messages take, how busy clients are.

No invariant ends a run, and more may be lost than promises allow for: this is about what happens.
"""

from __future__ import annotations

from collections import Counter
from heapq import heappop
from typing import Final

import msgspec

from experiments.prediction.outcomes import (
    APIS,
    CLASSES,
    SENT,
    Append,
    Named,
    Outcomes,
    Seen,
    outcomes_of,
)
from experiments.prediction.situations import ELECTIONS, SETUPS, Setup
from reference.partition.messages import CONTROLLER, BrokerCrash
from reference.partition.sim.machine import PartitionMemo
from reference.partition.sim.options import PartitionOptions, Shutdown
from reference.partition.sim.pace import Pace
from reference.partition.sim.scenario import PARTITION, Paces, PartitionLoad, PartitionScenario
from reference.partition.sim.scheduler import PartitionSimulation
from reference.partition.sim.trouble import Trouble
from reference.partition.types import UNDEFINED
from reference.sim.choices import Chooser, SeededChooser, Stream, pick, run_seed
from reference.sim.events import DELIVER
from reference.sim.interning import KnownInput
from reference.sim.network import Network, Partition
from reference.sim.operations import Operation
from reference.sim.recorder import Recorder
from traces.schema import PROGRESSED

PACES: Final = Paces()
SCENARIO: Final = PartitionScenario(
    name="prediction",
    sentence="one fault of the broker that leads",
    palettes={},
    paces=PACES,
    load=PartitionLoad(),
    faulty_ms=(11_000, 13_000),
    healed_ms=PARTITION.healed_ms,
    max_events=40_000,
)
THINK_MS: Final = ((40, 200, 400), (40, 200, 400), (300, 600, 900))
"""From one append to the next, as a run draws it."""
READ_MS: Final = ((40, 100, 300), (40, 100, 300), (400, 900, 1600))
"""The same of reads; one in seven asks where the log ends."""
NETWORKS: Final = ((1, 1), (7, 10), (30, 10), (60, 1))
"""How long a message takes in ms, and how many times as long to and from the slowest broker."""
APPENDS: Final = 200
"""More than the producer can send until all is healed, when it stops."""
BEGINS_MS: Final = 1500
"""By then everybody is in sync; the fault begins up to WITHIN_MS later."""
WITHIN_MS: Final = 2000
SHORT_MS: Final = (400, 1500)
"""Shorter than a session."""
LONG_MS: Final = (PACES.session + 500, PACES.session + 1500, PACES.session + 3000)
ALONE_MS: Final = (PACES.lag + 700, PACES.lag + 1500)
"""So long followers are cut off, until they have left the ISR."""
RUNS_MAX: Final = 10_000
"""Of a setup, so that each has seeds of its own."""
REFRESH_MS: Final = (300, 700, 1500)
"""From one time that clients ask who leads to the next; Kafka's do so after errors, too."""
MEMO_STEPS: Final = 400_000
"""A memo that has grown to so many steps is begun anew."""


def options_of(setup: Setup, stream: Stream) -> PartitionOptions:
    """As the setup says; the rest is drawn."""
    election = ELECTIONS[setup.election]
    latency, slow = pick(stream, NETWORKS)
    return PartitionOptions(
        min_insync_replicas=election.min_insync_replicas,
        unclean=election.unclean,
        acks=setup.acks,  # type: ignore[arg-type]
        idempotence=setup.idempotent,
        folding=pick(stream, (1000, 500)),
        metadata_ms=pick(stream, (3, 60, 400)),
        latency_ms=latency,
        slow_node=slow,
        reckless=True,
        watched=False,
    )


def _scenario(stream: Stream) -> PartitionScenario:
    """With clients that are as busy as is drawn."""
    load = PartitionLoad(
        producers=1, consumers=2, think_ms=pick(stream, THINK_MS), read_ms=pick(stream, READ_MS)
    )
    return msgspec.structs.replace(SCENARIO, load=load)


class Script(Trouble):
    """One fault of who leads, and its end. Kinds are those of situations.FAULTS."""

    def __init__(
        self,
        kind: str,
        options: PartitionOptions,
        stream: Stream,
        world: Scripted,
        network: Network,
    ) -> None:
        super().__init__(options, stream, world, network)
        self._kind = kind
        self._scripted = world

    def start(self) -> None:
        if self._kind != "none":
            self._world.call(1000 * (BEGINS_MS + self._stream.below(WITHIN_MS)), self._do_it, 0)

    def _do_it(self, _: int) -> None:
        leader = self._world.controller.partition.leader
        victim = leader if leader >= 0 else self._world.brokers[0]
        others = tuple(b for b in self._world.brokers if b != victim)
        kind = self._kind
        if kind in ("kill", "power"):
            self._crash(victim, kind == "power")
        elif kind == "stop":
            self._shut_down(Shutdown(victim, self._outage()))
        elif kind == "pause":
            self._scripted.pause(victim, 1000 * pick(self._stream, LONG_MS))
        elif kind == "partition":
            self._cut((victim,), (*others, CONTROLLER), pick(self._stream, LONG_MS))
        else:
            alone = pick(self._stream, ALONE_MS)
            self._cut((victim,), others, alone + 10)
            self._world.call(
                1000 * alone, lambda node: self._crash(node, kind == "last-power"), victim
            )

    def _outage(self) -> int:
        """Milliseconds until a broker that is down is started again."""
        return pick(self._stream, (*LONG_MS, *SHORT_MS))

    def _cut(self, here: tuple[int, ...], there: tuple[int, ...], lasts: int) -> None:
        cut = Partition(here, there, False, lasts)
        self._network.begin(cut)
        self._world.call(1000 * lasts, lambda _: self._mend(cut), 0)

    def _crash(self, node: int, power: bool) -> None:
        """Without power, all that a log held beyond what was flushed is gone, or a part of it."""
        row = self._world.row(node)
        end, durable = len(row.log), max(row.flushed, row.log_start)
        keep = pick(self._stream, (durable, durable, (durable + end) // 2)) if power else end
        self._world.give(node, BrokerCrash(keep, UNDEFINED))
        self._world.call(1000 * self._outage(), self._restart, node)


class PausablePace(Pace):
    """Activities of brokers, one of which may stand still as a whole."""

    paused: tuple[int, int] = (UNDEFINED, 0)
    """Which, and until when."""

    def is_due(self, node: int, want: KnownInput) -> bool:
        paused, until = self.paused
        if node != paused or self._world.now >= until:
            return super().is_due(node, want)
        if self._due[node].get(want) == self._world.now:
            self._set(node, want, until)
        return False


class Scripted(PartitionSimulation):
    """A run with one fault."""

    pace: PausablePace

    def __init__(
        self, kind: str, options: PartitionOptions, chooser: Chooser, memo: PartitionMemo
    ) -> None:
        self._refreshes = chooser.stream("workload")
        super().__init__(_scenario(self._refreshes), options, chooser, memo, Recorder(0))
        self._trouble = Script(kind, options, chooser.stream("faults"), self, self.network)
        for producing in self.clients.producers.values():
            producing.left = APPENDS
        self._refresh(0)

    def _refresh(self, number: int) -> None:
        if number:
            self.clients.refresh()
        self.call(1000 * pick(self._refreshes, REFRESH_MS), self._refresh, 1)

    def make_pace(self, paces: Paces, options: PartitionOptions, clock: Stream) -> Pace:
        return PausablePace(self.brokers, paces, options, clock, self.queue, self)

    def pause(self, node: int, lasts: int) -> None:
        """For so many microseconds nothing that reaches the broker is looked at, and its timers
        wait; then it goes on as if no time had passed."""
        until = self.now + lasts
        self.pace.paused = (node, until)
        self._stale_until[node] = until

    def advance(self) -> None:
        due, _, kind, node, what = self.queue.heap[0]
        paused, until = self.pace.paused
        if kind == DELIVER and node == paused and due < until:
            heappop(self.queue.heap)
            self.queue.push(until, DELIVER, node, what)
        else:
            super().advance()


def run(setup: Setup, seed: int, number: int, memo: PartitionMemo) -> Outcomes | None:
    """What came of one run; None: the healed partition made no progress in time.

    Deterministic: the memo only saves time.
    """
    chooser = SeededChooser(run_seed(seed, SETUPS.index(setup) * RUNS_MAX + number))
    options = options_of(setup, chooser.stream("faults"))
    simulation = Scripted(setup.fault, options, chooser, memo)
    simulation.execute()
    return (
        outcomes_of(seen_in(simulation, setup.acks)) if simulation.verdict == PROGRESSED else None
    )


def seen_in(simulation: PartitionSimulation, acks: str) -> Seen:
    """What clients saw of a run that is over, and the leader's log."""
    history = simulation.clients.history
    leader = simulation.controller.partition.leader
    log = simulation.row(leader).log
    reads: dict[int, list[tuple[int, int]]] = {}
    for each in history:
        if each.op == "fetch" and each.outcome == "ok":
            assert each.offset is not None
            reads.setdefault(each.process, []).extend(enumerate(each.values, each.offset))
    return Seen(
        appends=tuple(_append(each, acks) for each in history if each.op == "append"),
        reads=tuple(tuple(each) for each in reads.values()),
        named=tuple(
            Named(each.invoked, each.completed, each.offset)
            for each in history
            if each.op == "latest"
            and each.outcome == "ok"
            and each.offset is not None
            and each.completed is not None
        ),
        log={offset: record.value for offset, record in enumerate(log)},
    )


def _append(operation: Operation, acks: str) -> Append:
    value, invoked = operation.values[0], operation.invoked
    if acks == "0" and operation.outcome == "indeterminate":
        return Append(value, invoked, SENT, None)
    if operation.outcome != "ok":
        return Append(value, invoked, None, None)
    return Append(value, invoked, operation.completed, operation.offset)


class Predicted(msgspec.Struct, frozen=True):
    """What came of the runs of one setup.

    outcomes: by API, how many runs showed a class. unfinished: runs without progress, not counted.
    """

    runs: int
    unfinished: int
    outcomes: dict[str, dict[str, int]]


def predict(setup: Setup, seed: int, runs: int, before: Predicted | None = None) -> Predicted:
    """Runs a setup until it has run so many times. before: what came of the first of them."""
    known = before or Predicted(0, 0, {api: {} for api in APIS})
    counts = {api: Counter(known.outcomes[api]) for api in APIS}
    memo = PartitionMemo(None)
    unfinished = known.unfinished
    for number in range(known.runs, runs):
        if memo.steps > MEMO_STEPS:
            memo.forget()
            memo = PartitionMemo(None)
        outcomes = run(setup, seed, number, memo)
        if outcomes is None:
            unfinished += 1
            continue
        for api, classes in outcomes.items():
            counts[api].update(classes)
    memo.forget()
    told = {
        api: {name: counts[api][name] for name in CLASSES[api] if counts[api][name]} for api in APIS
    }
    return Predicted(max(runs, known.runs), unfinished, told)
