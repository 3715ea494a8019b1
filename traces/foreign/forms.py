"""What a line of a foreign trace may hold: types made from those of the reference.

Law of this file: no field is written down here. Every type is made from its twin in the core, under
the names of the specification (traces/jobs/abstraction.py), so a field that is added there is asked
for here. In form a foreign trace is nearer to the specification than a recording of our own:

    the core                         a foreign trace
    snake case                       the spec's names
    a struct that is an array        an object with fields
    a tuple aligned with the nodes   an object from a node's number to its entry
    a sorted tuple for a set         an array in any order, nothing twice

Each type comes in two forms. In the full form every field is required. In the partial form rows and
messages may lack fields: a field that is absent is *hidden*, which means that nobody knows it.
What rows and messages are made of (a record, a request inside a response) is whole in either form.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, Meta, UnsetType

from reference.core import messages as quorum_messages
from reference.core import partition_messages
from reference.core import partition_types as partition
from reference.core import types as quorum
from traces.jobs.abstraction import (
    BY_BROKER,
    BY_VOTER,
    FIELDS,
    PARTITION_FIELDS,
    PARTITION_SETS,
    SETS,
)

FORMAT: Final = "kraftcheck steps 1"
"""What the first line of every foreign trace says; the number changes when the format does."""

# TLC computes with Java's int.
INT_MAX: Final = 2**31 - 1
Whole = Annotated[int, Meta(ge=-INT_MAX, le=INT_MAX)]
NodeId = Annotated[int, Meta(ge=0, le=INT_MAX)]

_SET: Final = Meta(
    description="A set: in any order, nothing twice.", extra_json_schema={"uniqueItems": True}
)
_BY_NODE: Final = Meta(description="From a node's number to its entry; one for each node.")


class Vocabulary(NamedTuple):
    """How a protocol writes its fields: traces/jobs/abstraction.py."""

    fields: dict[str, str]
    sets: frozenset[str]
    by_node: frozenset[str]


QUORUM: Final = Vocabulary(dict(FIELDS), SETS, BY_VOTER)
PARTITION: Final = Vocabulary(dict(PARTITION_FIELDS), PARTITION_SETS, BY_BROKER)


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line: what the trace is of, and what may be concluded from it."""

    format: Literal["kraftcheck steps 1"]
    constants: Annotated[
        QuorumConstants | PartitionConstants,
        Meta(description="Who takes part, and the settings of the protocol."),
    ]
    rows: Annotated[
        Literal["full", "partial"],
        Meta(description="full: every field is there. partial: absent fields are hidden."),
    ]
    start: Annotated[
        Literal["initial", "any"],
        Meta(description="initial: each node's first row is that of a new node."),
    ] = "initial"
    order: Annotated[
        Literal["causal", "by node"],
        Meta(
            description="causal: a message's line stands after that of its sender, in the whole "
            "file. by node: lines are in order for each node only."
        ),
    ] = "causal"
    producer: Annotated[str, Meta(description="Who wrote the trace; for people.")] = ""


class QuorumConstants(
    msgspec.Struct,
    frozen=True,
    tag="quorum",
    tag_field="protocol",
    rename="camel",
    forbid_unknown_fields=True,
):
    """The constants of a quorum."""

    voters: tuple[NodeId, ...]
    fetch_max_records: Annotated[int, Meta(ge=1, le=INT_MAX)]


class PartitionConstants(
    msgspec.Struct,
    frozen=True,
    tag="partition",
    tag_field="protocol",
    rename="camel",
    forbid_unknown_fields=True,
):
    """The constants of a partition."""

    replicas: Annotated[tuple[NodeId, ...], Meta(description="In assignment order.")]
    min_insync_replicas: Annotated[int, Meta(ge=1, le=INT_MAX)]
    fetch_max_records: Annotated[int, Meta(ge=1, le=INT_MAX)]
    elr_enabled: bool = True
    unclean_election: bool = False


class Lines(NamedTuple):
    """The types of the steps of one kind of node.

    full, partial: a line in either form. inputs: the core's types of what such a node receives.
    """

    full: type[msgspec.Struct]
    partial: type[msgspec.Struct]
    inputs: tuple[type[msgspec.Struct], ...]


def is_set(words: Vocabulary, spec_name: str) -> bool:
    """Whether arrays of that name stand for sets."""
    return spec_name in {words.fields[name] for name in words.sets}


def _meaning(struct: type) -> str:
    """What the type of the core says of itself, without what concerns Python only."""
    words = " ".join((struct.__doc__ or "").split("\n\n")[0].split())
    return " ".join(part for part in re.split(r"(?<=\.) ", words) if "hash is kept" not in part)


