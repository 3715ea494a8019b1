"""What joins the components of a cluster's run, broken once (traces/jobs/cluster_checks.py).

The faults are planted into a recorded run, as a defective implementation would leave them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace

from reference.core.partition_messages import (
    CONTROLLER,
    AlterPartitionResponse,
    MetadataRecords,
    encode,
)
from reference.sim.run import simulate_part
from traces import schema
from traces.jobs.backends import Pool
from traces.jobs.checks import CHECKS, check_runs
from traces.jobs.columns import Part
from traces.jobs.conform import ConformOptions, conform
from traces.jobs.protocols import decode_input
from traces.schema import Campaign, PartTables, begin_trace, write_part

pytestmark = pytest.mark.xdist_group("cluster-faults")

Tables = dict[str, pa.Table]
LISTS = ("steps", "times", "components")


@pytest.fixture(scope="module")
def recorded() -> PartTables:
    options = {"brokers": 3, "topic_partitions": 2, "quorum_voters": 3, "crashes": 3}
    return simulate_part("cluster", 1, 1, 1, options=options)


def test_a_good_recording_has_no_findings(recorded: PartTables) -> None:
    assert check_runs(Part(recorded)) == []


def found_in(recorded: PartTables, plant: Callable[[Tables], Tables]) -> dict[str, str]:
    """The checks that report the part with a fault in it, and what they say."""
    part = PartTables(recorded.first_run, recorded.runs, plant(dict(recorded.tables)))
    return {finding.check: finding.explanation for finding in check_runs(Part(part))}


def with_column(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    at = table.column_names.index(name)
    field = table.schema.field(at)
    return table.set_column(at, field, pa.array(values, field.type))


def with_run(tables: Tables, lists: dict[str, list[int]]) -> Tables:
    """The run with other lists, everything that counts them put right."""
    runs, steps = tables["runs"], tables["steps"]
    for name, values in lists.items():
        runs = with_column(runs, name, [values])
    runs = with_column(runs, "handler_calls", [len(lists["steps"])])
    counts = Counter(lists["steps"])
    steps = with_column(steps, "count", [counts[at] for at in range(len(steps))])
    return {**tables, "runs": runs, "steps": steps}


def lists_of(tables: Tables) -> dict[str, list[int]]:
    return {name: tables["runs"][name].to_pylist()[0] for name in LISTS}


def actions_of(tables: Tables, lists: dict[str, list[int]]) -> list[str]:
    actions = tables["steps"]["action"].to_pylist()
    return [actions[step] for step in lists["steps"]]


def writers(tables: Tables, lists: dict[str, list[int]]) -> list[int]:
    """Where in the run a partition's controller writes metadata."""
    kinds = tables["inputs"]["type"].to_pylist()
    nodes, sent = tables["steps"]["node"].to_pylist(), tables["steps"]["sent"].to_pylist()
    return [
        at
        for at, (step, of) in enumerate(zip(lists["steps"], lists["components"], strict=True))
        if of and nodes[step] == CONTROLLER and "MetadataRecords" in [kinds[m] for m in sent[step]]
    ]


def test_a_decision_that_takes_effect_before_it_is_committed(recorded: PartTables) -> None:
    def plant(tables: Tables) -> Tables:
        lists = lists_of(tables)
        at = writers(tables, lists)[-1]
        # The step of the quorum just before is the one that committed it.
        back = max(i for i in range(at) if lists["components"][i] == 0)
        for values in lists.values():
            values.insert(back, values.pop(at))
        return with_run(tables, lists)

    found = found_in(recorded, plant)
    assert set(found) == {"Committed"}
    assert "before it is committed" in found["Committed"]


def test_a_decision_that_no_controller_of_the_quorum_made(recorded: PartTables) -> None:
    def plant(tables: Tables) -> Tables:
        [batches] = tables["runs"]["batches"].to_pylist()
        other = next(each["records"] for each in batches if each["records"] is not None)
        for each in batches:
            if each["records"] not in (None, other):
                each["records"] = other
        return {**tables, "runs": with_column(tables["runs"], "batches", [batches])}

    found = found_in(recorded, plant)
    assert "writes what no controller of the quorum decided" in found["Committed"]


def test_a_decision_that_one_partition_never_hears_of(recorded: PartTables) -> None:
    def plant(tables: Tables) -> Tables:
        [batches] = tables["runs"]["batches"].to_pylist()
        last = next(each for each in reversed(batches) if each["records"] is not None)
        batches.append(last | {"component": 3 - last["component"]})
        return {**tables, "runs": with_column(tables["runs"], "batches", [batches])}

    found = found_in(recorded, plant)
    assert "never took its step" in found["Committed"]


