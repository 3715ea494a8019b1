"""What was found about one history: what `kraftcheck check` prints and its page shows.

Law of this file: whatever a checker has found is here in words and numbers, so that the page, the
line on the terminal and the JSON say the same. All text in it may come from the history's file.
"""

from __future__ import annotations

import msgspec

from kraftcheck.traces.checkers.verdict import (
    Anomaly as Anomaly,
    Certificate,
    Staleness as Staleness,
)


class Object(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one object: one key of a map, one partition of a topic, or all there is."""

    key: str | None
    verdict: str
    level: str | None = None
    operations: int = 0
    certificate: Certificate | None = None
    reason: str | None = None
    witness: tuple[int, ...] | None = None
    prefix: int | None = None


class JudgedHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement of a history."""

    file: str
    format: str
    model: str
    verdict: str
    level: str | None = None
    """The strongest that holds for every object, None when not even the weakest does or it is not
    known.
    """
    promised: str | None = None
    """The level that it is held against, and why that one."""
    because: str = ""
    certificate: Certificate | None = None
    """The smallest evidence against it."""
    reason: str | None = None
    seconds: float = 0.0
    operations: int = 0
    indeterminate: int = 0
    failed: int = 0
    processes: int = 0
    unit: str = "event"
    """Of times: 'ns', 'us', or 'event' where the history has an order only."""
    runs: int | None = None
    """Of a trace, how many runs were judged."""
    objects: tuple[Object, ...] = ()
    anomalies: tuple[Anomaly, ...] = ()
    staleness: tuple[Staleness, ...] = ()
    transactions: int = 0
    """How many were judged as a whole."""
    configuration: dict[str, str] = {}
    """What was assumed."""
    note: str = ""
    """What has to be known of the file."""
    command: str = ""
    """How to have this judgement again."""


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A file that could not be read as a history; `unrecognised` if it is in no format at all."""

    file: str
    line: int
    reason: str
    unrecognised: bool = False

    def __str__(self) -> str:
        return (
            f"{self.file}:{self.line}: {self.reason}"
            if self.line
            else f"{self.file}: {self.reason}"
        )
