"""What others call: simulate a part of a campaign, one run, or one schedule.

Run r of a campaign with seed S has a seed of its own, derived from (S, r). So a run executed alone
takes the same steps as within any part, and how a campaign is divided into parts is a matter of
convenience: only ids differ.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from kraftcheck.reference.runner.scenarios import family
from kraftcheck.reference.runner.watching import rules_of, watched
from kraftcheck.reference.sim.choices import Chooser, RecordingChooser, SeededChooser, run_seed
from kraftcheck.reference.sim.family import Family, Simulated
from kraftcheck.reference.sim.genomes import Choices, Genome
from kraftcheck.reference.sim.memo import Memos
from kraftcheck.reference.sim.recorder import Recorder, RunResult
from kraftcheck.traces.schema import PartTables

COLLECTED_AT = 200_000
"""New objects after which garbage is looked for: about 30 MB."""

_memos = Memos()


class Taken(NamedTuple):
    """One step of a run, by content."""

    time: int
    """Virtual microseconds."""
    node: int
    action: str
    before: Any
    """The row of the node, of whatever protocol; likewise the input and the messages."""
    input: Any
    after: Any
    sent: tuple[Any, ...]
    ignored: str
    component: int | None = None
    """Of a cluster: 0 the quorum, 1 + p partition p."""


class Run(NamedTuple):
    """One run, by content."""

    result: RunResult
    steps: list[Taken]


@contextmanager
def _collecting_rarely() -> Iterator[None]:
    """Only runs that are over are garbage in circles, some hundred objects each.

    Looking for them at every seven hundredth object took a tenth of a part's time.
    """
    usual = gc.get_threshold()
    gc.set_threshold(COLLECTED_AT, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


@_collecting_rarely()
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
    found = family(scenario)
    known = _memo(found, bug) if memo else found.memo(bug, False)
    recorder = Recorder(first_run)
    for run in range(first_run, first_run + runs):
        own = run_seed(seed, run)
        over = simulate(found, SeededChooser(own), known, recorder, run, own, options or {})
        over.take_apart()
    return recorder.tables()


@_collecting_rarely()
def simulate_genomes(
    scenario: str,
    seed: int,
    first_run: int,
    genomes: Sequence[Genome],
    bug: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> tuple[PartTables, list[Choices], list[frozenset[str]]]:
    """Make runs from `first_run` on, of these genomes, as a part.

    Also give the choices that each run made, and which rules each distinct step asked and how they
    answered (watching.py).

    Raises as `simulate_part` does.
    """
    found = family(scenario)
    told: set[str] = set()
    memo = _memo(found, bug, watched=True)
    memo.rule_answers = told
    recorder = Recorder(first_run)
    made: list[Choices] = []
    with watched(rules_of(scenario, options or {}), told.add):
        for run, genome in enumerate(genomes, first_run):
            chooser = RecordingChooser(genome.chooser())
            own = run_seed(seed, run)
            over = simulate(found, chooser, memo, recorder, run, own, genome.options(options))
            over.take_apart()
            made.append(tuple(chooser.choices))
    decided = [step.decided for step in recorder.distinct]
    return recorder.tables(), made, decided


@_collecting_rarely()
def execute_run(
    scenario: str,
    seed: int,
    run: int,
    bug: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> None:
    """One run of a campaign alone, each step anew, for whoever watches it: nothing is told of it.

    Raises as `simulate_part` does.
    """
    found, own = family(scenario), run_seed(seed, run)
    memo = found.memo(bug, False)
    simulate(found, SeededChooser(own), memo, Recorder(run), run, own, options or {}).take_apart()


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
    found = family(scenario)
    recorder = Recorder(run)
    own = run_seed(seed, run)
    chosen = SeededChooser(own) if chooser is None else chooser
    simulate(found, chosen, _memo(found, bug), recorder, run, own, options or {})
    recorder.demand_unchanged()
    return Run(recorder.results[0], taken(recorder))


def simulate(
    of: Family,
    chooser: Chooser,
    memo: Any,
    recorder: Recorder,
    run: int,
    seed: int,
    requested: Mapping[str, Any],
) -> Simulated:
    """One run into a recorder. The simulation is returned as it ended."""
    options = of.draw(chooser, requested)
    simulation = of.simulation(of.scenario, options, chooser, memo, recorder)
    simulation.execute()
    recorder.close_run(
        RunResult(
            run=run,
            seed=seed,
            constants=simulation.constants,
            options=options,
            handler_calls=simulation.handler_calls,
            verdict=simulation.verdict,
            violations=simulation.violations,
            history=simulation.clients.history,
            statistics=simulation.statistics(),
        )
    )
    return simulation


def _memo(of: Family, bug: str | None, watched: bool = False) -> Any:
    """Give what this process remembers of a scenario's protocol and rules.

    Where rules are watched it is kept apart, since of a step that was worked out before nothing is
    told.
    """
    return _memos.memo((of.key, bug, watched), lambda: of.memo(bug, True))


def steps_worked_out(scenario: str) -> int:
    """How many steps of a scenario without a bug this process has worked out to remember them."""
    return _memos.steps((family(scenario).key, None, False))


def forget() -> None:
    """Frees what this process remembers of steps."""
    _memos.forget()


def taken(recorder: Recorder) -> list[Taken]:
    """All recorded steps, by content."""
    found = []
    components: Sequence[int | None] = recorder.components.items
    if not components:
        components = [None] * len(recorder.steps.items)
    recorded = zip(recorder.steps.items, recorder.times.items, components, strict=True)
    for number, time, component in recorded:
        step = recorder.distinct[number]
        found.append(
            Taken(
                time=time,
                node=step.before.node,
                action=f"Handle{step.input.kind}",
                before=step.before.row,
                input=step.input.value,
                after=step.after.row,
                sent=tuple([message.value for _, message in step.sent]),
                ignored=step.ignored,
                component=component,
            )
        )
    return found
