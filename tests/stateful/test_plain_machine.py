"""Searches in every protocol that has no simulation of its own; and shows that they find.

As in test_quorum_machine.py: the first test is the search, as hard as the profile says. The others
hold searcher and schedules to account.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from kraftcheck import exits, schedules
from kraftcheck.reference.core.system import HOW
from kraftcheck.reference.drivers.script import LOST, begun
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.protocols import parts_of
from kraftcheck.reference.runner.scripted import begin, replay
from kraftcheck.reference.steered.failures import Violation
from kraftcheck.reference.steered.scripts import Script, read, write
from kraftcheck.screen import Screen
from kraftcheck.traces.jobs.steered import broken_promise
from tests.stateful import searching
from tests.stateful.detecting import PLAIN, budget, search, shrunk
from tests.stateful.plain_machine import machine_of


@pytest.mark.slow
def test_the_search_finds_nothing() -> None:
    """In all of them where the profile is `chaos`; elsewhere TLC would start too often."""
    is_chaos = settings().max_examples > searching.MOST
    searched, whole = (PLAIN, 1.0) if is_chaos else (PLAIN[:2], 0.4)
    for protocol in searched:
        searching.search(machine_of(protocol), share=whole / len(searched))
    searching.refuse_few([protocol.name for protocol in searched])


def named(name: str) -> Protocol:
    (protocol,) = parts_of(name)
    return protocol


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "bug", "number", "property"),
    [
        ("transactions", "Z62", 1, "NoHanging"),
        ("groups", "Z96", 1, "CommitsHandedOut"),
    ],
)
def test_a_bug_is_found_and_its_moves_are_kept_small_and_told_again(
    name: str, bug: str, number: int, property: str, tmp_path: Path
) -> None:
    found = search(name, bug, number, budget(400))
    assert found.script is not None and found.how == property
    left = shrunk(found, 300)
    assert left is not None and left <= 20
    path = tmp_path / "found.moves"
    script = Script(
        machine=name,
        bug=bug,
        violates=property,
        options=found.script.options,
        moves=found.script.moves,
    )
    path.write_text(write(script), encoding="utf-8")
    assert read(path.read_text("utf-8"))[0].moves == found.script.moves
    assert schedules.replay(path, Screen(quiet=True)) == exits.VIOLATED
    assert replay(Script(machine=name, options=script.options, moves=()), broken_promise).made == ()


@pytest.mark.slow
def test_what_never_completes_is_found_and_made_small() -> None:
    found = search("transactions", "Z85", 2, budget(400))
    assert found.how == "no progress"
    left = shrunk(found, 300)
    assert left is not None and left <= 20


def test_what_a_schedule_can_do_with_messages() -> None:
    """A message is lost with the step that sends it, comes again, or late."""
    schedule = begun(named("transactions"), {"late": 1}, None)
    acted = [schedule.act(*offer) for offer in schedule.own()]
    assert any(acted) and schedule.mail()
    words = [move.words for move in schedule.possible()]
    assert len(set(words)) == len(words), "no two moves have the same words"
    first = schedule.mail()[0]
    schedule.deliver(*first, again=True)
    assert schedule.moves[-1].endswith(HOW["again"]) and schedule.held() == [first]
    schedule.deliver_held(*first)
    assert schedule.moves[-1].endswith(HOW["late"]) and not schedule.held()
    before = len(schedule.mail())
    lossy = next(move for move in schedule.possible() if move.words.endswith(LOST))
    lossy.make()
    assert schedule.moves[-1] == lossy.words and len(schedule.mail()) == before


def test_a_schedule_is_made_again_from_its_words() -> None:
    schedule = begun(named("groups"), {}, None)
    for turn in range(40):
        moves = list(schedule.possible())
        moves[turn * 7 % len(moves)].make()
    again = begin(Script(machine="groups", moves=(), options=schedule.setting()))
    for words in schedule.moves:
        next(move for move in again.possible() if move.words == words).make()
    assert again.named_rows() == schedule.named_rows()
    assert again.setting() == schedule.setting()


def test_a_violation_names_its_property_and_ends_the_run() -> None:
    schedule = begun(named("transactions"), {}, "Z62")
    with pytest.raises(Violation) as found:
        for _ in range(200):
            for offer in schedule.own():
                schedule.act(*offer)
            while schedule.mail():
                schedule.deliver(*schedule.mail()[0])
    assert found.value.sentence and not schedule.sound


@pytest.mark.parametrize(
    ("options", "wrong"),
    [({"colour": 3}, "a groups has no 'colour'"), ({"members": "many"}, "Expected `array`")],
)
def test_options_that_are_none_are_refused(options: dict[str, object], wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        begin(Script(machine="groups", moves=(), options=options))
