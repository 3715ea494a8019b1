"""Bounds of one's own over stock models, and what is no bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.exits import BadInput
from kraftcheck.known_bugs.entries import manifest_of
from kraftcheck.known_bugs.own_bounds import read_bounds

MANIFEST = manifest_of("quorum")


def test_a_stock_model_gets_other_constants(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        '[quorum-reduced-crash]\nMaxEpoch = 2\nKeepAnswers = true\nVoters = ["n1", "n2"]\n'
    )
    (model,) = read_bounds(path, MANIFEST)
    stock = MANIFEST.models["quorum-reduced-crash"]
    assert (model.module, model.expect, model.distinct) == (stock.module, "holds", None)
    was, now = stock.config, model.config
    changed = {name: value for name, value in now.assigned.items() if was.assigned[name] != value}
    assert changed == {"MaxEpoch": "2", "KeepAnswers": "TRUE", "Voters": "{ n1 , n2 }"}
    assert now.invariants == was.invariants


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it has no bounds"),
        ("[", "not read"),
        ("[quorum-reducd]\nMaxEpoch = 1", "no model 'quorum-reducd' that holds; did you mean"),
        ("[Z06]\nMaxEpoch = 1", "no model 'Z06' that holds"),
        ("quorum-reduced = 1", "is to be a table of constants"),
        ("[quorum-reduced]", "is to be a table of constants"),
        ("[quorum-reduced]\nMaxEpoc = 1", "has no constant MaxEpoc; did you mean MaxEpoch?"),
        ("[quorum-reduced]\nMaxEpoch = 1.5", "a number, true or false, text or a list"),
    ],
)
def test_what_is_no_bounds_is_refused_in_a_line(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(BadInput) as refused:
        read_bounds(path, MANIFEST)
    assert said in str(refused.value) and "\n" not in str(refused.value)
