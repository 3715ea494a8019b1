"""Known bugs of two_phase, by the numbers of bugs.toml."""

from __future__ import annotations

from two_phase.protocol import Coordinator, Decided, TwoPhaseRules


class T01ForgottenDecision(TwoPhaseRules):
    def on_recovery(self, row: Coordinator) -> Decided:
        return "Abort"
