"""Definitions are cut out as they are written, up to the next thing at the margin."""

from __future__ import annotations

from pathlib import Path

import pytest

from tla_utils.definitions import definition, definitions, difference, renamed
from tla_utils.errors import ToolError
from tla_utils.overrides import read_module

MODULE = """---- MODULE Sample ----
EXTENDS Naturals
(* A remark.                *)
One == 1

Two(x, F(_, _)) ==
  LET y == x
  IN y   \\* said inside

    + 1

(* The next one's remark.   *)
Three[x \\in 1..2] == x = One
-----------------------
LOCAL Four == OneMore + One
=======================
"""


def test_a_definition_ends_at_the_next_margin() -> None:
    assert [each.name for each in definitions(MODULE)] == ["One", "Two", "Three", "Four"]
    two = definition(MODULE, "Two")
    assert two.text.splitlines()[0] == "Two(x, F(_, _)) =="
    assert two.body.endswith("IN y   \\* said inside\n\n    + 1")
    assert two.parameters == ("x", "F")
    assert definition(MODULE, "One").parameters == ()
    assert MODULE[two.start : two.end] == two.text


def test_a_name_that_is_not_defined_is_refused() -> None:
    with pytest.raises(ToolError, match="does not define Five"):
        definition(MODULE, "Five")


def test_only_whole_words_are_renamed() -> None:
    assert renamed(definition(MODULE, "Four"), "One", "Uno") == "LOCAL Four == OneMore + Uno"


def test_a_difference_has_no_line_numbers() -> None:
    assert difference("a\nb\n", "a\nc\n", ("old", "new")) == [
        "--- old",
        "+++ new",
        " a",
        "-b",
        "+c",
    ]


def test_it_finds_what_the_outline_of_a_module_has(repo_root: Path) -> None:
    for path in sorted((repo_root / "specs").glob("*.tla")):
        text = path.read_text("utf-8")
        assert {each.name for each in definitions(text)} == set(read_module(text).definitions)
