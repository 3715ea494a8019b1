"""What was promised to recorded runs: each by its own options and by what happened in it."""

from __future__ import annotations

import msgspec
import pytest

from kraftcheck.reference.clients.promises import Promise, promised
from kraftcheck.reference.partition.sim.options import promise_of
from kraftcheck.reference.quorum.sim.family import CONFIGURATION as QUORUM
from kraftcheck.traces.jobs.promised import has_clients, promises_of, recorded_configuration
from kraftcheck.traces.schema import TraceError
from tests.traces.jobs.recorded import part


@pytest.mark.parametrize("scenario", ["partition", "cluster"])
def test_a_run_is_promised_what_its_own_options_and_faults_leave(scenario: str) -> None:
    """The twin: the reference's own answer for a single run."""
    runs = part(scenario).tables["runs"]
    expected: list[Promise] = []
    for run in runs.to_pylist():
        options = run["options"]
        if scenario == "cluster":
            options = msgspec.json.encode(msgspec.json.decode(options)["data"]).decode()
        expected.append(promise_of(options, run["statistics"]))
    assert promises_of(scenario, runs) == expected
    assert len({promise.level for promise in expected}) > 1


def test_the_options_of_each_scenario_are_read() -> None:
    options = '{"acks": "0", "replicas": 5}'
    for found in (
        recorded_configuration("partition", options),
        recorded_configuration("cluster", f'{{"data": {options}}}'),
    ):
        assert (found.acks, found.replication_factor) == ("0", 5)
    assert recorded_configuration("quorum", '{"voters": 3}') == QUORUM


def test_all_runs_of_a_quorum_are_promised_the_same() -> None:
    runs = part("quorum").tables["runs"]
    assert promises_of("quorum", runs) == [promised(QUORUM)] * runs.num_rows


def test_who_sees_neither_a_log_nor_an_object_is_promised_nothing() -> None:
    assert has_clients("quorum") and has_clients("groups-on-cluster")
    assert not has_clients("voters")


def test_options_that_are_none_of_the_scenario_are_refused() -> None:
    runs = part("partition").tables["runs"]
    at = runs.schema.get_field_index("options")
    odd = runs.set_column(at, "options", [['{"acks": "some"}'] * runs.num_rows])
    with pytest.raises(TraceError, match=r"options of a run of scenario partition: .*acks"):
        promises_of("partition", odd)
