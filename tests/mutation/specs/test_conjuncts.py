"""Guards are found in every layout of a condition, and nothing else is touched."""

from __future__ import annotations

import pytest

from tests.mutation.specs.conjuncts import guards
from tla_utils.definitions import definitions


def dropped(text: str) -> list[tuple[str, str, str]]:
    """(kind, guard, body without it) of the one definition of a text, blanks made one."""
    (found,) = definitions(text)
    return [(each.kind, each.text, " ".join(each.body.split())) for each in guards(found)]


def of_kind(text: str, kind: str) -> list[str]:
    return [guard for found, guard, _ in dropped(text) if found == kind]


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
    assert of_kind(text, "conjunct") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A == x = 1 \\/ y", ["x = 1", "y"]),
        ("A ==\n  /\\ x\n  /\\ \\/ y < 1\n     \\/ z", ["y < 1", "z"]),
        ("A == (a \\/ b) /\\ c", ["a", "b"]),
        ('A == x = "\\\\/" /\\ y', []),
    ],
)
def test_each_disjunct_is_found(text: str, expected: list[str]) -> None:
    assert of_kind(text, "disjunct") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A(r) == r.x # {y \\in S : y = 1}", [("r.x # {y \\in S : y = 1}", "TRUE", "FALSE")]),
        ("A == ~P(x)", [("~P(x)", "TRUE", "FALSE")]),
        (
            "A == IF x = 1 THEN 2 ELSE 3",
            [("x = 1", "IF TRUE THEN 2 ELSE 3", "IF FALSE THEN 2 ELSE 3")],
        ),
    ],
)
def test_a_condition_in_one_piece_is_fixed_both_ways(
    text: str, expected: list[tuple[str, str, str]]
) -> None:
    found = dropped(text)
    always = [(guard, body) for kind, guard, body in found if kind == "always"]
    never = [(guard, body) for kind, guard, body in found if kind == "never"]
    assert [(*one, other[1]) for one, other in zip(always, never, strict=True)] == expected


@pytest.mark.parametrize(
    "text", ["A == {r \\in S : r # 1}", "A == f[x = 1]", "A(r) == P(r, 1)", "A == 5"]
)
def test_what_is_no_condition_is_left_alone(text: str) -> None:
    assert dropped(text) == []


def test_a_constant_truth_is_turned_round() -> None:
    assert dropped("A == TRUE") == [("never", "TRUE", "FALSE")]
    assert dropped("A == FALSE") == [("always", "FALSE", "TRUE")]


def test_a_conjunct_becomes_true_and_an_arm_false() -> None:
    assert dropped("A(m) ==\n  CASE m.a /\\ b -> 1\n    [] c -> 2\n    [] OTHER -> 3") == [
        ("conjunct", "m.a", "CASE TRUE /\\ b -> 1 [] c -> 2 [] OTHER -> 3"),
        ("arm", "m.a /\\ b", "CASE FALSE -> 1 [] c -> 2 [] OTHER -> 3"),
        ("conjunct", "b", "CASE m.a /\\ TRUE -> 1 [] c -> 2 [] OTHER -> 3"),
        ("arm", "c", "CASE m.a /\\ b -> 1 [] FALSE -> 2 [] OTHER -> 3"),
    ]
