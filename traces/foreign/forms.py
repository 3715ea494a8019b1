"""What a line of a foreign trace may hold: types made from those of the reference.

Law of this file: no field is written down here. Every type is made from its twin in the core, under
the names of the specification (reference/kit/fields.py), so a field that is added there is asked
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
from functools import cache
from typing import Annotated, Any, Final, Literal, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, UNSET, Meta, UnsetType

from kraftcheck.reference.kit.fields import Kind, spec_name, union
from kraftcheck.reference.kit.protocol import NodeKind
from kraftcheck.reference.protocols import PROTOCOLS
from kraftcheck.traces.foreign.meanings import meanings

FORMAT: Final = "kraftcheck steps 1"
"""What the first line of every foreign trace says; the number changes when the format does."""

# TLC computes with Java's int.
INT_MAX: Final = 2**31 - 1
Whole = Annotated[int, Meta(ge=-INT_MAX, le=INT_MAX)]
NodeId = Annotated[int, Meta(ge=0, le=INT_MAX)]

_METAS: Final = {
    Kind.SET: Meta(
        description="A set: in any order, nothing twice.", extra_json_schema={"uniqueItems": True}
    ),
    Kind.BY_NODE: Meta(description="From a node's number to its entry; one for each node."),
}


_CORE: Final[dict[type[msgspec.Struct], type[msgspec.Struct]]] = {}
"""By the type of the foreign form, that of the core."""


class Lines(NamedTuple):
    """The types of the steps of one kind of node.

    full, partial: a line in either form.
    """

    full: type[msgspec.Struct]
    partial: type[msgspec.Struct]


def _meaning(struct: type) -> str:
    """What the type of the core says of itself, without what concerns Python only."""
    words = " ".join((struct.__doc__ or "").split("\n\n")[0].split())
    return " ".join(part for part in re.split(r"(?<=\.) ", words) if "hash is kept" not in part)


@cache
def twin(struct: type[msgspec.Struct], partial: bool) -> type[msgspec.Struct]:
    """The type of the foreign form of this type of the core.

    Types of several protocols have one twin.
    """
    config = struct.__struct_config__
    fields: list[Any] = []
    for field in msgspec.structs.fields(struct):
        form = _form(field.type)
        # A field with a default came later than the type, and older recordings lack it.
        default = () if field.default is NODEFAULT else (field.default,)
        form = (form | UnsetType, UNSET) if partial else (form, *default)
        fields.append((spec_name(field.name), *form))
    made = msgspec.defstruct(
        f"{'Partial' if partial else ''}{_name(struct)}",
        fields,
        tag=config.tag,
        tag_field=config.tag_field,
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
        # A JSON Schema tells types of one name apart by their modules.
        module=struct.__module__,
        namespace={"__doc__": _meaning(struct)},
    )
    _CORE[made] = struct
    return made


def _name(struct: type[msgspec.Struct]) -> str:
    """Name the twin of a type.

    One that takes the place of another of its name is told apart by its folder, or, within one
    folder, by its module.
    """
    name, [*_, folder, module] = struct.__name__, struct.__module__.split(".")
    base = next((of for of in struct.__bases__ if of.__name__ == name), None)
    if base is None:
        return name
    beside = base.__module__.split(".")[-2] == folder
    return f"{(module if beside else folder).capitalize()}{name}"


def _union(structs: Iterable[type[msgspec.Struct]], partial: bool = False) -> Any:
    return union(twin(struct, partial) for struct in structs)


def _tuple(structs: tuple[type[msgspec.Struct], ...], partial: bool) -> Any:
    """Of messages, where there are any."""
    of = (_union(structs, partial), ...) if structs else ()
    return tuple[of]  # type: ignore[valid-type]  # made at run time


def _form(annotation: Any) -> Any:
    """The foreign form of a field of this type: what the core says of its kind is kept."""
    if get_origin(annotation) is Annotated:
        plain, *said = get_args(annotation)
        form = _form(plain)
        if Kind.BY_NODE in said:
            form = dict[NodeId, _form(get_args(plain)[0])]  # type: ignore[misc]  # made at run time
        metas = [_METAS[each] for each in said if each in _METAS]
        return Annotated[tuple([form, *said, *metas])]
    if get_origin(annotation) is tuple:
        return tuple[_form(get_args(annotation)[0]), ...]  # type: ignore[misc]  # made at run time
    if get_origin(annotation) in (Union, types.UnionType):
        return _union(get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return twin(annotation, False)
    return Whole if annotation is int else annotation


def constants_name(protocol: str) -> str:
    """What the type of a protocol's constants is called."""
    return f"{protocol.capitalize()}Constants"


