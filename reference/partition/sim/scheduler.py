"""One run of a partition: an event loop over a queue, in two phases, as in the quorum's scheduler.

The metadata log is committed as it is written: what the controller writes, each broker reads at its
own pace, several batches at once or one after the other. Clients, network and brokers' own
activities decide what comes next; nodes are changed only by run.py.
"""

from __future__ import annotations

from collections.abc import Callable

from kraftcheck.reference.bugs.catalog import producer_rules
from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    BrokerRestart,
    ControlledShutdown,
    ControllerFailover,
    ElectLeaders,
    HeartbeatRequest,
    MetadataUpdate,
    RegisterBrokerRequest,
    SessionTimeout,
)
from kraftcheck.reference.partition.sim.clients import Clients
from kraftcheck.reference.partition.sim.machine import WRITTEN, PartitionMemo
from kraftcheck.reference.partition.sim.options import PartitionOptions, constants_of
from kraftcheck.reference.partition.sim.progress import Progress
from kraftcheck.reference.partition.sim.run import PartitionRun
from kraftcheck.reference.partition.sim.scenario import PartitionScenario
from kraftcheck.reference.partition.sim.trouble import Trouble
from kraftcheck.reference.partition.types import INITIAL_OFFSET, PartitionConstants
from kraftcheck.reference.sim.choices import Chooser, chance
from kraftcheck.reference.sim.events import CALL
from kraftcheck.reference.sim.memo import Step
from kraftcheck.reference.sim.recorder import Recorder


class PartitionSimulation(PartitionRun):
    """One run of a partition."""

    def __init__(
        self,
        scenario: PartitionScenario,
        options: PartitionOptions,
        chooser: Chooser,
        memo: PartitionMemo,
        recorder: Recorder,
        constants: PartitionConstants | None = None,
    ) -> None:
        """constants: where they are other than what the options say."""
        constants = constants or constants_of(options)
        super().__init__(
            scenario.paces, options, constants, memo, recorder, chooser, phases=scenario
        )
        self.network.ask_nothing_in_vain()
        self._scenario, self.faulty_ms = scenario, options.faulty_ms
        self._trouble = Trouble(
            options,
            chooser.stream("faults"),
            self.call,
            self.brokers,
            self,
            (self,),
            (self.network,),
            lambda _, input: self.give(CONTROLLER, input),
        )
        workload, rules = chooser.stream("workload"), producer_rules(memo.bug)
        self.clients = Clients(scenario.load, options, workload, (self,), rules=rules)
        self._progress: Progress | None = None
        self._reading = dict.fromkeys(self.brokers, False)
        self._stale_until = dict.fromkeys(self.brokers, 0)
        self._session = dict.fromkeys(self.brokers, 0)

    # --- Its brokers' processes, as trouble sees them

    def stop(self, node: int, crash: Callable[[PartitionRun], None]) -> None:
        crash(self)

    def shut_down(self, node: int) -> bool:
        running = self.row(node).status == "Running"
        return running and self.give(node, ControlledShutdown()) is not None

    def start_again(self, node: int) -> None:
        if self.row(node).status == "Down":
            self.give(node, BrokerRestart())

    def stand_still(self, node: int, what: str, lasts: int) -> None:
        if what == "stale":
            self._stale_until[node] = max(self._stale_until[node], self.now + lasts)
        else:
            self.pace.stand_still(node, what, lasts)

    # --- The loop ---

    def begin(self) -> None:
        self.start_nodes()
        self.clients.start()
        self._trouble.start()

    def start_nodes(self) -> None:
        """The first election; brokers' own activities, and their sessions."""
        self.give(CONTROLLER, ElectLeaders("PREFERRED"))
        for node in self.brokers:
            self.pace.look(node, self.state(node))
            self._hear(node)

    def clients_receive(self, message: object) -> None:
        self.clients.receive(0, message)

    def stepped(self, step: Step) -> None:
        if step.notable & self._trouble.moment:
            self._trouble.leader_stepped(self, step.before.node)
        if self._progress is not None and self._progress.is_complete():
            self.end(self._progress.verdict())

    # --- What follows from a step ---

    def follow_controller(self, step: Step) -> None:
        input = step.input.value
        if isinstance(input, HeartbeatRequest | RegisterBrokerRequest):
            replies = [m.value for _, m in step.travelling]
            if any(m.error == "NONE" for m in replies):
                self._hear(input.source)
        elif isinstance(input, ControllerFailover):
            # The new controller gives everybody the time of a session.
            for node in self.brokers:
                self._hear(node)
        if step.notable & WRITTEN:
            for node in self.brokers:
                self._read_soon(node)

    def _hear(self, node: int) -> None:
        """The controller has heard from a broker: its session begins anew."""
        due = self.now + 1000 * self._scenario.paces.session
        fresh = self._session[node] == 0
        self._session[node] = due
        if fresh:
            self.queue.push(due, CALL, node, self._session_over)

    def _session_over(self, node: int) -> None:
        due = self._session[node]
        if due > self.now:
            self.queue.push(due, CALL, node, self._session_over)
            return
        self._session[node] = 0
        self.give(CONTROLLER, SessionTimeout(node))

    def began(self, node: int) -> None:
        self._read_soon(node)

    def _read_soon(self, node: int) -> None:
        if not self._reading[node] and self.is_running(node):
            self._reading[node] = True
            least = 1000 * (1 + self.clock.below(self._options.metadata_ms))
            self.queue.push(max(self.now + least, self._stale_until[node]), CALL, node, self._read)

    def _read(self, node: int) -> None:
        """A broker reads committed metadata: all there is, or one batch."""
        self._reading[node] = False
        if not self.is_running(node):
            return
        if self._stale_until[node] > self.now:
            self._read_soon(node)
            return
        metadata, offset = self.metadata, self.row(node).image.offset
        start = offset - INITIAL_OFFSET
        if start >= len(metadata):
            return
        end = len(metadata) if chance(self.clock, self._options.folding) else start + 1
        self.give(node, MetadataUpdate(offset, metadata[start:end]))
        if self.row(node).image.offset - INITIAL_OFFSET < len(metadata):
            self._read_soon(node)

    # --- The second phase, and the end ---

    def heal(self) -> tuple[int, ...]:
        self._trouble.heal()
        self.clients.stop_producing()
        self._stale_until = dict.fromkeys(self.brokers, 0)
        self.pace.heal()
        for node in self.brokers:
            self._reading[node] = False
            self._read_soon(node)
        return self.brokers

    def demand_progress(self, core: tuple[int, ...]) -> None:
        self._progress = Progress(lambda: self.clients.probe(0), self)

    def ended(self) -> str:
        assert self._progress is not None, "progress is demanded before time is over"
        return self._progress.verdict()

    def statistics(self) -> dict[str, int]:
        """What happened, counted; the recorder adds what can be read off the steps."""
        trouble = self._trouble
        return super().statistics() | {
            "crashes": trouble.crashes,
            "lossy_crashes": trouble.lossy_crashes,
            "partitions": trouble.partitions,
            "shutdowns": trouble.shutdowns,
            "acked": sum(o.op == "append" and o.outcome == "ok" for o in self.clients.history),
        }
