"""What is said to a witness and what it says, as values of the reference: rows, inputs, messages.

A witness writes steps as a foreign trace has them (traces/foreign/forms.py): under the names of the
specification, fields in the order of the reference's types. A message is known by its text, letter
by letter, so what was sent once can be delivered in the same words.

Law of this file: nothing is judged or decided; what a step says is taken as it stands.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from reference.kit.fields import Field, Kind, fields_of, spec_name
from reference.quorum.messages import MESSAGES, Input, canonical
from reference.quorum.protocol import QUORUM
from reference.quorum.types import Constants, Outcome, Row


class Taken(NamedTuple):
    """One step of a witness. text: the line of the trace."""

    text: str
    node: int
    before: Row
    input: Input
    outcome: Outcome


class _Line(msgspec.Struct):
    node: int
    before: msgspec.Raw
    input: msgspec.Raw
    after: msgspec.Raw
    sent: list[msgspec.Raw]
    ignored: str


class Speech:
    """The words of one quorum."""

    def __init__(self, constants: Constants) -> None:
        self._constants = constants
        self._line = msgspec.json.Decoder(_Line)
        self._rows: dict[bytes, Row] = {}
        self._inputs: dict[bytes, Input] = {}
        self._texts: dict[Input, str] = {}
        self._types = {str(of.__struct_config__.tag): of for of in QUORUM.kinds[0].inputs}

    def taken(self, text: str) -> Taken:
        """A line of the trace, read."""
        line = self._line.decode(text)
        sent = [m for m in map(self._input, line.sent) if isinstance(m, MESSAGES)]
        assert len(sent) == len(line.sent), f"sent what is no message: {text}"
        outcome = Outcome(self._row(line.after), canonical(sent), line.ignored)
        return Taken(text, line.node, self._row(line.before), self._input(line.input), outcome)

    def input(self, text: str) -> Input:
        """An input, read."""
        return self._input(msgspec.Raw(text.encode()))

    def text(self, input: Input) -> str:
        """An input as a witness is told it."""
        known = self._texts.get(input)
        if known is None:
            known = self._texts[input] = msgspec.json.encode(self._form(input)).decode()
        return known

    def row_text(self, row: Row) -> str:
        """A row as a witness writes it."""
        return msgspec.json.encode(self._form(row)).decode()

    def _row(self, raw: msgspec.Raw) -> Row:
        text = bytes(raw)
        known = self._rows.get(text)
        if known is None:
            found = self._value((Row,), msgspec.json.decode(text))
            assert isinstance(found, Row)
            known = self._rows[text] = found
        return known

    def _input(self, raw: msgspec.Raw) -> Input:
        text = bytes(raw)
        known = self._inputs.get(text)
        if known is None:
            form = msgspec.json.decode(text)
            known = self._inputs[text] = self._value((self._types[form["type"]],), form)
            self._texts[known] = text.decode()
        return known

    # --- From a form of the trace, and into one

    def _value(self, structs: tuple[type[msgspec.Struct], ...], form: Any) -> Any:
        """A form that is of one of these types, or a plain value."""
        if not structs:
            return form
        of = structs[0] if len(structs) == 1 else self._types[form["type"]]
        return of(*[self._field(field, form[field.spec_name]) for field in fields_of(of)])

    def _field(self, field: Field, form: Any) -> Any:
        if not field.is_tuple:
            return self._value(field.structs, form)
        if field.many is Kind.BY_NODE:
            return tuple([self._value(field.structs, form[str(v)]) for v in self._constants.voters])
        members = [self._value(field.structs, each) for each in form]
        if field.many is Kind.SET:
            return canonical(members) if field.structs else tuple(sorted(members))
        return tuple(members)

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
            pairs = zip(self._constants.voters, value, strict=True)
            return {str(node): self._form(each) for node, each in pairs}
        if field.is_tuple:
            return [self._form(each) for each in value]
        return self._form(value)


def header(constants: Constants, producer: str) -> str:
    """The first line of a trace of whole runs."""
    said = {
        "format": "kraftcheck steps 1",
        "constants": constants_form(constants),
        "rows": "full",
        "producer": producer,
    }
    return msgspec.json.encode(said).decode()


def constants_form(constants: Constants) -> dict[str, Any]:
    return {
        "protocol": "quorum",
        "voters": list(constants.voters),
        "fetchMaxRecords": constants.fetch_max_records,
    }
