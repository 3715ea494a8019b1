"""What a checker says: three verdicts, and the smallest evidence for the bad one."""

from __future__ import annotations

from typing import Final

import msgspec

HOLDS: Final = "holds"
VIOLATED: Final = "violated"
UNKNOWN: Final = "unknown"
"""Not decided: the time budget ran out, or the history does not say enough. Never a pass."""
VERDICTS: Final = (HOLDS, VIOLATED, UNKNOWN)


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """Why a history is refused: at most two operations, and one sentence that names them.

    operations: their indices in the history (`Operation.index`), the victim last. kind: the name
    of the anomaly (Jepsen's where it has one) or of the condition that failed. key: the object.
    """

    operations: tuple[int, ...]
    kind: str
    sentence: str
    key: str | None = None


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement of one object's history by one model.

    reason: why it is unknown. witness: a linearization, as indices of operations in their order.
    prefix: how many operations the longest linearizable prefix holds (in order of invocation), and
    only then, when it was asked for and the history does not hold.
    """

    verdict: str
    model: str
    key: str | None = None
    certificate: Certificate | None = None
    reason: str | None = None
    witness: tuple[int, ...] | None = None
    prefix: int | None = None
