"""The names in a cfg."""

from __future__ import annotations

from tla_utils.config import read_config

TEXT = """\\* a comment with INVARIANT inside
CONSTANTS
  Max = 3
  Set = {a, b, "c d"}
  Op <- Bug
  Rule <- [Rules] BugRule
SPECIFICATION Spec (* not PROPERTY Nope *)
INVARIANTS TypeOK
  Bounded
INVARIANT Third
PROPERTY Live CONSTANT Last = x
"""


def test_names_by_section() -> None:
    config = read_config(TEXT)
    assert config.assigned == {"Max": "3", "Set": '{ a , b , "c d" }', "Last": "x"}
    assert config.specification == ["Spec"]
    assert config.substituted == [("Op", None, "Bug"), ("Rule", "Rules", "BugRule")]
    assert config.invariants == ["TypeOK", "Bounded", "Third"]
    assert config.properties == ["Live"]


def test_anything_can_be_read() -> None:
    for text in ("", "=", "<-", "CONSTANT <-", "CONSTANT a <- [", '"'):
        read_config(text)
