"""Keys of objects: two are one only if they are equal, in every format."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.traces.formats.edn import Tagged
from kraftcheck.traces.formats.keys import MapKey, decided, key_named, key_of, plain
from kraftcheck.traces.history import HistoryError
from tests.traces.test_values import APART


def test_two_keys_have_two_texts_and_each_leads_back() -> None:
    assert len({key_of(value) for value in APART}) == len(APART)
    for value in APART:
        assert key_named(key_of(value)) == value


@pytest.mark.parametrize("text", ["", "[1", "1 2", '"', "#", "{1}"])
def test_a_text_that_no_key_has_is_a_string(text: str) -> None:
    assert key_named(text) == text


def test_a_tag_is_dropped() -> None:
    assert plain((Tagged("inst", "2020"), {1: Tagged("a", True)})) == plain(("2020", {1: True}))
    assert key_of(Tagged("x", (1,))) == "[1]"


@pytest.mark.parametrize(
    ("text", "known", "wanted"),
    [
        ("a", {"a"}, "a"),
        ("a", set(), "a"),
        ("1", {"1"}, "1"),
        ("1", {'"1"'}, '"1"'),
        ("1", set(), "1"),
        ("01", set(), '"01"'),
        ("true", {"true"}, "true"),
        ("true", set(), '"true"'),
        ("null", {None}, None),
        ("null", set(), "null"),
        ("[1 2]", {"[1 2]"}, "[1 2]"),
    ],
)
def test_a_key_of_a_json_map_is_what_the_file_names(
    text: str, known: set[Any], wanted: str | None
) -> None:
    assert decided("file", 3, MapKey(text), known) == wanted


@pytest.mark.parametrize(("text", "known"), [("1", {"1", '"1"'}), ("null", {"null", None})])
def test_a_key_of_a_json_map_that_may_be_two_is_refused(text: str, known: set[Any]) -> None:
    with pytest.raises(HistoryError, match=f"^file:3: key {text} of a map is .* there are both"):
        decided("file", 3, MapKey(text), known)
