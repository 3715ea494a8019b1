"""What a steered run of transactions is asked for in the end, when nothing disturbs any more."""

from __future__ import annotations

import random

import pytest

from kraftcheck.reference.drivers.script import ScriptedRun, begun
from kraftcheck.reference.protocols import parts_of
from kraftcheck.reference.runner.scripted import replay
from kraftcheck.reference.steered.failures import NoProgress
from kraftcheck.reference.steered.scripts import Script
from kraftcheck.traces.jobs.steered import broken_promise

(TRANSACTIONS,) = parts_of("transactions")


def disturbed(number: int, bug: str | None, refused: bool = False) -> ScriptedRun:
    """A run of moves drawn by chance, messages lost, doubled and late, under whatever constants. No
    id is forgotten: a tombstone that was given up, and elected, is an older epoch
    (transactions-older-epoch). refused: whether partitions refuse markers.
    """
    draw, world = random.Random(number), TRANSACTIONS.world
    assert world is not None
    setting = {name: draw.choice(values) for name, values in world.constants.items()}
    setting |= {"ids_expire": False, "markers_refused": refused}
    schedule = begun(TRANSACTIONS, {**setting, "late": draw.choice((0, 1))}, bug)
    for _ in range(draw.choice((20, 60, 150))):
        own, mail, held = schedule.own(), schedule.mail(), schedule.held()
        if mail and draw.random() < 0.55:
            schedule.deliver(*draw.choice((mail[0], *mail)), again=draw.random() < 0.1)
        elif held and draw.random() < 0.1:
            schedule.deliver_held(*draw.choice(held))
        elif own:
            kind = draw.choice(sorted({known.kind for _, known in own}))
            offer = draw.choice([each for each in own if each[1].kind == kind])
            schedule.act(*offer, lost=draw.random() < 0.05)
    return schedule


@pytest.mark.slow
@pytest.mark.parametrize("refused", [False, True])
def test_without_a_bug_everything_ends(refused: bool) -> None:
    assert {disturbed(number, None, refused).progress() for number in range(300)} == {""}


@pytest.mark.parametrize(("bug", "refused"), [("Z74", False), ("Z85", False), ("Z165", True)])
def test_what_never_completes_is_told(bug: str, refused: bool) -> None:
    said = {disturbed(number, bug, refused).progress() for number in range(150)}
    assert {*said} - {""} <= {f"the transaction stays in Prepare{d}" for d in ("Commit", "Abort")}
    assert len(said) > 1


@pytest.mark.parametrize(
    ("moves", "wanted"),
    [
        ((), ""),
        (("0 Elect",), "the coordinator has not loaded its log"),
    ],
)
def test_what_is_missing_is_told_in_words(moves: tuple[str, ...], wanted: str) -> None:
    """Of rows as they are, before anything has come to rest."""
    schedule, world = begun(TRANSACTIONS, {}, None), TRANSACTIONS.world
    assert world is not None and world.calm is not None
    for words in moves:
        next(each for each in schedule.possible() if each.words.startswith(words)).make()
    assert world.calm.missing(schedule.constants, schedule.rows) == wanted


def test_a_replay_fails_by_what_is_missing() -> None:
    schedule = next(
        each for each in (disturbed(number, "Z85") for number in range(150)) if fails(each)
    )
    script = Script(
        machine="transactions",
        bug="Z85",
        violates="",
        options=schedule.setting(),
        moves=tuple(schedule.moves),
    )
    failure = replay(script, broken_promise).failure
    assert isinstance(failure, NoProgress) and failure.reason.startswith("the transaction stays in")


def fails(schedule: ScriptedRun) -> bool:
    """Whether progress is missing; what the end has moved is left out again."""
    drawn = len(schedule.moves)
    missing = schedule.progress()
    del schedule.moves[drawn:]
    return bool(missing)
