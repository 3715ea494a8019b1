"""Runs made of other runs: their choices are changed, cut, joined to those of another, or go on.

A run is its choices (choices.py), so they are what a search keeps, changes and makes runs of, as
others do with the bytes of an input. Where choices end, those of a seed go on.

Law of this file: what is made is a function of the choices given and of the stream drawn from.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

import msgspec

from reference.sim.choices import Choice, Chooser, ReplayChooser, SeededChooser, Stream

Choices: TypeAlias = tuple[Choice, ...]

FRESH: Final = "fresh"
"""How a run comes about that is made of its seed alone."""
CHANGED_AT_MOST: Final = 8
CUT_AT_MOST: Final = 32


class Genome(NamedTuple):
    """A run: choices in the order in which they were made, and the seed that goes on after them."""

    choices: Choices
    seed: int

    def chooser(self) -> Chooser:
        seeded = SeededChooser(self.seed)
        return ReplayChooser(self.choices, seeded) if self.choices else seeded


# --- Mutations: of one run, with the help of another. Both have made choices.


def _changed(one: Choices, other: Choices, stream: Stream) -> Choices:
    made = list(one)
    for _ in range(1 + stream.below(CHANGED_AT_MOST)):
        at = stream.below(len(made))
        made[at] = made[at]._replace(value=stream.below(made[at].bound))
    return tuple(made)


def _cut(one: Choices, other: Choices, stream: Stream) -> Choices:
    at = stream.below(len(one))
    return (*one[:at], *one[at + 1 + stream.below(CUT_AT_MOST) :])


def _spliced(one: Choices, other: Choices, stream: Stream) -> Choices:
    return (*one[: stream.below(len(one))], *other[stream.below(len(other)) :])


def _continued(one: Choices, other: Choices, stream: Stream) -> Choices:
    return one[: stream.below(len(one))]


MUTATIONS: Final[Mapping[str, Callable[[Choices, Choices, Stream], Choices]]] = {
    "change": _changed,
    "cut": _cut,
    "splice": _spliced,
    "continue": _continued,
}
"""change: some choices are drawn anew. cut: a stretch is left out, and later choices of its streams
move up. splice: the beginning of one and the rest of another. continue: the beginning of one."""


# --- As bytes


class _Stored(msgspec.Struct, array_like=True):
    """Each choice is three numbers: which stream, the bound, the value."""

    streams: list[str]
    numbers: list[int]


def encode(choices: Choices) -> bytes:
    streams = {name: at for at, name in enumerate(dict.fromkeys(c.stream for c in choices))}
    numbers = [number for name, bound, value in choices for number in (streams[name], bound, value)]
    return zlib.compress(msgspec.msgpack.encode(_Stored([*streams], numbers)), 1)


def decode(data: bytes) -> Choices:
    """What `encode` made. Raises ValueError: it did not."""
    try:
        stored = msgspec.msgpack.decode(zlib.decompress(data), type=_Stored)
        of = zip(*[iter(stored.numbers)] * 3, strict=True)
        made = tuple([Choice(stored.streams[at], bound, value) for at, bound, value in of])
    except (zlib.error, msgspec.MsgspecError, ValueError, IndexError) as error:
        raise ValueError(f"no choices of a run: {error}") from None
    if not all(0 <= choice.value < choice.bound for choice in made):
        raise ValueError("no choices of a run: a choice is not below its bound")
    return made
