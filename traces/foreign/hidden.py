"""What hidden fields of inputs may have been: what is tried, and what that leaves out.

The sets themselves are in specs/steps/ChainQuorum.tla and its siblings, next to the handlers that
they are about. Here stands which fields of a line are open, in which order they are filled, and
where the sets are *cut*: where a value outside of them could have an effect that none inside has.

Law of this file: a field that is not known to be complete is cut. tests/traces/foreign holds the
sets against larger ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from tla_utils import Record, Value
from traces.foreign.forms import LINES, vocabulary
from traces.foreign.provenance import Senders
from traces.foreign.reading import Fields, ForeignStep, ForeignTrace
from traces.jobs.protocols import NodeKind

# What the sets of others depend on is filled before them: see the frames.
_ORDER: Final = ("source", "request", "epoch", "error", "diverging")

# Fields whose numbers are compared with each other: a hidden one may have been any that was logged.
_EPOCHS: Final = frozenset({"epoch", "lastEpoch", "lastFetchedEpoch", "leaderEpoch"})
_OFFSETS: Final = frozenset({"lastOffset", "fetchOffset", "highWatermark", "endOffset", "offset"})


class Domain(NamedTuple):
    """What is known of the hidden fields of a kind of node.

    frame: the module with the sets. impossible: a field of a row with a value that none has.
    row_fields: all of a row. complete: fields of inputs whose sets leave nothing out. seen: fields
    whose sets leave nothing out if this field of the row after the step was logged.
    """

    frame: str
    impossible: Mapping[str, Value]
    row_fields: frozenset[str]
    complete: frozenset[str]
    seen: Mapping[str, str]

    def cut(self, step: ForeignStep, inputs: Sequence[Record]) -> list[str]:
        """The fields of the step's input that are tried with some of their values only."""
        open_fields = {name for choice in inputs for name in _open_of(choice)}
        return sorted(
            name
            for name in open_fields - self.complete
            if name not in self.seen or self.seen[name] not in step.after
        )


def _row_fields(kind: str) -> frozenset[str]:
    row = next(f.type for f in msgspec.structs.fields(LINES[kind].full) if f.name == "before")
    return frozenset(row.__struct_fields__)


DOMAINS: Final[dict[str, Domain]] = {
    "voter": Domain(
        frame="ChainQuorum",
        impossible={"role": "Nobody's"},
        row_fields=_row_fields("voter"),
        complete=frozenset(
            {
                *("source", "peer", "leader", "granted", "preVote", "error", "lastEpoch"),
                *("lastFetchedEpoch", "lastOffset", "fetchOffset", "highWatermark", "keep"),
                *("successors", "diverging", "request", "value"),
            }
        ),
        seen={"epoch": "epoch", "records": "log"},
    ),
}
"""By the kind of node (traces/jobs/protocols.py)."""


def inputs_of(step: ForeignStep, kind: NodeKind, senders: Senders) -> list[Record]:
    """What the step may have received: records of action, input and open fields."""
    if step.input is None:
        return [_choice(kind, step.node, {"type": t.__name__}) for t in LINES[kind.name].inputs]
    known = senders.candidates(step) if senders.knows(step) else [step.input]
    return [_choice(kind, step.node, fields) for fields in known]


def _choice(kind: NodeKind, node: int, known: Fields) -> Record:
    """An input as far as it is known, some value in each of its open fields."""
    words = vocabulary(kind.name)
    types = {t.__name__: t for t in LINES[kind.name].inputs}
    fields = {words.fields[name] for name in types[str(known["type"])].__struct_fields__}
    known = {"destination": node, **known} if "destination" in fields else known
    names = sorted(fields - set(known), key=lambda name: (_place(name), name))
    placeholders: dict[str, Value] = dict.fromkeys(names, 0)
    return Record(
        action=f"Handle{known['type']}",
        input=Record({**placeholders, **known}),
        open=tuple(names),
    )


def _place(name: str) -> int:
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


def _open_of(choice: Record) -> Iterable[str]:
    names = choice["open"]
    assert isinstance(names, tuple)
    return map(str, names)


def logged_values(trace: ForeignTrace) -> dict[str, Value]:
    """Field -> the values that it has anywhere in the messages and other inputs of the trace; for
    epochs and offsets, all epochs and offsets, and for values of records one that is new."""
    found: dict[str, set[Value]] = {}
    epochs: set[Value] = set()
    offsets: set[Value] = set()
    values: set[int] = set()
    for step in trace.steps:
        inputs = [step.input] if step.input is not None else []
        for name, value in _members([*inputs, *(step.sent or ())]):
            found.setdefault(name, set()).add(value)
        for name, value in _members([step.before, step.after, *inputs, *(step.sent or ())]):
            if isinstance(value, int) and not isinstance(value, bool):
                if name in _EPOCHS:
                    epochs.add(value)
                elif name in _OFFSETS:
                    offsets.add(value)
                elif name == "value":
                    values.add(value)
    pooled: dict[str, Value] = {name: frozenset(epochs) for name in sorted(_EPOCHS)}
    pooled.update({name: frozenset(offsets) for name in sorted(_OFFSETS)})
    for name in ("records", "diverging", "successors"):
        if name in found:
            pooled[name] = frozenset(found[name])
    pooled["value"] = frozenset(values | {max(values, default=0) + 1})
    return pooled


def _members(parts: Sequence[Fields]) -> Iterator[tuple[str, Value]]:
    """The fields of these records, and of what they consist of."""
    for part in parts:
        for name, value in part.items():
            yield name, value
            yield from _members(_records_in(value))


def _records_in(value: Value) -> list[Record]:
    if isinstance(value, Record):
        return [value]
    if isinstance(value, tuple | frozenset):
        return [record for item in value for record in _records_in(item)]
    return []
