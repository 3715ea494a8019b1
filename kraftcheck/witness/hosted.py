"""What schedules have in common some of whose nodes are Kafka's, in the host's JVM.

Law of this file: a step of Kafka's is taken as it stands; nothing knows of a protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kraftcheck.live.witness.host import REFUSED, THROWN, Host
from kraftcheck.reference.steered.moves import Move
from kraftcheck.traces.counterexamples.moves import alike
from kraftcheck.witness.comparing import Differing, compared
from kraftcheck.witness.following import Impossible, Taken
from kraftcheck.witness.speech import Outcome


class Hosted:
    """See following.Schedule."""

    moves: list[str]

    def be_hosted(self, host: Host, compares: bool, anew: bool = True) -> None:
        """To be called before any node takes a step. anew: the host begins a run."""
        self.compares = compares
        self.differing: list[Differing] = []
        self.lines: list[tuple[str, int]] = []
        """The steps, as lines of a trace, each with how many moves had been made by then."""
        self.thrown: list[str] = []
        """What ended processes, in Kafka's words."""
        self._host = host
        if anew:
            [said] = host.ask(["new"])
            assert said == "", said

    @property
    def parts(self) -> Sequence[Taken]:
        return (self,)

    def asked(self, node: object, move: str, called: str) -> list[str]:
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

    def compare(self, line: int, input: Any, kafka: Outcome, reference: Iterable[Any]) -> None:
        """Notes in what a step differs from all that the reference may do. line: of the trace."""
        if found := compared(kafka, reference):
            self.differing.append(Differing(line, f"Handle{type(input).__name__}", found))

    def alike(self, words: str) -> Move | None:
        """The possible move with these words, or the first one of the same shape."""
        schedule: Any = self
        return alike(schedule, words)

    def attempt(self, words: str, later: Sequence[str]) -> int:
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
