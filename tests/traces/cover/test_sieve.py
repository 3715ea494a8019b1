"""Steps that are of no class of a graph need no name; no other is left out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kraftcheck.reference.protocols import peers_of
from kraftcheck.reference.runner.run import simulate_part
from kraftcheck.traces.cover.campaigns import read_seen
from kraftcheck.traces.cover.charts import keys_of
from kraftcheck.traces.cover.matching import Matcher
from kraftcheck.traces.cover.sieve import Sieve, Sight, merged
from kraftcheck.traces.jobs.simulate import Range, simulate_range
from kraftcheck.traces.steps import symmetry
from kraftcheck.traces.steps.classes import Classes
from kraftcheck.traces.steps.record import Part
from kraftcheck.traces.steps.symmetry import Step
from kraftcheck.traces.store import Campaign, begin_trace
from tests.traces.cover.graphs import matched
from tests.traces.jobs.renaming import rename_step

pytestmark = [pytest.mark.tlc, pytest.mark.xdist_group("cover")]
TWO = {"replicas": 2, "min_insync_replicas": 2, "fetch_max_records": 1}
CASES: list[tuple[str, str, Mapping[str, object]]] = [
    ("quorum-three-restart", "quorum", {}),
    ("partition-isr", "partition", TWO),
]


def part_of(scenario: str, options: Mapping[str, object], runs: int = 20) -> Part:
    return Part(simulate_part(scenario, 1, 0, runs, options=dict(options) or None))


def keys(matcher: Matcher) -> set[bytes]:
    return set(keys_of(matcher, matcher.book.constants))


def graph_steps(matcher: Matcher) -> list[Step]:
    return [
        Step(s.action, s.node, s.before, s.input, s.result.row, s.result.sent, s.result.ignored)
        for s in matcher.moves.steps
    ]


def by_naming_all(part: Part, wanted: set[bytes]) -> dict[bytes, int]:
    table = Classes(part).slim()
    pairs = zip(table["key"].to_pylist(), table["run"].to_pylist(), strict=True)
    return {key: run for key, run in pairs if key in wanted}


def by_sieve(sieve: Sieve, part: Part, wanted: set[bytes]) -> dict[bytes, int]:
    return {key: sight.first for key, sight in sieve.sights(part).items() if key in wanted}


@pytest.mark.parametrize(("graph", "scenario", "options"), CASES)
def test_nothing_of_the_graph_is_left_out(
    graph: str, scenario: str, options: Mapping[str, object]
) -> None:
    matcher, part = matched(graph), part_of(scenario, options)
    sieve, wanted = Sieve([matcher]), keys(matcher)
    found = by_sieve(sieve, part, wanted)
    assert found == by_naming_all(part, wanted) and len(found) > 3
    assert len(found) <= sieve.named < len(part.node) / 4


@pytest.mark.parametrize(("graph", "scenario", "options"), CASES)
def test_the_first_and_the_last_run_are_known(
    graph: str, scenario: str, options: Mapping[str, object]
) -> None:
    matcher, part = matched(graph), part_of(scenario, options, 6)
    found = Sieve([matcher]).sights(part)
    taken: dict[bytes, list[int]] = {}
    for run in range(6):
        alone = Part(simulate_part(scenario, 1, run, 1, options=dict(options) or None))
        for key in Sieve([matcher]).sights(alone):
            taken.setdefault(key, []).append(run)
    assert found == {key: Sight(runs[0], runs[-1]) for key, runs in taken.items()}
    assert any(sight.first < sight.last for sight in found.values())
    assert merged(Sight(2, 5), Sight(1, 3)) == Sight(1, 5)


def renamed(matcher: Matcher, step: Step) -> Step:
    """The step with nodes exchanged, values that no run has and other ranks."""
    constants: Any = matcher.book.constants
    peers = peers_of(constants)
    if step.node not in peers:
        return step
    nodes = dict(zip(peers, (*peers[1::-1], *peers[2:]), strict=True))
    renumbering = symmetry.Canonicaliser(constants).renumbering(step)
    return rename_step(constants, step, nodes, lambda v: v + 70, renumbering)


@pytest.mark.parametrize("graph", [case[0] for case in CASES])
def test_a_renamed_step_has_the_same_mark(graph: str) -> None:
    matcher = matched(graph)
    sieve, constants = Sieve([matcher]), matcher.book.constants
    steps = graph_steps(matcher)
    others = [renamed(matcher, step) for step in steps]
    assert any(one != other for one, other in zip(steps, others, strict=True))
    assert all(sieve.admits(constants, step) for step in others)
    assert not any(sieve.admits(replace(constants, fetch_max_records=9), s) for s in steps)


def test_a_mark_that_tells_names_would_leave_steps_out(monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = matched("partition-isr")
    monkeypatch.setattr(symmetry, "unrenamed", lambda struct: struct.__struct_fields__)
    sieve, constants = Sieve([matcher]), matcher.book.constants
    others = [renamed(matcher, step) for step in graph_steps(matcher)[::7]]
    assert not all(sieve.admits(constants, step) for step in others)


def test_a_row_without_a_form_is_of_no_class() -> None:
    matcher, part = matched("partition-isr"), part_of("partition", TWO, 3)
    whole = Sieve([matcher]).sights(part)
    for at, row in enumerate(part.rows):
        if hasattr(row, "remotes"):
            part.rows[at] = replace(row, remotes=())
            part.stored_rows[at] = replace(part.stored_rows[at], value=part.rows[at])
    damaged = Sieve([matcher]).sights(part)
    assert set(damaged) < set(whole)
    assert damaged.keys() & keys(matcher) == by_naming_all(part, keys(matcher)).keys()


def test_runs_that_were_recorded_are_seen_alike(tmp_path: Path) -> None:
    matcher = matched("quorum-three-restart")
    campaign = Campaign(scenario="quorum", seed=1, runs=10)
    begin_trace(tmp_path, campaign)
    for part in range(2):
        simulate_range(tmp_path, campaign, [Range(0, 5), Range(5, 5)], True, part)
    wanted = keys(matcher)
    all_named = read_seen(tmp_path, wanted)
    sifted = read_seen(tmp_path, wanted, Sieve([matcher]))
    assert sifted == all_named and sifted.runs == 10 and len(sifted.first) > 3
