"""What a checker says: three verdicts, and the smallest evidence for the bad one."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kraftcheck.traces.values import edn_text

HOLDS: Final = "holds"
VIOLATED: Final = "violated"
UNKNOWN: Final = "unknown"
"""Not decided: the time budget ran out, or the history does not say enough. Never a pass."""
VERDICTS: Final = (HOLDS, VIOLATED, UNKNOWN)
CERTIFICATES_MAX: Final = 20
"""Certificates that are kept of one anomaly of transactions, or of a property; all are counted."""
SHOWN_MAX: Final = 60
"""Characters of a value in a sentence."""


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """Why a history is refused: at most two operations, and one sentence that names them."""

    operations: tuple[int, ...]
    """Their indices in the history (`Operation.index`), the victim last."""
    kind: str
    """The name of the anomaly (Jepsen's where it has one) or of the condition that failed."""
    sentence: str
    key: str | None = None
    """The object."""


def shown(value: Any) -> str:
    """A value, short enough for a sentence."""
    text = edn_text(value)
    return text if len(text) <= SHOWN_MAX else f"{text[:28]}...{text[-28:]}"


INCONCLUSIVE: Final = "inconclusive: "
"""In the reason of an anomaly: before why it may be none."""


class Anomaly(msgspec.Struct, frozen=True, kw_only=True):
    """All findings of one kind, by Jepsen's name. The first certificate is the smallest."""

    name: str
    count: int
    allowed: bool
    """Whether the configuration allows it."""
    reason: str
    """Why it is allowed, or what it breaks."""
    certificates: tuple[Certificate, ...] = ()


class Staleness(msgspec.Struct, frozen=True, kw_only=True):
    """How far the reads of one partition lagged behind what was acknowledged."""

    key: str | None
    reads: int
    """How many there were."""
    delays: tuple[int, ...]
    """Of each stale one, for how long at least the first record that it missed had been there, in
    the history's unit (Jepsen's realtime lag).
    """
    missed: tuple[int, ...]
    """Of each stale one, how many records it missed."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement of one object's history by one model."""

    verdict: str
    model: str
    key: str | None = None
    certificate: Certificate | None = None
    reason: str | None = None
    """Why it is unknown."""
    witness: tuple[int, ...] | None = None
    """A linearization, as indices of operations in their order."""
    prefix: int | None = None
    """How many operations the longest linearizable prefix holds (in order of invocation), and only
    then, when it was asked for and the history does not hold.
    """
