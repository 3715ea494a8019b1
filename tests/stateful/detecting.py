"""How many examples a state machine needs until it finds a bug, and how a campaign compares.

A *search* is one seed: Hypothesis draws examples of a machine whose reference has the bug, until
one fails or the limit is reached. Its figure is the number of examples, from 1, up to and including
the first that fails, or whose steps the spec refuses. The *campaign* beside it is the plain random
simulator with the same bug, judged alike: runs one after the other until one violates an invariant,
makes no progress, or holds a refused step, or as much CPU time is spent as the search may cost at
most.

TLC is asked about several examples, or runs, at once (traces/counterexamples/relation.py), so
that some more of them are made before the first is known to be refused. They do not count.

Law of this file: a search is a function of (machine, bug, seed, budget); only seconds differ from
one time to the next.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from time import process_time
from typing import Any, Final, NamedTuple

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from kraftcheck.reference.bugs.catalog import bugs_of, rules_for
from kraftcheck.reference.protocols import PROTOCOLS, parts_of
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Constants
from kraftcheck.reference.runner.run import Run, forget, simulate_run
from kraftcheck.reference.runner.shrink import failure_of
from kraftcheck.reference.steered.failures import REJECTED
from kraftcheck.reference.steered.moves import NodeStep
from kraftcheck.reference.steered.scripts import Script
from kraftcheck.traces.counterexamples.minimising import minimised, minimised_step
from kraftcheck.traces.counterexamples.relation import Refused, Relation
from kraftcheck.traces.jobs.allowed import Allowed
from kraftcheck.traces.schema import TraceError
from tests.stateful.cluster_machine import (
    ChangingClusterMachine,
    ClusterMachine,
    campaign_options,
)
from tests.stateful.gifts import ROOT
from tests.stateful.machine import QuorumMachine
from tests.stateful.partition_machine import PartitionMachine
from tests.stateful.plain_machine import machine_of as plain_machine_of
from tests.stateful.schedule import Violation
from tla_utils import ToolError

VERDICTS: Final = ROOT / "build" / "verdicts"
"""What TLC has said of steps, for the next search."""
STEPS: Final = 60
"""So many rules an example takes at most, besides those that begin it."""
PLAIN: Final = tuple([each for each in PROTOCOLS if each.by_chance and bugs_of(each.name)])
"""Those that have one machine in common."""
CHANGING: Final = ChangingClusterMachine.name
MACHINES: Final = ("quorum", "partition", *(each.name for each in PLAIN), CHANGING)
SHARES: Final = {"quorum": 0.45, "partition": 0.45, "cluster": 0.1, CHANGING: 0.02}
"""Of the examples with the correct reference, by machine: one of a cluster costs as much as five of
the others.
"""
_NEVER_MET: Final = {
    "partition": ("Z22", "Z194"),
    CHANGING: ("Z17", "Z47", "Z160", "Z193"),
}
"""Rules that nobody asks: who has one controller, as the machine of a partition; where no disk is
replaced, there are no racks, and seldom are there directories of which one fails as its broker
comes back.
"""
_OF_CHANGING: Final = ("voters", "snapshots", "reassignment")


def _bugs(name: str) -> tuple[str, ...]:
    among = _OF_CHANGING if name == CHANGING else (name,)
    return tuple(
        [
            bug.id
            for protocol in among
            for bug in bugs_of(protocol)
            if bug.in_scope and not bug.configuration and bug.id not in _NEVER_MET.get(name, ())
        ]
    )


BUGS: Final = {name: _bugs(name) for name in MACHINES}
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


class _Refused(BaseException):
    """Ends a search. It is no failure of the example at hand, which Hypothesis would repeat."""


class _Tally:
    """What the examples of one search have in common."""

    def __init__(self) -> None:
        self.begin = process_time()
        self.examples = self.moves = 0
        self.found: tuple[int, int, float] | None = None
        self.script: Script | None = None
        self.trouble: ToolError | TraceError | None = None
        """Why TLC could not be asked."""
        self.ended: list[tuple[int, int, float]] = []
        """The examples whose steps were put, as they were counted then."""

    @property
    def now(self) -> tuple[int, int, float]:
        return self.examples, self.moves, process_time() - self.begin

    def failed(self, script: Script) -> None:
        """The first time counts: Hypothesis makes the example once more, to be sure."""
        if self.found is None:
            self.found = self.now
            self.script = script

    def refused(self, refused: Refused) -> None:
        """An example that ended before, and before whatever failed."""
        self.found = self.ended[refused.number]
        self.script = refused.violating


def machine_of(name: str, bug: str | None) -> type[RuleBasedStateMachine]:
    """The machine of this name whose reference has the bug. Raises UnknownBug, OutOfScope."""
    if name == "partition":
        return type("PartitionMachine", (PartitionMachine,), {"bug": bug})
    for of in (ClusterMachine, ChangingClusterMachine):
        if name == of.name:
            return type(of.__name__, (of,), {"bug": bug})
    if name != "quorum":
        return plain_machine_of(parts_of(name)[0], bug)
    rules = type(rules_for(QuorumRules, bug, Constants((1, 2, 3), 2)))
    return type("QuorumMachine", (QuorumMachine,), {"decisions": rules, "bug": bug})


def _counted(machine: type[Any], tally: _Tally, judged: Relation) -> type[Any]:
    """The machine, with its examples, moves and first failure told to the tally."""

    class Counted(machine):  # type: ignore[misc]
        relation = judged

        def __init__(self) -> None:
            super().__init__()
            tally.examples += tally.found is None

        def teardown(self) -> None:
            schedule = self.steered()
            put, drawn = judged.runs, len(schedule.moves)
            on_its_way = not schedule.sound
            try:
                super().teardown()
            except (ToolError, TraceError) as error:
                # Hypothesis would make the example again, and find nothing.
                tally.trouble = error
                raise _Refused from None
            except AssertionError as error:
                schedule.sound = False
                # What is healed in the end is healed by whoever takes the moves again.
                on_its_way = isinstance(error, Violation)
                raise
            finally:
                tally.moves += len(schedule.moves)
                if not schedule.sound:
                    options = schedule.setting()
                    moves = tuple(schedule.moves[: None if on_its_way else drawn])
                    steers = self.steers or self.name
                    script = Script(machine=steers, bug=self.bug, options=options, moves=moves)
                    tally.failed(script)
                tally.ended += [tally.now] * (judged.runs - put)
            if judged.found:
                raise _Refused

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
    """One search with the machine of this name; `number` is its seed, from 1.

    Raises ToolError, TraceError: TLC cannot be used.
    """
    tally = _Tally()
    relation = relation_of(bug)
    machine = seed(number)(_counted(machine_of(name, bug), tally, relation))
    how = ""
    try:
        run_state_machine_as_test(machine, settings=limits)
    except _Refused:
        if tally.trouble is not None:
            raise tally.trouble from None
    except Exception as error:  # Whatever it is, it is what the search found.
        how = error.name if isinstance(error, Violation) else _words(type(error).__name__)
    if refused := relation.ask():
        tally.refused(refused)
        how = refused.failure.name
    if not how or tally.found is None:
        seconds = process_time() - tally.begin
        return Searched(None, tally.examples, tally.moves, seconds, how, 0)
    examples, moves, seconds = tally.found
    assert tally.script is not None
    length = len(tally.script.moves)
    return Searched(examples, examples, moves, seconds, how, length, tally.script)


def relation_of(bug: str | None) -> Relation:
    """Without a bug all examples go to TLC together."""
    return Relation(_allowed(), bug, 1 if bug else 1000)


@cache
def _allowed() -> Allowed:
    return Allowed(VERDICTS)


def _words(name: str) -> str:
    """`NoProgress` as `no progress`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def shrunk(found: Searched, attempts: int) -> int | None:
    """How many moves are left of what a search found, after so many attempts to leave some out; as
    `kraftcheck shrink` does with a schedule of moves. Unlike the shrinking of Hypothesis, which is
    given so much time, it is the same on every machine.

    None: nothing was found, or it does not come about without what cannot be replayed.
    """
    script = found.script
    if script is None:
        return None
    try:
        if script.violates.startswith(REJECTED):
            return len(minimised_step(script, relation_of(script.bug), attempts).script.moves)
        return len(minimised(script, attempts).script.moves)
    except ValueError:
        return None


