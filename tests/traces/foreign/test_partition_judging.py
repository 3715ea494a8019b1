"""Brokers and the controller of a partition in both modes: what is right holds, what is not is
rejected at its line with the field, and what cannot be known is unknown."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path

import pytest

from kraftcheck.reference.partition.protocol import BROKER, CONTROLLER_KIND
from kraftcheck.specs import SPECS
from kraftcheck.traces.foreign.batch import judge_batch
from kraftcheck.traces.foreign.chain import judge_chains
from kraftcheck.traces.foreign.reading import read_foreign
from kraftcheck.traces.foreign.verdicts import ForeignVerdict, Rejection
from tests.traces.foreign.lines import Line, header, write
from tests.traces.foreign.walks import CONSTANTS, walk_lines

pytestmark = pytest.mark.slow

LOGGED = ("role", "leaderEpoch", "highWatermark", "isr", "log", "partition")
"""What a running system would log of its rows."""

WALK = walk_lines(seed=3, steps=120)


def in_run(run: int, lines: Iterable[Line]) -> list[Line]:
    return [{**deepcopy(line), "run": run} for line in lines]


def number_of(lines: list[Line], type: str, kind: str = "") -> int:
    """The first step with this input that was not ignored."""
    return next(
        number
        for number, line in enumerate(lines)
        if line["input"]["type"] == type
        and line["ignored"] == ""
        and (not kind or line["after"]["role"] == kind)
    )


def judged(path: Path, lines: Iterable[Line], rows: str, **more: str) -> ForeignVerdict:
    trace = read_foreign(write(path, [header(CONSTANTS, rows, **more), *lines]))
    return judge_batch(trace) if rows == "full" else judge_chains(trace)


def of_run(found: ForeignVerdict, run: int) -> Rejection:
    """The first line of the run that was rejected."""
    return min(each for each in found.rejections if each.run == run)


def faulty() -> list[list[Line]]:
    """Runs with one wrong step at their end: of a leader, a follower, the controller."""
    leader = number_of(WALK, "ReplicaFetchRequest", "Leader")
    follower = number_of(WALK, "ReplicaFetchResponse", "Follower")
    controller = number_of(WALK, "ElectLeaders")
    runs = []
    for run, number in enumerate((leader, follower, controller), start=1):
        runs.append(in_run(run, WALK[: number + 1]))
    runs[0][-1]["after"]["highWatermark"] += 1
    runs[1][-1]["after"]["leaderEpoch"] += 1
    runs[2][-1]["after"]["partition"]["leader"] = 3
    return runs


FAULTS = ("after.highWatermark", "after.leaderEpoch", "after.partition.leader")


def test_batch_mode_names_the_wrong_field_of_each_kind_of_node(tmp_path: Path) -> None:
    """Brokers and the controller in one file; a metadata record that nobody wrote is found too."""
    runs = [in_run(0, WALK[:60]), *faulty()]
    stray = in_run(4, WALK[: number_of(WALK, "MetadataUpdate") + 1])
    stray[-1]["input"]["offset"] += 1
    lines = [line for run in [*runs, stray] for line in run]
    found = judged(tmp_path / "walk.jsonl", lines, "full")
    assert found.verdict == "violated"
    assert not [each for each in found.rejections if each.run == 0]
    for run, field in enumerate(FAULTS, start=1):
        last = 1 + sum(len(each) for each in runs[: run + 1])
        said = of_run(found, run)
        assert said.line == last
        assert any(line.startswith(field) for line in said.differences)
    assert ("MetadataRead", len(lines) + 1) in {(f.check, f.line) for f in found.findings}


def partial(line: Line) -> Line:
    """As a running system logs it: the input, and a few fields of the row after it."""
    after = {name: value for name, value in line["after"].items() if name in LOGGED}
    return {"node": line["node"], "run": line["run"], "input": line["input"], "after": after}


def test_chain_mode_names_the_wrong_field_of_each_kind_of_node(tmp_path: Path) -> None:
    runs = [in_run(0, WALK), *faulty()]
    lines = [partial(line) for run in runs for line in run]
    found = judged(tmp_path / "walk.jsonl", lines, "partial")
    assert {chain.verdict for chain in found.chains if chain.run == 0} == {"accepted"}
    assert len(found.rejections) == len(FAULTS)
    for run, field in enumerate(FAULTS, start=1):
        said = of_run(found, run)
        assert said.line == 1 + sum(len(each) for each in runs[: run + 1])
        assert any(line.startswith(field) for line in said.differences)


def one_hidden() -> list[tuple[str, Line]]:
    """(input and field, line): each field of each input that occurs, hidden once or twice. Each
    line is a run of its own, and tells the rows before and after and what was sent."""
    found: dict[tuple[str, int], Line] = {}
    for seed in range(4):
        for line in walk_lines(seed, 200):
            kind = line["input"]["type"]
            for name in line["input"]:
                place = (f"{kind}.{name}", 0)
                if place in found:
                    place = (f"{kind}.{name}", 1)
                if name != "type" and (line["ignored"] == "" or place[1] == 0):
                    hidden = {k: v for k, v in line["input"].items() if k != name}
                    found.setdefault(place, {**line, "input": hidden})
    return [
        (name, {**line, "run": run}) for run, ((name, _), line) in enumerate(sorted(found.items()))
    ]


def test_a_right_step_is_accepted_whatever_one_field_of_its_input_is_hidden(
    tmp_path: Path,
) -> None:
    """The sets of the frames hold what really happened, or else say that they may not."""
    hidden = one_hidden()
    names = {name for name, _ in hidden}
    assert len(names) > 60
    found = judged(tmp_path / "hidden.jsonl", [line for _, line in hidden], "partial", start="any")
    assert not found.rejections
    doubted = {hidden[doubt.line - 2][0] for doubt in found.doubts}
    complete = set[str]().union(*(k.hidden.complete for k in (BROKER, CONTROLLER_KIND) if k.hidden))
    assert not [name for name in doubted if {name, name.split(".")[1]} & complete]


def test_a_set_that_leaves_something_out_is_noticed(tmp_path: Path) -> None:
    """The check above can fail: with fewer values to try, a right step is rejected."""
    specs = tmp_path / "specs"
    shutil.copytree(SPECS, specs, ignore=shutil.ignore_patterns("bugs", "models", "cover"))
    frame = specs / "partition" / "steps" / "ChainPartition.tla"
    text = frame.read_text()
    assert text.count("{row.image.offset}") == 1
    frame.write_text(text.replace("{row.image.offset}", "{row.image.offset + 1}"))
    line = next(line for name, line in one_hidden() if name == "MetadataUpdate.offset")
    path = write(tmp_path / "walk.jsonl", [header(CONSTANTS, "partial", start="any"), line])
    assert judge_chains(read_foreign(path)).verdict == "holds"
    assert judge_chains(read_foreign(path), specs=specs).rejections


def test_what_cannot_be_tried_is_unknown_and_not_rejected(tmp_path: Path) -> None:
    """The same wrong step is rejected with its producer, and unknown without."""
    number = number_of(WALK, "ProduceRequest", "Leader")
    runs = [in_run(run, WALK[: number + 1]) for run in (0, 1)]
    lines = [[partial(line) for line in run if line["node"] != -2] for run in runs]
    for run in lines:
        run[-1]["after"] = {"leaderEpoch": run[-1]["after"]["leaderEpoch"] + 1}
    known = dict(lines[1][-1]["input"])
    del known["producer"]
    lines[1][-1]["input"] = known
    found = judged(tmp_path / "walk.jsonl", [line for run in lines for line in run], "partial")
    node = lines[1][-1]["node"]
    verdicts = {(chain.run, chain.node): chain.verdict for chain in found.chains}
    assert verdicts[0, node] == "rejected"
    assert verdicts[1, node] == "unknown"
    assert "hides producer" in found.doubts[0].reason
