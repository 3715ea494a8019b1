"""Edges that each node takes alone, with the reference in place of Kafka."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kraftcheck.witness.histories import drive
from kraftcheck.witness.quorum_graphs import Walk
from kraftcheck.witness.speech import Speech
from kraftcheck.witness.walking import OnKafka
from reference.kit.cover import Result
from reference.quorum.messages import Flush
from tests.traces.cover.graphs import matched
from traces.cover.matching import Matcher

pytestmark = [pytest.mark.tlc, pytest.mark.xdist_group("cover")]

Change = Callable[[Any, Any, Result], Result]


class Stand:
    """A host whose nodes are the reference's, in Kafka's turns: who appends flushes. told: the runs
    that began, and what each node was told in them.
    """

    def __init__(self, matcher: Matcher, change: Change) -> None:
        self._of, self._change = matcher.composition, change
        self._speech = Speech(matcher.composition.constants)
        self._first = dict(zip(self._of.nodes, self._of.initial(), strict=True))
        self.runs: list[int] = []
        self._row: Any = None

    def ask(self, lines: list[str]) -> list[str]:
        return [self._answer(line) for line in lines]

    def _answer(self, line: str) -> str:
        word, said = line.split(" ", 1)
        if word == "alone":
            self.runs.append(int(said))
            self._row = self._first[int(said)]
            return ""
        node = int(word)
        assert node == self.runs[-1]
        steps = [self._step(node, self._speech.input(said))]
        if self._row.role == "Leader" and self._row.flushed < len(self._row.log):
            steps.append(self._step(node, Flush()))
        return "\t".join(steps)

    def _step(self, node: int, input: Any) -> str:
        before = self._row
        result = next(iter(self._of.outcomes(node, before, input)))
        result = self._change(before, input, result)
        self._row = result.row
        return self._speech.line(node, before, input, result)


def driven(name: str, change: Change = lambda row, input, result: result) -> tuple[OnKafka, Stand]:
    matcher = matched(name)
    stand: Any = Stand(matcher, change)
    speech = Speech(matcher.composition.constants)
    return drive(matcher, stand, speech, Walk, lambda done: None), stand


def test_every_edge_is_taken_and_few_runs_are_made() -> None:
    found, stand = driven("quorum-handover")
    assert len(found.taken) == found.edges == 1104
    assert found.parted == {}
    assert found.walks == len(stand.runs) < 300


def test_where_a_node_parts_from_the_model_edges_end_and_others_are_behind() -> None:
    """Who is told that an epoch ends answers nothing."""

    def silent(row: Any, input: Any, result: Result) -> Result:
        ends = type(input).__name__ == "EndQuorumEpochRequest"
        return result._replace(sent=()) if ends else result

    found, _ = driven("quorum-handover", silent)
    assert 0 < len(found.parted) < found.edges - len(found.taken)
    assert all('"type":"EndQuorumEpochRequest"' in each.text for each in found.parted.values())
