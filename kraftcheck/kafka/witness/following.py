"""A schedule of moves, followed by Kafka as far as it goes.

A schedule was written of the reference or of TLC. Kafka may say other things on the way, so a move
that is not possible is replaced by one alike, as when a schedule is made small, or left out and
said to be.

Law of this file: a step of Kafka's is taken as it stands; nothing knows of a protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kraftcheck.kafka.live.witness.host import REFUSED, THROWN, Host
from kraftcheck.kafka.witness.comparing import Differing, compared
from kraftcheck.kafka.witness.speech import Outcome, Taken, Unspoken
from kraftcheck.reference.protocols import kind_of_row
from kraftcheck.reference.runner.narrate import render_input
from kraftcheck.reference.steered.failures import Failure, StepUnsaid
from kraftcheck.reference.steered.moves import Move, NodeStep
from kraftcheck.reference.steered.scripts import Script
from kraftcheck.traces.counterexamples.moves import alike


class Impossible(Exception):
    """Kafka cannot be given this input. The text is one line."""


def if_any(outcome: Any) -> list[Any]:
    """What a handler of the reference has made; none: it takes no step."""
    return [] if outcome is None else [outcome]


class Hosted:
    """A run of which nodes are Kafka's, in the host's JVM."""

    moves: list[str]
    """In words, so far. lines: its steps as lines of a trace, each with how many moves had been
    made by then. thrown: what ended processes, in Kafka's words. differing: if they are compared,
    the steps that the reference would not have taken so; their lines are counted from 1, of this
    run. taken: the steps that were noted (note_step).
    """

    if TYPE_CHECKING:  # Of the reference's run that it is, too.

        def steps(self) -> Iterator[Any]:
            """As reference/steered/moves.py has them."""

        def setting(self) -> dict[str, Any]:
            """The options of a script."""

    def be_hosted(self, host: Host, compares: bool, anew: bool = True) -> None:
        """To be called before any node takes a step. anew: the host begins a run."""
        self.compares = compares
        self.differing: list[Differing] = []
        self.taken: list[NodeStep] = []
        self.lines: list[tuple[str, int]] = []
        self.thrown: list[str] = []
        self._host = host
        if anew:
            [said] = host.ask(["new"])
            assert said == "", said

    @property
    def parts(self) -> Sequence[Hosted]:
        """Itself, or of a composition the parts, each with its lines and what of them differs."""
        return (self,)

    def ask_host(self, node: object, move: str, called: str) -> list[str]:
        """What the host says of a move of a node: steps, and what they did not come to send.

        called: the node, in words. Raises Impossible.
        """
        [said] = self._host.ask([f"{node} {move}"])
        if said.startswith(REFUSED):
            raise Impossible(said.removeprefix(REFUSED))
        parts = [each for each in said.split("\t") if each]
        thrown = [each.removeprefix(THROWN) for each in parts if each.startswith(THROWN)]
        self.thrown.extend(f"{called}: {each}" for each in thrown)
        return [each for each in parts if not each.startswith(THROWN)]

    def note_step(
        self, step: Taken, constants: Any, reference: Callable[[], Iterable[Any]]
    ) -> None:
        """Notes a step of one of Kafka's nodes. reference: all that may come of it instead."""
        made = step.outcome
        self.lines.append((step.text, len(self.moves)))
        action = f"Handle{type(step.input).__name__}"
        said = (step.before, step.input, made.row, made.sent, made.ignored)
        self.taken.append(NodeStep(constants, step.node, action, *said))
        if self.compares:
            self.compare(len(self.lines), step.input, made, reference())

    def compare(self, line: int, input: Any, kafka: Outcome, reference: Iterable[Any]) -> None:
        """Notes in what a step differs from all that the reference may do. line: of the trace."""
        if found := compared(kafka, reference):
            self.differing.append(Differing(line, f"Handle{type(input).__name__}", found))

    def alike(self, words: str) -> Move | None:
        """The possible move with these words, or the first one of the same shape."""
        schedule: Any = self
        return alike(schedule, words)

    def attempt(self, words: str, later: Sequence[str]) -> int:
        """Makes a move, or one alike.

        later: what the schedule has behind it. How many moves of the schedule that were; 0: it is
        not possible. Raises Failure.
        """
        return self.made(self.alike(words))

    def made(self, move: Move | None) -> int:
        """1; or 0: there is no such move, or Kafka cannot be given its input."""
        if move is None:
            return 0
        try:
            move.make()
        except Impossible:
            return 0
        return 1


class Followed(NamedTuple):
    schedule: Hosted
    made: int
    """How many moves Kafka made."""
    left_out: list[str]
    """The others, in words."""
    failure: Failure | None
    parts_at: int = 0
    """The number of the first of these, from 1; 0: there is none."""


def follow(script: Script, schedule: Hosted) -> Followed:
    """Makes the moves. Raises WitnessError: Kafka cannot be driven."""
    made = at = parts_at = 0
    left_out: list[str] = []
    while at < len(script.moves):
        words = script.moves[at]
        try:
            done = schedule.attempt(words, script.moves[at + 1 :])
        except Failure as failure:
            return Followed(schedule, made + 1, left_out, failure, parts_at)
        except Unspoken as error:
            unsaid = StepUnsaid(str(error), [*schedule.moves])
            return Followed(schedule, made + 1, left_out, unsaid, parts_at)
        made += done
        if not done:
            left_out.append(words)
            parts_at = parts_at or at + 1
        at += max(1, done)
    return Followed(schedule, made, left_out, None, parts_at)


def step_lines(followed: Followed) -> Iterator[str]:
    """The steps in words, then what was left out."""
    for number, step in enumerate(followed.schedule.steps()):
        kind = kind_of_row(step.after)
        before, role = kind.role(step.before), kind.role(step.after)
        roles = role if role == before else f"{before} > {role}"
        sent = "; ".join(render_input(m) for m in step.sent)
        said = f"  ({step.ignored})" if step.ignored else f"  => {sent}" if sent else ""
        yield f"{number:5} {step.node} {roles}: {render_input(step.input)}{said}"
    for words in followed.left_out:
        yield f"!! left out, not possible on Kafka: {words}"
    for each in followed.schedule.thrown:
        yield f"!! {each}"
