"""Every field of the format says what it means."""

from __future__ import annotations

import msgspec

from kraftcheck.traces.foreign.forms import json_schema
from kraftcheck.traces.foreign.meanings import above, meanings

FORM = ("A set: in any order", "From a node's number")
"""What is said of the form of a value, and not of its meaning."""


class Meaning(msgspec.Struct):
    """A log. first, last: offsets of
    its records; both count. When: not a field. end: the
    end of it.
    """

    first: int
    last: int
    end: int
    """The end offset."""
    unsaid: int


def test_every_field_of_the_schema_has_a_description() -> None:
    silent = [
        f"{name}.{field}"
        for name, form in json_schema()["$defs"].items()
        for field, schema in form["properties"].items()
        if not schema.get("description") or schema["description"].startswith(FORM)
    ]
    assert silent == []


def test_what_is_written_beside_a_field_takes_precedence() -> None:
    assert meanings(Meaning) == {
        "first": "Offsets of its records; both count. When: not a field.",
        "last": "Offsets of its records; both count. When: not a field.",
        "end": "The end offset.",
    }


def test_a_docstring_without_fields_says_nothing() -> None:
    assert above("Of a log: its first record.", ("first",)) == {}
