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
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import asdict

from kraftcheck.reference.kit.protocol import NodeKind
from kraftcheck.traces.jobs.protocols import decoder_of
from tla_utils import Record, StepReport, function
from tla_utils.errors import ToolError
from tla_utils.values import Function

SPACING: Final = 47
"""The fewer steps between canaries, the more faults they meet, and the more there is to judge: with
47, a fault in every 1,000th step of a full batch (judge.CHUNK), for about 2 % more steps."""
REASON: Final = "Canary"
NUMBER: Final = -77
"""What no handler puts into a row."""

_encode = msgspec.msgpack.Encoder().encode
_Step = TypeVar("_Step")


class Planted(NamedTuple):
    """Steps with the columns CLASSES (distinct.py), canaries among them; and which those are."""

    steps: pa.Table
    canary: npt.NDArray[np.bool_]


def canaries_of(steps: int) -> int:
    """How many canaries stand among so many steps, at most."""
    return steps // (SPACING - 1) + 2


def wrong_number(row: Any) -> Any:
    """The row, a struct or a record of the spec, with NUMBER for its first number: one of its own,
    or else of what it holds.
    """
    fields = dict(row) if isinstance(row, Record) else asdict(row)
    for wrong in (_as_number, _within):
        for name, value in fields.items():
            if (changed := wrong(value)) is not None:
                return type(row)(**{**fields, name: changed})
    raise AssertionError(f"a {type(row).__name__} has no number")


def _as_number(value: Any) -> int | None:
    return NUMBER if type(value) is int else None


def _within(value: Any) -> Any | None:
    """Of entries by node: the first of them is wrong."""
    if isinstance(value, tuple) and value and isinstance(value[0], Struct | Record):
        return (wrong_number(value[0]), *value[1:])
    if isinstance(value, Function):
        (node, entry), *others = value.items()
        return function([(node, wrong_number(entry)), *others])
    return None


def planted(steps: pa.Table, kind: NodeKind) -> Planted:
    """The steps, all of nodes of this kind, with canaries among them."""

    def numbered(row: bytes) -> bytes:
        return _encode(wrong_number(decoder_of(kind.row)(row)))

    first = int.from_bytes(steps["key"][0].as_py()[:8], "big") % (SPACING - 1)
    copied, order = _places(len(steps), first)
    rows = steps.take(pa.array(copied)).to_pylist()
    wrong = [spoiled(row, turn, numbered) for turn, row in enumerate(rows, start=first)]
    canaries = pa.Table.from_pylist(wrong, schema=steps.schema)
    table = pa.concat_tables([steps, canaries]).take(pa.array(order))
    return Planted(table, order >= len(steps))


def planted_among(
    steps: Sequence[_Step], spoil: Callable[[_Step, int], _Step]
) -> tuple[list[_Step], npt.NDArray[np.bool_]]:
    """Steps in any form with canaries among them, and which those are.

    steps: all different, since TLC is asked once about those that are equal: the canaries would no
    longer stand apart.
    spoil: a copy of a step, with that wrong whose turn it is (`spoiled`).
    """
    first = len(steps) % (SPACING - 1)
    copied, order = _places(len(steps), first)
    wrong = [spoil(steps[at], turn) for turn, at in enumerate(copied.tolist(), start=first)]
    whole = [*steps, *wrong]
    return [whole[at] for at in order.tolist()], order >= len(steps)


def _places(count: int, first: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The steps that a canary follows, and the order of all: the canaries' numbers are those from
    `count`."""
    followed = np.arange(count) % (SPACING - 1) == first
    followed[-1] = True
    copied = np.flatnonzero(followed)
    return copied, np.insert(np.arange(count), copied + 1, count + np.arange(len(copied)))


def spoiled(
    step: Mapping[str, Any], turn: int, numbered: Callable[[Any], Any] = wrong_number
) -> dict[str, Any]:
    """A copy of a step with one thing wrong: its reason, row after, or what was sent, in turn.

    numbered: the row with a wrong number in it.
    """
    sent, input = step["sent"], step["input"]
    if turn % 3 == 1:
        return {**step, "after": numbered(step["after"])}
    if turn % 3 == 2 and input and input not in sent:
        return {**step, "sent": type(sent)([*sent, input])}
    return {**step, "ignored": REASON}


def without_canaries(report: StepReport, canary: npt.NDArray[np.bool_]) -> StepReport:
    """The report on the steps alone.

    Raises ToolError: a canary was accepted, or there is not a verdict for each step.
    """
    if len(report.verdicts) != len(canary):
        raise ToolError(
            f"TLC gave {len(report.verdicts)} verdicts on {len(canary)} steps with their canaries: "
            "they cannot be trusted"
        )
    lived = sum(report.verdicts[at].verdict == "accepted" for at in np.flatnonzero(canary))
    if lived:
        raise ToolError(
            f"TLC accepted {lived} of {canary.sum()} canaries, steps that no specification allows: "
            f"its verdicts on the {(~canary).sum()} steps around them cannot be trusted"
        )
    return dataclasses.replace(
        report, verdicts=[report.verdicts[at] for at in np.flatnonzero(~canary)]
    )
