"""How a coordinator of Kafka's, of transactions or of a group, is told its part of a walk.

Members, producers and data partitions are the model's, as in runs by chance (steered.py). Of
transactions Kafka writes the completion in the step that acknowledges the last marker, and the
model in one of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kraftcheck.kafka.live.witness.host import REFUSED, THROWN
from kraftcheck.kafka.witness.departures import NO_USE, STOPS
from kraftcheck.kafka.witness.speech import Speech, Taken
from kraftcheck.kafka.witness.walking import Walker
from kraftcheck.reference.protocols import protocol_of
from kraftcheck.reference.transactions.messages import MarkerReply, MarkersDone
from kraftcheck.reference.transactions.rules import COMPLETED
from kraftcheck.reference.transactions.types import Coordinators
from kraftcheck.traces.cover.matching import Matcher, Step

ANSWERED_ONCE: Final = "a marker is answered once: Kafka has no use for a second answer"
COMPLETED_TOGETHER: Final = "the completion is written in the step of the last marker"


class Walk(Walker):
    """kinds: those of Kafka's nodes."""

    def __init__(self, kinds: Sequence[str], matcher: Matcher, speech: Speech) -> None:
        super().__init__(matcher, speech)
        constants, nodes = matcher.book.constants, matcher.book.nodes
        kind_of = protocol_of(constants).kind_of
        self.kafkas = [node for node in nodes if kind_of(constants, node).name in kinds]
        self._follows: Taken | None = None
        """What Kafka has done in the same step as what came last."""

    def _lines(self, step: Step) -> Sequence[str]:
        return () if isinstance(step.input, MarkersDone) else super()._lines(step)

    def got(self, step: Step, answers: Sequence[str]) -> Taken | str | None:
        follows, self._follows = self._follows, None
        if isinstance(step.input, MarkersDone):
            return follows or COMPLETED_TOGETHER
        [answer] = answers
        if not answer or answer.startswith(REFUSED):
            return ANSWERED_ONCE if isinstance(step.input, MarkerReply) else NO_USE
        parts = answer.split("\t")
        taken = [self._speech.taken(each) for each in parts if not each.startswith(THROWN)]
        thrown = parts[-1].startswith(THROWN)
        if thrown and (not taken or self.same(step.result, taken[0].outcome)):
            return f"{STOPS}: {parts[-1].removeprefix(THROWN)}"
        self._follows = taken[1] if len(taken) > 1 else None
        return taken[0]

    def allowed(self, before: Any) -> str:
        together = isinstance(before, Coordinators) and _is_to_complete(before)
        return COMPLETED_TOGETHER if together else super().allowed(before)


def _is_to_complete(row: Coordinators) -> bool:
    c = row.coordinators[row.leader_epoch - 1]
    return c.pending.state in COMPLETED and not c.pending.logged and not c.to_mark
