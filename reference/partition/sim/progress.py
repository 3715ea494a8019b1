"""Say what a healed partition must do.

Of one that is deleted, or that never came to be, nobody holds anything. All others must elect a
leader, let everybody back into the ISR, commit a new record, and have it on every replica.

The record is a probe with acks=all, sent again as long as it is not acknowledged. Agreement is on
everything up to it: every replica knows it to be committed, and has the same log from where its
log starts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kraftcheck.reference.partition.messages import NOBODY
from kraftcheck.reference.partition.types import GONE, BrokerRow, ControllerRow
from kraftcheck.reference.sim.operations import Operation
from kraftcheck.traces.schema import PROGRESSED

PROBE_MS = 300


class HealedEnvironment(Protocol):
    brokers: tuple[int, ...]

    @property
    def replicas(self) -> tuple[int, ...]: ...
    @property
    def controller(self) -> ControllerRow: ...
    def row(self, node: int) -> BrokerRow: ...
    def call(self, delay: int, what: Callable[[int], None], argument: int) -> None: ...


class Progress:
    """Watches one healed partition."""

    def __init__(self, probe: Callable[[], Operation], world: HealedEnvironment) -> None:
        """`probe` appends a record and tells what became of it."""
        self._append = probe
        self._world = world
        self._probe: Operation | None = None
        self._ask(0)

    def _ask(self, _: int) -> None:
        """Probes when that makes sense, and looks again later."""
        probe = self._probe
        lost = probe is None or probe.outcome in ("fail", "indeterminate")
        if lost and self._world.replicas and not missing_in(self._world):
            self._probe = self._append()
        self._world.call(1000 * PROBE_MS, self._ask, 0)

    def is_complete(self) -> bool:
        # Asked after every step that matters: mostly the probe is not acknowledged yet.
        acked = self._probe is not None and self._probe.outcome == "ok"
        return (acked or not self._world.replicas) and self.verdict() == PROGRESSED

    def verdict(self) -> str:
        """`PROGRESSED`, or what is missing."""
        missing = missing_in(self._world)
        if missing or not self._world.replicas:
            return missing or PROGRESSED
        probe = self._probe
        if probe is None or probe.outcome != "ok" or probe.offset is None:
            return "the new record was not committed"
        end = probe.offset + 1
        logs = []
        for node in self._world.replicas:
            row = self._world.row(node)
            if row.high_watermark < end:
                return f"broker {node} knows {row.high_watermark} of {end} records to be committed"
            logs.append(row.log[:end])
        first = logs[0]
        for log in logs[1:]:
            if any(a != b and GONE not in (a, b) for a, b in zip(first, log, strict=True)):
                return "logs differ below the common high watermark"
        return PROGRESSED


def missing_in(world: HealedEnvironment) -> str:
    """Empty if there is a leader and everybody is in the ISR, or what is not well.

    Of a partition that there is not, nobody may hold anything.
    """
    controller = world.controller
    if not world.replicas:
        held = [n for n in world.brokers if world.row(n).log or world.row(n).role != "None"]
        return f"broker {held[0]} holds a partition that there is not" if held else ""
    if controller.partition.leader == NOBODY:
        return "no leader was elected"
    for node, known in zip(world.brokers, controller.registrations, strict=True):
        if known.fenced:
            return f"broker {node} stays fenced"
    for node in world.replicas:
        if node not in controller.partition.isr:
            return f"broker {node} stays out of the ISR"
    return ""
