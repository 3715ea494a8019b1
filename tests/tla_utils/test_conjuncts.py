"""Guards are found in every layout of a conjunction, and nothing else is touched."""

from __future__ import annotations

import pytest

from tla_utils.conjuncts import guards
from tla_utils.definitions import definitions


def dropped(text: str) -> list[tuple[str, str]]:
    """(guard, body without it) of the one definition of a text, blanks made one."""
    (found,) = definitions(text)
    return [(each.text, " ".join(each.body.split())) for each in guards(found)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A == x = 1 /\\ y \\in {1, 2}", ["x = 1", "y \\in {1, 2}"]),
        ("A ==\n  /\\ x\n  /\\ f[y] # z", ["x", "f[y] # z"]),
        ("A ==\n  /\\ x /\\ ~y\n  /\\ z", ["x", "~y", "z"]),
        ("A ==\n  \\/ x\n  \\/ y /\\ z", ["y", "z"]),
        ("A == (a /\\ b) => c", ["a", "b"]),
        ("A == {r \\in S : a /\\ r.b = 2}", ["a", "r.b = 2"]),
        ("A == LET f == a /\\ b\n      g(x) == c\n  IN f", ["a", "b"]),
        ("A == a /\\ \\E x \\in S : P(x)", ["a"]),
        ("A == IF a /\\ b THEN c ELSE d", ["a", "b"]),
        ('A == x = "/\\\\" \\/ y', []),
        ("A == a (* /\\ b *) \\/ c \\* /\\ d", []),
    ],
)
def test_each_conjunct_is_found(text: str, expected: list[str]) -> None:
    assert [guard for guard, _ in dropped(text)] == expected


def test_a_conjunct_becomes_true_and_an_arm_false() -> None:
    assert dropped("A(m) ==\n  CASE m.a /\\ b -> 1\n    [] c -> 2\n    [] OTHER -> 3") == [
        ("m.a", "CASE TRUE /\\ b -> 1 [] c -> 2 [] OTHER -> 3"),
        ("m.a /\\ b", "CASE FALSE -> 1 [] c -> 2 [] OTHER -> 3"),
        ("b", "CASE m.a /\\ TRUE -> 1 [] c -> 2 [] OTHER -> 3"),
        ("c", "CASE m.a /\\ b -> 1 [] FALSE -> 2 [] OTHER -> 3"),
    ]
