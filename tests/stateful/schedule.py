"""What the machines steer and how it fails, under the names that the tests use."""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.quorum.handlers import QuorumHandlers
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.sim.machine import QuorumMemo
from kraftcheck.reference.quorum.steered.schedule import RATES, TIMEOUTS, Schedule, memos
from kraftcheck.reference.quorum.types import Constants
from kraftcheck.reference.steered.failures import NoProgress, PromiseBroken, Violation, script
from kraftcheck.reference.steered.mail import Link


class _Memo(QuorumMemo):
    def __init__(self, rules: type[QuorumRules]) -> None:
        super().__init__(TIMEOUTS, None)
        self._rules = rules

    def new_machine(self, constants: Any) -> Any:
        machine: Any = super().new_machine(constants)
        machine.handlers = QuorumHandlers(constants, self._rules(constants))
        return machine


def schedule_by(rules: type[QuorumRules], constants: Constants) -> Schedule:
    """A quorum that decides so."""
    key: Any = rules
    return Schedule(constants, memo=memos.memo(key, lambda: _Memo(rules)))


__all__ = [
    "RATES",
    "Link",
    "NoProgress",
    "PromiseBroken",
    "Schedule",
    "Violation",
    "schedule_by",
    "script",
]