def campaign(
    name: str,
    bug: str | None,
    number: int,
    seconds: float,
    clock: Callable[[], float] = process_time,
) -> Searched:
    """A campaign of the simulator with seed `number`, for so many CPU seconds at most.

    Scenarios have the names of the machines, but for a cluster that changes. Moves are the steps of
    the runs.
    """
    options = campaign_options(bug) if name == CHANGING else {}
    name = "cluster" if name == CHANGING else name
    relation = relation_of(bug)
    begin = clock()
    ended: list[Searched] = []
    moves, failed = 0, ""
    while not failed and not relation.found and (not ended or ended[-1].seconds < seconds):
        run = len(ended)
        made = simulate_run(name, number, run, bug, options)
        moves += len(made.steps)
        if how := failure_of(made.result):
            failed = how if made.result.violations else "no progress"
        else:
            relation.put(_steps_of(made), Script(machine=name, bug=bug, moves=()))
        spent = clock() - begin
        ended.append(Searched(run + 1, run + 1, moves, spent, failed, len(made.steps)))
        if run % 500 == 499:
            forget()
    if refused := relation.ask():
        return ended[refused.number]._replace(how=refused.failure.name)
    return ended[-1] if failed else ended[-1]._replace(examples=None, length=0)


def _steps_of(run: Run) -> Iterator[NodeStep]:
    for step in run.steps:
        taken = (step.before, step.input, step.after, step.sent, step.ignored)
        whole: Any = run.result.constants
        of = whole if step.component is None else whole.components[step.component]
        yield NodeStep(of, step.node, step.action, *taken)
