"""What a cfg replaces, judged from the text of the modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tla_utils.toyspecs import MODEL, RULES, overlay, write_specs
from tla_utils.config import read_config
from tla_utils.errors import ToolError
from tla_utils.overrides import check_overrides, read_module, read_modules


def check(tmp_path: Path, substitution: str, *overlays: str) -> list[str]:
    write_specs(tmp_path)
    for name in overlays:
        (tmp_path / f"{name}.tla").write_text(overlay(name))
    roots = ["MCToy", *overlays]
    modules = read_modules(roots, [tmp_path, tmp_path / "models", tmp_path / "bugs"])
    return check_overrides(read_config(f"CONSTANTS\n{substitution}"), roots, modules)


def test_the_outline_of_a_module() -> None:
    rules = read_module(RULES)
    assert (rules.name, rules.extends) == ("ToyRules", ("Integers",))
    assert rules.constants == {"Top"}
    assert list(rules.definitions) == ["MayGrow", "Grown"]
    grown = rules.definitions["Grown"]
    assert grown.arity == 1 and {"MayGrow", "Top", "next"} <= grown.words
    assert read_module(MODEL).definitions["Spec"].words == {"Init", "Next", "_n"}


def test_what_is_no_code_is_not_read() -> None:
    text = """---- MODULE M ----
(* Old == 1 (* Older == 2 *)
Oldest == 3 "*)
A(F(_, _), x) == [Field |-> F(x, "B == C"), y |-> x.G]
\\* Remark == 4
LOCAL D[i \\in 1..3] == 5
====
"""
    outline = read_module(text)
    assert {name: d.arity for name, d in outline.definitions.items()} == {"A": 2, "D": 0}
    assert outline.definitions["A"].words == {"F", "x"}


def test_constants_and_instances() -> None:
    text = "CONSTANTS A, B(_), \\* first\n  C\nVARIABLE v\nI == INSTANCE Other WITH x <- 1\n"
    assert read_module(text).constants == {"A", "B", "C"}
    assert read_module(text).instances == ("Other",)


def test_replacements_are_named(tmp_path: Path) -> None:
    override = "MayGrow <- [ToyRules] T01_MayGrow"
    assert check(tmp_path, override, "T01Unbounded") == ["MayGrow"]


def test_a_constant_given_as_an_operator_replaces_nothing(tmp_path: Path) -> None:
    assert check(tmp_path, "Top <- Init") == []
    assert check(tmp_path, "Nat <- [Integers] Counting") == []


def test_an_operator_of_the_root_needs_no_module(tmp_path: Path) -> None:
    assert check(tmp_path, "Next <- Init") == ["Next"]


@pytest.mark.parametrize(
    ("substitution", "overlays", "complaint"),
    [
        ("MayGrow <- T01_MayGrow", ["T01Unbounded"], r"ignore MayGrow .* \[ToyRules\]"),
        ("Next <- Init", ["T01Unbounded"], r"ignore Next .* \[MCToy\]"),
        ("MayGrow <- [MCToy] T01_MayGrow", ["T01Unbounded"], "MCToy does not .* ToyRules does"),
        ("MayGrwo <- [ToyRules] T01_MayGrow", ["T01Unbounded"], "not define MayGrwo; .*: MayGrow"),
        ("MayGrow <- [ToyRules] T01_MayGrow", [], "no module of this model defines T01_MayGrow"),
        ("MayGrow <- [ToyRules] T01_MayGrov", ["T01Unbounded"], "T01_MayGrov; .*: T01_MayGrow"),
        ("MayGrow <- [ToyRules] Counting", [], "Counting takes 0 arguments, but MayGrow .* 1"),
        ("MayGrow <- [ToyRules] T04_MayGrow", ["T04Endless"], "calls Helper -> MayGrow, which it"),
        ("MayGrow <- [ToyRules] Grown", [], "Grown calls MayGrow, which it replaces"),
    ],
)
def test_a_replacement_that_cannot_work_is_refused(
    tmp_path: Path, substitution: str, overlays: list[str], complaint: str
) -> None:
    with pytest.raises(ToolError, match=complaint) as refused:
        check(tmp_path, substitution, *overlays)
    assert "\n" not in str(refused.value)


def test_two_replacements_that_call_each_other_are_refused(tmp_path: Path) -> None:
    swapped = "MayGrow <- [ToyRules] Grown\nGrown <- [ToyRules] MayGrow"
    with pytest.raises(ToolError, match="which it replaces"):
        check(tmp_path, swapped)


def test_a_missing_root_is_refused_and_a_missing_standard_module_is_not(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="no module Nowhere in"):
        read_modules(["Nowhere"], [tmp_path])
    (tmp_path / "A.tla").write_text("---- MODULE A ----\nEXTENDS TLC, Sequences\n====\n")
    assert set(read_modules(["A"], [tmp_path])) == {"A"}
