"""Bad targets of reassignments in the steps of another implementation, and what is answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from kraftcheck.reference.bugs.catalog import handlers_for
from kraftcheck.reference.partition.messages import CONTROLLER
from kraftcheck.reference.partition.reassignment.messages import Reassign
from kraftcheck.reference.partition.reassignment.types import Constants
from kraftcheck.reference.runner.run import simulate_run
from kraftcheck.traces.foreign.reading import read_foreign
from kraftcheck.traces.schema import TraceError

DATA = Path(__file__).with_name("data") / "reassignment.jsonl"


def asking_for(target: list[int], folder: Path) -> Path:
    """A step of a reassignment, with this target in place of its own."""
    head, line = (msgspec.json.decode(each) for each in DATA.read_bytes().splitlines())
    line["input"]["target"] = target
    path = folder / "asked.jsonl"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, (head, line))))
    return path


def test_a_broker_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert read_foreign(DATA).constants.brokers == (1, 2, 3, 4)
    with pytest.raises(TraceError) as refused:
        read_foreign(asking_for([1, 9], tmp_path))
    assert str(refused.value).endswith(":2: input.target[...]: 9 is none of the nodes 1, 2, 3, 4")


@pytest.mark.parametrize("target", [[], [1, 1]])
def test_no_replica_and_one_twice_are_answered_as_kafka_does(
    target: list[int], tmp_path: Path
) -> None:
    """They are steps, and the rules say what becomes of them."""
    read_foreign(asking_for(target, tmp_path))
    run = simulate_run("reassignment", 7, 0)
    constants: Any = run.result.constants
    assert isinstance(constants, Constants)
    asked = next(step.before for step in run.steps if isinstance(step.input, Reassign))
    outcome = handlers_for(None, constants)(CONTROLLER, asked, Reassign(1, tuple(target)))
    assert (outcome.row, outcome.ignored) == (asked, "INVALID_REPLICA_ASSIGNMENT")
