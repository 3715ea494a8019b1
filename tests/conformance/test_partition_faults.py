"""What makes judging a partition's steps a judgement of its runs, broken once.

The faults are planted into recorded runs of the simulator: in the tables of a part, as a defective
recorder or implementation would leave them. Faults that the quorum shares are planted in
test_planted_faults.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from msgspec.structs import replace

from kraftcheck.reference.cluster.types import ClusterConstants
from kraftcheck.reference.kit.messages import encode
from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    METADATA_LOG,
    Member,
    MetadataRecords,
    MetadataUpdate,
    ReplicaFetchRequest,
)
from kraftcheck.reference.partition.types import INITIAL_OFFSET, BrokerRow, PartitionConstants
from kraftcheck.reference.quorum.types import Constants
from kraftcheck.reference.runner.run import simulate_part
from kraftcheck.traces import schema
from kraftcheck.traces.jobs.backends import Pool
from kraftcheck.traces.jobs.conform import Conformance, ConformOptions, conform
from kraftcheck.traces.schema import PartTables
from kraftcheck.traces.steps.check import check_runs
from kraftcheck.traces.steps.record import Part, constants_text, decode_constants, decoder_of_inputs
from kraftcheck.traces.store import Campaign, begin_trace, write_part
from tests.conformance.altered import Altered

pytestmark = pytest.mark.xdist_group("partition-faults")

DECODE = decoder_of_inputs(PartitionConstants((0, 1, 2), 2))

FIRST = 3
"""Two runs from this one on have what the faults need."""

OPTIONS = {"replicas": 3, "min_insync_replicas": 2, "elr": True, "unclean": False}
Tables = dict[str, pa.Table]
_encode = msgspec.msgpack.Encoder().encode


@pytest.fixture(scope="module")
def recorded() -> PartTables:
    return simulate_part("partition", 1, FIRST, 2, options=OPTIONS)


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
            value = DECODE(bodies[at])
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
    part = change_input(ReplicaFetchRequest, elsewhere)(dict(recorded.tables))
    [finding] = check_runs(Part(recorded._replace(tables=part)))
    assert re.search(r"a ReplicaFetchRequest to node \d was delivered to", finding.explanation)


def test_a_message_that_nobody_sent_is_reported(recorded: PartTables) -> None:
    def plant(tables: Tables) -> Tables:
        """No step sends anything any more."""
        steps = tables["steps"]
        return {**tables, "steps": with_column(steps, "sent", [[] for _ in range(len(steps))])}

    # What clients ask comes from outside; what brokers read of metadata was written by nobody, and
    # what travels between them and the controller was not on its way.
    assert found_in(recorded, plant) == {"Provenanced", "MetadataRead", "InOrder"}


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


@pytest.mark.slow
@pytest.mark.tlc
def test_an_altered_high_watermark_is_rejected_and_explained(judged: Conformance) -> None:
    summary = judged.summary
    assert judged.verdict == "violated"
    assert {rejection["run"] for rejection in summary["rejections"]} == {FIRST + 1}
    lines = [line for rejection in summary["rejections"] for line in rejection["differences"]]
    assert any(line.startswith("after.highWatermark: recorded") for line in lines)


@pytest.mark.slow
@pytest.mark.tlc
def test_both_kinds_of_nodes_were_judged(judged: Conformance) -> None:
    actions = judged.summary["actions"]
    assert actions["HandleReplicaFetchResponse"] > 10
    assert actions["HandleElectLeaders"] >= 2
    assert judged.summary["tlc"]["jvms"] == 2


# --- One thing altered in recorded runs; what is said of it, and of nothing else


@pytest.fixture(scope="module")
def eventful() -> PartTables:
    """Two runs in which every action is taken, with crashes, restarts and elections."""
    return simulate_part("partition", 1, 1, 2, options=OPTIONS)


def of_broker(step: dict[str, Any]) -> bool:
    return bool(step["node"] != CONTROLLER)


def last_row(altered: Altered, run: int, node: int) -> int:
    """In which row the node ends a run."""
    return int([s["after"] for _, s in altered.taken(run) if s["node"] == node][-1])


def receive(altered: Altered, run: int, message: Any) -> None:
    """At the end of a run, its destination receives a message, and does nothing of it."""
    row = last_row(altered, run, message.destination)
    step = {
        **altered.steps[0],
        "node": message.destination,
        "action": f"Handle{type(message).__name__}",
        "before": row,
        "after": row,
        "input": altered.input(message),
        "sent": [],
        "ignored": "",
    }
    altered.insert(len(altered.runs[run]["steps"]), step, run)


@pytest.mark.parametrize(
    ("table", "forged"),
    [
        *(("rows", ""), ("rows", "digest"), ("rows", "body")),
        *(("inputs", ""), ("inputs", "digest"), ("inputs", "body"), ("inputs", "type")),
    ],
)
def test_what_is_stored_twice_or_under_another_name(
    eventful: PartTables, table: str, forged: str
) -> None:
    """A copy, or one with another digest, with a field more, or of another type."""
    altered = Altered(eventful)
    place = [p for p, s in altered.taken(1) if s["node"] == 0][-1]
    step = altered.steps[altered.runs[1]["steps"][place]]
    name = "after" if table == "rows" else "input"
    copy = {**altered.tables[table][step[name]], "id": len(altered.tables[table])}
    if forged == "digest":
        copy["digest"] = bytes(16)
    elif forged == "body":
        value = {**msgspec.msgpack.decode(copy["body"]), "more": 1}
        copy["body"] = _encode(value)
        copy["digest"] = schema.digest(copy["body"])
    elif forged == "type":
        copy["type"] = "Crash"
    altered.tables[table].append(copy)
    altered.change(place, 1, **{name: copy["id"]})
    found = altered.found()
    assert found.pop("ContentAddressed") == (
        f"{step['action']} of node 0 refers to a row or an input that is not stored once and "
        "under the digest of what it holds"
    )
    # Messages are told apart by their ids, so a copy of one was sent by nobody.
    assert set(found) <= ({"Provenanced"} if table == "inputs" else set())


@pytest.mark.parametrize("node", [0, 1, 2, CONTROLLER])
@pytest.mark.parametrize("run", [0, 1])
def test_a_first_row_of_any_kind_that_is_not_initial(
    eventful: PartTables, node: int, run: int
) -> None:
    altered = Altered(eventful)
    place, step = next((p, s) for p, s in altered.taken(run) if s["node"] == node)
    initial = altered.values[step["before"]]
    name = "offset" if node == CONTROLLER else "incarnation"
    altered.change(place, run, before=altered.row(replace(initial, **{name: 77})))
    assert set(altered.found()) == {"FirstRowsInitial"}
    assert altered.found()["FirstRowsInitial"] == f"node {node} does not begin in the initial row"


def test_the_chain_is_held_at_every_action(eventful: PartTables) -> None:
    """A step of each kind that is entered in another row, which is left as it should be."""
    places: dict[str, tuple[int, int]] = {}
    begun: set[tuple[int, int]] = set()
    whole = Altered(eventful)
    for run in (0, 1):
        for place, step in whole.taken(run):
            if (run, step["node"]) in begun:
                places.setdefault(step["action"], (run, place))
            begun.add((run, step["node"]))
    assert len(places) >= 26 and {"HandleBrokerCrash", "HandleBrokerRestart"} <= set(places)
    for action, (run, place) in places.items():
        altered = Altered(eventful)
        step = altered.steps[altered.runs[run]["steps"][place]]
        name = "broker_epoch" if of_broker(step) else "offset"
        other = replace(altered.values[step["before"]], **{name: 77})
        altered.change(place, run, before=altered.row(other))
        found = altered.found()
        assert set(found) == {"Chained"}, action
        assert f"node {step['node']} enters {action} in another row" in found["Chained"]


def test_what_a_step_leaves_is_what_the_next_one_enters(eventful: PartTables) -> None:
    """The row after is wrong, at the last place but one of a node, and at its last place."""
    for back, expected in ((1, {"Chained"}), (0, set())):
        altered = Altered(eventful)
        of_node = [(p, s) for p, s in altered.taken(1) if s["node"] == 0]
        place, step = of_node[-1 - back]
        other = replace(altered.values[step["after"]], checkpoint=77)
        altered.change(place, 1, after=altered.row(other))
        assert set(altered.found()) == expected


def with_constants(eventful: PartTables, action: str, **changes: Any) -> dict[str, str]:
    """What is said of a step of this action under other constants."""
    altered = Altered(eventful)
    run, place, step = next(
        (run, place, step)
        for run in (0, 1)
        for place, step in altered.taken(run)
        if step["action"] == action
    )
    constants = decode_constants(step["constants"])
    altered.change(place, run, constants=constants_text(replace(constants, **changes)))
    return altered.found()


REVERSED = {"replicas": (2, 1, 0)}


@pytest.mark.parametrize(
    "changes",
    [
        {"min_insync_replicas": 1},
        {"elr_enabled": False},
        {"unclean_election": True},
        {"fetch_max_records": 9},
        {**REVERSED, "min_insync_replicas": 1},
        {**REVERSED, "elr_enabled": False},
        {**REVERSED, "unclean_election": True},
        {**REVERSED, "fetch_max_records": 9},
    ],
    ids=lambda changes: " ".join(changes),
)
@pytest.mark.parametrize("action", ["HandleElectLeaders", "HandleHeartbeatRequest"])
def test_other_constants_are_reported_for_an_election_too(
    eventful: PartTables, action: str, changes: dict[str, Any]
) -> None:
    assert set(with_constants(eventful, action, **changes)) == {"ConstantsAgree"}


def test_the_order_of_the_replicas_is_free_for_an_election_alone(eventful: PartTables) -> None:
    """A steered run lists them anew before one."""
    assert not with_constants(eventful, "HandleElectLeaders", **REVERSED)
    assert set(with_constants(eventful, "HandleHeartbeatRequest", **REVERSED)) == {"ConstantsAgree"}
    strangers = with_constants(eventful, "HandleElectLeaders", replicas=(0, 1, 3))
    assert "ConstantsAgree" in strangers


@pytest.mark.parametrize(("sent_in", "received_in"), [(0, 1), (1, 0)])
def test_a_message_of_another_run_is_reported(
    eventful: PartTables, sent_in: int, received_in: int
) -> None:
    altered = Altered(eventful)
    sent = [
        {message for _, step in altered.taken(run) for message in step["sent"]} for run in (0, 1)
    ]
    messages = [altered.received[m] for m in sorted(sent[sent_in] - sent[received_in])]
    request = next(
        m
        for m in messages
        if isinstance(m, ReplicaFetchRequest)
        and altered.values[last_row(altered, received_in, m.destination)].status == "Running"
    )
    receive(altered, received_in, request)
    assert set(altered.found()) == {"Provenanced"}
    assert altered.found()["Provenanced"].endswith("that nobody sent")


def test_a_message_is_sent_before_the_step_that_receives_it(eventful: PartTables) -> None:
    """Not in that step, and not behind it; and after that as often as the network likes."""
    altered = Altered(eventful)
    fresh = replace(some_fetch(altered), fetch_offset=777)
    receive(altered, 0, fresh)
    end = len(altered.runs[0]["steps"]) - 1
    number = altered.input(fresh)
    said = "a ReplicaFetchRequest was delivered to node {} before it was sent"
    for sender in (end, end + 1):
        later = Altered(eventful)
        receive(later, 0, fresh)
        receive(later, 0, fresh)
        later.change(sender, sent=[later.input(fresh)])
        assert later.found() == {"Provenanced": said.format(fresh.destination)}
    altered.change(0, sent=[*altered.steps[altered.runs[0]["steps"][0]]["sent"], number])
    receive(altered, 0, fresh)
    assert altered.found() == {}


def some_fetch(altered: Altered) -> ReplicaFetchRequest:
    return next(
        m
        for m in altered.received
        if isinstance(m, ReplicaFetchRequest)
        and altered.values[last_row(altered, 0, m.destination)].status == "Running"
    )


def test_a_broker_that_is_down_receives_nothing(eventful: PartTables) -> None:
    """It was sent the message while it was up."""
    altered = Altered(eventful)
    crash = next(p for p, s in altered.taken(0) if s["action"] == "HandleBrokerCrash")
    down = altered.steps[altered.runs[0]["steps"][crash]]
    sent = next(
        altered.received[m]
        for p, s in altered.taken(0)
        for m in s["sent"]
        if p < crash and altered.received[m].destination == down["node"]
    )
    assert altered.values[down["after"]].status == "Down"
    step = {
        **down,
        "action": f"Handle{type(sent).__name__}",
        "input": altered.input(sent),
        "before": down["after"],
        "sent": [],
    }
    altered.insert(crash + 1, step)
    found = altered.found()
    assert set(found) == {"NothingWhenDown"}
    assert found["NothingWhenDown"] == f"node {down['node']} is Down and received a " + (
        type(sent).__name__
    )


@pytest.mark.parametrize("apart", [0, 1])
def test_a_message_sent_twice_is_reported(eventful: PartTables, apart: int) -> None:
    altered = Altered(eventful)
    place, step = next((p, s) for p, s in altered.taken(1) if len(s["sent"]) > 1 and of_broker(s))
    first, second, *rest = step["sent"]
    again = [first, second, first] if apart else [first, first, second]
    altered.change(place, 1, sent=[*again, *rest])
    assert set(altered.found()) == {"SentOnce"}


ILL: dict[str, Callable[[Any], dict[str, Any]]] = {
    "remotes": lambda row: {"remotes": row.remotes[1:]},
    "image.brokers": lambda row: {"image": replace(row.image, brokers=row.image.brokers[1:])},
    "isr": lambda row: {"isr": (1, 1)},
    "producers": lambda row: {"producers": row.producers[:1] * 2},
    "parked": lambda row: {"parked": row.parked[:1] * 2},
    "fetching": lambda row: {"fetching": row.fetching[:1] * 2},
    "pending.isr": lambda row: {
        "pending": replace(row.pending, isr=(Member(1, 1), Member(1, 1))),
    },
    "image.partition.isr": lambda row: {
        "image": replace(row.image, partition=replace(row.image.partition, isr=(2, 2)))
    },
    "image.partition.elr": lambda row: {
        "image": replace(row.image, partition=replace(row.image.partition, elr=(2, 2)))
    },
}
ILL_CONTROLLER: dict[str, Callable[[Any], dict[str, Any]]] = {
    "registrations": lambda row: {"registrations": row.registrations[1:]},
    "contacts": lambda row: {"contacts": row.contacts[1:]},
    "partition.isr": lambda row: {"partition": replace(row.partition, isr=(2, 2))},
    "partition.elr": lambda row: {"partition": replace(row.partition, elr=(2, 2))},
}


@pytest.mark.parametrize("what", [*ILL, *ILL_CONTROLLER])
def test_a_row_without_a_form_is_reported(eventful: PartTables, what: str) -> None:
    """In the row after, of the last step of a node, so that nothing else is wrong."""
    altered = Altered(eventful)
    ill = ILL | ILL_CONTROLLER
    node = 0 if what in ILL else CONTROLLER
    place = [p for p, s in altered.taken(1) if s["node"] == node][-1]
    of = type(altered.values[last_row(altered, 1, node)])
    rows = [row for row in altered.values if isinstance(row, of)]
    row = next(row for row in rows if getattr(row, what.partition(".")[0]))
    altered.change(place, 1, after=altered.row(replace(row, **ill[what](row))))
    assert set(altered.found()) == {"WellFormed"}


# --- What brokers read of the metadata log


def reads(altered: Altered, run: int) -> list[tuple[int, dict[str, Any], MetadataUpdate]]:
    kinds = [(p, s, altered.received[s["input"]]) for p, s in altered.taken(run)]
    return [each for each in kinds if isinstance(each[2], MetadataUpdate)]


def test_what_is_read_has_an_offset_and_records(eventful: PartTables) -> None:
    for changes in ({"records": ()}, {"offset": -1}, {"offset": 0}):
        altered = Altered(eventful)
        place, _, read = reads(altered, 0)[-1]
        other = altered.input(replace(read, **changes))
        altered.change(place, input=other)
        assert set(altered.found()) == {"MetadataRead"}, changes


def test_metadata_is_read_behind_its_writing(eventful: PartTables) -> None:
    """A broker reads what the controller writes two steps later; and what another run wrote."""
    altered = Altered(eventful)
    place, _, _ = reads(altered, 0)[0]
    back = max(p for p, s in altered.taken() if p < place and s["node"] == CONTROLLER)
    steps = altered.runs[0]["steps"]
    steps.insert(back, steps.pop(place))
    assert "MetadataRead" in altered.found()


def test_metadata_of_another_run_is_reported(eventful: PartTables) -> None:
    altered = Altered(eventful)
    place, _, _ = reads(altered, 1)[-1]
    of_run = [read for _, _, read in reads(altered, 1)]
    other = next(read for _, _, read in reads(altered, 0) if read not in of_run)
    altered.change(place, 1, input=altered.input(other))
    found = altered.found()
    assert set(found) == {"MetadataRead"}
    assert "read metadata that nobody had written" in found["MetadataRead"]


def test_records_that_go_elsewhere_are_not_written(eventful: PartTables) -> None:
    altered = Altered(eventful)
    place, step = next((p, s) for p, s in altered.taken() if s["node"] == CONTROLLER)
    records = next(m for m in altered.received if isinstance(m, MetadataRecords))
    altered.change(place, sent=[altered.input(replace(records, destination=1)), *step["sent"]])
    assert altered.found() == {}


def test_records_that_are_alike_are_read_as_often_as_they_were_written(
    eventful: PartTables,
) -> None:
    """A pair of equal records at the end of the log; read, it must be the pair."""
    whole = Altered(eventful)
    written = [
        m
        for _, step in whole.taken()
        for m in [whole.received[number] for number in step["sent"]]
        if isinstance(m, MetadataRecords) and m.destination == METADATA_LOG
    ]
    end = INITIAL_OFFSET + sum(len(m.records) for m in written)
    record = written[-1].records[0]
    for times, expected in ((2, set()), (1, set()), (3, {"MetadataRead"})):
        altered = Altered(eventful)
        last = max(p for p, s in altered.taken() if s["node"] == CONTROLLER)
        pair = altered.input(replace(written[-1], records=(record, record)))
        altered.change(last, sent=[*altered.steps[altered.runs[0]["steps"][last]]["sent"], pair])
        _, step, read = reads(altered, 0)[-1]
        row = last_row(altered, 0, step["node"])
        update = altered.input(replace(read, offset=end, records=(record,) * times))
        end_of_run = len(altered.runs[0]["steps"])
        altered.insert(end_of_run, step, input=update, before=row, after=row, sent=[])
        assert set(altered.found()) == expected, times


@pytest.mark.parametrize("action", ["", "HandleElectLeaders"])
def test_a_step_under_the_constants_of_a_cluster_has_no_form(
    eventful: PartTables, action: str
) -> None:
    """The last one, and an election, which may have others than its run."""
    altered = Altered(eventful)
    [*_, (place, step)] = [each for each in altered.taken(1) if action in each[1]["action"]]
    quorum = Constants(voters=(1, 2, 3), fetch_max_records=2)
    of_partition = decode_constants(step["constants"])
    assert isinstance(of_partition, PartitionConstants)
    cluster = ClusterConstants(quorum, (of_partition,))
    altered.change(place, 1, constants=constants_text(cluster))
    assert set(altered.found()) == {"WellFormed", "ConstantsAgree"}
