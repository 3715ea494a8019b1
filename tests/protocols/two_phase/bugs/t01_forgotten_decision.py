"""T01: a coordinator that comes back gives up, whatever it had decided."""

from __future__ import annotations

from two_phase.protocol import Coordinator, Decided, TwoPhaseRules

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared


class T01ForgottenDecision(TwoPhaseRules):
    def on_recovery(self, row: Coordinator) -> Decided:
        return "Abort"


BUG = declared(
    __name__, T01ForgottenDecision, "DecisionIsKept", source="an example", detectors=NO_CLIENT
)
