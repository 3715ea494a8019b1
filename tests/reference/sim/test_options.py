"""Options are drawn each from a stream of its own: one more changes no other, and no run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import pytest

from kraftcheck.reference.cluster.sim.options import Shape
from kraftcheck.reference.partition.sim.options import PartitionOptions
from kraftcheck.reference.quorum.sim.faults import Options
from kraftcheck.reference.sim.choices import RecordingChooser, SeededChooser
from kraftcheck.reference.sim.options import OptionSet, Palette

PALETTES: Final[Mapping[str, Palette]] = {
    name: ((3, 0), (1, 1), (1, 2)) for name in ("first", "second", "third", "fourth")
}
KINDS: Final = {"a kind": ("second", "third"), "another": ("first",)}


def option_set(*names: str, by_position: int = 0) -> OptionSet[Any]:
    struct = msgspec.defstruct("Drawn", [(name, int, 0) for name in names], frozen=True)
    kinds = {kind: options for kind, options in KINDS.items() if {*options} <= {*names}}
    return OptionSet(struct, kinds, (), (), by_position)


def drawn(options: OptionSet[Any], seed: int) -> tuple[dict[str, Any], int]:
    """The options, and the next choice that a run would make of its faults."""
    chooser = SeededChooser(seed)
    found = msgspec.structs.asdict(options.draw(chooser, PALETTES, {}))
    return found, chooser.stream("faults").below(1000)


def differing(fewer: OptionSet[Any], more: OptionSet[Any]) -> int:
    """With how many of 50 seeds the options of `fewer`, or what follows, are others in `more`."""
    found = 0
    for seed in range(50):
        (few, after), (many, then) = drawn(fewer, seed), drawn(more, seed)
        found += ({name: many[name] for name in few}, then) != (few, after)
    return found


def test_an_option_more_changes_no_run() -> None:
    fewer = option_set("second", "third")
    assert differing(fewer, option_set("second", "third", "fourth")) == 0
    assert differing(fewer, option_set("first", "second", "third")) == 0


def test_an_option_behind_those_by_position_changes_no_run() -> None:
    old = option_set("second", "third", by_position=2)
    assert differing(old, option_set("second", "third", "first", "fourth", by_position=2)) == 0


def test_by_position_it_would() -> None:
    old = option_set("second", "third", by_position=2)
    assert differing(old, option_set("second", "third", "fourth", by_position=3)) > 10
    assert differing(old, option_set("first", "second", "third", by_position=3)) > 10


def test_no_two_options_have_one_stream() -> None:
    options = option_set("second", "fourth")
    seen = {tuple(drawn(options, seed)[0].values()) for seed in range(200)}
    assert len(seen) == 9
    chooser, whole = SeededChooser(1), SeededChooser(1)
    parts = {options.draw(chooser, PALETTES, {}, f"{number}.") for number in range(20)}
    assert len(parts) > 2
    assert options.draw(whole, PALETTES, {}, "7.") in parts


@pytest.mark.parametrize(
    ("of", "count", "last"),
    [(Options, 21, "watched"), (PartitionOptions, 40, "faulty_ms"), (Shape, 5, "hot_topic")],
)
def test_what_is_drawn_by_position_stays_in_its_place(of: Any, count: int, last: str) -> None:
    """If one of these went or moved, all that is stored of runs would have to be found again."""
    assert of.__struct_fields__[count - 1] == last


def test_a_schedule_says_of_which_option_a_choice_is() -> None:
    recording = RecordingChooser(SeededChooser(1))
    option_set("first", "fourth").draw(recording, PALETTES, {})
    streams = [choice.stream for choice in recording.choices]
    assert streams == ["option.first", "option.first", "option.fourth"]
