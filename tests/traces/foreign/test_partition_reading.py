"""Lines about brokers and the controller that do not fit are refused with line and field."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest

from kraftcheck.traces.foreign.reading import read_foreign
from kraftcheck.traces.schema import TraceError
from tests.traces.foreign.lines import Line, header, write
from tests.traces.foreign.walks import CONSTANTS, walk_lines

WALK = walk_lines(seed=3, steps=60)
CONTROLLER = next(n for n, line in enumerate(WALK) if line["node"] == -2)
BROKER = next(n for n, line in enumerate(WALK) if line["node"] != -2)
READER = next(n for n, line in enumerate(WALK) if line["input"]["type"] == "MetadataUpdate")


def put(*path: str, value: object) -> Callable[[Line], None]:
    def change(line: Line) -> None:
        at = line
        for name in path[:-1]:
            at = at[name]
        at[path[-1]] = value

    return change


def drop(*path: str) -> Callable[[Line], None]:
    def change(line: Line) -> None:
        at = line
        for name in path[:-1]:
            at = at[name]
        del at[path[-1]]

    return change


DAMAGES = [
    (BROKER, drop("before", "highWatermark"), "before.highWatermark: the field is missing"),
    (BROKER, drop("after", "image", "offset"), "after.image.offset: the field is missing"),
    (BROKER, drop("sent"), "sent: the field is missing"),
    (BROKER, drop("after", "remotes", "2"), "after.remotes: needs an entry for each of 1, 2, 3"),
    (BROKER, put("after", "voted", value=1), "after.voted: no such field"),
    (BROKER, put("after", "pending", "epoch", value=1), "after.pending.epoch: no such field"),
    (BROKER, put("after", "highWatermark", value="0"), "after.highWatermark: expected int, got"),
    (BROKER, put("after", "isr", value=7), "after.isr: expected array, got int"),
    (BROKER, put("after", "isr", value=[1, 1]), "after.isr: a member stands twice in the set"),
    (BROKER, put("after", "isr", value=[9]), "after.isr[...]: 9 is none of the nodes"),
    (BROKER, put("after", "role", value="Boss"), "after.role: invalid enum value 'Boss'; one of"),
    (BROKER, put("input", "type", value="flush"), "input.type: invalid value 'flush'; one of"),
    (BROKER, put("sent", value=None), "sent: expected array, got null; [] is none"),
    (BROKER, put("input", value={"type": "ElectLeaders"}), "input.type: invalid value"),
    (READER, drop("input", "records"), "input.records: the field is missing"),
    (READER, put("input", "offset", value=True), "input.offset: expected int, got bool"),
    (CONTROLLER, drop("after", "contacts"), "after.contacts: the field is missing"),
    (CONTROLLER, put("after", "log", value=[]), "after.log: no such field"),
    (CONTROLLER, put("after", "partition", "isr", value="1"), "after.partition.isr: expected"),
    (CONTROLLER, put("before", "offset", value=1.5), "before.offset: expected int, got float"),
    (CONTROLLER, put("node", value=-3), "node: -3 is none of the nodes 1, 2, 3, -2"),
]


@pytest.mark.parametrize(("number", "change", "said"), DAMAGES)
def test_a_damaged_line_is_refused_with_its_number_and_the_field(
    number: int, change: Callable[[Line], None], said: str, tmp_path: Path
) -> None:
    lines = deepcopy(WALK)
    change(lines[number])
    path = write(tmp_path / "walk.jsonl", [header(CONSTANTS), *lines])
    with pytest.raises(TraceError) as refused:
        read_foreign(path)
    assert str(refused.value).startswith(f"{path}:{number + 2}: {said}")


PARTIAL = [
    (BROKER, put("after", value={"highWatermark": None}), "after.highWatermark: expected int"),
    (BROKER, put("after", value={"hw": 1}), "after.hw: no such field"),
    (READER, put("input", value={"type": "MetadataUpdate", "epoch": 1}), "input.epoch: no such"),
    (CONTROLLER, put("after", value={"isr": [1]}), "after.isr: no such field"),
]


@pytest.mark.parametrize(("number", "change", "said"), PARTIAL)
def test_partial_rows_may_lack_fields_and_are_read_no_less_strictly(
    number: int, change: Callable[[Line], None], said: str, tmp_path: Path
) -> None:
    lines = deepcopy(WALK)
    for line in lines:
        del line["before"], line["after"]
    path = write(tmp_path / "walk.jsonl", [header(CONSTANTS, "partial"), *lines])
    assert read_foreign(path).steps[number].after == {}
    change(lines[number])
    write(path, [header(CONSTANTS, "partial"), *lines])
    with pytest.raises(TraceError) as refused:
        read_foreign(path)
    assert str(refused.value).startswith(f"{path}:{number + 2}: {said}")


def test_steps_without_a_header_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "walk.jsonl", WALK)
    with pytest.raises(TraceError, match="1: the first line is to be the header, "):
        read_foreign(path)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("replicas", [1, 1], "constants"),
        ("minInsyncReplicas", 0, "constants.minInsyncReplicas"),
        ("elrEnabled", 1, "constants.elrEnabled"),
        ("voters", [1], "constants.voters: no such field"),
    ],
)
def test_constants_that_cannot_be_are_refused(
    name: str, value: object, said: str, tmp_path: Path
) -> None:
    first = header(CONSTANTS)
    first["constants"][name] = value
    path = write(tmp_path / "walk.jsonl", [first, *WALK])
    with pytest.raises(TraceError) as refused:
        read_foreign(path)
    assert str(refused.value).startswith(f"{path}:1: {said}")


def test_constants_with_a_default_may_be_left_out_and_no_others(tmp_path: Path) -> None:
    first = header(CONSTANTS)
    del first["constants"]["elrEnabled"], first["constants"]["uncleanElection"]
    path = write(tmp_path / "walk.jsonl", [first, *WALK])
    assert read_foreign(path).constants == CONSTANTS
    del first["constants"]["replicas"]
    write(path, [first, *WALK])
    with pytest.raises(TraceError, match=r":1: constants.replicas: the field is missing"):
        read_foreign(path)


def test_an_empty_line_is_refused_as_such(tmp_path: Path) -> None:
    path = write(tmp_path / "walk.jsonl", [header(CONSTANTS), *WALK[:2]])
    path.write_bytes(path.read_bytes() + b"  \n")
    with pytest.raises(TraceError, match=r"walk.jsonl:4: the line is empty$"):
        read_foreign(path)
