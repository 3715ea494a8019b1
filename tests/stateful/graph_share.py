"""The share of the models' graphs that machines have seen, if CHAOS_COVERAGE is set.

An edge counts as seen when a machine took its very local step, in any surrounding, as in campaigns.
Classes of steps are counted with everything else that was reached (reached.py), so that processes
of xdist add up: `class KEY EXAMPLE` says in which example, from 0, its process took it first. The
graphs are charted when the search is over, which takes TLC a minute or two the first time; charts
are kept in runs/.verdicts, as those of campaigns are.

Law of this file: it observes and never steers.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.quorum.types import Constants
from kraftcheck.reference.steered.moves import Steered
from kraftcheck.traces.cover.charts import Chart, ChartStore, Namer, coverage_of
from kraftcheck.traces.cover.models import of_scenario, read_covers, select
from kraftcheck.traces.steps.symmetry import Renaming, Step
from tests.stateful import reached

ASKED: Final = "CHAOS_COVERAGE"
CHARTS: Final = Path(__file__).resolve().parents[2] / "runs" / ".verdicts" / "charts"
TIER: Final = "campaign"
CLASS: Final = "class "

_namers: dict[Any, Namer] = {}
_keys: dict[tuple[Any, Step], bytes] = {}
MEMO: Final = 200_000
_entered: dict[str, set[bytes]] = {}
"""By machine, the classes that it has taken."""


def asked() -> bool:
    return bool(os.environ.get(ASKED))


def watch() -> None:
    """From now on, notes the steps of every example. To be called once."""
    # Put around what is there, so that the machines know nothing of graphs; a checker of types
    # allows no function or method to be replaced.
    reached.note_run = _noting(reached.note_run)  # type: ignore[assignment]


def _noting(note_run: Callable[[str, Steered], None]) -> Callable[[str, Steered], None]:
    def note(machine: str, schedule: Steered) -> None:
        note_run(machine, schedule)
        if reached.judging() == machine:
            note_steps(reached.of(machine), _entered.setdefault(machine, set()), schedule)

    return note


def note_steps(found: Counter[str], entered: set[bytes], schedule: Steered) -> None:
    """Enters the classes of an example's steps that were not yet; found: of its machine."""
    example = found["examples"] - 1
    keys = {key_of(constants, step) for constants, step in steps_of(schedule)} - entered
    found.update(f"{CLASS}{key.hex()} {example}" for key in sorted(keys))
    entered |= keys


def steps_of(schedule: Steered) -> Iterator[tuple[Any, Step]]:
    """The distinct steps of an example, with their constants."""
    for each in schedule.steps():
        yield each.constants, Step(each.action, each.node, *each[3:])


def key_of(constants: Any, step: Step) -> bytes:
    """The class of a step as the graphs name it, in which voters count from 0."""
    key = _keys.get((constants, step))
    if key is None:
        if len(_keys) >= MEMO:
            _keys.clear()
        own, renamed = _from_zero(constants, step)
        if own not in _namers:
            _namers[own] = Namer(own)
        key = _keys[constants, step] = _namers[own].name(renamed)
    return key


def _from_zero(constants: Any, step: Step) -> tuple[Any, Step]:
    """Voters 1, 2, 3 as 0, 1, 2: classes are of steps under equal constants."""
    if not isinstance(constants, Constants):
        return constants, step
    voters = tuple(range(len(constants.voters)))
    renaming = Renaming(constants.voters, voters, number=lambda value: value)
    return replace(constants, voters=voters), renaming.step(step)


def report(counts: Mapping[str, Counter[str]], store: ChartStore | None = None) -> Iterator[str]:
    """What each machine has seen of each graph, line by line."""
    models, charts = select(read_covers(), [], [TIER]), store or ChartStore(CHARTS)
    known: dict[str, Chart] = {}
    for machine, own in counts.items():
        first = firsts(own)
        for model in of_scenario(models, machine) if own["examples"] else ():
            if model.name not in known:
                known[model.name] = charts.chart(model)
            covered = coverage_of(known[model.name], first, own["examples"])
            edges, of = covered.edges
            yield (
                f"{machine}: {model.name}: {edges:,} of {of:,} edges seen ({edges / of:.0%}), "
                f"{covered.seen:,} of {covered.total:,} local steps"
            )
            for action, (seen, every) in covered.edges_by_action.items():
                yield f"  {action}: {seen:,} of {every:,} edges"
            grown = ", ".join(f"{seen:,} after {runs:,}" for runs, _, seen in covered.growth)
            yield f"  edges seen by examples: {grown}"


def firsts(found: Mapping[str, int]) -> dict[bytes, int]:
    """The classes among what was reached, and the example that took each first."""
    first: dict[bytes, int] = {}
    for name in found:
        if name.startswith(CLASS):
            _, key, example = name.split()
            own = bytes.fromhex(key)
            first[own] = min(int(example), first.get(own, int(example)))
    return first
