"""Runs of a quorum: worth being judged, and without a bug no violation."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from msgspec.structs import replace

from kraftcheck.reference.bugs.catalog import OutOfScope, UnknownBug
from kraftcheck.reference.quorum.handlers import HANDLERS
from kraftcheck.reference.quorum.sim.scenario import QUORUM
from kraftcheck.reference.runner import run as running
from kraftcheck.reference.runner.run import simulate_part, simulate_run
from kraftcheck.reference.runner.scenarios import FAMILIES
from kraftcheck.reference.sim.choices import (
    RecordingChooser,
    ReplayChooser,
    SeededChooser,
    run_seed,
)
from kraftcheck.traces.schema import PROGRESSED, STOPPED, PartTables

QUALITY_RUNS = 300


@pytest.fixture(scope="module")
def many() -> PartTables:
    return simulate_part("quorum", 1, 0, QUALITY_RUNS)


def statistics(part: PartTables) -> list[dict[str, int]]:
    found: list[dict[str, int]] = part.tables["runs"]["statistics"].to_pylist()
    return found


@pytest.mark.parametrize("keep", [0, 10, 60, 200])
def test_a_schedule_cut_short_is_a_run_too(keep: int) -> None:
    recording = RecordingChooser(SeededChooser(run_seed(2, 1)))
    simulate_run("quorum", 2, 1, chooser=recording)
    cut = simulate_run("quorum", 2, 1, chooser=ReplayChooser(recording.choices[:keep]))
    assert cut.result.verdict == PROGRESSED


# --- Quality: what the scenario promises of its runs ---


@pytest.mark.slow
def test_runs_are_of_a_size_to_be_judged(many: PartTables) -> None:
    lengths = sorted(many.tables["runs"]["handler_calls"].to_pylist())
    assert 100 <= lengths[len(lengths) // 2] <= 300
    assert lengths[len(lengths) // 10] >= 60
    assert lengths[-len(lengths) // 20] <= 400


@pytest.mark.slow
def test_in_half_of_the_runs_leaders_change(many: PartTables) -> None:
    assert sum(s["leader_changes"] > 0 for s in statistics(many)) >= QUALITY_RUNS / 2


@pytest.mark.slow
def test_in_a_fifth_of_the_runs_a_follower_cuts_its_log(many: PartTables) -> None:
    assert sum(s["truncations"] > 0 for s in statistics(many)) >= QUALITY_RUNS / 5


def test_at_most_a_third_of_the_steps_ignore_their_input(many: PartTables) -> None:
    steps = sum(many.tables["runs"]["handler_calls"].to_pylist())
    assert sum(s["ignored"] for s in statistics(many)) <= steps / 3


def test_every_kind_of_trouble_happens(many: PartTables) -> None:
    happened = {name for s in statistics(many) for name, count in s.items() if count}
    elsewhere = {
        *(
            "failovers",
            "batches",
            "stale_answers",
            "shrinks",
            "expansions",
            "shutdowns",
            "acked",
            "leader_moves",
            "unclean_moves",
        ),
        *("lossy_replicas", "zombies", "unpromised"),
    }
    assert happened == set(statistics(many)[0]) - elsewhere


@pytest.mark.slow
def test_every_action_is_taken(many: PartTables) -> None:
    assert set(many.tables["steps"]["action"].to_pylist()) == set(HANDLERS.values())


def test_healed_cores_progress(many: PartTables) -> None:
    assert set(many.tables["runs"]["verdict"].to_pylist()) == {PROGRESSED}


@pytest.mark.slow
def test_no_invariant_is_violated_in_a_thousand_runs() -> None:
    part = simulate_part("quorum", 77, 0, 1000)
    wrong = [r for r in part.tables["runs"].to_pylist() if r["verdict"] != PROGRESSED]
    assert not wrong, (wrong[0]["run"], wrong[0]["verdict"], wrong[0]["violations"])


# --- Verdicts ---


@pytest.mark.slow
def test_a_bug_is_found_and_stops_the_run() -> None:
    part = simulate_part("quorum", 1, 0, QUALITY_RUNS, bug="Z01")
    stopped = [run for run in part.tables["runs"].to_pylist() if run["violations"]]
    assert stopped
    for run in stopped:
        [violation] = run["violations"]
        assert run["verdict"] == STOPPED
        assert violation["invariant"] in ("VoteOnce", "ElectionSafety", "NoIllegalState")
        assert violation["step"] == len(run["steps"]) - 1
        assert violation["explanation"]


@pytest.mark.parametrize("bug", ["Z02", "Z03", "Z04", "Z06", "Z07", "Z08", "Z15", "Z16", "Z20"])
def test_common_bugs_are_found_in_a_few_runs(bug: str) -> None:
    part = simulate_part("quorum", 1, 0, 100, bug=bug)
    assert any(part.tables["runs"]["violations"].to_pylist())


def test_a_leader_that_never_checks_its_quorum_is_found_by_its_clock() -> None:
    part = simulate_part("quorum", 1, 0, 100, bug="Z09")
    found = [v for violations in part.tables["runs"]["violations"].to_pylist() for v in violations]
    assert {violation["invariant"] for violation in found} == {"IsolatedLeaderResigns"}
    assert "has heard from no majority for 3000 ms" in found[0]["explanation"]


def with_scenario(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> str:
    """The quorum scenario with other bounds."""
    bounded = FAMILIES["quorum"]._replace(scenario=replace(QUORUM, name="bounded", **changes))
    monkeypatch.setitem(FAMILIES, "bounded", bounded)
    return "bounded"


@pytest.mark.parametrize(
    ("changes", "options", "reason"),
    [
        ({"max_events": 50}, {}, "50 events without an end"),
        ({"healed_ms": 1, "faulty_ms": (100,)}, {}, "no leader was elected"),
        ({"healed_ms": 1, "faulty_ms": (5000,)}, {}, "the new record was not committed"),
    ],
)
def test_a_run_without_progress_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, changes: Any, options: Any, reason: str
) -> None:
    name = with_scenario(monkeypatch, **changes)
    run = simulate_run(name, 1, 0, chooser=ReplayChooser([]), options=options)
    assert run.result.verdict == reason


def test_a_node_that_lags_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound falls between the commit of the probe and its becoming known to all."""
    verdicts = set()
    for healed_ms in range(1, 60):
        name = with_scenario(monkeypatch, healed_ms=healed_ms, faulty_ms=(5000,))
        verdicts.add(simulate_run(name, 1, 0, chooser=ReplayChooser([])).result.verdict)
    assert any("records to be committed" in verdict for verdict in verdicts)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"scenario": "quorumm"}, ValueError),
        ({"scenario": "quorum", "bug": "Z99"}, UnknownBug),
        ({"scenario": "quorum", "bug": "Z21"}, OutOfScope),
        ({"scenario": "quorum", "options": {"los": 1}}, ValueError),
    ],
)
def test_what_cannot_be_simulated_is_refused(
    arguments: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        simulate_part(**{"seed": 1, "first_run": 0, "runs": 1} | arguments)


@pytest.mark.parametrize("voters", [1, 2, 5])
def test_other_numbers_of_voters_progress(voters: int) -> None:
    part = simulate_part("quorum", 1, 0, 15, options={"voters": voters})
    assert set(part.tables["runs"]["verdict"].to_pylist()) == {PROGRESSED}


def test_garbage_is_looked_for_as_before_once_a_part_is_done() -> None:
    usual = gc.get_threshold()
    simulate_part("quorum", 1, 0, 1)
    assert gc.get_threshold() == usual
    with pytest.raises(ValueError):
        simulate_part("quorum", 1, 0, 1, options={"none such": 1})
    assert gc.get_threshold() == usual


@pytest.mark.parametrize("scenario", ["quorum", "partition", "groups", "cluster"])
def test_a_run_that_is_over_is_freed_at_once(
    scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Garbage that waits to be looked for takes a part a tenth of its time."""
    simulations: list[weakref.ref[Any]] = []
    real = running.simulate

    def watched(*given: Any) -> Any:
        simulation = real(*given)
        simulations.append(weakref.ref(simulation))
        return simulation

    monkeypatch.setattr(running, "simulate", watched)
    gc.disable()
    try:
        simulate_part(scenario, 1, 0, 3)
        assert [each() for each in simulations] == [None] * 3
    finally:
        gc.enable()
