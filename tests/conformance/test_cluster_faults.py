"""What joins the components of a cluster's run, broken once (traces/steps/cluster.py).

The faults are planted into a recorded run, as a defective implementation would leave them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace

from kraftcheck.reference.cluster.types import ClusterConstants
from kraftcheck.reference.kit.messages import encode
from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    DEPOSED,
    METADATA_LOG,
    AlterPartitionResponse,
    HeartbeatRequest,
    MetadataRecords,
    NoRequest,
    RegisterBrokerRequest,
    ReplicaFetchRequest,
)
from kraftcheck.reference.partition.types import INITIAL_OFFSET, UNDEFINED, PartitionConstants
from kraftcheck.reference.runner.run import simulate_part
from kraftcheck.traces import schema
from kraftcheck.traces.jobs.backends import Pool
from kraftcheck.traces.jobs.conform import ConformOptions, conform
from kraftcheck.traces.schema import PartTables
from kraftcheck.traces.steps.check import CHECKS, check_runs
from kraftcheck.traces.steps.record import Part, constants_text, decode_constants, decoder_of_inputs
from kraftcheck.traces.store import Campaign, begin_trace, write_part
from tests.conformance.altered import Altered

pytestmark = pytest.mark.xdist_group("cluster-faults")

DECODE = decoder_of_inputs(PartitionConstants((0, 1, 2), 2))

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


@pytest.mark.slow
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
        value = DECODE(body)
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
    written = [DECODE(bodies[each["records"]]) for each in batches if each["records"]]
    assert written and all(isinstance(m, MetadataRecords) for m in written)


# --- One thing altered in a recorded run


def last_of(altered: Altered, component: int, broker: int) -> tuple[int, dict[str, Any]]:
    """The last step that a broker takes in a partition, and its place in the run."""
    components = altered.runs[0]["components"]
    return [
        (place, step)
        for place, step in altered.taken()
        if components[place] == component and step["node"] == broker
    ][-1]


def in_both(recorded: PartTables) -> list[int]:
    """The brokers that hold both partitions."""
    constants = decode_constants(recorded.tables["runs"]["constants"][0].as_py())
    assert isinstance(constants, ClusterConstants)
    first, second = constants.partitions
    return sorted({*first.replicas} & {*second.replicas})


def in_one_partition(
    recorded: PartTables, component: int, other: Callable[[Any], dict[str, Any]]
) -> Iterator[tuple[int, str]]:
    """What OneProcess says, and nothing else does, of each broker that holds both partitions, when
    its last row in one of them has other fields.
    """
    brokers = in_both(recorded)
    assert len(brokers) > 1
    for broker in brokers:
        altered = Altered(recorded)
        place, step = last_of(altered, component, broker)
        row = altered.values[step["after"]]
        altered.change(place, after=altered.row(replace(row, **other(row))))
        found = altered.found()
        assert set(found) == {"OneProcess"}
        yield broker, found["OneProcess"]


def of_process(row: Any) -> dict[str, dict[str, Any]]:
    """What could be different of a process in one of its partitions."""
    registering = RegisterBrokerRequest(1, CONTROLLER, row.incarnation, UNDEFINED)
    waits = not isinstance(row.controller_request, NoRequest)
    return {
        "status": {"status": "Starting" if row.status != "Starting" else "Running"},
        "incarnation": {"incarnation": row.incarnation + 1},
        "an epoch": {"broker_epoch": 3 if row.broker_epoch == UNDEFINED else UNDEFINED},
        "a request to the controller": {
            "controller_request": NoRequest() if waits else registering
        },
    }


@pytest.mark.parametrize(
    "what", ["status", "incarnation", "an epoch", "a request to the controller"]
)
@pytest.mark.parametrize("component", [1, 2])
def test_a_broker_that_is_another_process_in_one_partition(
    recorded: PartTables, what: str, component: int
) -> None:
    for broker, found in in_one_partition(recorded, component, lambda row: of_process(row)[what]):
        assert found.startswith(f"broker {broker} has {what} ")


def test_a_broker_that_waits_for_another_answer_in_one_partition(recorded: PartTables) -> None:
    """For that to a registration in one, to a heartbeat in the other."""
    altered = Altered(recorded)
    components = altered.runs[0]["components"]
    place, step = next(
        (p, s)
        for p, s in altered.taken()
        if s["action"] == "HandleSendHeartbeat" and components[p] == 2
    )
    row = altered.values[step["after"]]
    assert isinstance(row.controller_request, HeartbeatRequest)
    asks = RegisterBrokerRequest(step["node"], CONTROLLER, row.incarnation, UNDEFINED)
    altered.change(place, after=altered.row(replace(row, controller_request=asks)))
    altered.cut(place + 1)
    found = altered.found()
    assert set(found) == {"OneProcess"}
    assert found["OneProcess"] == (
        f"broker {step['node']} has a request to the controller HeartbeatRequest in partition 0 "
        "and RegisterBrokerRequest in partition 1"
    )


@pytest.mark.parametrize("component", [1, 2])
def test_a_broker_that_has_done_something_in_one_partition_only(
    recorded: PartTables, component: int
) -> None:
    """It has taken no step in the other, where it is in its first row."""
    altered = Altered(recorded)
    broker = in_both(recorded)[0]
    place, step = next(
        (p, s)
        for p, s in altered.taken()
        if s["node"] == broker and altered.runs[0]["components"][p] == component
    )
    initial = altered.values[step["before"]]
    down = altered.row(replace(initial, status="Down"))
    altered.change(place, after=down, sent=[])
    altered.runs[0]["steps"][0] = altered.runs[0]["steps"][place]
    altered.runs[0]["components"][0] = component
    altered.cut(1)
    found = altered.found()
    assert set(found) <= {"OneProcess", "Provenanced"}
    assert f"broker {broker} has status " in found["OneProcess"]


def test_records_that_go_elsewhere_are_not_written(recorded: PartTables) -> None:
    """The step that sends them is TLC's to refuse."""
    altered = Altered(recorded)
    components = altered.runs[0]["components"]
    place, step = [(p, s) for p, s in altered.taken() if components[p] and s["node"] == CONTROLLER][
        -1
    ]
    records = next(m for m in altered.received if isinstance(m, MetadataRecords))
    for other in (replace(records, destination=1), some_answer(altered)):
        sent = [*step["sent"], altered.input(other)]
        altered.change(place, sent=sent)
        assert altered.found() == {}


