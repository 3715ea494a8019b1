"""Runs of the reference with a bug in it, recorded as traces like any other.

Two kinds of run are made of each bug. *Watched* ones end where an invariant is violated: what the
step relation and the run's invariants judge. *Unwatched* ones go on, so that what clients saw, and
whether a healed cluster comes back to work, are opinions of their own.

Law of this file: a run is (scenario, seed, number, bug, options), so a stored one is taken again
byte for byte.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from kraftcheck import artifacts
from kraftcheck.known_bugs.witnesses import WATCHED, Hunt
from kraftcheck.reference.bugs.catalog import bug, handlers_for
from kraftcheck.reference.bugs.probing import Consulted
from kraftcheck.reference.kit.protocol import Handlers
from kraftcheck.reference.protocols import asks, components_of, protocol_of
from kraftcheck.reference.runner.run import Run, simulate_part
from kraftcheck.traces.jobs.backends import Backend, Pool
from kraftcheck.traces.jobs.simulate import simulate
from kraftcheck.traces.store import begin_trace, write_part


def record(folder: Path, hunt: Hunt, kind: str, runs: int, backend: Backend | None = None) -> Path:
    """The first runs of the hunt as a trace below `folder`; what is there already is kept.

    Raises TraceError, ToolError: the folder holds something else, or cannot be written.
    """
    place = artifacts.claim(folder) / kind
    simulate(artifacts.claim(place), hunt.campaign(kind, runs), backend=backend or Pool(1))
    return place


def record_batch(folder: Path, hunt: Hunt, kind: str, first: int, runs: int) -> Path:
    """`runs` runs from number `first` on, as a trace of one part in a new folder."""
    campaign = hunt.campaign(kind, first + runs)
    options = dict(campaign.options)
    begin_trace(folder, campaign)
    write_part(folder, simulate_part(hunt.scenario, hunt.seed, first, runs, hunt.bug, options))
    return folder


def record_numbers(folder: Path, hunt: Hunt, kind: str, numbers: Iterable[int]) -> Path:
    """These runs of the hunt alone, each as a part of a new trace below `folder`.

    What was there of an earlier one is removed: it may be of another simulator, or other options.
    """
    wanted = sorted(set(numbers))
    campaign = hunt.campaign(kind, wanted[-1] + 1)
    place = artifacts.claim(artifacts.claim(folder) / kind)
    shutil.rmtree(place)
    begin_trace(place, campaign)
    for number in wanted:
        part = simulate_part(hunt.scenario, hunt.seed, number, 1, hunt.bug, dict(campaign.options))
        write_part(place, part)
    return place


# -- Whether the bug was there at all


def consult(hunt: Hunt, numbers: Iterable[int]) -> Consulted:
    """How often what the bug replaces was asked, until a run in which an answer differed."""
    runs = (hunt.run(WATCHED, number) for number in numbers)
    return consult_runs(hunt.bug, runs, until_effective=True)


def consult_runs(id: str | None, runs: Iterable[Run], until_effective: bool) -> Consulted:
    """How often what the bug replaces was asked in the distinct steps of these runs.

    until_effective: stop at the first run in which an answer differed.
    """
    consulted = Consulted()
    handlers: dict[Any, Handlers] = {}
    seen: set[Any] = set()
    for run in runs:
        of_run: Any = run.result.constants
        parts = components_of(of_run)
        for component, *step in _fresh(run, seen):
            constants = parts[component]
            take = handlers.get(constants)
            if take is None:
                own = id if len(parts) == 1 else _of_part(id, constants)
                take = handlers[constants] = handlers_for(own, constants, consulted)
            take(*step)
        if until_effective and consulted.effective:
            break
    return consulted


def differs(hunt: Hunt, number: int) -> bool:
    """Whether a run is another than the correct protocol's of the same number.

    Some rules are asked between steps (what a client is told, whether a timer counts), where the
    probes of `consult` are not; and a step that never happens is asked nothing.
    """
    twin = msgspec.structs.replace(hunt, bug=None).run(WATCHED, number)
    return hunt.run(WATCHED, number).steps != twin.steps


def _fresh(run: Run, seen: set[Any]) -> Iterator[tuple[int, int, Any, Any]]:
    """(component, node, row, input) of steps that were not met before."""
    for step in run.steps:
        key = (step.component or 0, step.node, step.before, step.input)
        if key not in seen:
            seen.add(key)
            yield key


def _of_part(id: str | None, constants: Any) -> str | None:
    """The bug in a component of a cluster: it is in those that ask what it replaces."""
    return id if id is not None and asks(protocol_of(constants), bug(id).protocol) else None
