"""Edges that each node takes alone, with the reference in place of Kafka."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kraftcheck.kafka.witness.histories import drive
from kraftcheck.kafka.witness.quorum_graphs import Walk
from kraftcheck.kafka.witness.speech import Speech
from kraftcheck.kafka.witness.walking import OnKafka
from kraftcheck.reference.quorum.messages import Flush
from kraftcheck.traces.cover.matching import Matcher
from kraftcheck.traces.cover.rulebook import Result
from tests.traces.cover.graphs import matched

pytestmark = [pytest.mark.tlc, pytest.mark.xdist_group("cover")]

Change = Callable[["Stand", Any, Any, Result], Result]


class Stand:
    """A host whose nodes are the reference's, in Kafka's turns: who appends flushes. told: the runs
    that began, and what each node was told in them.
    """

    def __init__(self, matcher: Matcher, change: Change) -> None:
        self._of, self._change = matcher.book, change
        self._speech = Speech(matcher.book.constants)
        self._first = dict(zip(self._of.nodes, self._of.initial(), strict=True))
        self.runs: list[int] = []
        self._row: Any = None
        self.sent: set[Any] = set()
        self.is_tired = False

    def ask(self, lines: list[str]) -> list[str]:
        return [self._answer(line) for line in lines]

    def _answer(self, line: str) -> str:
        word, _, said = line.partition(" ")
        if word == "new":
            return ""
        if word == "alone":
            self.runs.append(int(said))
            self._row = self._first[int(said)]
            self.sent, self.is_tired = set(), False
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
        result = self._change(self, before, input, result)
        self._row = result.row
        return self._speech.line(node, before, input, result)


def as_it_is(stand: Stand, row: Any, input: Any, result: Result) -> Result:
    return result


def driven(name: str, change: Change = as_it_is) -> tuple[OnKafka, Stand]:
    matcher = matched(name)
    stand: Any = Stand(matcher, change)
    speech = Speech(matcher.book.constants)
    return drive(matcher, stand, speech, Walk, lambda done: None), stand


def test_every_edge_is_taken_and_few_runs_are_made() -> None:
    found, stand = driven("quorum-handover")
    assert len(found.taken) == len(found.asked) == 1104
    assert found.parted == {}
    assert found.walks == len(stand.runs) < 140 and found.moves < 900


def test_who_parts_on_a_run_that_goes_on_is_asked_in_one_of_its_own() -> None:
    """After a step that changes nothing anywhere a node sends nothing any more."""

    def tiring(stand: Stand, row: Any, input: Any, result: Result) -> Result:
        made = result._replace(sent=()) if stand.is_tired else result
        stand.is_tired |= row == result.row and stand.sent.issuperset(result.sent)
        stand.sent.update(result.sent)
        return made

    found, stand = driven("quorum-handover", tiring)
    assert len(found.taken) == len(found.asked) == 1104 and found.parted == {}
    assert found.walks == len(stand.runs) > 140


def test_where_a_node_parts_from_the_model_edges_end_and_others_are_behind() -> None:
    """Who is told that an epoch ends answers nothing."""

    def silent(stand: Stand, row: Any, input: Any, result: Result) -> Result:
        ends = type(input).__name__ == "EndQuorumEpochRequest"
        return result._replace(sent=()) if ends else result

    found, _ = driven("quorum-handover", silent)
    assert 0 < len(found.parted) < len(found.asked) - len(found.taken)
    assert all('"type":"EndQuorumEpochRequest"' in each.text for each in found.parted.values())
