"""Walks of graphs as beginnings: those that are written down are those of the graphs, and runs that
make them take what a run can take."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    NO_REQUEST,
    RegisterBrokerRequest,
    RegisterBrokerResponse,
    SendRegistration,
)
from kraftcheck.reference.partition.sim.beginnings import walks
from kraftcheck.reference.partition.types import UNDEFINED
from kraftcheck.reference.runner.run import simulate_genomes
from kraftcheck.reference.sim.genomes import Genome
from kraftcheck.traces.cover.charts import ChartStore
from kraftcheck.traces.cover.matching import Step
from kraftcheck.traces.cover.models import read_covers
from kraftcheck.traces.cover.rulebook import Result
from kraftcheck.traces.steps.classes import Classes
from kraftcheck.traces.steps.record import Part
from tests.stateful import walked

GRAPHS = ("partition-three-isr", "partition-three-record", "partition-three-crash")
REACHED = {
    "partition-three-isr": (265, 309),
    "partition-three-record": (44, 44),
    "partition-three-crash": (137, 138),
}
"""Classes of local steps that runs of the walks take, and all."""


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAPHS)
def test_they_are_those_of_the_graphs(name: str) -> None:
    found = "\n".join(walked.lines_of(read_covers()[name]))
    assert found in walked.WRITTEN.read_text("utf-8")


@pytest.mark.slow
def test_runs_of_the_walks_take_what_a_run_can_take(tmp_path: Any) -> None:
    genomes = [Genome((), number, own) for number, own in enumerate(walks())]
    part = Part(simulate_genomes("partition", 1, 0, genomes)[0])
    taken = {*Classes(part).numbers()[part.taken].tolist()}
    for name, (reached, of) in REACHED.items():
        chart = ChartStore(tmp_path).chart(read_covers()[name])
        numbers = [int.from_bytes(bytes.fromhex(c.key)[:8], "little") for c in chart.classes]
        assert (sum(number in taken for number in numbers), len(numbers)) == (reached, of)


# -- What is on its way


REQUEST = RegisterBrokerRequest(0, CONTROLLER, 1, UNDEFINED)
LATER = RegisterBrokerRequest(0, CONTROLLER, 2, UNDEFINED)
ANSWER = RegisterBrokerResponse(CONTROLLER, 0, REQUEST, "NONE", 3)


def step(input: Any, *sent: Any) -> Step:
    row: Any = None  # nobody looks at it
    return Step("", 0, row, input, 0, Result(row, sent, ""))


def test_a_request_comes_again_and_an_answer_does_not() -> None:
    """A message that comes once, as a run has it: nor does one that another has overtaken."""
    after = walked._on_its_way((), step(SendRegistration(), REQUEST))
    assert after == (REQUEST,)
    assert walked._on_its_way((), step(REQUEST)) is None
    answered = walked._on_its_way((REQUEST,), step(REQUEST, ANSWER))
    assert answered == (REQUEST, ANSWER)
    assert walked._on_its_way(answered, step(ANSWER)) == (REQUEST,)
    assert walked._on_its_way((REQUEST,), step(ANSWER)) is None
    assert walked._on_its_way((REQUEST, LATER), step(LATER)) == (LATER,)
    assert walked._on_its_way((LATER,), step(REQUEST)) is None


def test_what_comes_again_was_sent_again() -> None:
    walk = [step(SendRegistration(), REQUEST), step(REQUEST), step(REQUEST)]
    assert walked._comings(REQUEST, walk[1:]) == 2
    assert walked._comings(REQUEST, [step(REQUEST), *walk]) == 1
    assert walked._comings(NO_REQUEST, walk) == 0