def test_a_value_that_nobody_decided_on(recorded: PartTables) -> None:
    def plant(tables: Tables) -> Tables:
        return {**tables, "runs": with_column(tables["runs"], "batches", [[]])}

    found = found_in(recorded, plant)
    assert "no controller decided on it" in found["Committed"]


def cut_behind(recorded: PartTables, action: str) -> list[dict[str, str]]:
    """What is found when the run ends after a broker has done this in the first of its two
    partitions, wherever one did."""
    tables = dict(recorded.tables)
    lists = lists_of(tables)
    actions, times, of = actions_of(tables, lists), lists["times"], lists["components"]
    found = []
    for i in range(len(actions) - 1):
        alike = actions[i] == actions[i + 1] == action and times[i] == times[i + 1]
        if alike and (of[i], of[i + 1]) == (1, 2):
            cut = {name: values[: i + 1] for name, values in lists.items()}
            found.append(found_in(recorded, partial(with_run, lists=cut)))
    return found


def test_a_batch_that_a_broker_applies_to_one_of_two_partitions(recorded: PartTables) -> None:
    cuts = cut_behind(recorded, "HandleMetadataUpdate")
    # What says something of one partition only may be read as far as that.
    found = [each["OneProcess"] for each in cuts if each]
    assert found and all("the metadata log is never so at one place" in text for text in found)
    assert all(set(each) <= {"OneProcess"} for each in cuts)


def test_a_broker_that_crashes_in_one_partition_only(recorded: PartTables) -> None:
    cuts = cut_behind(recorded, "HandleBrokerCrash")
    assert cuts
    for found in cuts:
        assert set(found) == {"OneProcess"}
        assert "has status Down in partition 0" in found["OneProcess"]


def test_components_are_judged_under_their_own_constants(recorded: PartTables) -> None:
    def plant(tables: Tables) -> Tables:
        lists = lists_of(tables)
        lists["components"] = [min(of, 1) for of in lists["components"]]
        return with_run(tables, lists)

    assert "Chained" in found_in(recorded, plant)
    assert {"Committed", "OneProcess"} <= set(CHECKS)


@pytest.mark.tlc
def test_an_answer_that_contradicts_its_decision_is_rejected(
    recorded: PartTables, tmp_path: Path
) -> None:
    """The answer is sent, and arrives, as if a controller had meant it: only TLC can tell."""
    tables = dict(recorded.tables)
    inputs = tables["inputs"]
    bodies, digests = inputs["body"].to_pylist(), inputs["digest"].to_pylist()
    changed = None
    for at, body in enumerate(bodies):
        value = decode_input(body)
        if isinstance(value, AlterPartitionResponse) and value.error == "NONE":
            changed = at
            bodies[at] = encode(replace(value, partition_epoch=value.partition_epoch + 1))
            digests[at] = schema.digest(bodies[at])
            break
    assert changed is not None
    inputs = with_column(with_column(inputs, "body", bodies), "digest", digests)
    lists = lists_of(tables)
    sent = tables["steps"]["sent"].to_pylist()
    end = next(i for i, step in enumerate(lists["steps"]) if changed in sent[step])
    cut = with_run(
        {**tables, "inputs": inputs}, {name: values[: end + 1] for name, values in lists.items()}
    )
    cut["runs"] = with_column(cut["runs"], "verdict", [schema.STOPPED])
    part = PartTables(0, 1, {name: _first(table) for name, table in cut.items()})
    assert check_runs(Part(part)) == []
    begin_trace(tmp_path, Campaign(scenario="cluster", seed=1, runs=1))
    write_part(tmp_path, part)
    found = conform(tmp_path, ConformOptions(backend=Pool(1)))
    [rejected] = found.summary["rejections"]
    assert rejected["action"] == "HandleAlterPartitionRequest"


def _first(table: pa.Table) -> pa.Table:
    """The table as that of a part whose first run is 0."""
    table = with_column(table, "part", [0] * len(table))
    return with_column(table, "run", [0]) if "run" in table.column_names else table


def test_what_controllers_write_goes_to_the_log(recorded: PartTables) -> None:
    [batches] = recorded.tables["runs"]["batches"].to_pylist()
    bodies = recorded.tables["inputs"]["body"].to_pylist()
    written = [decode_input(bodies[each["records"]]) for each in batches if each["records"]]
    assert written and all(isinstance(m, MetadataRecords) for m in written)
