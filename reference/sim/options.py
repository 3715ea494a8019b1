"""How the options of a run are drawn and checked, whatever the options are.

Swarm: each run switches about half of the kinds of fault off entirely, so that what is left has
room; a mixture of everything is the same mush in every run. Options come from short lists of
values, because runs that resemble each other share their steps.

An option, and whether its kind of fault is there at all, is drawn from a stream of its own name. So
an option more, or one less, changes no other and nothing else of any run. The first options of the
oldest families are drawn from one stream, by position: all that is stored of their runs (the known
bugs' runs, figures of detection) rests on that.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final, Generic, TypeAlias, TypeVar, get_args, get_type_hints

import msgspec

from kraftcheck.reference.sim.choices import Chooser, Stream, pick, stream_of_option

T = TypeVar("T", bound=msgspec.Struct)

Palette: TypeAlias = tuple[tuple[int, Any], ...]
"""Weighted values of an option, the simplest first."""
_Wheel: TypeAlias = tuple[str, tuple[Any, ...]]
"""An option and its values, each as often as it weighs."""

STRETCH: Final = "stretch"
"""The option that every family has, which no run draws: that it is so many times as long as others.
What is longer is the load and the trouble, of which the length follows."""

MADE: Final = 1000
"""So many options are known at most, of each family."""

MOST = 100_000
"""No option is larger; a share is at most 1000."""


class OptionSet(Generic[T]):
    """A family of options.

    of: the struct that holds them, whose defaults make a run in which nothing goes wrong. kinds:
    the kinds of fault that a run has or has not, and the options that make each. positive: options
    of at least 1. shares: options per mille. by_position: so many of the first are drawn from the
    stream `faults`, one after the other; never more, so that a new option stands at the end.
    """

    def __init__(
        self,
        of: type[T],
        kinds: Mapping[str, tuple[str, ...]],
        positive: tuple[str, ...],
        shares: tuple[str, ...],
        by_position: int = 0,
    ) -> None:
        self.of = of
        self.kinds = kinds
        self.off = of()
        """Nothing goes wrong."""
        self._positive = positive
        self._shares = shares
        self._by_position = frozenset(of.__struct_fields__[:by_position])
        self._made: dict[bytes, T] = {}
        """Options that were looked at before, by the values: most campaigns fix most of them."""
        self._wheels: tuple[Mapping[str, Palette], tuple[_Wheel, ...]] = ({}, ())
        """Of the palettes that were asked for last, which are those of every run."""

    def problem(self, options: T) -> str:
        """What is wrong with these options together, or empty."""
        return ""

    def settled(self, drawn: dict[str, Any], requested: Mapping[str, Any]) -> dict[str, Any]:
        """Drawn values that go with each other and with what was requested."""
        return drawn

    def draw(
        self,
        chooser: Chooser,
        palettes: Mapping[str, Palette],
        requested: Mapping[str, Any],
        part: str = "",
    ) -> T:
        """All options of a run: requested ones as they are, the others drawn.

        part: which one of a run, where several have options of one name.

        Raises ValueError: there is no such option, or it cannot have this value.
        """
        switched_off: set[str] = set()
        for options in self.kinds.values():
            if self._stream(chooser, part, options[0]).below(2) == 0:
                switched_off.update(options)
        drawn = msgspec.structs.asdict(self.off)
        for name, values in self._wheels_of(palettes):
            # Drawn even if it is requested: others may come from the same stream.
            value = pick(self._stream(chooser, part, name), values)
            if name not in switched_off:
                drawn[name] = value
        known = self._known(requested)
        return self._options(self.settled(drawn, known) | known)

    def _stream(self, chooser: Chooser, part: str, name: str) -> Stream:
        of = "faults" if name in self._by_position else stream_of_option(f"{part}{name}")
        return chooser.stream(of)

    def _wheels_of(self, palettes: Mapping[str, Palette]) -> tuple[_Wheel, ...]:
        if self._wheels[0] is not palettes:
            names = [name for name in self.of.__struct_fields__ if name in palettes]
            self._wheels = palettes, tuple([(name, _wheel(palettes[name])) for name in names])
        return self._wheels[1]

    def _known(self, requested: Mapping[str, Any]) -> dict[str, Any]:
        names = self.of.__struct_fields__
        for name in requested:
            if name not in names:
                near = get_close_matches(name, names, n=1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
                raise ValueError(f"no option {name!r}; {hint}")
        return dict(requested)

    def _options(self, values: Mapping[str, Any]) -> T:
        told = {name: value for name, value in values.items() if value is not msgspec.UNSET}
        key = msgspec.msgpack.encode(told)
        options = self._made.get(key)
        if options is None:
            if len(self._made) >= MADE:
                self._made.clear()
            options = self._made[key] = self._checked(told)
        return options

    def _checked(self, told: Mapping[str, Any]) -> T:
        try:
            options = msgspec.convert(told, self.of)
        except msgspec.ValidationError as error:
            raise ValueError(f"option refused: {_allowed(self.of, error)}") from None
        for name in self.of.__struct_fields__:
            value = getattr(options, name)
            if isinstance(value, bool) or not isinstance(value, int):
                continue
            least = 1 if name in self._positive else 0
            most = 1000 if name in self._shares else MOST
            if not least <= value <= most:
                raise ValueError(f"option refused: {name} is {value}, not from {least} to {most}")
        problem = self.problem(options)
        if problem:
            raise ValueError(f"option refused: {problem}")
        return options


def _allowed(of: type[msgspec.Struct], error: msgspec.ValidationError) -> str:
    """What msgspec says of a value, and what it could be, if that is one of a few words."""
    said, _, place = str(error).replace("`", "").partition(" - at $.")
    words = get_args(get_type_hints(of).get(place))
    if words and all(type(w) is str for w in words):
        return f"{place} is one of {', '.join(w or chr(39) * 2 for w in words)}"
    return f"{place}: {said[0].lower()}{said[1:]}"


def _wheel(palette: Palette) -> tuple[Any, ...]:
    return tuple([value for weight, value in palette for _ in range(weight)])


def options_json(options: msgspec.Struct) -> str:
    """The options as they are stored with a run: JSON with sorted keys."""
    return msgspec.json.encode(options, order="sorted").decode()
