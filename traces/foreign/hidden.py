"""What hidden fields of inputs may have been: which are open, and what the trace says of them.

The sets themselves are in specs/quorum/steps/ChainQuorum.tla and its siblings, next to the handlers
that they are about; domains.py knows what they leave out. Here stands which fields of a line are
open, in which order they are filled, and which values the trace has for them elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kraftcheck.reference.kit.fields import spec_name
from kraftcheck.reference.kit.protocol import NodeKind
from kraftcheck.traces.foreign.provenance import Senders
from kraftcheck.traces.foreign.reading import Fields, ForeignStep, ForeignTrace
from tla_utils import Record, Value

# What the sets of others depend on is filled before them: see the frames.
_ORDER: Final = ("source", "request", "epoch", "error", "diverging", "keep", "records")

# Fields whose numbers are compared with each other: a hidden one may have been any that was logged.
_EPOCHS: Final = frozenset(
    {
        *("epoch", "lastEpoch", "lastFetchedEpoch", "leaderEpoch"),
        *("brokerEpoch", "previousEpoch", "cleanShutdown"),
    }
)
_OFFSETS: Final = frozenset({"lastOffset", "fetchOffset", "highWatermark", "endOffset", "offset"})

# Fields whose values are tried as they were logged in messages and other inputs.
_AS_LOGGED: Final = (
    *("records", "diverging", "successors", "values", "client", "producer", "producerEpoch"),
    *("sequence", "logStart", "incarnation", "metadataOffset"),
)


def inputs_of(step: ForeignStep, kind: NodeKind, senders: Senders) -> list[Record]:
    """What the step may have received: records of action, input and open fields."""
    if step.input is None:
        return [_choice(kind, step.node, {"type": t.__name__}) for t in kind.inputs]
    known = senders.candidates(step) if senders.knows(step) else [step.input]
    return [_choice(kind, step.node, fields) for fields in known]


def _choice(kind: NodeKind, node: int, known: Fields) -> Record:
    """An input as far as it is known, some value in each of its open fields."""
    types = {t.__name__: t for t in kind.inputs}
    fields = {spec_name(name) for name in types[str(known["type"])].__struct_fields__}
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


def logged_values(trace: ForeignTrace) -> dict[str, Value]:
    """Collect the values that each field has anywhere in the trace.

    They come from messages and other inputs. Of epochs and offsets all are taken, and of records'
    values one that is new as well.
    """
    found: dict[str, set[Value]] = {}
    epochs, offsets, versions, values = (set[int]() for _ in range(4))
    pools = {
        **dict.fromkeys(_EPOCHS, epochs),
        **dict.fromkeys(_OFFSETS, offsets),
        "partitionEpoch": versions,
        "value": values,
    }
    for step in trace.steps:
        inputs = [step.input] if step.input is not None else []
        for name, value in _members([*inputs, *(step.sent or ())]):
            found.setdefault(name, set()).add(value)
        for name, value in _members([step.before, step.after, *inputs, *(step.sent or ())]):
            if name in pools and isinstance(value, int) and not isinstance(value, bool):
                pools[name].add(value)
    values.add(max(values, default=0) + 1)
    pooled: dict[str, Value] = {name: frozenset(pool) for name, pool in pools.items()}
    return pooled | {name: frozenset(found[name]) for name in _AS_LOGGED if name in found}


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
