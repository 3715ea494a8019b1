"""Counterexamples of the corpus as beginnings of runs (reference/partition/sim/beginnings.py).

    python -m tests.stateful.shown_by_tlc       # writes reference/partition/sim/shown_by_tlc.moves

The moves are made with the correct rules, up to one that there is not then: so what a bug did is
none of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from kraftcheck.reference.partition.messages import (
    CLIENT_REQUESTS,
    CLIENTS,
    MESSAGES,
    Election,
    Input,
    MetadataUpdate,
    ProduceRequest,
)
from kraftcheck.reference.partition.sim import beginnings
from kraftcheck.reference.partition.sim.begun import FIRST_CLIENT
from kraftcheck.reference.partition.sim.options import PartitionOptions
from kraftcheck.reference.partition.steered.schedule import PartitionSchedule
from kraftcheck.reference.partition.system import comes_once
from kraftcheck.reference.partition.types import UNDEFINED
from kraftcheck.reference.sim.begun import Mail
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.steered.failures import Failure
from kraftcheck.reference.steered.moves import Move
from kraftcheck.reference.steered.scripts import Script, read
from kraftcheck.traces.counterexamples.moves import make
from tests.stateful.beginnings import KEPT

WRITTEN = Path(beginnings.__file__).parent / beginnings.SHOWN


class NarratedSchedule(PartitionSchedule):
    """Tells every move that is made, as a beginning has it."""

    def __init__(self, options: PartitionOptions) -> None:
        self.told: list[str] = []
        self._posted = Mail(comes_once)
        super().__init__(options)
        self.told.clear()

    def travel(self, node: int, sent: tuple[tuple[int, KnownInput], ...]) -> None:
        self._posted.post(node, sent)
        super().travel(node, sent)

    def has_to_send(self, request: ProduceRequest) -> None:
        """A producer of the run has this for the leader."""
        self.told.append(f"{CLIENTS} sends {request.producer}")
        self._posted.post(CLIENTS, ((request.destination, self._intern(request)),))

    def _lose(self, message: KnownInput) -> None:
        raise ValueError("a beginning has no way to lose a message")

    def electing(self, election: Election, broker: int) -> Move:
        move = super().electing(election, broker)

        def make_it() -> None:
            move.make()
            self.told[-1] = f"{broker} elects {election}"

        return Move(move.words, make_it)

    def _take(self, node: int, input: Input) -> None:
        self.told.append(f"{node} {self._tell(node, self._intern(input))}")
        super()._take(node, input)

    def act(self, node: int, want: KnownInput) -> None:
        self.told.append(f"{node} {self._tell(node, want)}")
        super().act(node, want)

    def _tell(self, node: int, known: KnownInput) -> str:
        input: Any = known.value
        if isinstance(input, MetadataUpdate):
            return f"reads {len(input.records)}"
        number = self._posted.number(node, known)
        if number is not None:
            self._posted.arrive(number)
            return f"hears {number} {known.kind}"
        if isinstance(input, CLIENT_REQUESTS):
            input = replace(input, client=input.client + FIRST_CLIENT)
            if isinstance(input, ProduceRequest) and input.producer != UNDEFINED:
                input = replace(input, producer=input.producer + FIRST_CLIENT)
        elif isinstance(input, MESSAGES):
            raise ValueError(f"{known.kind} does not come to {node}")
        else:
            alike = [each for each in self.state(node).wants if each.kind == known.kind]
            if known in alike:
                return f"does {known.kind} {alike.index(known)}"
        told = [f"takes {known.kind}"]
        for name, value in msgspec.to_builtins(input).items():
            if name not in ("type", "source", "destination") and value != UNDEFINED:
                told.append(f"{name}={msgspec.json.encode(value).decode()}")
        return " ".join(told)


def told(script: Script) -> list[str]:
    """The moves of a counterexample, as far as the correct rules allow them."""
    schedule = NarratedSchedule(msgspec.convert(dict(script.options), PartitionOptions))
    for words in script.moves:
        try:
            if not make(schedule, words):
                break
        except Failure:
            schedule.told.pop()
            break
    return schedule.told


def written() -> str:
    """The data, from the corpus."""
    return "\n".join(_counterexamples())


def _counterexamples() -> Iterator[str]:
    for path in sorted(KEPT.glob("tlc-*.moves")):
        script, _ = read(path.read_text("utf-8"))
        if script.machine != "partition":
            continue
        name = path.stem.removeprefix("tlc-")
        constants = {each: script.options[each] for each in beginnings.OF}
        options = msgspec.json.encode(constants, order="sorted").decode()
        moves = told(script)
        yield "\n".join([f"{name} {script.bug or name} {options}", *moves, ""])


if __name__ == "__main__":
    WRITTEN.write_text(written(), encoding="utf-8")
