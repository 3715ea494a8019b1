"""Recorded values as values of the specification: the total function `abstract` of law L1.

The reference keeps its state in the fields of the specification, in snake case. What differs in
form is said where a field is declared (reference/kit/fields.py): sorted tuples that are sets there
(`SetOf`), and tuples aligned with the nodes that are functions on nodes there (`ByNode`).

All else follows from the type: a struct is a record, a tagged struct a record with the
field `type`, a tuple a sequence, a number or a string itself.

Laws of this file: nothing is left out, nothing is made up and nothing is decided. Two recorded
values with the same abstraction are equal, so a verdict on the abstraction is one on the recording.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Final

import msgspec

from kraftcheck.reference.kit.fields import Field, Kind, fields_of, spec_name
from kraftcheck.reference.protocols import AnyConstants, peers_of
from tla_utils import Record, Value, function
from tla_utils.errors import ToolError

# The input of a node's first step, which nothing causes; the frame does not look at it.
INIT_INPUT: Final = Record(type="Init")


class Abstraction:
    """The abstraction under one set of constants, which say whom the tuples by voter belong to."""

    def __init__(self, constants: AnyConstants) -> None:
        self.constants = constants
        self._nodes = peers_of(constants)
        # Logs, caches and connections of thousands of rows are a few hundred values.
        self._known: dict[Kind | None, dict[tuple[object, ...], Value]] = {None: {}}
        self._known |= {many: {} for many in (Kind.SET, Kind.BY_NODE)}
        self._structs: dict[msgspec.Struct, Value] = {}

    def row(self, row: Any) -> Value:
        """The row as the spec's record."""
        return self._record(row) if isinstance(row, msgspec.Struct) else self._value(row)

    def input(self, input: Any) -> Value:
        """A message, a timer or another input as a record; None is the input of an Init step."""
        return INIT_INPUT if input is None else self._value(input)

    def sent(self, sent: Iterable[Any]) -> Value:
        """Sent messages as a set. That none stands twice is a check of its own (checks.py)."""
        return frozenset(self._value(message) for message in sent)

    def _value(self, value: object) -> Value:
        if isinstance(value, bool | int | str):
            return value
        if isinstance(value, tuple):
            return tuple([self._value(item) for item in value])
        if isinstance(value, msgspec.Struct):
            return self._struct(value)
        raise ToolError(f"a recorded value of type {type(value).__name__} has no form in the spec")

    def _struct(self, struct: msgspec.Struct) -> Value:
        if not struct.__struct_config__.frozen:
            return self._record(struct)
        known = self._structs.get(struct)
        if known is None:
            known = self._structs[struct] = self._record(struct)
        return known

    def _record(self, struct: msgspec.Struct) -> Value:
        tag, plan = _plan(type(struct))
        fields: dict[str, Value] = {**tag}
        for field, name, spec in plan:
            value = getattr(struct, name)
            kind = type(value)
            if kind is int or kind is str or kind is bool:
                fields[spec] = value
            elif not isinstance(value, tuple):
                fields[spec] = self._value(value)
            else:
                known = self._known[field.many].get(value)
                if known is None:
                    known = self._known[field.many][value] = self._tuple(field, value)
                fields[spec] = known
        return Record(fields)

    def _tuple(self, field: Field, value: tuple[object, ...]) -> Value:
        items = [self._value(item) for item in value]
        if field.many is Kind.SET:
            members = frozenset(items)
            if len(members) != len(items):
                raise ToolError(
                    f"the set {field.name} was recorded with a member that stands twice"
                )
            return members
        if field.many is Kind.BY_NODE:
            if len(items) != len(self._nodes):
                raise ToolError(
                    f"{field.name} was recorded with {len(items)} entries for {self._nodes}"
                )
            return function(zip(self._nodes, items, strict=True))
        return tuple(items)


@cache
def _plan(of: type[msgspec.Struct]) -> tuple[dict[str, Value], tuple[tuple[Field, str, str], ...]]:
    """What the record has that stands for a struct of this type: its tag, and of each field what it
    is and its name here and in the spec. Raises ToolError: nothing.
    """
    config = of.__struct_config__
    tag = {} if config.tag is None else {str(config.tag_field): str(config.tag)}
    plan = tuple([(field, field.name, field.spec_name) for field in fields_of(of)])
    if not tag and not plan:
        raise ToolError(f"{of.__name__} has no fields, so it is no record")
    return {**tag}, plan


def constant_values(constants: msgspec.Struct) -> dict[str, str]:
    """Each constant by its name in the specification, as TLA+ writes its value (L8)."""
    values = {}
    for field in fields_of(type(constants)):
        value, name = getattr(constants, field.name), constant_name(field.name)
        if not field.is_tuple:
            values[name] = str(value).upper()
        elif field.many is Kind.SET:
            values[name] = f"{{{_listed(value)}}}"
        else:
            values[name] = f"<<{_listed(value)}>>"
    return values


def cfg_constants(constants: msgspec.Struct) -> str:
    """The constants as TLC's configuration names them. It knows no sequences: those are replaced by
    what `constant_definitions` defines."""
    lines = (
        f"  {name} <- Recorded{name}\n" if _is_sequence(text) else f"  {name} = {text}\n"
        for name, text in constant_values(constants).items()
    )
    return "CONSTANTS\n" + "".join(lines)


def constant_definitions(constants: msgspec.Struct) -> str:
    """Definitions of the constants that a configuration cannot write."""
    values = constant_values(constants).items()
    return "".join(f"Recorded{name} == {text}\n" for name, text in values if _is_sequence(text))


def _is_sequence(text: str) -> bool:
    return text.startswith("<<")


def constant_name(field: str) -> str:
    """The name that the specification gives a constant."""
    name = spec_name(field)
    return name[0].upper() + name[1:]


def _listed(values: Iterable[int | tuple[int, ...]]) -> str:
    """What is no number is a set."""
    return ", ".join([str(v) if isinstance(v, int) else f"{{{_listed(v)}}}" for v in values])