def test_decisions_are_taken_in_the_order_of_the_log(recorded: PartTables) -> None:
    """Two values of one partition say what the other one said."""
    batches = Altered(recorded).runs[0]["batches"]
    of = [at for at, each in enumerate(batches) if each["component"] == 1 and each["records"]]
    told = set()
    for one, other in pairwise(of):
        if batches[one]["records"] != batches[other]["records"]:
            altered = Altered(recorded)
            first, second = altered.runs[0]["batches"][one], altered.runs[0]["batches"][other]
            first["value"], second["value"] = second["value"], first["value"]
            found = altered.found()
            assert "Committed" in found and set(found) <= {"Committed", "OneProcess"}
            told.add(re.sub(r"value \d+", "value", found["Committed"].partition(" takes ")[2]))
    assert told == {"value before it is committed"}


def test_a_decision_is_that_on_its_own_request(recorded: PartTables) -> None:
    """The same records, for another request."""
    altered = Altered(recorded)
    batches = [each for each in altered.runs[0]["batches"] if each["records"] is not None]
    other = next(e["input"] for e in batches if e["input"] != batches[-1]["input"])
    batches[-1]["input"] = other
    found = altered.found()
    assert set(found) == {"Committed"} and "out of order" in found["Committed"]


def test_a_decision_is_taken_once(recorded: PartTables) -> None:
    """The controller of one partition takes a step twice, and goes on from the first time."""
    altered = Altered(recorded)
    place, step = [
        (p, s)
        for p, s in altered.taken()
        if s["node"] == CONTROLLER
        and any(isinstance(altered.received[m], MetadataRecords) for m in s["sent"])
    ][-1]
    altered.insert(place + 1, step)
    altered.runs[0]["components"][place + 1] = altered.runs[0]["components"][place]
    assert {"Committed", "Chained"} <= set(altered.found())


