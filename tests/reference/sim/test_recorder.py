"""The recording: nothing dropped, ids in order of appearance, tables that fit the contract."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kraftcheck.reference.quorum.messages import Input
from kraftcheck.reference.quorum.types import Constants, Row, initial_row
from kraftcheck.reference.runner import run as run_module
from kraftcheck.reference.runner.run import simulate_part, simulate_run
from kraftcheck.reference.sim.recorder import Recorder
from kraftcheck.traces import schema, store
from kraftcheck.traces.schema import PartTables
from kraftcheck.traces.store import Campaign


@pytest.fixture(scope="module")
def part() -> PartTables:
    return simulate_part("quorum", 8, 20, 15)


def test_a_part_fits_the_contract(part: PartTables) -> None:
    assert schema.problem_of(part) is None
    assert (part.first_run, part.runs) == (20, 15)
    for name, expected in schema.SCHEMAS.items():
        assert part.tables[name].schema.equals(expected)
        part.tables[name].validate(full=True)


def test_a_part_is_written_and_read_back(part: PartTables, tmp_path: Path) -> None:
    store.begin_trace(tmp_path, Campaign(scenario="quorum", seed=8, runs=35))
    store.write_part(tmp_path, part)
    assert list(store.read_parts(tmp_path)) == [part._replace(known=None)]


def test_a_part_without_runs_is_a_part() -> None:
    empty = simulate_part("quorum", 8, 3, 0)
    assert schema.problem_of(empty) is None
    assert all(table.num_rows == 0 for table in empty.tables.values())


def test_every_id_is_first_used_in_order(part: PartTables) -> None:
    steps = part.tables["steps"].to_pydict()
    rows, inputs, taken = [], [], []
    for ids in part.tables["runs"]["steps"].to_pylist():
        for step in ids:
            if step in taken:
                continue
            taken.append(step)
            rows += [steps["before"][step], steps["after"][step]]
            inputs += [steps["input"][step], *steps["sent"][step]]
    assert taken == sorted(taken)
    for used, table in ((rows, "rows"), (inputs, "inputs")):
        assert list(dict.fromkeys(used)) == list(range(part.tables[table].num_rows))


def test_steps_are_chained_from_the_first_row_on(part: PartTables) -> None:
    steps = part.tables["steps"].to_pydict()
    bodies = part.tables["rows"]["body"].to_pylist()
    for run in part.tables["runs"].to_pylist():
        constants = msgspec.json.decode(run["constants"], type=Constants)
        rows = {n: msgspec.msgpack.encode(initial_row(constants)) for n in constants.voters}
        for step in run["steps"]:
            node = steps["node"][step]
            assert rows[node] == bodies[steps["before"][step]]
            rows[node] = bodies[steps["after"][step]]


def test_contents_decode_and_have_their_digests(part: PartTables) -> None:
    for body, digest in zip(*part.tables["rows"].select(["body", "digest"]), strict=True):
        row = msgspec.msgpack.decode(body.as_py(), type=Row)
        assert msgspec.msgpack.encode(row) == body.as_py()
        assert schema.digest(body.as_py()) == digest.as_py()
    for kind, body in zip(*part.tables["inputs"].select(["type", "body"]), strict=True):
        assert type(msgspec.msgpack.decode(body.as_py(), type=Input)).__name__ == kind.as_py()


def test_equal_contents_are_stored_once(part: PartTables) -> None:
    for name in ("rows", "inputs"):
        bodies = part.tables[name]["body"].to_pylist()
        assert len(bodies) == len(set(bodies))
    columns = part.tables["steps"].drop_columns(["id", "count"]).to_pylist()
    assert len({str(step) for step in columns}) == len(columns)


def test_counts_add_up(part: PartTables) -> None:
    runs, steps = part.tables["runs"].to_pylist(), part.tables["steps"].to_pylist()
    assert sum(step["count"] for step in steps) == sum(run["handler_calls"] for run in runs)
    for run in runs:
        taken = [steps[step] for step in run["steps"]]
        ignored = sum(bool(step["ignored"]) for step in taken)
        changing = sum(step["before"] != step["after"] or bool(step["sent"]) for step in taken)
        statistics = run["statistics"]
        assert (statistics["ignored"], statistics["changing_or_sending"]) == (ignored, changing)
        assert len(run["steps"]) == len(run["times"]) == run["handler_calls"]
        assert run["times"] == sorted(run["times"])
        crashes = sum(step["action"] == "HandleCrash" for step in taken)
        assert statistics["crashes"] == crashes


def test_what_is_ignored_changes_and_sends_nothing(part: PartTables) -> None:
    for step in part.tables["steps"].to_pylist():
        if step["ignored"]:
            assert step["before"] == step["after"] and not step["sent"]


class Leaky(array):  # type: ignore[type-arg]
    """A column that loses its fifth value."""

    def append(self, value: int) -> None:
        if len(self) != 4 or getattr(self, "lost", False):
            super().append(value)
        else:
            self.lost = True


def test_a_recorder_that_drops_a_step_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dropping(Recorder):
        def __init__(self, first_run: int) -> None:
            super().__init__(first_run)
            self.steps.items = Leaky("i")

    monkeypatch.setattr(run_module, "Recorder", Dropping)
    with pytest.raises(AssertionError, match=r"steps recorded, .* handlers called"):
        simulate_part("quorum", 8, 0, 1)


def test_a_run_alone_is_the_run_of_its_part(part: PartTables) -> None:
    for at in (0, 7):
        alone = simulate_run("quorum", 8, 20 + at)
        recorded: dict[str, Any] = part.tables["runs"].slice(at, 1).to_pylist()[0]
        assert recorded["times"] == [step.time for step in alone.steps]
        assert recorded["verdict"] == alone.result.verdict
        assert recorded["statistics"] == alone.result.statistics
