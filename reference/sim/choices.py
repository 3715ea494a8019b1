"""Make every choice of a simulation through a named stream of a `Chooser`.

It is one of five, or that of an option (`option.NAME`).

Law of this file: a choice is a natural number below a bound, nothing else; whoever asks says what
it means, with 0 the simplest meaning (no fault, the first node, the shortest time). So a run *is*
its list of choices: drawn from a seed, read from a file, cut short or simplified by a shrinker, or
drawn by Hypothesis (a `Chooser` whose streams call `draw(integers(0, bound - 1))`).

The streams are independent: one more choice in one moves nothing in another.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b, shake_256
from itertools import chain, count
from typing import Final, NamedTuple, Protocol, TypeAlias, TypeVar

StreamName: TypeAlias = str
STREAMS: Final = ("network", "disk", "faults", "clock", "workload")
"""What happens in a run comes from these."""
_OF_OPTION: Final = "option."
"""What a run's options are comes from streams that begin so."""


def stream_of_option(name: str) -> StreamName:
    return f"{_OF_OPTION}{name}"


def _is_stream(name: str) -> bool:
    return name in STREAMS or name.startswith(_OF_OPTION)


class Stream(Protocol):
    def below(self, bound: int) -> int:
        """A number from 0 to `bound - 1`; `bound` is at least 1 and at most 2**32."""
        ...


class Chooser(Protocol):
    def stream(self, name: StreamName) -> Stream:
        """The stream of this name: the same object each time."""
        ...


class Choice(NamedTuple):
    """One choice as it was made, for schedules."""

    stream: StreamName
    bound: int
    value: int


T = TypeVar("T")


def pick(stream: Stream, among: Sequence[T]) -> T:
    return among[stream.below(len(among))]


def chance(stream: Stream, per_mille: int) -> bool:
    """True in so many of a thousand cases. What can only be false is not asked."""
    return per_mille > 0 and stream.below(1000) >= 1000 - per_mille


# --- From a seed ---

_BLOCK = struct.Struct("<64I")


def _words(key: bytes) -> Iterator[int]:
    """Words of 32 bits, from a hash in counter mode.

    They are drawn by the block, because this is asked once for every message.
    """
    blocks = (shake_256(key + at.to_bytes(8, "little")).digest(_BLOCK.size) for at in count())
    return chain.from_iterable(map(_BLOCK.unpack, blocks))


class SeededStream:
    """Numbers whose bias is below bound / 2**32."""

    __slots__ = ("_words",)

    def __init__(self, key: bytes) -> None:
        self._words = _words(key)

    def below(self, bound: int) -> int:
        return next(self._words) * bound >> 32


class SeededChooser:
    """The choices that a seed stands for."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._streams: dict[StreamName, SeededStream] = {}

    def stream(self, name: StreamName) -> Stream:
        found = self._streams.get(name)
        if found is None:
            assert _is_stream(name), name
            key = blake2b(f"{self._seed}/{name}".encode(), digest_size=16).digest()
            found = self._streams[name] = SeededStream(key)
        return found


def run_seed(campaign_seed: int, run: int) -> int:
    """The seed of one run of a campaign, below 2**63: it can be executed without the others."""
    key = blake2b(f"{campaign_seed}/{run}".encode(), digest_size=8).digest()
    return int.from_bytes(key, "little") >> 1


# --- From a schedule, and into one ---


class _ReplayStream:
    __slots__ = ("_at", "_owner", "_then", "_values")

    def __init__(self, owner: ReplayChooser, choices: list[Choice], then: Stream | None) -> None:
        self._owner = owner
        self._values = choices
        self._then = then
        self._at = 0

    def below(self, bound: int) -> int:
        if self._at == len(self._values):
            self._owner.missing += 1
            return 0 if self._then is None else self._then.below(bound)
        choice = self._values[self._at]
        self._at += 1
        self._owner.misfits += choice.bound != bound
        return min(choice.value, bound - 1)


class ReplayChooser:
    """The choices of a schedule, stream by stream.

    A schedule that was edited need not fit: where it ends, `then` chooses, or, if there is none,
    the simplest choice is made; where a bound has changed, the value is cut to it. `missing` and
    `misfits` count such cases: a faithful replay has none.
    """

    def __init__(self, choices: Iterable[Choice], then: Chooser | None = None) -> None:
        self._then = then
        self.missing = 0
        self.misfits = 0
        self._made: dict[StreamName, list[Choice]] = {}
        for choice in choices:
            self._made.setdefault(choice.stream, []).append(choice)
        self._streams: dict[StreamName, _ReplayStream] = {}

    def stream(self, name: StreamName) -> Stream:
        found = self._streams.get(name)
        if found is None:
            assert _is_stream(name), name
            then = None if self._then is None else self._then.stream(name)
            found = self._streams[name] = _ReplayStream(self, self._made.get(name, []), then)
        return found


class _RecordingStream:
    __slots__ = ("_choices", "_inner", "_name")

    def __init__(self, name: StreamName, inner: Stream, choices: list[Choice]) -> None:
        self._name = name
        self._inner = inner
        self._choices = choices

    def below(self, bound: int) -> int:
        value = self._inner.below(bound)
        self._choices.append(Choice(self._name, bound, value))
        return value


class RecordingChooser:
    """Another chooser's choices, noted in `choices` in the order in which they were made."""

    def __init__(self, inner: Chooser) -> None:
        self.choices: list[Choice] = []
        self._inner = inner
        self._streams: dict[StreamName, _RecordingStream] = {}

    def stream(self, name: StreamName) -> Stream:
        found = self._streams.get(name)
        if found is None:
            inner = self._inner.stream(name)
            found = self._streams[name] = _RecordingStream(name, inner, self.choices)
        return found


def render(choices: Iterable[Choice]) -> str:
    """A schedule as text, one choice a line: `network 17 of 1000`."""
    return "".join(f"{c.stream} {c.value} of {c.bound}\n" for c in choices)


def parse(text: str) -> list[Choice]:
    """The schedule that `render` wrote. Empty lines and lines from # on are comments.

    Raises ValueError with the number of the first line that is no choice.
    """
    choices = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            name, value, of, bound = words
            choice = Choice(name, int(bound), int(value))
        except ValueError:
            choice = None
        in_form = choice is not None and of == "of" and _is_stream(name)
        if choice is None or not in_form or not 0 <= choice.value < choice.bound:
            raise ValueError(f"line {number}: not a choice: {line.strip()!r:.60}")
        choices.append(choice)
    return choices
