"""How a quorum of Kafka's is told a walk through a graph.

One thing is not compared: how much of a leader's log is flushed, which Kafka does in the step that
appends, and the model in a step of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from kraftcheck.kafka.live.witness.host import REFUSED, THROWN, UNSENT
from kraftcheck.kafka.witness.departures import NO_USE
from kraftcheck.kafka.witness.schedule import WHOLE
from kraftcheck.kafka.witness.speech import Outcome, Speech, Taken
from kraftcheck.kafka.witness.walking import Walker
from kraftcheck.reference.kit.messages import canonical
from kraftcheck.reference.quorum.messages import Crash, Flush
from kraftcheck.traces.cover.matching import Matcher, Step
from kraftcheck.traces.cover.rulebook import Result

FLUSHED_TOGETHER = "flushed in the step that appended"
NOTHING_TO_LOSE = "nothing to lose in that crash: flushed in the step that appended"


class Walk(Walker):
    """Messages are those that Kafka has sent."""

    def __init__(self, matcher: Matcher, speech: Speech) -> None:
        super().__init__(matcher, speech)
        self._in_turns = matcher.book.graph.turns
        self.unsent: list[str] = []
        self._follows: dict[int, Taken] = {}
        """By node, what Kafka has done in the same step as what came last: a flush, or a crash."""

    def lines(self, steps: Sequence[Step]) -> Sequence[Sequence[str]]:
        tears = [_tear(steps, at) for at in range(len(steps))]
        return [self._line(steps, tears, at) for at in range(len(steps))]

    def _line(self, steps: Sequence[Step], tears: Sequence[int], at: int) -> Sequence[str]:
        step = steps[at]
        if isinstance(step.input, Flush):
            return ()
        if isinstance(step.input, Crash):
            before = [i for i in range(at) if steps[i].node == step.node]
            if before and tears[before[-1]] != WHOLE:
                return ()
        torn = "" if tears[at] == WHOLE else f"tear {tears[at]} "
        return (f"{step.node} {torn}{self._speech.text(step.input)}",)

    def got(self, step: Step, answers: Sequence[str]) -> Taken | str | None:
        follows = self._follows.pop(step.node, None)
        if not answers:
            return follows  # None: it was flushed before
        [answer] = answers
        parts = answer.split("\t") if answer and not answer.startswith(REFUSED) else []
        taken = [self._speech.taken(p) for p in parts if p[0] not in (UNSENT, THROWN)]
        self.unsent += [p.removeprefix(UNSENT) for p in parts if p.startswith(UNSENT)]
        if not taken:
            return NOTHING_TO_LOSE if isinstance(step.input, Crash) else NO_USE
        if len(taken) > 1 and self._in_turns:
            return _together(taken)
        if len(taken) > 1:
            self._follows[step.node] = taken[1]
        return taken[0]

    def same(self, model: Result, kafka: Outcome) -> bool:
        row = replace(model.row, flushed=kafka.row.flushed)
        return super().same(model._replace(row=row), kafka)

    def allowed(self, before: Any) -> str:
        return FLUSHED_TOGETHER if before.flushed < len(before.log) else super().allowed(before)


def _together(taken: Sequence[Taken]) -> Taken:
    """An append and the flush behind it, as one step."""
    first, *_, last = taken
    sent = canonical([m for each in taken for m in each.outcome.sent])
    return first._replace(outcome=Outcome(last.outcome.row, sent, first.outcome.ignored))


def _tear(steps: Sequence[Step], at: int) -> int:
    """Say how the flush that belongs to a step is broken off.

    It is if the walk's next step of the node is the crash that loses what is not flushed.
    """
    step = steps[at]
    row = step.result.row
    if row.role != "Leader" or row.flushed == len(row.log) or row.log == step.before.log:
        return WHOLE
    later = next((each for each in steps[at + 1 :] if each.node == step.node), None)
    if later is None or not isinstance(later.input, Crash) or later.input.keep == len(row.log):
        return WHOLE  # it may as well crash when it has flushed
    return max(0, later.input.keep - len(step.before.log))
