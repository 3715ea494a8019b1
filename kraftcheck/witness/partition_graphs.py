"""How a partition that is Kafka's is told a walk through a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kraftcheck.live.witness.host import REFUSED, THROWN
from kraftcheck.reference.partition.cover.composition import PartitionComposition
from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    NO_REQUEST,
    AlterPartitionRequest,
    ControllerRequestTimeout,
    ElectLeaders,
    Input,
    MetadataUpdate,
)
from kraftcheck.reference.partition.types import INITIAL_OFFSET, BrokerRow
from kraftcheck.traces.cover.matching import Matcher, Step
from kraftcheck.witness.departures import NO_USE, STOPS
from kraftcheck.witness.speech import Speech, Taken, Unspoken
from kraftcheck.witness.walking import Walker

SENT_AGAIN: Final = "metadata cleared what is proposed, and Kafka sends it all the same"


def is_cleared(row: BrokerRow, input: Input) -> bool:
    """Whether it gives up the request of a proposal that metadata has cleared, which Kafka sends
    again and again, and makes no other meanwhile.
    """
    if not isinstance(input, ControllerRequestTimeout):
        return False
    asked = input.request
    if not isinstance(asked, AlterPartitionRequest):
        return False
    same = (asked.isr, asked.leader_epoch, asked.partition_epoch)
    return same != (row.pending.isr, row.leader_epoch, row.partition_epoch)


def _clears_unsent(step: Step) -> bool:
    """Whether metadata clears a proposal that is to be sent yet, or again."""
    before = step.before
    return (
        isinstance(step.input, MetadataUpdate)
        and before.alter_request == NO_REQUEST
        and before.pending.kind != "None"
        and not before.pending.refused
        and step.result.row.pending.kind == "None"
    )


class Walk(Walker):
    """Of brokers and their controller."""

    loads = (CONTROLLER,)

    def __init__(self, matcher: Matcher, speech: Speech) -> None:
        super().__init__(matcher, speech)
        assert isinstance(matcher.composition, PartitionComposition), matcher.composition
        self._composition = matcher.composition

    def first(self) -> Sequence[str]:
        """Of a graph that begins with a leader: it is elected, and everybody reads of it."""
        if not self._composition.led:
            return ()
        told = MetadataUpdate(INITIAL_OFFSET, self._composition.first_log())
        brokers = self._composition.constants.brokers
        return [self._told(CONTROLLER, ElectLeaders("ONLINE"))] + [
            self._told(node, told) for node in brokers
        ]

    def _lines(self, step: Step) -> Sequence[str]:
        """A controller is brought to where the model is if it has come to another row."""
        told = super()._lines(step)
        if step.node != CONTROLLER:
            return told
        return *told, f"{step.node} follow {self._speech.step_text(step.input, step.result)}"

    def got(self, step: Step, answers: Sequence[str]) -> Taken | str | None:
        answer = answers[0]
        if is_cleared(step.before, step.input) or _clears_unsent(step):
            return SENT_AGAIN
        if not answer or answer.startswith(REFUSED):
            return NO_USE
        taken, *thrown = answer.split("\t")
        if thrown:
            return f"{STOPS}: {thrown[0].removeprefix(THROWN)}"
        return self._speech.taken(taken)

    def goes_on(self, step: Step, answers: Sequence[str]) -> bool:
        brought = answers[1:]
        if not brought:
            return False
        try:
            return bool(self._speech.taken(brought[0]).outcome.row == step.result.row)
        except Unspoken:
            return False
