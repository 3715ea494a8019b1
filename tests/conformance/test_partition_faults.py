"""What makes judging a partition's steps a judgement of its runs, broken once.

The faults are planted into recorded runs of the simulator: in the tables of a part, as a defective
recorder or implementation would leave them. Faults that the quorum shares are planted in
test_planted_faults.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from msgspec.structs import replace

from reference.core.partition_messages import (
    CONTROLLER,
    MetadataUpdate,
    ReplicaFetchRequest,
    encode,
)
from reference.core.partition_types import BrokerRow
from reference.sim.run import simulate_part
from traces import schema
from traces.jobs.backends import Pool
from traces.jobs.checks import check_runs
from traces.jobs.columns import Part
from traces.jobs.conform import Conformance, ConformOptions, conform
from traces.jobs.protocols import decode_input
from traces.schema import Campaign, PartTables, begin_trace, write_part

pytestmark = pytest.mark.xdist_group("partition-faults")

FIRST = 3
"""Two runs from this one on have what the faults need."""

Tables = dict[str, pa.Table]
_encode = msgspec.msgpack.Encoder().encode


@pytest.fixture(scope="module")
def recorded() -> PartTables:
    options = {"replicas": 3, "min_insync_replicas": 2, "elr": True, "unclean": False}
    return simulate_part("partition", 1, FIRST, 2, options=options)


def test_a_good_recording_has_no_findings(recorded: PartTables) -> None:
    assert check_runs(Part(recorded)) == []


def found_in(recorded: PartTables, plant: Callable[[Tables], Tables]) -> set[str]:
    """The checks that report the part with a fault in it."""
    part = PartTables(recorded.first_run, recorded.runs, plant(dict(recorded.tables)))
    return {finding.check for finding in check_runs(Part(part))}


def with_column(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    at = table.column_names.index(name)
    return table.set_column(
        at, table.schema.field(name), pa.array(values, table.schema.field(at).type)
    )


def change_input(of: type, change: Callable[[Any], Any]) -> Callable[[Tables], Tables]:
    """The last input of a type that it fits is another one, wherever it is consumed or sent."""

    def plant(tables: Tables) -> Tables:
        inputs = tables["inputs"]
        bodies, digests = inputs["body"].to_pylist(), inputs["digest"].to_pylist()
        for at in reversed(range(len(bodies))):
            value = decode_input(bodies[at])
            if isinstance(value, of) and change(value) != value:
                bodies[at] = encode(change(value))
                digests[at] = schema.digest(bodies[at])
                break
        inputs = with_column(with_column(inputs, "body", bodies), "digest", digests)
        return {**tables, "inputs": inputs}

    return plant


def test_metadata_that_nobody_wrote_is_reported(recorded: PartTables) -> None:
    def later(read: MetadataUpdate) -> MetadataUpdate:
        return replace(read, offset=read.offset + 7)

    def reversed_order(read: MetadataUpdate) -> MetadataUpdate:
        return replace(read, records=read.records[::-1])

    assert found_in(recorded, change_input(MetadataUpdate, later)) == {"MetadataRead"}
    assert found_in(recorded, change_input(MetadataUpdate, reversed_order)) == {"MetadataRead"}


def test_a_message_to_somebody_else_is_reported(recorded: PartTables) -> None:
    def elsewhere(request: ReplicaFetchRequest) -> ReplicaFetchRequest:
        return replace(request, destination=(request.destination + 1) % 3)

    found = found_in(recorded, change_input(ReplicaFetchRequest, elsewhere))
    assert found == {"Provenanced"}


def test_a_message_that_nobody_sent_is_reported(recorded: PartTables) -> None:
    def plant(tables: Tables) -> Tables:
        """No step sends anything any more."""
        steps = tables["steps"]
        return {**tables, "steps": with_column(steps, "sent", [[] for _ in range(len(steps))])}

    # What clients ask comes from outside; what brokers read of metadata was written by nobody.
    assert found_in(recorded, plant) == {"Provenanced", "MetadataRead"}


def test_steps_of_a_stranger_are_reported(recorded: PartTables) -> None:
    def plant(tables: Tables) -> Tables:
        nodes = [9 if node == 2 else node for node in tables["steps"]["node"].to_pylist()]
        return {**tables, "steps": with_column(tables["steps"], "node", nodes)}

    assert "WellFormed" in found_in(recorded, plant)


@pytest.fixture(scope="module")
def judged(recorded: PartTables, tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    """One run as it was, judged with a second one in which three outcomes were altered."""
    folder: Path = tmp_path_factory.mktemp("partition")
    tables = dict(recorded.tables)
    rows = tables["rows"]
    bodies, digests = rows["body"].to_pylist(), rows["digest"].to_pylist()
    steps = tables["steps"].to_pylist()
    second = set(tables["runs"]["steps"].to_pylist()[1]) - set(
        tables["runs"]["steps"].to_pylist()[0]
    )
    altered = 0
    for step in [steps[number] for number in sorted(second)]:
        if step["node"] == CONTROLLER or step["action"] != "HandleReplicaFetchRequest":
            continue
        if any(other["before"] == step["after"] for other in steps if other["id"] not in second):
            continue
        row = msgspec.msgpack.decode(bodies[step["after"]], type=BrokerRow)
        if step["after"] == step["before"] or row.high_watermark == 0:
            continue
        # It tells of more than it should know.
        bodies[step["after"]] = _encode(replace(row, high_watermark=row.high_watermark - 1))
        digests[step["after"]] = schema.digest(bodies[step["after"]])
        altered += 1
        if altered == 3:
            break
    assert altered == 3
    tables["rows"] = with_column(with_column(rows, "body", bodies), "digest", digests)
    begin_trace(folder, Campaign(scenario="partition", seed=1, runs=recorded.runs))
    write_part(folder, PartTables(recorded.first_run, recorded.runs, tables))
    return conform(folder, ConformOptions(backend=Pool(1)))


@pytest.mark.tlc
def test_an_altered_high_watermark_is_rejected_and_explained(judged: Conformance) -> None:
    summary = judged.summary
    assert judged.verdict == "violated"
    assert {rejection["run"] for rejection in summary["rejections"]} == {FIRST + 1}
    lines = [line for rejection in summary["rejections"] for line in rejection["differences"]]
    assert any(line.startswith("after.highWatermark: recorded") for line in lines)


@pytest.mark.tlc
def test_both_kinds_of_nodes_were_judged(judged: Conformance) -> None:
    actions = judged.summary["actions"]
    assert actions["HandleReplicaFetchResponse"] > 10
    assert actions["HandleElectLeaders"] >= 2
    assert judged.summary["tlc"]["jvms"] == 2
