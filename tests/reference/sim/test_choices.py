"""Choices: drawn, recorded, written down, read back, replayed; and the streams do not meet."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, strategies as st

from kraftcheck.reference.sim.choices import (
    STREAMS,
    Choice,
    Chooser,
    RecordingChooser,
    ReplayChooser,
    SeededChooser,
    Stream,
    StreamName,
    chance,
    parse,
    pick,
    render,
    run_seed,
)

ASKED: list[tuple[StreamName, int]] = [
    ("network", 1000),
    ("faults", 2),
    ("network", 7),
    ("disk", 1),
    ("clock", 2**32),
    ("workload", 3),
] * 40

choices = st.builds(
    lambda stream, bound, value: Choice(stream, bound, value % bound),
    st.sampled_from(STREAMS),
    st.integers(1, 2**32),
    st.integers(0, 2**32),
)


def ask(chooser: Chooser) -> list[int]:
    return [chooser.stream(name).below(bound) for name, bound in ASKED]


def test_a_seed_stands_for_the_same_choices_for_ever() -> None:
    """Literal numbers: a change here changes every recorded seed."""
    stream = SeededChooser(7).stream("network")
    assert [stream.below(1000) for _ in range(6)] == [287, 990, 829, 838, 49, 268]
    assert run_seed(1, 0) == 2709669515671555460


def test_seeds_and_streams_differ() -> None:
    drawn = [
        tuple(SeededChooser(seed).stream(name).below(2**32) for _ in range(1))
        for seed in range(20)
        for name in STREAMS
    ]
    assert len(set(drawn)) == len(drawn)


def test_numbers_are_below_their_bound_and_spread() -> None:
    stream = SeededChooser(3).stream("faults")
    counted = Counter(stream.below(10) for _ in range(20_000))
    assert sorted(counted) == list(range(10))
    assert all(1800 < count < 2200 for count in counted.values())


def test_a_draw_in_one_stream_moves_nothing_in_another() -> None:
    one, two = SeededChooser(5), SeededChooser(5)
    for _ in range(100):
        two.stream("network").below(9)
    for name in STREAMS:
        if name != "network":
            assert one.stream(name).below(2**32) == two.stream(name).below(2**32)


def test_run_seeds_are_their_own() -> None:
    seeds = {run_seed(campaign, run) for campaign in range(30) for run in range(100)}
    assert len(seeds) == 3000
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_recorded_schedule_replays() -> None:
    recording = RecordingChooser(SeededChooser(11))
    made = ask(recording)
    replay = ReplayChooser(parse(render(recording.choices)))
    assert ask(replay) == made
    assert (replay.missing, replay.misfits) == (0, 0)


def test_a_schedule_that_ends_goes_on_with_the_simplest_choice() -> None:
    recording = RecordingChooser(SeededChooser(11))
    made = ask(recording)
    replay = ReplayChooser(recording.choices[:100])
    assert ask(replay) == made[:100] + [0] * (len(ASKED) - 100)
    assert replay.missing == len(ASKED) - 100


def test_a_value_that_does_not_fit_is_cut() -> None:
    replay = ReplayChooser([Choice("disk", 10, 9)])
    assert replay.stream("disk").below(4) == 3
    assert replay.misfits == 1


@given(st.lists(choices))
def test_schedules_are_text(made: list[Choice]) -> None:
    assert parse(render(made)) == made


def test_schedules_may_be_commented() -> None:
    assert parse("# a cut\n\nnetwork 3 of 9  # lost\n") == [Choice("network", 9, 3)]


@pytest.mark.parametrize(
    "line",
    ["network 3 in 9", "network 3", "radio 3 of 9", "network 9 of 9", "network -1 of 9", "x"],
)
def test_a_line_that_is_no_choice_is_named(line: str) -> None:
    with pytest.raises(ValueError, match="line 2: not a choice"):
        parse(f"disk 0 of 1\n{line}\n")


class Fixed:
    """A stream that always chooses the highest (or the lowest) number."""

    def __init__(self, highest: bool) -> None:
        self.highest = highest
        self.asked = 0

    def below(self, bound: int) -> int:
        self.asked += 1
        return bound - 1 if self.highest else 0


def test_zero_is_the_simplest() -> None:
    lowest: Stream = Fixed(highest=False)
    assert pick(lowest, "abc") == "a"
    assert not chance(lowest, 999)
    assert chance(Fixed(highest=True), 1)


def test_what_can_only_be_false_is_not_asked() -> None:
    stream = Fixed(highest=True)
    assert not chance(stream, 0)
    assert stream.asked == 0
