"""Runs made of other runs: the beginning of one goes on as another, or as a seed and for longer.

A run is its choices (choices.py), so they are what a search keeps and makes runs of, as others do
with the bytes of an input. Where choices end, those of a seed go on.

Law of this file: what is made is a function of the choices given and of the stream drawn from.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from kraftcheck.reference.sim.choices import Choice, Chooser, ReplayChooser, SeededChooser, Stream
from kraftcheck.reference.sim.options import STRETCH

Choices: TypeAlias = tuple[Choice, ...]

FRESH: Final = "fresh"
"""How a run comes about that is made of its seed alone."""
LONGEST: Final = 8
"""So many times as long as others runs may become (options.py)."""


class Genome(NamedTuple):
    """A run as its choices.

    The choices in the order in which they were made, the seed that goes on after them, and options
    that are not drawn.
    """

    choices: Choices
    seed: int
    own: Mapping[str, Any] = {}

    def chooser(self) -> Chooser:
        seeded = SeededChooser(self.seed)
        return ReplayChooser(self.choices, seeded) if self.choices else seeded

    def options(self, fixed: Mapping[str, Any] | None) -> dict[str, Any]:
        """The options that are not drawn. fixed: by the campaign, which nothing here changes."""
        return {**self.own, **(fixed or {})}


def settings(on_request: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Give options that runs of a seed may have beside those that they draw, by name.

    None, or what their family has on request (family.py).
    """
    return {FRESH: {}, **{f"{FRESH} {name}": dict(own) for name, own in on_request.items()}}


# --- Mutations: of one run, with the help of another. Both have made choices.


class Parent(NamedTuple):
    choices: Choices
    options: Mapping[str, Any]


def _spliced(one: Parent, other: Parent, stream: Stream) -> Parent:
    begin = one.choices[: stream.below(len(one.choices))]
    return one._replace(choices=(*begin, *other.choices[stream.below(len(other.choices)) :]))


def _continued(one: Parent, other: Parent, stream: Stream) -> Parent:
    begin = one.choices[: 1 + stream.below(len(one.choices))]
    longer = min(2 * one.options.get(STRETCH, 1), LONGEST)
    return Parent(begin, {**one.options, STRETCH: longer})


MUTATIONS: Final[Mapping[str, Callable[[Parent, Parent, Stream], Parent]]] = {
    "splice": _spliced,
    "continue": _continued,
}
"""splice: the beginning of one and the rest of another. continue: the beginning of one, or all of
it, in a run that lasts twice as long."""


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
