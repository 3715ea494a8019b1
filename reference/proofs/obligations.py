"""What a proof consists of, and how each part ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

import z3

from reference.proofs.judging import Verdict

Status = Literal["proved", "failed", "unknown"]
IMPLIES: Final = "the invariant implies "


@dataclass
class Obligation:
    """name: what is to be shown. status. seconds: of processor time, the solver's and the paths'.
    paths: how many were looked at. broken: the parts that fail, if any do, on the first path on
    which one does; state: the counterexample to induction, in readable lines; reason: why it is
    unknown.
    """

    name: str
    status: Status = "proved"
    seconds: float = 0.0
    paths: int = 0
    broken: str = ""
    state: list[str] = field(default_factory=list)
    reason: str = ""

    def take(self, verdict: Verdict, readable: Callable[[z3.ModelRef], list[str]]) -> bool:
        """Notes what was found of one path; whether all goals follow."""
        if verdict.broken:
            self.status = "failed"
            self.broken = ", ".join(verdict.broken)
            self.state = [] if verdict.model is None else readable(verdict.model)
        elif verdict.undecided:
            parts = ", ".join(verdict.undecided)
            self.status, self.reason = "unknown", f"the solver: {verdict.reason} ({parts})"
        return not (verdict.broken or verdict.undecided)