class _Maker:
    """Makes twins, each once; types that both protocols use have one twin."""

    _made: ClassVar[dict[tuple[type, bool], type[msgspec.Struct]]] = {}

    def __init__(self, words: Vocabulary) -> None:
        self.words = words

    def twin(self, struct: type[msgspec.Struct], *, partial: bool = False) -> type[msgspec.Struct]:
        """The type of the foreign form of this type of the core."""
        known = self._made.get((struct, partial))
        if known is None:
            known = self._made[struct, partial] = self._make(struct, partial)
        return known

    def _make(self, struct: type[msgspec.Struct], partial: bool) -> type[msgspec.Struct]:
        config = struct.__struct_config__
        fields: list[Any] = []
        for field in msgspec.structs.fields(struct):
            form = self._field(field.name, field.type)
            name = self.words.fields[field.name]
            fields.append((name, form | UnsetType, UNSET) if partial else (name, form))
        return msgspec.defstruct(
            f"{'Partial' if partial else ''}{struct.__name__}",
            fields,
            tag=config.tag,
            tag_field=config.tag_field,
            frozen=True,
            kw_only=True,
            forbid_unknown_fields=True,
            namespace={"__doc__": _meaning(struct)},
        )

    def union(self, structs: Iterable[type[msgspec.Struct]], *, partial: bool = False) -> Any:
        twins = tuple(self.twin(struct, partial=partial) for struct in structs)
        return Union[twins]  # noqa: UP007 - made at run time

    def _field(self, name: str, kind: Any) -> Any:
        if get_origin(kind) is not tuple:
            return self._form(kind)
        item = self._form(get_args(kind)[0])
        if name in self.words.by_node:
            return Annotated[dict[NodeId, item], _BY_NODE]  # type: ignore[valid-type]
        if name in self.words.sets:
            return Annotated[tuple[item, ...], _SET]  # type: ignore[valid-type]
        return tuple[item, ...]  # type: ignore[valid-type]

    def _form(self, kind: Any) -> Any:
        if get_origin(kind) is tuple:
            return tuple[self._form(get_args(kind)[0]), ...]  # type: ignore[misc]
        if get_origin(kind) in (Union, types.UnionType):
            return self.union(get_args(kind))
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            return self.twin(kind)
        return Whole if kind is int else kind


def _lines(
    maker: _Maker,
    name: str,
    row: type[msgspec.Struct],
    inputs: Iterable[type[msgspec.Struct]],
    messages: Iterable[type[msgspec.Struct]],
) -> Lines:
    """The types of lines about nodes with such rows."""
    inputs, messages = tuple(inputs), tuple(messages)
    made = []
    said = {False: "every field is required", True: "absent fields are hidden"}
    for partial in (False, True):
        form: dict[str, Any] = {
            "before": maker.twin(row, partial=partial),
            "input": maker.union(inputs, partial=partial),
            "after": maker.twin(row, partial=partial),
            "sent": tuple[maker.union(messages, partial=partial), ...],  # type: ignore[misc]
            "ignored": str,
        }
        hidden = [(field, kind | UnsetType, UNSET) for field, kind in form.items()]
        fields: list[Any] = [("node", Whole), *(hidden if partial else form.items())]
        line = msgspec.defstruct(
            f"Partial{name}Step" if partial else f"{name}Step",
            [*fields, ("run", NodeId, 0)],
            frozen=True,
            kw_only=True,
            forbid_unknown_fields=True,
            namespace={"__doc__": f"One step of a {name.lower()}; {said[partial]}."},
        )
        made.append(line)
    return Lines(made[0], made[1], inputs)


_QUORUM: Final = _Maker(QUORUM)
_PARTITION: Final = _Maker(PARTITION)

LINES: Final[dict[str, Lines]] = {
    "voter": _lines(_QUORUM, "Voter", quorum.Row, quorum_messages.INPUTS, quorum_messages.MESSAGES),
    "broker": _lines(
        _PARTITION,
        "Broker",
        partition.BrokerRow,
        get_args(partition_messages.BrokerInput),
        partition_messages.MESSAGES,
    ),
    "controller": _lines(
        _PARTITION,
        "Controller",
        partition.ControllerRow,
        get_args(partition_messages.ControllerInput),
        partition_messages.MESSAGES,
    ),
}
"""The types of lines by the kind of node (traces/jobs/protocols.py)."""


def vocabulary(kind: str) -> Vocabulary:
    """The words of the protocol to which this kind of node belongs."""
    return QUORUM if kind == "voter" else PARTITION


def json_schema() -> dict[str, Any]:
    """The JSON Schema of one line of a foreign trace, draft 2020-12."""
    kinds = [Header, *[line for lines in LINES.values() for line in lines[:2]]]
    refs, components = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a foreign step trace: the first is a Header, all others are steps",
        "oneOf": list(refs),
        "$defs": components,
    }
