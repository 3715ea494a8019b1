"""Runs of a cluster: worth being judged, and as safe as promised."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from kraftcheck.reference.cluster.sim.controllers import REPLAY_AGREES
from kraftcheck.reference.cluster.sim.options import SHAPES, draw
from kraftcheck.reference.cluster.sim.scenario import CLUSTER
from kraftcheck.reference.partition.messages import CONTROLLER
from kraftcheck.reference.partition.replay import replay
from kraftcheck.reference.partition.sim import machine
from kraftcheck.reference.partition.types import initial_controller
from kraftcheck.reference.protocols import parts_of
from kraftcheck.reference.runner.narrate import narrate
from kraftcheck.reference.runner.run import forget, simulate_part, simulate_run
from kraftcheck.reference.sim.choices import SeededChooser
from kraftcheck.traces.schema import PROGRESSED, STOPPED, PartTables

RUNS = 60


@pytest.fixture(scope="module")
def many() -> PartTables:
    return simulate_part("cluster", 1, 0, RUNS)


def column(part: PartTables, name: str) -> list[Any]:
    found: list[Any] = part.tables["runs"][name].to_pylist()
    return found


# --- Trouble that is asked for


def test_brokers_crash_when_they_lead_and_have_appended() -> None:
    before: Counter[str] = Counter()
    for number in range(12):
        steps = simulate_run("cluster", 3, number, options={"aim": "append", "crashes": 4}).steps
        for earlier, step in pairwise(steps):
            if step.action == "HandleBrokerCrash" != earlier.action:
                before[earlier.action] += 1
    assert before.most_common(1)[0][0] == "HandleProduceRequest"


@pytest.mark.parametrize("failovers", [0, 3])
def test_an_active_controller_fails_over_when_it_is_to(failovers: int) -> None:
    options = {"failovers": failovers, "quorum_resignations": 0}
    runs = [simulate_run("cluster", 3, number, options=options) for number in range(12)]
    resigned = [step for run in runs for step in run.steps if step.action == "HandleResign"]
    assert bool(resigned) is bool(failovers)


# --- Safety, and what controllers owe


@pytest.mark.slow
def test_the_correct_rules_violate_nothing_and_progress(many: PartTables) -> None:
    assert Counter(column(many, "verdict")) == {PROGRESSED: RUNS}
    assert not any(column(many, "violations"))


def test_runs_are_worth_being_judged(many: PartTables) -> None:
    statistics = column(many, "statistics")

    def share(name: str) -> float:
        return sum(int(run[name] > 0) for run in statistics) / RUNS

    assert share("leader_changes") >= 0.4
    assert share("failovers") >= 0.4
    assert share("truncations") >= 0.2
    assert sum(run["acked"] for run in statistics) >= 5 * RUNS
    ignored = sum(run["ignored"] for run in statistics)
    assert ignored <= 0.3 * sum(column(many, "handler_calls"))
    taken = set(many.tables["steps"]["action"].to_pylist())
    # Brokers of a cluster do not stop cleanly (scenario.py says why).
    every = {a for part in parts_of("cluster") for kind in part.kinds for a in kind.actions}
    assert taken == every - {"HandleControlledShutdown"}


@pytest.mark.slow
def test_components_stand_beside_steps(many: PartTables) -> None:
    assert {of for each in column(many, "components") for of in each} == {0, 1, 2, 3}
    operations = [o for history in column(many, "history") for o in history]
    assert {o["partition"] for o in operations} == {0, 1, 2}
    values = [o["values"][0] for o in operations if o["op"] == "append" and o["values"]]
    assert len(values) > 5 * RUNS


def test_what_is_replayed_is_what_was_decided() -> None:
    """The fold over the log against the handlers that wrote it, at every step of runs."""
    seen = 0
    for run in range(25):
        taken = simulate_run("partition", 3, run)
        batches: list[Any] = []
        constants: Any = taken.result.constants
        assert replay(constants, batches).partition == initial_controller(constants).partition
        for step in taken.steps:
            if step.node != CONTROLLER:
                continue
            for message in step.sent:
                if type(message).__name__ == "MetadataRecords":
                    batches.append((step.input, message.records))
            known = replay(constants, batches)
            assert known.registrations == step.after.registrations
            assert known.partition == step.after.partition
            assert known.offset == step.after.offset
            seen += 1
    assert seen > 400


def test_a_controller_that_forgets_what_was_committed_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def forgetful(constants: Any, batches: Any, first: Any) -> Any:
        return replay(constants, list(batches)[:-1], first)

    monkeypatch.setattr(machine, "replay", forgetful)
    forget()
    part = simulate_part("cluster", 1, 0, 12)
    forget()
    violated = [v["invariant"] for each in column(part, "violations") for v in each]
    assert REPLAY_AGREES in violated
    assert STOPPED in column(part, "verdict")


@pytest.mark.parametrize(
    ("bug", "invariants"),
    [
        ("Z04", {"MonotonicHighWatermark"}),
        ("Z34", {"WeakIsr", "StrongIsr", "LeaderCandidateCompleteness"}),
    ],
)
def test_a_bug_of_a_part_is_one_of_the_cluster(bug: str, invariants: set[str]) -> None:
    part = simulate_part("cluster", 1, 0, 40, bug=bug)
    violated = {v["invariant"] for each in column(part, "violations") for v in each}
    assert violated and violated <= invariants


def test_a_cluster_has_several_topics_and_one_may_be_hot() -> None:
    shape = {"brokers": 3, "topics": 2, "topic_partitions": 2}
    run = simulate_run("cluster", 3, 0, options=shape)
    constants: Any = run.result.constants
    assert len(constants.partitions) == 4
    hot = simulate_run("cluster", 3, 0, options={**shape, "hot_topic": "topic-1"})
    appended = Counter(o.partition for o in hot.result.history if o.op == "append")
    # Every healed partition is probed with one record.
    assert appended[0] == appended[1] == 1 and appended[2] + appended[3] > 4


def test_a_run_is_told_line_by_line() -> None:
    run = simulate_run("cluster", 1, 0)
    lines = list(narrate(run))
    steps = [line for line in lines if line[:5].strip().isdigit()]
    assert len(steps) == len(run.steps)
    assert {line[17:19].strip() for line in steps} >= {"Q", "0"}
    assert "quorum: voters=" in lines[0]


# --- Options


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"replicas": 4, "brokers": 3}, "INVALID_REPLICATION_FACTOR: The target"),
        ({"assignments": [[0, 1, 1]]}, "INVALID_REPLICA_ASSIGNMENT: .* 1 more than once"),
        ({"hot_topic": "other"}, "UNKNOWN_TOPIC_OR_PARTITION: .*: other-0"),
        ({"topics": 3, "topic_partitions": 3}, "9 partitions are more than 8"),
        ({"brokers": 8}, "8 brokers are more than 7"),
        ({"topic_partitions": 0}, "topic_partitions is 0, not from 1"),
        ({"quorum_voters": 0}, "voters is 0, not from 1"),
        ({"min_insync_replicas": 4}, "INVALID_CONFIG: min.insync.replicas 4 is above"),
        ({"crash": 1}, "no option 'crash'; did you mean crashes"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], said: str) -> None:
    empty: dict[str, Any] = {"shape": {}, "quorum": {}, "data": {}}
    with pytest.raises(ValueError, match=said):
        draw(SeededChooser(1), empty, options)


def test_every_palette_is_of_an_option() -> None:
    assert set(CLUSTER.palettes["shape"]) <= set(SHAPES.of.__struct_fields__)
