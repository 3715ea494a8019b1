"""What is said of a foreign trace, in either mode.

Law of this file: nothing is judged here. The verdict follows from what was found, as everywhere
(docs/conformance.md): violated before unknown, unknown before holds.
"""

from __future__ import annotations

import msgspec

HOLDS, VIOLATED, UNKNOWN = "holds", "violated", "unknown"


class Rejection(msgspec.Struct, frozen=True, order=True):
    """A line that the spec does not allow."""

    line: int
    run: int
    node: int
    action: str
    differences: list[str]
    """What it would have allowed, in words."""


class Finding(msgspec.Struct, frozen=True, order=True):
    """What a check on whole runs found wrong, by the names of traces/steps/check.py."""

    line: int
    check: str
    explanation: str


class Doubt(msgspec.Struct, frozen=True, order=True):
    """What could not be decided: at which line, and why."""

    line: int
    reason: str


class Chain(msgspec.Struct, frozen=True, order=True):
    """The steps of one node of one run."""

    run: int
    node: int
    lines: int
    accepted_lines: int
    """How many were accepted, from the first on."""
    last_accepted: int
    """The line of the last of them, 0 if there is none."""
    verdict: str
    """Accepted, rejected or unknown."""


class ForeignVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement of a trace.

    runs_of_tlc, cpu_seconds: what TLC took.
    """

    mode: str
    """Batch (full rows) or chain (partial rows)."""
    producer: str
    steps: int
    nodes: int
    distinct: int
    """Steps that were judged; first rows that were held to be initial are among them."""
    rejections: list[Rejection]
    findings: list[Finding]
    doubts: list[Doubt]
    chains: list[Chain]
    not_asked: list[str]
    """What the trace leaves open, so that an accepted trace claims nothing about it."""
    runs_of_tlc: int
    cpu_seconds: float
    profile: str = ""
    """What was allowed besides the specs, by name (profiles.py); empty for nothing."""
    as_text: str = ""
    """Why TLC was given text in place of values, or ""."""

    @property
    def verdict(self) -> str:
        if self.rejections or self.findings:
            return VIOLATED
        return UNKNOWN if self.doubts else HOLDS

    @property
    def reasons(self) -> list[str]:
        """Why it does not hold, one line each."""
        said = []
        if self.rejections:
            count, what = len(self.rejections), "chain" if self.mode == "chain" else "step"
            said.append(f"{count} {what}{'s' * (count > 1)} rejected by the spec")
        said += [f"line {f.line}: {f.check}: {f.explanation}" for f in self.findings]
        said += [f"line {d.line}: {d.reason}" for d in self.doubts]
        return said
