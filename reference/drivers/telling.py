"""How the steps of declared protocols are told: of any row, what a step changed in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kraftcheck.reference.protocols import kind_of_row
from kraftcheck.reference.sim.family import brief

LEGEND: Final = """\
step    index of the step in the run, as in recorded violations
time    virtual seconds since the start of the run; a move takes a millisecond
n       the node that takes the step
row     what the node is after the step, `A>B` when the step changed it, and what the step changed
        in its row
input   what the step consumed; `0>1` is from node 0 to node 1; then what it sent, or why it was
        ignored; values that say nothing are left out
"""


FEW: Final = 3
"""So many fields of a value need no names: 7@2 is a value of epoch 2."""


def columns(step: Any) -> str:
    """Of any row: what the node is, and what the step changed in its fields."""
    role = kind_of_row(step.after).role
    now, before = role(step.after), role(step.before)
    said = " ".join(_changes("", step.before, step.after))
    return f"{now if now == before else f'{before}>{now}'}: {said}".rstrip(": ")


def _changes(path: str, before: Any, after: Any) -> Iterator[str]:
    """Each field that has another value, with that; of structs and of lists in lists, in them."""
    if before == after:
        return
    if isinstance(after, msgspec.Struct) and type(before) is type(after):
        inner = [
            each
            for name in after.__struct_fields__
            for each in _changes(name, getattr(before, name), getattr(after, name))
        ]
        if not path:
            yield from inner
        else:
            yield f"{path}.{inner[0]}" if len(inner) == 1 else f"{path}({' '.join(inner)})"
    elif isinstance(after, tuple) and isinstance(before, tuple) and len(before) == len(after):
        for at, (one, two) in enumerate(zip(before, after, strict=True), 1):
            yield from _changes(f"{path}[{at}]", one, two)
    elif isinstance(after, tuple) and isinstance(before, tuple) and before == after[: len(before)]:
        yield f"{path}+={_told(after[len(before) :])}"
    else:
        yield f"{path}={_told(after)}"


def _told(value: object) -> str:
    """A value in brief; what is no number or two has its name."""
    if isinstance(value, tuple):
        return ",".join(map(_told, value))
    if not isinstance(value, msgspec.Struct):
        return brief(value)
    fields = msgspec.structs.asdict(value)
    if len(fields) <= FEW and value.__struct_config__.tag is None:
        return "@".join(_told(each) for each in reversed(fields.values()))
    told = {k: v for k, v in fields.items() if k not in ("source", "destination")}
    return f"{type(value).__name__}({' '.join(f'{k}={_told(v)}' for k, v in told.items())})"
