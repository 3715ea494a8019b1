"""What a healed core must do: elect a leader, commit a new record, and agree on it.

The record is a probe that is appended when there is a leader, and again if that leader is lost
before it commits. Agreement is on everything up to the probe: every node of the core knows it to
be committed, and has the same log below it.
"""

from __future__ import annotations

from typing import Protocol

from kraftcheck.reference.quorum.sim.run import QuorumRun
from kraftcheck.reference.sim.operations import Operation
from kraftcheck.traces.schema import PROGRESSED

PROBE_MS = 500


class Clients(Protocol):
    def append(self, node: int, client: int) -> Operation: ...


class Progress:
    """Watches one healed core."""

    def __init__(self, core: tuple[int, ...], clients: Clients, world: QuorumRun) -> None:
        self._core = core
        self._clients = clients
        self._world = world
        self._probe: Operation | None = None
        self._ask(0)

    def _ask(self, _: int) -> None:
        """Probes when that makes sense, and looks again later when not."""
        probe, leader = self._probe, self._world.leader()
        lost = probe is None or probe.outcome in ("fail", "indeterminate")
        if lost and leader in self._core:
            self._probe = self._clients.append(leader, -1)
        self._world.call(1000 * PROBE_MS, self._ask, 0)

    def is_complete(self) -> bool:
        return self.verdict() == PROGRESSED

    def verdict(self) -> str:
        """`PROGRESSED`, or what is missing."""
        leader = self._world.leader()
        if leader not in self._core:
            return "no leader was elected"
        probe = self._probe
        if probe is None or probe.outcome != "ok" or probe.offset is None:
            return "the new record was not committed"
        end = probe.offset + 1
        rows = {node: self._world.rows[node] for node in self._core}
        for node, row in rows.items():
            if row.high_watermark < end:
                return f"node {node} knows {row.high_watermark} of {end} records to be committed"
        logs = {row.log[:end] for row in rows.values()}
        return PROGRESSED if len(logs) == 1 else "logs differ below the common high watermark"
