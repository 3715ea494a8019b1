"""A quorum of real Kafka under a schedule: moves as the reference has them, steps of Kafka.

Law of this file: what a voter does is asked of the witness. The reference says only which moves
there are, and its named invariants are checked after each step as they are in its own runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from kraftcheck.kafka.live.witness.host import UNSENT, Host
from kraftcheck.kafka.witness.following import Hosted
from kraftcheck.kafka.witness.speech import Outcome as Said, Speech, Taken
from kraftcheck.reference.quorum.messages import (
    FetchMaxWait,
    FetchRequest,
    Flush,
    Input,
    Message,
    Request,
    Restart,
    Timer,
)
from kraftcheck.reference.quorum.sim.machine import QuorumMemo
from kraftcheck.reference.quorum.sim.words import move_words
from kraftcheck.reference.quorum.steered.schedule import TIMEOUTS, Schedule
from kraftcheck.reference.quorum.types import Constants, Outcome, Row
from kraftcheck.reference.sim.memo import Step
from kraftcheck.reference.steered.moves import Names, NodeStep

WHOLE = -1
"""In place of a number: no log is torn."""
TEAR = "tear"
"""In front of a move whose node crashes inside the flush: with how much of the tail is kept."""


_TORN = re.compile(rf"{TEAR} (\d+): (.*)")
_NODE = re.compile(r"(?:\d+ -> )?(\d+) ")
_CRASH = re.compile(r"(\d+) Crash keep=(\d+)")
_FLUSH = re.compile(r"\d+ Flush")
_KNOWN = re.compile(r"(FetchRequest .*) high_watermark=\S+")
"""What a fetch says since 4.1: see `_words`."""


def _words(constants: Constants, m: Message) -> str:
    """Write a fetch in the words of the quorum before 4.1, so that one schedule serves both.

    It lacks what its sender knows.
    """
    words = move_words(constants, m.destination, m)
    return words.partition(" high_watermark=")[0] if isinstance(m, FetchRequest) else words


class KafkaSchedule(Hosted, Schedule):
    """As Schedule, with a witness in place of the reference's handlers.

    A leader of Kafka flushes in the step in which it appends; the specification has two. So a
    `Flush` follows at once, and nobody can come between.
    """

    def __init__(
        self,
        constants: Constants,
        host: Host,
        watched: bool,
        compares: bool = False,
        among: str = "",
    ) -> None:
        """among: in a composition, which has begun its run, what voters' names begin with."""
        super().__init__(
            constants, memo=QuorumMemo(TIMEOUTS, None).taking(self._of_kafka), watched=watched
        )
        self.be_hosted(host, compares, anew=not among)
        if constants.release != "4.0":
            self._names = Names(partial(_words, constants))
        self._among = among
        self._speech = Speech(constants)
        self._follows: list[Taken] = []
        self._lost: list[Any] = []
        self._tear = WHOLE
        for node in self.nodes("Down"):
            self._step(node, Restart())

    def attempt(self, words: str, later: Sequence[str]) -> int:
        """Attempt a move in which a flush is a part of Kafka's step.

        Where the schedule has a crash in its place, Kafka is made to crash inside the flush.
        """
        if _FLUSH.fullmatch(words):
            return 1  # a part of the step before
        kept, plain = self._torn_by(words, later)
        move = self.alike(_KNOWN.sub(r"\1", plain))
        with self.torn(kept):
            if not self.made(move):
                return 0
        crash = _CRASH.fullmatch(later[0]) if later else None
        return 2 if crash and self.row(int(crash[1])).role == "Down" else 1

    def _torn_by(self, words: str, later: Sequence[str]) -> tuple[int, str]:
        """How a move is to tear the log, and the move."""
        if torn := _TORN.fullmatch(words):
            return int(torn[1]), torn[2]
        mover = _NODE.match(words)
        crash = _CRASH.fullmatch(later[0]) if later else None
        if mover and crash and crash[1] == mover[1]:
            row = self.row(int(mover[1]))
            kept = int(crash[2]) - row.flushed
            leads = row.role in ("Leader", "Candidate")
            if leads and kept >= 0:
                return kept, words
        return WHOLE, words

    def tear(self, node: int, input: Input, kept: int) -> None:
        """A step; if a leader appends in it, it crashes before the flush is over.

        kept: how many records of what was appended are on the disk then.
        """
        with self.torn(kept):
            self.do(node, input)

    @contextmanager
    def torn(self, kept: int) -> Iterator[None]:
        """Moves in this block are torn so; WHOLE: they are not."""
        self._tear = kept
        try:
            yield
        finally:
            self._tear = WHOLE

    def _note(self, move: str) -> None:
        super()._note(move if self._tear == WHOLE else f"{TEAR} {self._tear}: {move}")

    def forget(self, message: Message) -> None:
        """What waited does not come, unless it comes again."""
        self.mail.come(message)
        self._alive.clear()

    def timers(self) -> list[tuple[int, Timer]]:
        """As in the reference's; and a parked fetch of Kafka may wait at who leads no longer."""
        armed = super().timers()
        parked = [(n, FetchMaxWait(m)) for n in self.nodes() for m in self.row(n).parked]
        return [*armed, *(each for each in parked if each not in self.due)]

    def lives(self, m: Message) -> bool:
        """As in the reference's, but an answer may come when its request has timed out."""
        if isinstance(m, Request):
            return super().lives(m)
        row, handlers = self.row(m.destination), self._machine.handlers
        return m.request == handlers.request_in_flight(m.destination, row, m.source)

    def _of_kafka(self, node: int, _: Row, input: Input, __: Callable[..., Any]) -> Said | None:
        if not self._follows:
            self._follows = self._asked(node, input)
            if not self._follows:
                return None
        step = self._follows.pop(0)
        allowed = partial(self.reference, node, step.before, step.input)
        self.note_step(step, self.constants, allowed)
        return step.outcome

    def steps(self) -> Iterator[NodeStep]:
        yield from self.taken

    def reference(self, node: int, before: Row, input: Input) -> Sequence[Outcome]:
        """All that the reference may do in the row that Kafka was in."""
        return self._machine.handlers.outcomes(node, before, input)

    def _asked(self, node: int, input: Input) -> list[Taken]:
        if isinstance(input, Flush):
            return []
        torn = "" if self._tear == WHOLE else f"tear {self._tear} "
        move = f"{torn}{self._speech.text(input)}"
        parts = self.ask_host(f"{self._among}{node}", move, f"voter {node}")
        unsent = [each.removeprefix(UNSENT) for each in parts if each.startswith(UNSENT)]
        self._lost += [self._speech.input(each) for each in unsent]
        return [self._speech.taken(each) for each in parts if not each.startswith(UNSENT)]

    def _step(self, node: int, input: Input) -> Step | None:
        self._lost = []
        step = super()._step(node, input)
        while self._follows:
            super()._step(node, self._follows[0].input)
        for message in self._lost:
            self.mail.lose(message)
            self._sent.pop(message, None)
        return step
