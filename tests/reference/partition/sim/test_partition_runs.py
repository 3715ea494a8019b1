"""Runs of a partition: worth being judged, and as safe as promised."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import Any

import pytest

from kraftcheck.reference.clients.promises import Level
from kraftcheck.reference.partition.invariants import PARTITION_INVARIANT_NAMES
from kraftcheck.reference.partition.protocol import BROKER, CONTROLLER_KIND
from kraftcheck.reference.partition.sim.options import KINDS, OPTIONS, PartitionOptions, promise_of
from kraftcheck.reference.partition.sim.run import UNPROMISED
from kraftcheck.reference.partition.sim.scenario import PARTITION
from kraftcheck.reference.runner.narrate import narrate
from kraftcheck.reference.runner.run import simulate_part, simulate_run
from kraftcheck.reference.sim.choices import RecordingChooser, SeededChooser
from kraftcheck.reference.sim.network import FATES
from kraftcheck.traces.checkers.arrow import from_arrow
from kraftcheck.traces.checkers.assessment import Assessment, assess
from kraftcheck.traces.checkers.verdict import HOLDS
from kraftcheck.traces.schema import PROGRESSED, STOPPED, PartTables

RUNS = 250


@pytest.fixture(scope="module")
def many() -> PartTables:
    return simulate_part("partition", 1, 0, RUNS)


def column(part: PartTables, name: str) -> list[Any]:
    found: list[Any] = part.tables["runs"][name].to_pylist()
    return found


# --- Safety, and what is promised


@pytest.mark.slow
def test_the_correct_rules_violate_nothing_and_progress(many: PartTables) -> None:
    assert Counter(column(many, "verdict")) == {PROGRESSED: RUNS}
    assert not any(column(many, "violations"))


@pytest.mark.slow
def test_clients_are_shown_what_each_run_promises(many: PartTables) -> None:
    found = judged(many)
    assert found.verdicts.tolist() == [HOLDS] * RUNS
    for run, promise in enumerate(found.promises):
        if promise.level > Level.DIVERGENT:
            assert found.levels.exact[run] and found.levels.held[run] >= promise.level, run
    assert len({promise.level for promise in found.promises}) >= 4


def judged(part: PartTables) -> Assessment:
    """What the clients of each run were shown, against what was promised to them."""
    recorded = zip(column(part, "options"), column(part, "statistics"), strict=True)
    promises = [promise_of(*each) for each in recorded]
    return assess(from_arrow(part.tables["runs"]["history"]), promises, complete=False)


def test_a_new_leader_shows_an_older_start_to_clients_with_acks_of_none() -> None:
    """One run in 1,300 did, when that was allowed with acks of 1 and all only."""
    found = judged(simulate_part("partition", 11, 1075, 1))
    assert found.anomalies.counts("start-regress").tolist() == [1]
    assert found.verdicts.tolist() == [HOLDS] and "acks-none" in found.promises[0].rows


@pytest.mark.slow
def test_runs_that_lose_more_than_they_bear_are_counted_apart(many: PartTables) -> None:
    """Only the reckless ones, and those in which a replica from outside of the ISR leads."""
    found = 0
    for options, statistics in zip(
        column(many, "options"), column(many, "statistics"), strict=True
    ):
        assert promise_of(options, statistics).nothing == bool(statistics["unpromised"])
        found += statistics["unpromised"]
    assert 0 < found < RUNS // 4
    assert set(PARTITION_INVARIANT_NAMES) > UNPROMISED


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "invariants"),
    [
        ("Z23", {"NoCommittedRecordLost", "WeakIsr", "StrongIsr", "LeaderCandidateCompleteness"}),
        ("Z34", {"WeakIsr", "StrongIsr", "LeaderCandidateCompleteness"}),
    ],
)
def test_a_bug_violates_and_ends_its_runs(bug: str, invariants: set[str]) -> None:
    part = simulate_part("partition", 1, 0, 120, bug=bug)
    violated = [each for each in column(part, "violations") if each]
    assert violated and {v["invariant"] for each in violated for v in each} <= invariants
    assert column(part, "verdict").count(STOPPED) == len(violated)


# --- Quality: issue by issue, the floors of scenario `partition`


@pytest.mark.slow
def test_runs_are_worth_being_judged(many: PartTables) -> None:
    statistics = column(many, "statistics")

    def share(name: str) -> float:
        return sum(int(run[name] > 0) for run in statistics) / RUNS

    assert share("leader_changes") >= 0.5
    assert share("truncations") >= 0.2
    assert sum(run["shrinks"] > 0 < run["expansions"] for run in statistics) / RUNS >= 0.3
    assert median(run["acked"] for run in statistics) >= 5
    ignored = sum(run["ignored"] for run in statistics)
    assert ignored <= 0.3 * sum(column(many, "handler_calls"))
    assert share("lossy_crashes") >= 0.05 and share("zombies") >= 0.02
    assert share("shutdowns") >= 0.05 and share("partitions") >= 0.1


def test_every_kind_of_trouble_happens(many: PartTables) -> None:
    happened = {name for s in column(many, "statistics") for name, count in s.items() if count}
    # Nobody is asked to resign, and there is no quorum that carries the metadata.
    elsewhere = {"resignations", "failovers", "batches", "stale_answers"}
    assert happened == set(column(many, "statistics")[0]) - elsewhere


@pytest.mark.slow
def test_every_action_is_taken(many: PartTables) -> None:
    taken = set(many.tables["steps"]["action"].to_pylist())
    assert taken == {*BROKER.actions, *CONTROLLER_KIND.actions}


# --- Options


def test_every_fault_option_belongs_to_a_kind() -> None:
    """Except what is no fault, what every run has, and what only shapes others."""
    of_kinds = {name for names in KINDS.values() for name in names}
    rest = set(PartitionOptions.__struct_fields__) - of_kinds
    assert rest == {
        *("replicas", "min_insync_replicas", "fetch_max_records", "hold_ms", "calm_ms"),
        *("crashes", "slow", "aim", "watched", "appends", "faulty_ms", "stretch", "begins"),
    }


def test_every_palette_is_of_an_option() -> None:
    assert set(PARTITION.palettes) <= set(PartitionOptions.__struct_fields__)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"min_insync_replicas": 4}, "INVALID_CONFIG: min.insync.replicas 4 is above"),
        ({"acks": "1", "idempotence": True}, "INVALID_CONFIG: idempotence needs acks=all"),
        ({"acks": "2"}, "option refused: acks is one of all, 1, 0"),
        ({"replicas": 0}, "replicas is 0, not from 1"),
        ({"replicas": 8}, "8 replicas are more than 7"),
        ({"lossy": 1001}, "lossy is 1001, not from 0 to 1000"),
        ({"crash": 1}, "no option 'crash'; did you mean crashes"),
        ({"loss": 900, "reordering": 200}, "add up to over 1000"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        OPTIONS.draw(SeededChooser(1), {}, options)


def test_what_is_requested_is_had() -> None:
    wanted = {"replicas": 1, "acks": "1", "crashes": 0}
    for seed in range(20):
        options = OPTIONS.draw(SeededChooser(seed), PARTITION.palettes, wanted)
        assert (options.replicas, options.acks, options.crashes) == (1, "1", 0)
        assert options.min_insync_replicas == 1 and not options.idempotence


# --- Telling


def test_a_run_can_be_told() -> None:
    run = simulate_run("partition", 1, 0)
    lines = list(narrate(run))
    assert lines[0].startswith("run 0 seed ") and "replicas=" in lines[0]
    told = [line for line in lines if line[:5].strip().isdigit()]
    assert len(told) == len(run.steps)
    assert "ElectLeaders" in told[0] and " C " in told[0]
    assert f" s: {PROGRESSED}: " in lines[-1]


def test_what_concerns_a_single_row_is_judged_in_runs() -> None:
    """It is found out when a step is worked out, and kept with the step."""
    for _ in range(2):
        part = simulate_part("partition", 1, 11, 1, bug="Z58", options={"answers_lost": 300})
        (violations,) = column(part, "violations")
        assert [each["invariant"] for each in violations] == ["NoDuplicate"]


def test_what_becomes_of_messages_is_not_drawn_where_all_arrive() -> None:
    still = {"loss": 0, "duplication": 0, "reordering": 0, "answers_lost": 0, "suffering": ""}
    chooser = RecordingChooser(SeededChooser(5))
    simulate_run("partition", 1, 0, options=still, chooser=chooser)
    streams = Counter(choice.stream for choice in chooser.choices if choice.bound == FATES)
    assert not streams["network"] and chooser.choices
