"""The laws of a System, on every declared protocol: moves are enabled, effects are values, messages
are conserved; and a driver of ten lines finds what it searches for.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable

import pytest

from kraftcheck.reference.bugs.catalog import bugs_of
from kraftcheck.reference.core.run import Run
from kraftcheck.reference.core.system import Configuration, Effect, Move, NodeMemo, System
from kraftcheck.reference.drivers.chance import RandomRun
from kraftcheck.reference.drivers.options import options_of, scenario_of, simplest
from kraftcheck.reference.drivers.script import ScriptedRun
from kraftcheck.reference.kit.protocol import HISTORY, Protocol
from kraftcheck.reference.protocols import PROTOCOLS
from kraftcheck.reference.quorum import system
from kraftcheck.reference.quorum.protocol import QUORUM
from kraftcheck.reference.quorum.types import Constants
from kraftcheck.reference.shares.sessions.messages import ConnectionLost, PollSession
from kraftcheck.reference.shares.sessions.protocol import SESSIONS
from kraftcheck.reference.sim.choices import SeededChooser
from kraftcheck.reference.sim.recorder import Recorder

DECLARED = [each for each in PROTOCOLS if each.world is not None]


def system_of(protocol: Protocol, late: bool = False) -> System:
    constants = protocol.constants(**simplest(protocol))
    return System(NodeMemo(protocol, None).machine(constants), late)


def walk(system: System, seed: int, length: int = 120) -> list[tuple[Configuration, Move, Effect]]:
    draw, at, made = random.Random(seed), system.initial(), []
    for _ in range(length):
        if not (moves := [*system.moves(at)]):
            break  # All that the constants allow has happened.
        move = draw.choice(moves)
        effect = system.apply(at, move)
        assert effect is not None, f"{move} is listed and disabled"
        made.append((at, move, effect))
        at = effect.after
    return made


@pytest.mark.parametrize("protocol", DECLARED, ids=lambda each: str(each.name))
def test_effects_are_values(protocol: Protocol) -> None:
    """The same moves lead to the same configurations; nothing that was seen before changes."""
    system = system_of(protocol)
    for at, move, effect in walk(system, 1):
        assert system.apply(at, move) == effect and {effect.after: 1}[effect.after]
    assert [each[1] for each in walk(system, 2)] == [each[1] for each in walk(system, 2)]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("protocol", DECLARED, ids=lambda each: str(each.name))
def test_messages_are_conserved(protocol: Protocol, late: bool) -> None:
    """A message in flight arrives, stays, or is lost, as the move says; what is sent is in flight,
    or is heard next.
    """
    system = system_of(protocol, late)
    for at, move, (after, step) in walk(system, 3):
        sent = len(step.travelling) if step else 0
        assert total(after) == total(at) + sent - {
            **dict.fromkeys(("deliver", "late", "hear", "lose"), 1),
            **dict.fromkeys(("take", "again"), 0),
        }.get(move.kind, 0)
        assert not at.urgent or move[1:3] == at.urgent[0]
        if move.kind == "lose":
            assert step is None and after.states == at.states


def test_a_message_that_stays_when_it_arrives_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(System, "arrive", lambda self, at, move: at)
    with pytest.raises(AssertionError):
        test_messages_are_conserved(QUORUM, False)


def total(at: Configuration) -> int:
    return len(at.mail) + len(at.held) + len(at.urgent)


def search(system: System, found: Callable[[Configuration], bool], most: int) -> tuple[int, int]:
    """Breadth first: the number of configurations that were seen, and of moves to the first that is
    searched for. Nothing is lost or doubled.
    """
    first = system.initial()
    seen, waiting = {first: 0}, deque([first])
    while waiting and len(seen) < most:
        at = waiting.popleft()
        for move in system.moves(at):
            effect = None if move.kind in ("again", "lose") else system.apply(at, move)
            if effect is not None and effect.after not in seen:
                seen[effect.after] = seen[at] + 1
                if found(effect.after):
                    return len(seen), seen[effect.after]
                waiting.append(effect.after)
    raise AssertionError(f"not found among {len(seen)}")


def test_a_search_elects_a_leader() -> None:
    system = System(NodeMemo(QUORUM, None).machine(Constants((1, 2), 2)))

    def leads(at: Configuration) -> bool:
        return any(state.row.role == "Leader" for state in at.states)

    configurations, moves = search(system, leads, 10_000)
    assert (configurations, moves) == search(system, leads, 10_000)
    assert moves == 5, "a timeout, pre-vote and its answer, vote and its answer"


@pytest.mark.parametrize("protocol", DECLARED, ids=lambda each: str(each.name))
def test_a_script_makes_the_moves_of_a_system(protocol: Protocol) -> None:
    """Word for word: each of the script's moves is one of the system's, or loses what it sends."""
    run = ScriptedRun(protocol, options_of(protocol).off, None)
    draw = random.Random(4)
    for _ in range(60):
        possible = [*run.possible()]
        assert len({move.words for move in possible}) == len(possible)
        expected = {
            (kind.kind, kind.node, kind.input)
            for kind in run.system.moves(run.at)
            if kind.kind != "lose"
        }
        assert len(expected) >= sum("nobody hears" not in each.words for each in possible)
        draw.choice(possible).make()


# --- Properties that are asked incrementally


def runs(bug: str | None, judged: bool) -> list[object]:
    found: list[object] = []
    memo, options = NodeMemo(QUORUM, bug), options_of(QUORUM)
    for seed in range(12):
        chooser = SeededChooser(seed)
        drawn = options.draw(chooser, scenario_of(QUORUM).palettes, {})
        run = RandomRun(drawn, chooser, memo, Recorder(0))
        if not judged:
            plainly(run)
        run.execute()
        found.append((run.handler_calls, run.violations))
    return found


def plainly(run: Run) -> None:
    """Has the run ask each property by itself, as of a protocol without a judge."""
    run._judge, run._history = None, run.system.world.history
    run.rows[HISTORY] = None


@pytest.mark.parametrize(
    "bug", [None, *(each.id for each in bugs_of("quorum") if each.replacement)]
)
def test_a_judge_gives_the_verdicts_of_the_properties(bug: str | None) -> None:
    assert runs(bug, True) == runs(bug, False)


def test_a_judge_that_overlooks_a_violation_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "check_step", lambda *given: None)
    assert runs("Z07", True) != runs("Z07", False)


# --- Messages in their order


def test_a_message_waits_for_those_of_its_connection_only() -> None:
    run = ScriptedRun(SESSIONS, options_of(SESSIONS).off, None)
    for input in (PollSession(), ConnectionLost(), PollSession()):
        assert run.act(1, run.known(input))
    first, closed, second = run.at.mail
    assert [each.value.connection for _, each in (first, second)] == [1, 2]
    assert run.mail() == [first, closed, second]
    again = run.at._replace(mail=(*run.at.mail, second, first))
    assert run.system.deliverable(again) == [first, closed, second]
