"""What others call: simulate a part of a campaign, one run, or one schedule.

Run r of a campaign with seed S has a seed of its own, derived from (S, r). So a run executed alone
takes the same steps as within any part, and how a campaign is divided into parts is a matter of
convenience: only ids differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from reference.core.messages import Input, Message
from reference.core.quorum import action_of
from reference.core.timers import Timeouts
from reference.core.types import Row
from reference.sim.choices import Chooser, SeededChooser, run_seed
from reference.sim.faults import OPTIONS
from reference.sim.memo import Memo
from reference.sim.recorder import Recorder, RunResult
from reference.sim.scenario import Scenario
from reference.sim.scenario import scenario as scenario_of
from reference.sim.scheduler import Simulation
from traces.schema import PartTables

MEMO_STEPS = 400_000
"""A memo that has grown to so many steps is begun anew: about 400 MB."""

_memos: dict[tuple[Timeouts, str | None], Memo] = {}


class Taken(NamedTuple):
    """One step of a run, by content."""

    time: int
    """Virtual microseconds."""
    node: int
    action: str
    before: Row
    input: Input
    after: Row
    sent: tuple[Message, ...]
    ignored: str


class Run(NamedTuple):
    """One run, by content."""

    result: RunResult
    steps: list[Taken]


def simulate_part(
    scenario: str,
    seed: int,
    first_run: int,
    runs: int,
    bug: str | None = None,
    options: Mapping[str, Any] | None = None,
    memo: bool = True,
) -> PartTables:
    """Runs `first_run` to `first_run + runs - 1` of the campaign with this seed, as tables.

    `options` fixes options that would be drawn otherwise. `memo` off executes every step anew: the
    same bytes come out, later.

    Raises ValueError: no such scenario, option or bug. AssertionError: the reference or the
    simulator broke a law of its own.
    """
    found = scenario_of(scenario)
    known = _memo(found, bug) if memo else Memo(found.timeouts, bug, enabled=False)
    recorder = Recorder(first_run)
    for run in range(first_run, first_run + runs):
        own = run_seed(seed, run)
        simulate(found, SeededChooser(own), known, recorder, run, own, options or {})
    return recorder.tables()


def simulate_run(
    scenario: str,
    seed: int,
    run: int,
    bug: str | None = None,
    options: Mapping[str, Any] | None = None,
    chooser: Chooser | None = None,
) -> Run:
    """One run of a campaign alone; or, given a chooser, the run that its choices make.

    Raises as `simulate_part` does.
    """
    found = scenario_of(scenario)
    recorder = Recorder(run)
    own = run_seed(seed, run)
    chosen = SeededChooser(own) if chooser is None else chooser
    simulate(found, chosen, _memo(found, bug), recorder, run, own, options or {})
    return Run(recorder.results[0], _taken(recorder))


def simulate(
    scenario: Scenario,
    chooser: Chooser,
    memo: Memo,
    recorder: Recorder,
    run: int,
    seed: int,
    options: Mapping[str, Any],
) -> Simulation:
    """One run into a recorder. The simulation is returned as it ended."""
    drawn = OPTIONS.draw(chooser.stream("faults"), scenario.palettes, options)
    simulation = Simulation(scenario, drawn, chooser, memo, recorder)
    simulation.execute()
    recorder.close_run(
        RunResult(
            run=run,
            seed=seed,
            constants=simulation.constants,
            options=drawn,
            handler_calls=simulation.handler_calls,
            verdict=simulation.verdict,
            violations=simulation.violations,
            history=simulation.clients.history,
            statistics=simulation.statistics(),
        )
    )
    return simulation


def _memo(scenario: Scenario, bug: str | None) -> Memo:
    """What this process knows already of steps under these timeouts and rules."""
    key = (scenario.timeouts, bug)
    memo = _memos.get(key)
    if memo is not None and memo.steps > MEMO_STEPS:
        memo.forget()
        memo = None
    if memo is None:
        memo = _memos[key] = Memo(scenario.timeouts, bug)
    return memo


def known_steps(scenario: str, bug: str | None = None) -> int:
    """How many steps this process remembers of a scenario."""
    memo = _memos.get((scenario_of(scenario).timeouts, bug))
    return 0 if memo is None else memo.steps


def forget() -> None:
    """Frees what this process remembers of steps; the next part works them out again."""
    for memo in _memos.values():
        memo.forget()
    _memos.clear()


def _taken(recorder: Recorder) -> list[Taken]:
    taken = []
    for number, time in zip(recorder.steps.items, recorder.times.items, strict=True):
        step = recorder.distinct[number]
        taken.append(
            Taken(
                time=time,
                node=step.before.node,
                action=action_of(step.input.value),
                before=step.before.row,
                input=step.input.value,
                after=step.after.row,
                sent=tuple([cast(Message, message.value) for _, message in step.sent]),
                ignored=step.ignored,
            )
        )
    return taken
