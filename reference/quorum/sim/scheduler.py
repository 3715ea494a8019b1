"""One run of a quorum in virtual time (reference/drivers/clock.py): what the driver must be told.

Law of this file: checkers and clients observe and never steer; what a node does is decided by its
rows, and by whoever calls `give`.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from kraftcheck.reference.drivers.clock import TimedRun
from kraftcheck.reference.quorum.messages import Append, CheckQuorumTimeout, Flush
from kraftcheck.reference.quorum.sim.disk import Disk
from kraftcheck.reference.quorum.sim.faults import Options
from kraftcheck.reference.quorum.sim.machine import (
    ELECTED,
    SETTLED,
    STOPPED_LEADING,
    TRUNCATED,
    UNFLUSHED,
    WATERMARK,
    QuorumMemo,
    lost_election,
)
from kraftcheck.reference.quorum.sim.progress import Progress
from kraftcheck.reference.quorum.sim.scenario import Scenario
from kraftcheck.reference.quorum.sim.trouble import Trouble
from kraftcheck.reference.quorum.sim.workload import Clients
from kraftcheck.reference.quorum.types import Constants, Row
from kraftcheck.reference.sim.choices import Chooser, Stream
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import Step
from kraftcheck.reference.sim.operations import Operation
from kraftcheck.reference.sim.recorder import Recorder

ISOLATED_LEADER_RESIGNS = "IsolatedLeaderResigns"
"""Protocol rules 6.2, bounded in time: no property of rows, so it is checked here."""


class QuorumClients(Protocol):
    """Who appends to the log, and hears what becomes of it."""

    history: list[Operation]

    def start(self) -> None: ...
    def append(self, node: int, client: int) -> Operation: ...
    def awaits(self, node: int) -> bool:
        """Whether anybody waits for what `look` tells of a node."""
        ...

    def look(self, node: int, row: Row) -> None:
        """A node knows more to be committed, or leads no longer."""
        ...

    def finish(self) -> None: ...


class Simulation(TimedRun):
    """One run of a quorum."""

    def __init__(
        self,
        scenario: Scenario,
        options: Options,
        chooser: Chooser,
        memo: QuorumMemo,
        recorder: Recorder,
    ) -> None:
        self._scenario = scenario
        super().__init__(scenario, options, chooser, memo, recorder)
        self._flush = self._intern(Flush())
        self._flushing = [False] * len(self.nodes)
        self._elected = self._truncations = 0
        self._disk = Disk(options, chooser.stream("disk"))
        faults = chooser.stream("faults")
        self._trouble = Trouble(options, faults, self, self._network, self._disk)
        self._progress: Progress | None = None
        self.clients: QuorumClients = self.make_clients(chooser.stream("workload"))

    def make_constants(self, protocol: Any, options: Any) -> Any:
        """Who takes part."""
        return Constants(tuple(range(options.voters)), options.fetch_max_records)

    def make_clients(self, stream: Stream) -> QuorumClients:
        """Who appends to the log."""
        load = self._scenario.load
        load = msgspec.structs.replace(load, appends=load.appends * self._stretch)
        return Clients(load, stream, self.nodes, self)

    def backoff(self, count: int, stream: Stream) -> int:
        return lost_election(self._scenario.timeouts, count, stream)

    # --- The world, as clients, trouble and progress see it

    def leader(self) -> int | None:
        """The leader of the latest epoch that has one."""
        leading = [(row.epoch, node) for node, row in self.rows.items() if row.role == "Leader"]
        return max(leading)[1] if leading else None

    def least_kept(self, node: int) -> int:
        """A crash may take all that is not flushed."""
        return 0

    def may_miss(self, node: int) -> bool:
        """One of three is none too many."""
        return True

    def append(self, node: int, value: int) -> str:
        step = self.give(node, Append(value))
        assert step is not None, "an append is never disabled"
        return step.ignored

    def append_astray(self, node: int) -> None:
        self.clients.append(node, -1)

    # --- What happens

    def begin(self) -> None:
        super().begin()
        self.clients.start()
        self._trouble.start()

    def expired_in_vain(self, node: int, timer: KnownInput) -> None:
        """Say whether a timer expired without effect: only check-quorum may.

        It is armed for every leader, and a sole voter is quorum enough. Any other leader would have
        gone without a majority for too long.
        """
        if not isinstance(timer.value, CheckQuorumTimeout):
            super().expired_in_vain(node, timer)
        if self._watched and len(self.constants.voters) > 1:
            row, milliseconds = self.rows[node], self._scenario.timeouts.check_quorum
            self.violated(
                ISOLATED_LEADER_RESIGNS,
                f"leader {node} of epoch {row.epoch} has heard from no majority for "
                f"{milliseconds} ms and goes on",
            )

    def follow_up(self, node: int, step: Step) -> None:
        notable = step.notable
        if not notable:
            return
        if notable & UNFLUSHED and not self._flushing[node]:
            self._flushing[node] = True
            self.call(self._disk.flush_time(), self._flushed, node)
        self._elected += bool(notable & ELECTED)
        self._truncations += bool(notable & TRUNCATED)
        if notable & SETTLED:
            self._clock.settled(node)
        if notable & (WATERMARK | STOPPED_LEADING):
            if self.clients.awaits(node):
                self.clients.look(node, step.after.row)
            if self._progress is not None and self._progress.is_complete():
                self.end(self._progress.verdict())
        if notable & self._trouble.trigger:
            self._trouble.follow(node)

    def _flushed(self, node: int) -> None:
        self._flushing[node] = False
        row = self.rows[node]
        if self.is_running(node) and row.flushed < len(row.log):
            self.take(node, self._flush)

    # --- The second phase, and the end

    def heal(self) -> tuple[int, ...]:
        return self._trouble.heal()

    def demand_progress(self, core: tuple[int, ...]) -> None:
        self._progress = Progress(core, self.clients, self)

    def ended(self) -> str:
        assert self._progress is not None, "progress is demanded before time is over"
        return self._progress.verdict()

    def statistics(self) -> dict[str, int]:
        trouble = self._trouble
        return super().statistics() | {
            "leader_changes": max(0, self._elected - 1),
            "truncations": self._truncations,
            "crashes": trouble.crashes,
            "lossy_crashes": trouble.lossy_crashes,
            "resignations": trouble.resignations,
            "partitions": trouble.partitions,
        }
