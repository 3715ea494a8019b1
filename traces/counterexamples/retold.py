"""A run of choices (reference/sim/schedules.py) as the moves of a steered run.

A choice is a number, which says something to the simulator only; a move says it in words, so that
an implementation that is not the reference can make it as well. Lost and doubled messages are no
moves of their own: what never comes stays under way, and what comes again is left there.

Law of this file: the moves make the steps of the run, each as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict

from kraftcheck.reference.core.run import STRICT
from kraftcheck.reference.drivers.script import ScriptedRun, begun
from kraftcheck.reference.protocols import PROTOCOLS
from kraftcheck.reference.runner.run import Taken, taken
from kraftcheck.reference.runner.shrink import replayed
from kraftcheck.reference.sim.schedules import Schedule
from kraftcheck.reference.steered.failures import Failure
from kraftcheck.reference.steered.scripts import Script


def retold(schedule: Schedule) -> Script:
    """The moves of a schedule.

    Raises ValueError: no such scenario, option or bug, its protocol has a simulation of its own, or
    a step hears only a part of what was sent to it.
    """
    found = [each for each in PROTOCOLS if each.name == schedule.scenario and each.by_chance]
    if not found:
        raise ValueError(f"a run of {schedule.scenario} is a row of choices, and has no moves")
    [protocol] = found
    told, _ = replayed(schedule)
    steps, drawn = told.steps, asdict(told.result.constants)
    run = begun(protocol, {**schedule.options, **drawn}, schedule.bug)
    at = 0
    try:
        while at < len(steps):
            _make(run, steps[at:])
            made = _said(taken(run.recorder))
            wanted = _said(steps[: len(made)])
            if made != wanted or len(made) == at:
                raise ValueError(f"step {at} of the run is no move: {steps[at].input!r:.120}")
            at = len(made)
    except Failure:
        pass  # It ends the run, as it ended the one that was recorded.
    return Script(
        machine=protocol.name,
        moves=tuple(run.moves),
        bug=schedule.bug,
        violates=schedule.violates,
        options=run.setting() | {n: v for n, v in schedule.options.items() if n == STRICT},
    )


def _said(steps: Sequence[Taken]) -> list[tuple[Any, ...]]:
    return [(each.node, each.input, each.after, each.sent) for each in steps]


def _make(run: ScriptedRun, steps: Sequence[Taken]) -> None:
    """The move that makes the first of these steps, if there is one."""
    node, input = steps[0].node, steps[0].input
    again = any((each.node, each.input) == (node, input) for each in steps[1:])
    for to, message in run.mail():
        if (to, message.value) == (node, input):
            run.deliver(to, message, again and run.may_repeat(message))
            return
    for to, message in run.held():
        if (to, message.value) == (node, input):
            run.deliver_held(to, message)
            return
    for to, own in run.own():
        if (to, own.value) == (node, input):
            heard = [each.input for each in steps[1:]]
            at_once = [message for message in steps[0].sent if run.system.at_once(message)]
            run.act(to, own, lost=bool(at_once) and not any(each in heard for each in at_once))
            return
