"""What a proof consists of, and how each part ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

Status = Literal["proved", "failed", "unknown"]
IMPLIES: Final = "the invariant implies "


@dataclass
class Obligation:
    """name: what is to be shown. status. seconds: of processor time, the solver's and the paths'.
    paths: how many were looked at. broken: the part that fails, if one does; state: the
    counterexample to induction, in readable lines; reason: why it is unknown.
    """

    name: str
    status: Status = "proved"
    seconds: float = 0.0
    paths: int = 0
    broken: str = ""
    state: list[str] = field(default_factory=list)
    reason: str = ""
