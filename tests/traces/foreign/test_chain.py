"""Chains of one search are judged apart where TLC cannot evaluate a step of one of them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kraftcheck.reference.quorum.types import Constants
from kraftcheck.traces.foreign import chain
from kraftcheck.traces.foreign.chain import judge_chains
from kraftcheck.traces.foreign.chainmodule import ChainResult, Search
from kraftcheck.traces.foreign.reading import read_foreign
from tests.traces.foreign.lines import header, write
from tests.traces.foreign.walks import CONSTANTS, walk_lines
from tla_utils import CheckOptions

QUORUM = Constants(voters=(1, 2, 3), fetch_max_records=2)


def test_a_step_that_cannot_be_evaluated_leaves_the_other_nodes_their_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [line for line in walk_lines(seed=3, steps=40) if line["node"] > 0]
    nodes = {line["node"] for line in lines}
    victim = min(nodes)

    def failing(search: Search, options: CheckOptions) -> ChainResult:
        """In the place of TLC, which says the reason for a whole search."""
        failed = victim in search.nodes
        accepted = [0 if failed else len(lines) for lines in search.chains]
        return ChainResult(accepted, False, "no such field" if failed else "", "", 0.0)

    monkeypatch.setattr(chain, "run_search", failing)
    found = judge_chains(
        read_foreign(write(tmp_path / "w.jsonl", [header(CONSTANTS, "partial"), *lines]))
    )
    verdicts = {each.node: each.verdict for each in found.chains}
    assert verdicts == {n: "unknown" if n == victim else "accepted" for n in nodes}
    assert len(nodes) > 1 and found.runs_of_tlc == 1 + len(nodes)
    first = 2 + [line["node"] for line in lines].index(victim)
    assert [(each.line, each.reason) for each in found.doubts] == [(first, "no such field")]


def test_nodes_of_one_kind_are_asked_about_together() -> None:
    """Also where one of another kind, or one that is open, stands between."""
    kinds = {"one": ("a", ""), "two": ("b", ""), "three": ("a", "open"), "four": ("a", "")}
    chains: Any = [
        SimpleNamespace(kind=SimpleNamespace(name=kind), doubt=doubt, lines=[name])
        for name, (kind, doubt) in kinds.items()
    ]
    one, two, _, four = chains
    assert [*chain._groups(chains)] == [[one, four], [two]]


@pytest.mark.tlc
@pytest.mark.parametrize(("more", "verdict"), [({}, "unknown"), ({"sent": []}, "violated")])
def test_inputs_alone_are_no_pass(more: dict[str, Any], verdict: str, tmp_path: Path) -> None:
    """An election sends requests, so that nothing was sent is refused."""
    step = {"node": 1, "input": {"type": "ElectionTimeout"}, **more}
    path = write(tmp_path / "inputs.jsonl", [header(QUORUM, "partial"), step])
    assert judge_chains(read_foreign(path)).verdict == verdict
