"""Values are equal only if a client could mean the same."""

from __future__ import annotations

import pickle
from itertools import combinations
from typing import Any

import msgspec
import pytest

from kraftcheck.traces.formats.edn import Keyword, Symbol
from kraftcheck.traces.values import FALSE, TRUE, Map, Real, Word, edn_text, name, typed
from tests.traces.checkers.calls import call

NAN = float("nan")
APART: tuple[Any, ...] = (
    *(None, TRUE, FALSE, 0, 1, Real(0.0), Real(1.0), Real(0.5), Real(NAN), Real("inf")),
    *("", "1", "true", "nil", "a", ":a", "'a", '"a"', "1.0", "[1]", "#{1}", "##NaN", "\\a"),
    *(Keyword(":a"), Symbol("a"), Symbol("\\a"), Symbol("1/2"), "1/2"),
    *((), (1,), (TRUE,), (Real(1.0),), ("1",), ((1,),), (None,)),
    *(frozenset(), frozenset({1}), frozenset({TRUE}), frozenset({1, TRUE}), frozenset({(1, 1)})),
    *(Map(frozenset()), Map(frozenset({(1, 1)})), Map(frozenset({(1, TRUE)}))),
    *("k" * 300 + "x", "k" * 300 + "y", ("k" * 300, "x"), ("k" * 300, "y")),
)
"""No two of these are one value, whatever Python thinks of them."""


def test_no_two_values_are_one() -> None:
    for one, other in combinations(APART, 2):
        assert (one == other, other == one, one != other, other != one) == (
            False,
            False,
            True,
            True,
        )
        assert len({one, other}) == len({(one,), (other,)}) == 2
        assert edn_text(one) != edn_text(other) and name(one) != name(other)


def test_truth_of_python_has_the_text_of_truth() -> None:
    assert [edn_text(each) for each in (True, False, TRUE, FALSE)] == ["true", "false"] * 2


def test_a_value_is_itself() -> None:
    for value in APART:
        again = pickle.loads(pickle.dumps(value))
        assert (again == value, again != value, hash(again)) == (True, False, hash(value))
        assert typed(value) == value and type(typed(value)) is type(value)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (True, TRUE),
        (False, FALSE),
        (1.0, 1),
        (-0.0, 0),
        (0.5, Real(0.5)),
        (NAN, Real(NAN)),
        (1e20, 10**20),
        (1e300, Real(1e300)),
        ((1, (True, 2.0)), (1, (TRUE, 2))),
        (frozenset({False}), frozenset({FALSE})),
        (Real(1.0), Real(1.0)),
    ],
)
def test_values_of_python_and_json_are_typed(value: Any, wanted: Any) -> None:
    assert typed(value) == wanted and type(typed(value)) is type(wanted)
    made = call("write", 0, 1, value, value)
    assert made.argument == made.result == wanted
    assert type(made.argument) is type(made.result) is type(wanted)
    assert msgspec.structs.replace(made, argument=(value,)).argument == (wanted,)


def test_python_compares_its_own_truth_with_ours() -> None:
    assert TRUE == True and FALSE == False and TRUE != False  # noqa: E712
    assert TRUE and not FALSE
    assert repr(Real(0.5) + 1) == "1.5" and type(Real(0.5) + 1) is float
    assert Word("a").upper() == "A" and f"{Word(':a')}" == ":a"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("orders-0", "orders-0"),
        ("a b", "a b"),
        ("1", '"1"'),
        (1, "1"),
        (":a", '":a"'),
        (Keyword(":a"), ":a"),
        (Symbol("a"), "'a"),
        ("", '""'),
        ("true", '"true"'),
        (TRUE, "true"),
        ("1e5", '"1e5"'),
        ("2 x", "2 x"),
        ("1-0", "1-0"),
        ("2020-01-01", "2020-01-01"),
        (Map(frozenset({(2, "b"), (1, "a")})), '{1 "a", 2 "b"}'),
    ],
)
def test_names_have_quotes_where_they_must(value: Any, said: str) -> None:
    assert name(value) == said
