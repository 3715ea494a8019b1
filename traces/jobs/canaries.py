"""Canaries: steps that no specification allows, planted among those that TLC is asked about.

Between a recorded step and its verdict stand tables, a generated module, TLC, and the reading of
its report. A fault in any of them that judges a step as another one would go unseen, for most steps
are allowed. So every batch has canaries, and no verdict is believed where one of them was accepted.

A canary is a copy of the step before it in which one thing is wrong, in turn the reason (of no
spec), the row after (a number that nothing has) and what was sent (its own input as well). A batch
that reads a canary, or a part of it, as the step before or behind it accepts the canary.

They stand SPACING apart, a prime: a fault in every k-th step of a batch befalls one of them,
wherever it begins, if k is no multiple of SPACING and the batch has k * SPACING steps. Where the
first one stands depends on the steps, so that other batches have others. The last place is always
one.

Law of this file: verdicts on steps are those of the batch without canaries, or there are none.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec.structs import replace

from reference.kit.protocol import NodeKind
from tla_utils import StepReport
from tla_utils.errors import ToolError

SPACING: Final = 47
"""The fewer steps between canaries, the more faults they meet, and the more there is to judge: with
47, a fault in every 1,000th step of a full batch (judge.CHUNK), for about 2 % more steps."""
REASON: Final = "Canary"
NUMBER: Final = -77
"""What no handler puts into a row."""

_encode = msgspec.msgpack.Encoder().encode


class Planted(NamedTuple):
    """Steps with the columns CLASSES (distinct.py), canaries among them; and which those are."""

    steps: pa.Table
    canary: npt.NDArray[np.bool_]


def canaries_of(steps: int) -> int:
    """How many canaries stand among so many steps, at most."""
    return steps // (SPACING - 1) + 2


def planted(steps: pa.Table, kind: NodeKind) -> Planted:
    """The steps, all of nodes of this kind, with canaries among them."""
    count = len(steps)
    first = int.from_bytes(steps["key"][0].as_py()[:8], "big") % (SPACING - 1)
    followed = np.arange(count) % (SPACING - 1) == first
    followed[-1] = True
    copied = np.flatnonzero(followed)
    rows = steps.take(pa.array(copied)).to_pylist()
    for turn, row in enumerate(rows, start=first):
        _spoil(row, turn, kind)
    canaries = pa.Table.from_pylist(rows, schema=steps.schema)
    order = np.insert(np.arange(count), copied + 1, count + np.arange(len(copied)))
    return Planted(pa.concat_tables([steps, canaries]).take(pa.array(order)), order >= count)


def _spoil(row: dict[str, Any], turn: int, kind: NodeKind) -> None:
    if turn % 3 == 1:
        after = kind.decode(row["after"])
        name = next(n for n in after.__struct_fields__ if type(getattr(after, n)) is int)
        row["after"] = _encode(replace(after, **{name: NUMBER}))
    elif turn % 3 == 2 and row["input"]:
        row["sent"] = [*row["sent"], row["input"]]
    else:
        row["ignored"] = REASON


def without_canaries(report: StepReport, canary: npt.NDArray[np.bool_]) -> StepReport:
    """The report on the steps alone. Raises ToolError: a canary was accepted."""
    lived = sum(report.verdicts[at].verdict == "accepted" for at in np.flatnonzero(canary))
    if lived:
        raise ToolError(
            f"TLC accepted {lived} of {canary.sum()} canaries, steps that no specification allows: "
            f"its verdicts on the {(~canary).sum()} steps around them cannot be trusted"
        )
    return dataclasses.replace(
        report, verdicts=[report.verdicts[at] for at in np.flatnonzero(~canary)]
    )