def test_a_decision_without_records_is_taken_by_nobody(recorded: PartTables) -> None:
    altered = Altered(recorded)
    batches = altered.runs[0]["batches"]
    last = next(each for each in reversed(batches) if each["records"] is not None)
    batches.append(last | {"component": 3 - last["component"], "records": None})
    assert altered.found() == {}


def some_answer(altered: Altered) -> Any:
    """An answer of a controller that would go to the log."""
    answer = next(m for m in altered.received if isinstance(m, AlterPartitionResponse))
    return replace(answer, destination=METADATA_LOG)


@pytest.mark.parametrize("run", [0, 1])
def test_what_is_wrong_is_told_of_its_own_run(run: int) -> None:
    """Of two runs, in one: what a broker is, and what the log says."""
    options = {"brokers": 3, "topic_partitions": 2, "quorum_voters": 3, "crashes": 3}
    two = simulate_part("cluster", 1, 1, 2, options=options)
    altered = Altered(two)
    broker = in_both(two)[0]
    components = altered.runs[run]["components"]
    place, step = [
        (p, s) for p, s in altered.taken(run) if components[p] == 2 and s["node"] == broker
    ][-1]
    row = altered.values[step["after"]]
    altered.change(place, run, after=altered.row(replace(row, incarnation=77)))
    [finding] = check_runs(Part(altered.part()))
    assert (finding.check, finding.run, finding.step) == ("OneProcess", 1 + run, place)
    altered = Altered(two)
    last = next(e for e in reversed(altered.runs[run]["batches"]) if e["records"] is not None)
    altered.runs[run]["batches"].append(last | {"component": 3 - last["component"]})
    found = [f for f in check_runs(Part(altered.part())) if f.check == "Committed"]
    assert [(f.run, f.step) for f in found] == [(1 + run, len(components) - 1)]


@pytest.mark.parametrize("offset", [INITIAL_OFFSET, 50])
@pytest.mark.parametrize("component", [1, 2])
def test_a_broker_that_has_read_more_or_less_of_one_partition(
    recorded: PartTables, component: int, offset: int
) -> None:
    other = in_one_partition(
        recorded, component, lambda row: {"image": replace(row.image, offset=offset)}
    )
    for _, found in other:
        assert "the metadata log is never so at one place" in found


@pytest.mark.parametrize("component", [0, 1, 2])
def test_a_first_row_of_any_component_that_is_not_initial(
    recorded: PartTables, component: int
) -> None:
    components = recorded.tables["runs"]["components"].to_pylist()[0]
    nodes = {
        step["node"] for place, step in Altered(recorded).taken() if components[place] == component
    }
    for node in sorted(nodes):
        altered = Altered(recorded)
        place, step = next(
            (p, s) for p, s in altered.taken() if components[p] == component and s["node"] == node
        )
        row = altered.values[step["before"]]
        name = "incarnation" if hasattr(row, "incarnation") else "offset"
        name = "epoch" if component == 0 else name
        altered.change(place, before=altered.row(replace(row, **{name: 77})))
        assert set(altered.found()) == {"FirstRowsInitial"}


def test_a_message_of_another_component_is_reported(recorded: PartTables) -> None:
    """It was sent in one partition, and is received by the same broker in the other."""
    altered = Altered(recorded)
    components = altered.runs[0]["components"]
    of: dict[int, set[int]] = {1: set(), 2: set()}
    for place, step in altered.taken():
        if components[place]:
            of[components[place]].update(step["sent"])
    for here, there in ((1, 2), (2, 1)):
        whole = Altered(recorded)
        message = next(
            whole.received[m]
            for m in sorted(of[here] - of[there])
            if isinstance(whole.received[m], ReplicaFetchRequest)
            and whole.values[
                last_of(whole, there, whole.received[m].destination)[1]["after"]
            ].status
            == "Running"
        )
        place, step = last_of(whole, there, message.destination)
        whole.insert(
            place + 1,
            step,
            action="HandleReplicaFetchRequest",
            input=whole.input(message),
            before=step["after"],
            sent=[],
            ignored="",
        )
        whole.runs[0]["components"][place + 1] = there
        whole.runs[0]["times"][place + 1] = whole.runs[0]["times"][place]
        found = whole.found()
        assert set(found) == {"Provenanced"}
        assert found["Provenanced"].endswith(f"that nobody sent, in partition {there - 1}")


