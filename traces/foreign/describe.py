"""The format in words: tables for a person, out of the same types as the parser.

Law of this file: it says what the JSON Schema says (forms.py), and nothing of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kraftcheck.reference.protocols import KINDS, PROTOCOLS
from kraftcheck.traces.foreign.forms import constants_name, json_schema, line_name

# The types that docs/foreign-traces.md tells of in its own words.
_TOLD: Final = frozenset(
    {
        "Header",
        *(constants_name(protocol.name) for protocol in PROTOCOLS),
        *(line_name(kind) for kind in KINDS),
    }
)
_ROWS: Final = tuple(dict.fromkeys(kind.row.__name__ for kind in KINDS))
_REF: Final = "#/$defs/"


def tables() -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """(heading, rows of a table): a type's name, a field or tag, and what stands there."""
    types = json_schema()["$defs"]
    for name in _ROWS:
        fields = types[name]["properties"]
        yield f"`{name}`", [("", f"`{field}`", _words(of)) for field, of in fields.items()]
    rest = [name for name in types if name not in _TOLD.union(_ROWS)]
    rest = [name for name in rest if not name.startswith("Partial")]
    inputs = [name for name in rest if "type" in types[name]["properties"]]
    parts = [name for name in rest if name not in inputs]
    yield "Messages and other inputs", [_in_one(name, types[name]) for name in inputs]
    yield "What these consist of", [_in_one(name, types[name]) for name in parts]


def of_node(name: str) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Describe a kind of node: a heading and rows of a table, for its state and each input.

    Message parts have a table as well. A row has a field, what stands there, and what it means.
    Raises ValueError: no such kind.
    """
    kind = next((each for each in KINDS if each.name == name), None)
    if kind is None:
        raise ValueError(f"no node {name!r}; there are {', '.join(each.name for each in KINDS)}")
    types = json_schema()["$defs"]
    line = types[line_name(kind)]["properties"]
    state = _type_of(line["after"])
    waiting, told = [state, *_refs(line["input"]), *_refs(line["sent"])], set[str]()
    while waiting:
        of = waiting.pop(0)
        if of in told:
            continue
        told.add(of)
        fields = types[of]["properties"]
        waiting += [ref for field in fields.values() for ref in _refs(field)]
        heading = f"{_name(of)}{' (the state)' if of == state else ''}"
        rows = [
            (field, _words(schema), schema.get("description", "-"))
            for field, schema in fields.items()
            if not _is_tag(field, schema)
        ]
        yield f"{heading}: {types[of].get('description', '')}".rstrip(": "), rows


def _type_of(schema: Mapping[str, Any]) -> str:
    return next(_refs(schema))


def _refs(schema: Any) -> Iterator[str]:
    """The types that a form consists of."""
    if isinstance(schema, Mapping):
        if "$ref" in schema:
            yield str(schema["$ref"]).removeprefix(_REF)
        for name, each in schema.items():
            if name in ("anyOf", "items", "additionalProperties"):
                yield from _refs(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _refs(each)


def _in_one(name: str, of: Mapping[str, Any]) -> tuple[str, str, str]:
    fields = [
        f"`{field}` {_words(schema)}"
        for field, schema in of["properties"].items()
        if not _is_tag(field, schema)
    ]
    tags = [
        f'`"{field}": "{schema["enum"][0]}"`'
        for field, schema in of["properties"].items()
        if _is_tag(field, schema)
    ]
    return f"`{_name(name)}`", "".join(tags), ", ".join(fields) or "nothing more"


def _name(of: str) -> str:
    """Name a type.

    Where two protocols have types of one name, the schema names them by their modules, as in
    `kraftcheck.reference.partition.hosting.types.Image`.
    """
    *module, name = of.split(".")
    return f"{name} of {module[1]}" if module else name


def _is_tag(field: str, schema: Mapping[str, Any]) -> bool:
    """Whether the field only says of what type the object is."""
    return field in ("type", "kind", "protocol") and len(schema.get("enum", ())) == 1


def _words(schema: Mapping[str, Any]) -> str:
    """What a value may be."""
    if "$ref" in schema:
        return _name(str(schema["$ref"]).removeprefix(_REF))
    if "anyOf" in schema:
        kinds = [_words(each) for each in schema["anyOf"]]
        return " or ".join(kinds)
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    kind = schema["type"]
    if kind == "array":
        items = _words(schema["items"])
        return f"{'set' if schema.get('uniqueItems') else 'list'} of {items}"
    if kind == "object":
        return f"by node: {_words(schema['additionalProperties'])}"
    return {"integer": "number", "string": "text", "boolean": "true or false"}[kind]
