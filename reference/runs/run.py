"""What others call: simulate a part of a campaign, one run, or one schedule.

Run r of a campaign with seed S has a seed of its own, derived from (S, r). So a run executed alone
takes the same steps as within any part, and how a campaign is divided into parts is a matter of
convenience: only ids differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from reference.bugs.catalog import bug as known_bug
from reference.cluster.sim import options as cluster_options
from reference.cluster.sim.scenario import ClusterScenario
from reference.cluster.sim.scheduler import ClusterMemo, ClusterSimulation
from reference.partition.sim import options as partition_options
from reference.partition.sim.machine import PartitionMemo
from reference.partition.sim.scenario import PartitionScenario
from reference.partition.sim.scheduler import PartitionSimulation
from reference.quorum.sim import faults
from reference.quorum.sim.machine import QuorumMemo
from reference.quorum.sim.scenario import Scenario
from reference.quorum.sim.scheduler import Simulation
from reference.runs.scenarios import AnyScenario
from reference.runs.scenarios import scenario as scenario_of
from reference.sim import plain
from reference.sim.choices import Chooser, SeededChooser, Stream, run_seed
from reference.sim.plain import PlainMemo, PlainScenario, PlainSimulation
from reference.sim.recorder import Recorder, RunResult
from traces.schema import PartTables

MEMO_STEPS = 400_000
"""A memo that has grown to so many steps is begun anew: about 400 MB."""

AnyMemo: TypeAlias = QuorumMemo | PartitionMemo | ClusterMemo | PlainMemo
AnySimulation: TypeAlias = Simulation | PartitionSimulation | ClusterSimulation | PlainSimulation


class Family(NamedTuple):
    """How runs of a kind of scenario are made. options: drawn from a stream, but for those that are
    requested. memo: under a bug or none, enabled or not. simulation: of one run.
    """

    options: Callable[[Any, Stream, Mapping[str, Any]], Any]
    memo: Callable[[Any, str | None, bool], AnyMemo]
    simulation: Callable[[Any, Any, Chooser, Any, Recorder], AnySimulation]


def _cluster_memo(scenario: ClusterScenario, bug: str | None, enabled: bool) -> ClusterMemo:
    of_quorum, of_partition = bugs_of_parts(bug)
    return ClusterMemo(
        QuorumMemo(scenario.timeouts, of_quorum, enabled), PartitionMemo(of_partition, enabled)
    )


_FAMILIES: Final[Mapping[type, Family]] = {
    Scenario: Family(
        lambda scenario, stream, fixed: faults.OPTIONS.draw(stream, scenario.palettes, fixed),
        lambda scenario, bug, enabled: QuorumMemo(scenario.timeouts, bug, enabled),
        Simulation,
    ),
    PartitionScenario: Family(
        lambda scenario, stream, fixed: partition_options.OPTIONS.draw(
            stream, scenario.palettes, fixed
        ),
        lambda _, bug, enabled: PartitionMemo(bug, enabled),
        PartitionSimulation,
    ),
    ClusterScenario: Family(
        lambda scenario, stream, fixed: cluster_options.draw(stream, scenario.palettes, fixed),
        _cluster_memo,
        ClusterSimulation,
    ),
    PlainScenario: Family(
        lambda scenario, stream, fixed: plain.options_of(scenario.protocol).draw(
            stream, scenario.palettes, fixed
        ),
        lambda scenario, bug, enabled: PlainMemo(scenario.protocol, bug, enabled),
        lambda _, *given: PlainSimulation(*given),
    ),
}

_memos: dict[tuple[object, str | None], AnyMemo] = {}
_forgotten: dict[tuple[object, str | None], int] = {}
"""How many steps memos knew that were begun anew."""


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
    known = _memo(found, bug) if memo else _new_memo(found, bug, enabled=False)
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
    return Run(recorder.results[0], taken(recorder))


def simulate(
    scenario: AnyScenario,
    chooser: Chooser,
    memo: AnyMemo,
    recorder: Recorder,
    run: int,
    seed: int,
    requested: Mapping[str, Any],
) -> AnySimulation:
    """One run into a recorder. The simulation is returned as it ended."""
    options = draw_options(scenario, chooser.stream("faults"), requested)
    simulation = _FAMILIES[type(scenario)].simulation(scenario, options, chooser, memo, recorder)
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
            batches=getattr(simulation, "batches", ()),
        )
    )
    return simulation


def draw_options(scenario: AnyScenario, stream: Stream, requested: Mapping[str, Any]) -> Any:
    """The options of one run: requested ones as they are, the others drawn.

    Raises ValueError: the scenario has no such option, or it cannot have this value.
    """
    return _FAMILIES[type(scenario)].options(scenario, stream, requested)


def _new_memo(scenario: AnyScenario, bug: str | None, enabled: bool = True) -> AnyMemo:
    return _FAMILIES[type(scenario)].memo(scenario, bug, enabled)


def _memo_key(scenario: AnyScenario, bug: str | None) -> tuple[object, str | None]:
    if isinstance(scenario, Scenario):
        return scenario.timeouts, bug
    return scenario.name, bug


def bugs_of_parts(id: str | None) -> tuple[str | None, str | None]:
    """The bug as one of the quorum, and as one of partitions. Raises UnknownBug: it is neither."""
    if id is None:
        return None, None
    found = known_bug(id)
    return (found.id, None) if found.protocol == "quorum" else (None, found.id)


def _memo(scenario: AnyScenario, bug: str | None) -> AnyMemo:
    """What this process remembers of a scenario's protocol and rules."""
    key = _memo_key(scenario, bug)
    memo = _memos.get(key)
    if memo is not None and memo.steps > MEMO_STEPS:
        _forgotten[key] = _forgotten.get(key, 0) + memo.steps
        memo.forget()
        memo = None
    if memo is None:
        memo = _memos[key] = _new_memo(scenario, bug)
    return memo


def steps_worked_out(scenario: str, bug: str | None = None) -> int:
    """How many steps of a scenario this process has worked out to remember them."""
    key = _memo_key(scenario_of(scenario), bug)
    memo = _memos.get(key)
    return _forgotten.get(key, 0) + (0 if memo is None else memo.steps)


def forget() -> None:
    """Frees what this process remembers of steps; the next part works them out again."""
    for memo in _memos.values():
        memo.forget()
    _memos.clear()
    _forgotten.clear()


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
