"""The evidence of one log of one run: it names the operations of the run's own history."""

from __future__ import annotations

from pathlib import Path

from kraftcheck.known_bugs.witnesses import hunt_of, stored
from kraftcheck.reference.bugs.catalog import bug as known_bug
from kraftcheck.reference.runner.run import simulate_part
from kraftcheck.traces.jobs.histories import judge_histories
from kraftcheck.traces.jobs.smallest import shown
from kraftcheck.traces.schema import PartTables
from kraftcheck.traces.store import Campaign, Manifest, begin_trace, read_manifest, write_part
from tests.traces.jobs.recorded import RUNS, part, with_histories


def recorded(directory: Path, scenario: str, tables: PartTables) -> Manifest:
    begin_trace(directory, Campaign(scenario=scenario, seed=11, runs=RUNS[scenario]))
    write_part(directory, tables)
    return read_manifest(directory)


def test_operations_are_named_as_in_the_whole_run(tmp_path: Path) -> None:
    """A run of a cluster has several logs, and one history."""
    manifest = recorded(tmp_path, "cluster", part("cluster"))
    runs = part("cluster").tables["runs"]
    judged = judge_histories("cluster", runs)
    others = [row for row in judged.anomalies.to_pylist() if row["partition"] == 1]
    assert others
    for row in others:
        found = shown(tmp_path, manifest, row["run"], 1, row["name"])
        assert found is not None and found.certificate.kind == row["name"]
        operations = runs["history"][row["run"]].as_py()
        assert len(found.history.operations) == len(operations)
        for index in found.certificate.operations:
            assert operations[index]["partition"] == 1
            assert found.history.operations[index].key == found.certificate.key


def test_what_breaks_a_promise_is_shown_and_nothing_else(tmp_path: Path) -> None:
    runs = part("quorum").tables["runs"]
    histories = runs["history"].to_pylist()
    run, fetch = next(
        (run, o)
        for run, history in enumerate(histories)
        for o in history
        if o["op"] == "fetch" and any(o["values"])
    )
    fetch["values"] = [777 if value else 0 for value in fetch["values"]]
    tables = {**part("quorum").tables, "runs": with_histories(runs, histories)}
    manifest = recorded(tmp_path, "quorum", PartTables(0, RUNS["quorum"], tables))
    found = shown(tmp_path, manifest, run, 0, None)
    assert found is not None and "777" in found.certificate.sentence
    assert histories[run].index(fetch) in found.certificate.operations
    other = (run + 1) % RUNS["quorum"]
    assert shown(tmp_path, manifest, other, 0, None) is None
    assert shown(tmp_path, manifest, other, 0, "duplicate") is None


def test_of_objects_the_one_that_breaks_its_promise_is_shown(tmp_path: Path) -> None:
    """Z90: a partition has two owners; the others of its run hold."""
    hunt, witness = hunt_of(known_bug("Z90")), stored()["Z90"]["histories"]
    assert hunt is not None
    of, run = witness.hunt_of(hunt), witness.run
    tables = simulate_part(of.scenario, of.seed, run, 1, "Z90", {**of.options, "watched": False})
    begin_trace(tmp_path, Campaign(scenario=of.scenario, seed=of.seed, runs=run + 1, bug="Z90"))
    write_part(tmp_path, tables)
    manifest = read_manifest(tmp_path)
    rows = judge_histories(of.scenario, tables.tables["runs"]).verdicts.to_pylist()
    assert {row["verdict"] for row in rows} == {"holds", "violated"}
    for row in rows:
        found = shown(tmp_path, manifest, run, row["partition"], None)
        assert (found is not None) == (row["verdict"] == "violated")
        assert found is None or found.certificate.kind == "server-double-owner"
