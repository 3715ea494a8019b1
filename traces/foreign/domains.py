"""What the sets of the frames for partial rows leave out, for each kind of node.

A set of specs/*/steps/Chain*.tla is *cut* where a value outside of it could have an effect that
none inside has. A chain that gets no further behind such a line is "unknown", and never rejected.

Law of this file: a field that is not known to be complete is cut. tests/traces/foreign takes steps
that are right, hides fields of theirs, and none of them may be rejected.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from kraftcheck.reference.kit.protocol import NodeKind
from kraftcheck.traces.foreign.forms import LINES
from kraftcheck.traces.foreign.reading import Fields, ForeignStep
from tla_utils import Record


class Domain:
    """What is known of the hidden fields of a kind of node (`NodeKind.hidden`).

    It also says how a trace may tell them.
    """

    def __init__(self, kind: NodeKind) -> None:
        assert kind.hidden is not None, f"nothing is known of what a {kind.name} may hide"
        self.hidden = kind.hidden
        self.row_fields = _row_fields(kind.name)

    def cut(self, step: ForeignStep, inputs: Sequence[Record]) -> list[str]:
        """The fields of the step's input that are tried with some of their values only."""
        return sorted(
            {
                name
                for choice in inputs
                for name in _open_of(choice)
                if not self._is_whole(_type_of(choice), name, step.after)
            }
        )

    def _is_whole(self, kind: str, name: str, after: Fields) -> bool:
        names = (name, f"{kind}.{name}")
        if not self.hidden.complete.isdisjoint(names):
            return True
        return any(
            each in self.hidden.seen and _shows(after, self.hidden.seen[each]) for each in names
        )


def _shows(after: Fields, field: str) -> bool:
    """Whether the row tells what was put into this field.

    A log whose start has moved does not: the new records may be gone already
    (specs/partition/PartitionLog.tla).
    """
    log = after.get("log")
    if field != "log" or not isinstance(log, tuple):
        return field in after
    return not any(isinstance(record, Record) and record["epoch"] == -1 for record in log)


def _open_of(choice: Record) -> Iterable[str]:
    names = choice["open"]
    assert isinstance(names, tuple)
    return map(str, names)


def _type_of(choice: Record) -> str:
    input = choice["input"]
    assert isinstance(input, Record)
    return str(input["type"])


def _row_fields(kind: str) -> frozenset[str]:
    row = next(f.type for f in msgspec.structs.fields(LINES[kind].full) if f.name == "before")
    return frozenset(row.__struct_fields__)