def _constants(struct: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """The form of a protocol's constants, whose nodes are listed."""
    config = struct.__struct_config__
    fields = []
    for field in msgspec.structs.fields(struct):
        form = _listed(field.type) if get_origin(_plain(field.type)) is tuple else field.type
        default = () if field.default is NODEFAULT else (field.default,)
        fields.append((spec_name(field.name), form, *default))
    return msgspec.defstruct(
        constants_name(str(config.tag)),
        fields,
        tag=config.tag,
        tag_field=config.tag_field,
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
        namespace={"__doc__": f"The constants of a {config.tag}."},
    )


def _listed(annotation: Any) -> Any:
    """Of nodes, or of lists of them."""
    plain = _plain(annotation)
    if get_origin(plain) is not tuple:
        return NodeId
    return tuple[_listed(get_args(plain)[0]), ...]  # type: ignore[misc]  # made at run time


def _plain(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


_CONSTANTS_OF: Final = {_constants(p.constants): p.constants for p in PROTOCOLS}
_CONSTANTS: Final = union(_CONSTANTS_OF)


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line: what the trace is of, and what may be concluded from it."""

    format: Literal["kraftcheck steps 1"]
    constants: Annotated[
        _CONSTANTS,  # type: ignore[valid-type]  # made at run time
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


def line_name(kind: NodeKind) -> str:
    """What the type of a line about a node of this kind is called."""
    return "".join(word.capitalize() for word in kind.name.split("-")) + "Step"


def _lines(kind: NodeKind, messages: Iterable[type[msgspec.Struct]]) -> Lines:
    """The types of lines about nodes of this kind."""
    messages = tuple(messages)
    made = []
    said = {False: "every field is required", True: "absent fields are hidden"}
    for partial in (False, True):
        form: dict[str, Any] = {
            "before": twin(kind.row, partial),
            "input": _union(kind.inputs, partial),
            "after": twin(kind.row, partial),
            "sent": _tuple(messages, partial),
            "ignored": str,
        }
        hidden = [(field, of | UnsetType, UNSET) for field, of in form.items()]
        fields: list[Any] = [("node", Whole), *(hidden if partial else form.items())]
        line = msgspec.defstruct(
            f"Partial{line_name(kind)}" if partial else line_name(kind),
            [*fields, ("run", NodeId, 0)],
            frozen=True,
            kw_only=True,
            forbid_unknown_fields=True,
            namespace={"__doc__": f"One step of a {kind.name}; {said[partial]}."},
        )
        made.append(line)
    return Lines(*made)


OF_LINES: Final = {
    "node": "Number of the {kind} that takes the step.",
    "before": "Its state before the step.",
    "input": "The input that it handles.",
    "after": "Its state after the step.",
    "sent": "The messages that it sends.",
    "ignored": "Why it ignores the input; empty if it does not.",
    "run": "Number of the run, where a file has several.",
}
"""What the fields of each line mean."""
LINES: Final[dict[str, Lines]] = {
    kind.name: _lines(kind, protocol.messages) for protocol in PROTOCOLS for kind in protocol.kinds
}
"""The types of lines by the kind of node (reference/protocols.py)."""


def json_schema() -> dict[str, Any]:
    """The JSON Schema of one line of a foreign trace, draft 2020-12."""
    kinds = [Header, *[line for lines in LINES.values() for line in lines]]
    refs, components = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    for made, struct in (_CORE | _CONSTANTS_OF).items():
        module_and_name = f"{made.__module__}.{made.__name__}"
        form = components.get(made.__name__) or components.get(module_and_name, {})
        for name, meaning in meanings(struct).items():
            if (field := form.get("properties", {}).get(spec_name(name))) is not None:
                # What form it has was said already.
                field["description"] = " ".join((meaning, field.get("description", ""))).strip()
    for kind, lines in LINES.items():
        for line in lines:
            for name, meaning in OF_LINES.items():
                described = {"description": meaning.format(kind=kind)}
                components[line.__name__]["properties"][name] |= described
    for form in components.values():
        for field in form["properties"].values():
            if len(field.get("enum", ())) == 1:
                field.setdefault("description", "Which form this is: always the same.")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a foreign step trace: the first is a Header, all others are steps",
        "oneOf": list(refs),
        "$defs": components,
    }
