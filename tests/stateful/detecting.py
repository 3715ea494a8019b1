"""How many examples a state machine needs until it finds a bug, and how a campaign compares.

A *search* is one seed: Hypothesis draws examples of a machine whose reference has the bug, until
one fails or the limit is reached. Its figure is the number of examples, from 1, up to and including
the first that fails. The *campaign* beside it is the plain random simulator with the same bug: runs
one after the other until one violates an invariant or makes no progress, or as much CPU time is
spent as the search may cost at most.

Law of this file: a search is a function of (machine, bug, seed, budget); only seconds differ from
one time to the next.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from time import process_time
from typing import Any, Final, NamedTuple

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from kraftcheck.retracing.minimising import minimised
from reference.bugs.catalog import CATALOG, rules_for
from reference.bugs.partition_catalog import PARTITION_CATALOG
from reference.core.types import Constants
from reference.sim.run import forget, simulate_run
from reference.sim.shrink import failure_of
from reference.sim.steered.scripts import Script
from tests.stateful.cluster_machine import ClusterMachine
from tests.stateful.machine import QuorumMachine
from tests.stateful.partition_machine import PartitionMachine
from tests.stateful.schedule import Violation

STEPS: Final = 60
"""So many rules an example takes at most, besides those that begin it."""
MACHINES: Final = ("quorum", "partition")
SHARES: Final = {"quorum": 0.45, "partition": 0.45, "cluster": 0.1}
"""Of the examples with the correct reference, by machine: one of a cluster costs as much as five of
the others.
"""
BUGS: Final = {
    "quorum": tuple(bug.id for bug in CATALOG if bug.in_scope),
    "partition": tuple(
        bug.id for bug in PARTITION_CATALOG if bug.in_scope and not bug.configuration
    ),
}
"""By machine, the bugs that can be put into its reference. Configurations that promise less are no
bugs: a machine that found one would be wrong."""

Phases = tuple[Phase, ...]
GENERATE: Final[Phases] = (Phase.generate,)


class Searched(NamedTuple):
    """What came of a search. examples: None if nothing failed within the limit. moves: of all
    examples up to then. seconds: CPU time up to then. how: the violated property, or the kind of
    failure. length: moves of the example that failed, or of what is left of it after shrinking.
    script: its moves.
    """

    examples: int | None
    tried: int
    moves: int
    seconds: float
    how: str
    length: int
    script: Script | None = None


class _Tally:
    """What the examples of one search have in common."""

    def __init__(self) -> None:
        self.begin = process_time()
        self.examples = self.moves = 0
        self.found: tuple[int, int, float] | None = None
        self.script: Script | None = None

    def failed(self, script: Script) -> None:
        """The first time counts: Hypothesis makes the example once more, to be sure."""
        if self.found is None:
            self.found = self.examples, self.moves, process_time() - self.begin
            self.script = script


def machine_of(name: str, bug: str | None) -> type[RuleBasedStateMachine]:
    """The machine of this name whose reference has the bug. Raises UnknownBug, OutOfScope."""
    if name == "partition":
        return type("PartitionMachine", (PartitionMachine,), {"bug": bug})
    if name == "cluster":
        return type("ClusterMachine", (ClusterMachine,), {"bug": bug})
    rules = type(rules_for(bug, Constants((1, 2, 3), 2)))
    return type("QuorumMachine", (QuorumMachine,), {"decisions": rules})


def _counted(machine: type[Any], tally: _Tally, bug: str | None) -> type[Any]:
    """The machine, with its examples, moves and first failure told to the tally."""

    class Counted(machine):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            tally.examples += tally.found is None

        def teardown(self) -> None:
            schedule = self.steered()
            try:
                super().teardown()
            except AssertionError:
                schedule.sound = False
                raise
            finally:
                tally.moves += len(schedule.moves)
                if not schedule.sound:
                    options, moves = schedule.setting(), tuple(schedule.moves)
                    tally.failed(Script(machine=self.name, bug=bug, options=options, moves=moves))

    Counted.__name__ = machine.__name__
    return Counted


def budget(examples: int, phases: Phases = GENERATE, steps: int = STEPS) -> settings:
    """Settings of a search: those of no profile, since a figure must not depend on one."""
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=False,
        database=None,
        deadline=None,
        phases=phases,
        suppress_health_check=[*HealthCheck],
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
    )


def search(name: str, bug: str | None, number: int, limits: settings) -> Searched:
    """One search with the machine of this name; `number` is its seed, from 1."""
    tally = _Tally()
    machine = seed(number)(_counted(machine_of(name, bug), tally, bug))
    how = ""
    try:
        run_state_machine_as_test(machine, settings=limits)
    except Exception as error:  # Whatever it is, it is what the search found.
        how = error.name if isinstance(error, Violation) else _words(type(error).__name__)
    if not how or tally.found is None:
        seconds = process_time() - tally.begin
        return Searched(None, tally.examples, tally.moves, seconds, how, 0)
    examples, moves, seconds = tally.found
    assert tally.script is not None
    length = len(tally.script.moves)
    return Searched(examples, examples, moves, seconds, how, length, tally.script)


def _words(name: str) -> str:
    """`NoProgress` as `no progress`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def shrunk(found: Searched, attempts: int) -> int | None:
    """How many moves are left of what a search found, after so many attempts to leave some out; as
    `kraftcheck shrink` does with a schedule of moves. Unlike the shrinking of Hypothesis, which is
    given so much time, it is the same on every machine.

    None: nothing was found, or not by an invariant, so that no move is the last.
    """
    if found.script is None:
        return None
    try:
        return len(minimised(found.script, attempts).script.moves)
    except ValueError:
        return None


def campaign(
    name: str, bug: str, number: int, seconds: float, clock: Callable[[], float] = process_time
) -> Searched:
    """A campaign of the simulator with seed `number`, for so many CPU seconds at most.

    Scenarios have the names of the machines. Moves are the steps of the runs.
    """
    begin = clock()
    moves = 0
    for run in count():
        made = simulate_run(name, number, run, bug)
        moves += len(made.steps)
        spent = clock() - begin
        if how := failure_of(made.result):
            name_of = how if made.result.violations else "no progress"
            return Searched(run + 1, run + 1, moves, spent, name_of, len(made.steps))
        if spent >= seconds:
            return Searched(None, run + 1, moves, spent, "", 0)
        if run % 500 == 499:
            forget()
    raise AssertionError("count() does not end")
