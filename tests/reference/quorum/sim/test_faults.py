"""Options are drawn as the lists say, about half of the kinds are off, and requests are kept."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import msgspec
import pytest

from kraftcheck.reference.quorum.messages import MESSAGES
from kraftcheck.reference.quorum.sim.faults import (
    KINDS,
    OFF,
    OPTIONS,
    Options,
    Outage,
    Resignation,
    draw_episode,
)
from kraftcheck.reference.quorum.sim.scenario import QUORUM
from kraftcheck.reference.quorum.snapshots.sim.changes import OF_CHANGES
from kraftcheck.reference.runner.scenarios import SCENARIOS, scenario
from kraftcheck.reference.sim.choices import ReplayChooser, SeededChooser
from kraftcheck.reference.sim.network import Partition
from kraftcheck.reference.sim.options import options_json

PALETTES = QUORUM.palettes


def drawn(seed: int, **requested: Any) -> Options:
    return OPTIONS.draw(SeededChooser(seed), PALETTES, requested)


def test_every_drawn_value_is_on_its_list() -> None:
    for seed in range(300):
        options = drawn(seed)
        for name in Options.__struct_fields__:
            allowed = [value for _, value in PALETTES.get(name, ())] + [getattr(OFF, name)]
            assert getattr(options, name) in allowed


def test_each_kind_of_fault_is_off_in_about_half_of_the_runs() -> None:
    off = Counter(
        kind
        for seed in range(400)
        for kind, names in KINDS.items()
        if all(getattr(drawn(seed), name) == getattr(OFF, name) for name in names)
    )
    assert set(off) == set(KINDS)
    assert all(150 < count < 260 for count in off.values()), off


def test_every_fault_option_belongs_to_a_kind() -> None:
    """Except what is no fault, and what only shapes others."""
    of_kinds = {name for names in KINDS.values() for name in names}
    rest = set(Options.__struct_fields__) - of_kinds
    assert rest == {
        *("voters", "fetch_max_records", "start", "hold_ms", "calm_ms", "watched", "stretch"),
        *OF_CHANGES,
    }


def test_the_simplest_choices_are_no_fault() -> None:
    assert OPTIONS.draw(ReplayChooser([]), {}, {}) == OFF
    simplest = OPTIONS.draw(ReplayChooser([]), PALETTES, {})
    assert all(getattr(simplest, n) == getattr(OFF, n) for names in KINDS.values() for n in names)


def test_mostly_three_voters_sometimes_five_rarely_others() -> None:
    voters = Counter(drawn(seed).voters for seed in range(1000))
    assert set(voters) == {1, 2, 3, 5}
    assert voters[3] > 850
    assert voters[5] > max(voters[1], voters[2])


def test_suffering_names_messages() -> None:
    known = {of.__name__ for of in MESSAGES}
    assert {value for _, value in PALETTES["suffering"]} <= known


def test_requested_options_are_kept_and_move_no_others() -> None:
    requested = drawn(5, loss=1, voters=5)
    assert (requested.loss, requested.voters) == (1, 5)
    free = drawn(5)
    for name in set(Options.__struct_fields__) - {"loss", "voters"}:
        assert getattr(requested, name) == getattr(free, name)


@pytest.mark.parametrize(
    ("requested", "message"),
    [
        ({"los": 1}, "no option 'los'; did you mean loss?"),
        ({"xyz": 1}, "there are voters"),
        ({"loss": "much"}, "option refused"),
        ({"loss": 1001}, "loss is 1001, not from 0 to 1000"),
        ({"voters": 0}, "voters is 0, not from 1"),
        ({"crash_on": "dinner"}, "option refused"),
        ({"loss": 500, "duplication": 500, "reordering": 1}, "add up to over 1000"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(requested: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="option") as raised:
        drawn(1, **requested)
    assert message in str(raised.value)


def test_options_print_as_sorted_json() -> None:
    """What changes in a run on request alone is not told where it is not requested: such runs are
    the same bytes as before there was any."""
    asking = dict.fromkeys(OF_CHANGES, 1)
    told, asked = json.loads(options_json(OFF)), msgspec.convert(asking, Options, strict=False)
    assert list(told) == sorted({*Options.__struct_fields__} - {*OF_CHANGES})
    assert list(json.loads(options_json(asked))) == sorted(Options.__struct_fields__)


def test_episodes_are_of_the_kinds_that_have_weight() -> None:
    for options, kind in (
        (Options(partitions=1), Partition),
        (Options(crashes=1), Outage),
        (Options(resignations=1), Resignation),
    ):
        stream = SeededChooser(1).stream("faults")
        found = {type(draw_episode(stream, options, range(3), leader=1)) for _ in range(50)}
        assert found == {kind}
    assert draw_episode(SeededChooser(1).stream("faults"), OFF, range(3), None) is None


def test_partitions_split_the_nodes_and_favour_the_leader() -> None:
    stream = SeededChooser(2).stream("faults")
    options = Options(partitions=1, one_way=500)
    with_leader = one_way = 0
    for _ in range(400):
        episode = draw_episode(stream, options, range(3), leader=2)
        assert isinstance(episode, Partition)
        assert sorted(episode.sources + episode.destinations) == [0, 1, 2]
        assert episode.sources and episode.destinations
        one_way += episode.one_way
        with_leader += (2,) in (episode.sources, episode.destinations)
    assert 200 < with_leader < 340
    assert 140 < one_way < 260


def test_nobody_resigns_without_a_leader_and_nobody_is_cut_off_alone() -> None:
    stream = SeededChooser(2).stream("faults")
    assert draw_episode(stream, Options(resignations=1), range(3), leader=None) is None
    assert draw_episode(stream, Options(partitions=1), range(1), leader=0) is None


def test_scenarios_are_found_by_name() -> None:
    assert all(scenario(name).name == name for name in SCENARIOS)
    with pytest.raises(ValueError, match="no scenario 'quorun'; did you mean quorum"):
        scenario("quorun")