def test_a_step_of_one_component_under_the_constants_of_another(recorded: PartTables) -> None:
    altered = Altered(recorded)
    constants = decode_constants(altered.runs[0]["constants"])
    assert isinstance(constants, ClusterConstants)
    first, second = constants.partitions
    assert first != second
    place, _ = last_of(altered, 1, 1)
    altered.change(place, constants=constants_text(second))
    assert set(altered.found()) == {"ConstantsAgree"}


def test_an_election_under_constants_that_no_run_has(recorded: PartTables) -> None:
    """All that is left of a partition, so that no step tells what its constants should be."""
    altered = Altered(recorded)
    run = altered.runs[0]
    constants = decode_constants(run["constants"])
    assert isinstance(constants, ClusterConstants)
    first, second = constants.partitions
    own = constants_text(first)
    election = next(
        p
        for p, s in altered.taken()
        if (s["action"], s["constants"]) == ("HandleElectLeaders", own)
    )
    kept = [p for p, s in altered.taken() if p == election or s["constants"] != own]
    for name in LISTS:
        run[name] = [run[name][place] for place in kept]
    for step in altered.steps:
        if step["constants"] == own:
            step["constants"] = constants_text(second)
    other = constants_text(replace(first, fetch_max_records=9))
    altered.change(kept.index(election), constants=other)
    assert altered.found()["ConstantsAgree"].startswith(f"the step has the constants {other}")


# --- Controllers that were deposed and do not know it


@pytest.fixture(scope="module")
def with_deposed() -> PartTables:
    options = {"stale_answers": True, "quorum_partitions": 8, "topic_partitions": 1}
    return simulate_part("cluster", 7, 24, 1, options=options)


def of_deposed(altered: Altered) -> tuple[int, dict[str, Any]]:
    return next((place, step) for place, step in altered.taken() if step["node"] == DEPOSED)


def test_a_deposed_controller_answers_from_what_was_committed(with_deposed: PartTables) -> None:
    """Its answer reaches the broker that asked it, as one of the controller."""
    altered = Altered(with_deposed)
    assert altered.found() == {}
    place, step = of_deposed(altered)
    [answer] = step["sent"]
    assert altered.received[answer].source == CONTROLLER
    later = [taken["input"] for at, taken in altered.taken() if at > place]
    assert answer in later
    [row] = with_deposed.tables["runs"].to_pylist()
    assert row["statistics"]["stale_answers"] > 0


def test_without_the_option_it_says_nothing(with_deposed: PartTables) -> None:
    options = {"quorum_partitions": 8, "topic_partitions": 1}
    silent = simulate_part("cluster", 7, 24, 1, options=options)
    assert DEPOSED not in silent.tables["steps"]["node"].to_pylist()
    [row] = silent.tables["runs"].to_pylist()
    assert row["statistics"]["stale_answers"] > 0


def test_a_deposed_controller_that_knows_what_no_controller_knew(with_deposed: PartTables) -> None:
    altered = Altered(with_deposed)
    place, step = of_deposed(altered)
    row = altered.values[step["before"]]
    other = altered.row(replace(row, offset=row.offset + 1))
    altered.change(place, before=other, after=other)
    assert set(altered.found()) == {"Chained"}


def test_a_deposed_controller_that_writes(with_deposed: PartTables) -> None:
    altered = Altered(with_deposed)
    place, step = of_deposed(altered)
    row = altered.values[step["before"]]
    written = next(m for m in altered.received if isinstance(m, MetadataRecords))
    records = altered.input(replace(written, offset=row.offset))
    altered.change(place, sent=[*step["sent"], records])
    assert "of a deposed controller writes" in altered.found()["Committed"]


def test_an_answer_that_is_sent_before_its_commit_comes_from_nowhere() -> None:
    """Z22, in a run in which no invariant is broken."""
    run = simulate_part("cluster", 7, 0, 1, bug="Z22", options={"topic_partitions": 1})
    found = {finding.check for finding in check_runs(Part(run))}
    assert "Provenanced" in found
