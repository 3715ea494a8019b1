"""What is said to a witness and what it says, as values of the reference: rows, inputs, messages.

A witness writes steps as a foreign trace has them (traces/foreign/forms.py): under the names of the
specification, fields in the order of the reference's types. A message is known by its text, letter
by letter, so what was sent once can be delivered in the same words.

Law of this file: nothing is judged or decided; what a step says is taken as it stands.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from kraftcheck.reference.kit.fields import Field, Kind, fields_of, spec_name
from kraftcheck.reference.kit.messages import Addressed, canonical
from kraftcheck.reference.protocols import components_of, is_composed, protocol_of

ROWS_KEPT: Final = 4096
"""So many rows are kept as texts: the row after a step is the one before the next."""


class Outcome(NamedTuple):
    """What a step made, as a handler says it."""

    row: Any
    sent: tuple[Any, ...]
    ignored: str


class Taken(NamedTuple):
    """One step of a witness."""

    text: str
    """The line of the trace."""
    node: int
    before: Any
    input: Any
    outcome: Outcome


class Unspoken(Exception):
    """A step that no row and no message of the specification can say: so it is none of its.

    The text is one line: what there is no word for, and where.
    """


class _Line(msgspec.Struct):
    node: int
    before: msgspec.Raw
    input: msgspec.Raw
    after: msgspec.Raw
    sent: list[msgspec.Raw]
    ignored: str


class Speech:
    """The words of nodes of one protocol."""

    def __init__(self, constants: Any) -> None:
        self._constants = constants
        self._protocol = protocol = protocol_of(constants)
        self._peers = protocol.peers(constants)
        self._line = msgspec.json.Decoder(_Line)
        self._rows: dict[tuple[type[Any], bytes], Any] = {}
        self._inputs: dict[bytes, Any] = {}
        self._texts: dict[Any, str] = {}
        self._row_text = lru_cache(ROWS_KEPT)(self._encoded)
        types = [*protocol.messages, *(each for kind in protocol.kinds for each in kind.inputs)]
        self._types = {_tag(of): of for of in types}

    def first_row(self, node: int) -> Any:
        """The row in which a node begins."""
        return self._protocol.kind_of(self._constants, node).initial(self._constants)

    def taken(self, text: str) -> Taken:
        """A line of the trace, read. Raises Unspoken."""
        line = self._line.decode(text)
        messages = self._protocol.messages
        sent = [self._input(each) for each in line.sent]
        for each, raw in zip(sent, line.sent, strict=True):
            if not isinstance(each, messages):
                raise Unspoken(f"sent what is no message: {bytes(raw).decode()}")
        of = self._protocol.kind_of(self._constants, line.node).row
        outcome = Outcome(self._row(of, line.after), canonical(sent), line.ignored)
        before = self._row(of, line.before)
        return Taken(text, line.node, before, self._input(line.input), outcome)

    def leads_to(self, text: str, row: Any) -> bool:
        """Whether a line of the trace is a step to this row."""
        try:
            return bool(self.taken(text).outcome.row == row)
        except Unspoken:
            return False

    def input(self, text: str) -> Any:
        """An input, read. Raises Unspoken."""
        return self._input(msgspec.Raw(text.encode()))

    def text(self, input: Any) -> str:
        """An input as a witness is told it."""
        known = self._texts.get(input)
        if known is None:
            known = self._texts[input] = msgspec.json.encode(self._form(input)).decode()
        return known

    def row_text(self, row: Any) -> str:
        """A row as a witness writes it."""
        return self._row_text(row).decode()

    def line(self, node: int, before: Any, input: Any, outcome: Any) -> str:
        """A step that another implementation has taken, as a line of the trace."""
        parts = {
            "node": node,
            "before": msgspec.Raw(self._row_text(before)),
            "input": msgspec.Raw(self.text(input).encode()),
            "after": msgspec.Raw(self._row_text(outcome.row)),
            "sent": [msgspec.Raw(self.text(m).encode()) for m in outcome.sent],
            "ignored": outcome.ignored,
        }
        return msgspec.json.encode(parts).decode()

    def step_text(self, input: Any, outcome: Any) -> str:
        """A step that another implementation has taken, as a witness is told to follow it."""
        parts = {
            "input": msgspec.Raw(self.text(input).encode()),
            "row": msgspec.Raw(self._row_text(outcome.row)),
            "sent": [msgspec.Raw(self.text(m).encode()) for m in outcome.sent],
            "ignored": outcome.ignored,
        }
        return msgspec.json.encode(parts).decode()

    def _encoded(self, row: Any) -> bytes:
        return msgspec.json.encode(self._form(row))

    def _row(self, of: type[Any], raw: msgspec.Raw) -> Any:
        key = of, bytes(raw)
        known = self._rows.get(key)
        if known is None:
            known = self._rows[key] = self._value((of,), msgspec.json.decode(key[1]))
        return known

    def _input(self, raw: msgspec.Raw) -> Any:
        text = bytes(raw)
        known = self._inputs.get(text)
        if known is None:
            form = msgspec.json.decode(text)
            of = self._types.get(form["type"])
            if of is None:
                raise Unspoken(f"there is no message {form['type']}")
            known = self._inputs[text] = self._value((of,), form)
            self._texts[known] = text.decode()
        return known

    # --- From a form of the trace, and into one

    def _value(self, structs: tuple[type[msgspec.Struct], ...], form: Any) -> Any:
        """A form that is of one of these types, or a plain value."""
        if not structs:
            return form
        of = _tagged(structs, form)
        return of(*[self._field(field, form[field.spec_name]) for field in fields_of(of)])

    def _field(self, field: Field, form: Any) -> Any:
        try:
            return self._in_field(field, form)
        except Unspoken as error:
            raise Unspoken(f"{field.spec_name}: {error}") from None

    def _in_field(self, field: Field, form: Any) -> Any:
        if not field.is_tuple:
            return self._value(field.structs, form)
        if field.many is Kind.BY_NODE:
            return tuple([self._value(field.structs, form[str(peer)]) for peer in self._peers])
        members = [self._value(field.structs, each) for each in form]
        if field.many is Kind.SET and (
            not field.structs or field.structs[0].__struct_config__.order
        ):
            if len(field.structs) > 1:
                members.sort(key=lambda each: (type(each).__name__, each))
                return tuple(members)
            return tuple(sorted(members))
        if field.many is Kind.SET and issubclass(field.structs[0], Addressed):
            return canonical(members)
        return tuple(members)  # a witness writes sets of other structs in the order that rows have

    def _form(self, value: Any) -> Any:
        if isinstance(value, msgspec.Struct):
            config = value.__struct_config__
            tag = {config.tag_field: config.tag} if config.tag is not None else {}
            return tag | {
                spec_name(field.name): self._form_of(field, getattr(value, field.name))
                for field in fields_of(type(value))
            }
        return value

    def _form_of(self, field: Field, value: Any) -> Any:
        if field.many is Kind.BY_NODE:
            pairs = zip(self._peers, value, strict=True)
            return {str(node): self._form(each) for node, each in pairs}
        if field.is_tuple:
            return [self._form(each) for each in value]
        return self._form(value)


def _tagged(structs: tuple[type[msgspec.Struct], ...], form: Any) -> type[msgspec.Struct]:
    """That of these types which a form says that it is of. Raises Unspoken: it is of another."""
    tag = structs[0].__struct_config__.tag_field
    if tag is None:
        return structs[0]
    for of in structs:
        if form[tag] == _tag(of):
            return of
    there = " or ".join(_tag(of) for of in structs)
    raise Unspoken(f"{form[tag]}, where {there} may be")


def _tag(of: type[msgspec.Struct]) -> str:
    return str(of.__struct_config__.tag)


def header(constants: Any, producer: str) -> str:
    """The first line of a trace of whole runs."""
    said = {
        "format": "kraftcheck steps 1",
        "constants": constants_form(constants),
        "rows": "full",
        "producer": producer,
    }
    return msgspec.json.encode(said).decode()


def constants_form(constants: Any) -> dict[str, Any]:
    if is_composed(constants):
        parts = [constants_form(each) for each in components_of(constants)]
        return {"protocol": _tag(type(constants)), "parts": parts}
    named = {spec_name(name): getattr(constants, name) for name in constants.__struct_fields__}
    return {"protocol": protocol_of(constants).name, **named}
