"""The quorum's relations are those of TLC's graph, and with logs as branches that of runs whose
logs branch; a rule that is another is told, and a function on branches that is wrong or too loose.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from kraftcheck.reference.kit.log import UNDEFINED
from kraftcheck.reference.proofs.symbolic import Number, fresh
from kraftcheck.reference.quorum.handlers import HANDLERS
from kraftcheck.reference.quorum.messages import FetchRequest, FetchResponse, VoteRequest
from kraftcheck.reference.quorum.proof.branches import BRANCHES, Branch, Records, slice_of
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Constants, Row
from tests.reference.proofs.graphs import local_steps
from tests.reference.proofs.local_steps import Compared, LocalStep, differences
from tests.reference.quorum.proof.drift import ELECTIONS, IN_BRANCHES, Abstraction, QuorumRelation
from tests.reference.quorum.proof.test_completeness_runs import SEEDS, THREE, Run
from tests.traces.cover.graphs import matched


def graph_steps() -> tuple[Constants, list[LocalStep]]:
    """A sample of one node; graphs.py compares all steps of larger graphs."""
    matcher = matched("quorum-few-votes")
    constants: Any = matcher.book.constants
    assert isinstance(constants, Constants), "a graph of a quorum"
    steps = [step for step in local_steps(matcher) if step.node == constants.voters[0]][::2]
    assert len(steps) > 30
    return constants, steps


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.xdist_group("cover")
@pytest.mark.parametrize("held", [ELECTIONS, IN_BRANCHES], ids=["lengths", "branches"])
def test_edges_are_solutions_and_solutions_are_edges(held: Abstraction) -> None:
    constants, steps = graph_steps()
    compared = differences(QuorumRelation(constants, held), steps)
    assert compared == Compared(len(steps), 0, [], [])


class _Grants(QuorumRules):
    __slots__ = ()

    def vote_granted(self, row: Row, m: VoteRequest) -> bool:
        return True


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.xdist_group("cover")
@pytest.mark.parametrize("held", [ELECTIONS, IN_BRANCHES], ids=["lengths", "branches"])
def test_a_relation_that_drifts_is_told(held: Abstraction) -> None:
    constants, steps = graph_steps()
    asked = [step for step in steps if step.action == "HandleVoteRequest"]
    compared = differences(QuorumRelation(constants, held, _Grants), asked)
    assert compared.missing and compared.spare


@cache
def run_steps(seed: int) -> list[LocalStep]:
    """The local steps of a run of three voters."""
    return [
        LocalStep(HANDLERS[type(input)], n, row, input, outcome.row, outcome.sent)
        for n, row, input, outcome in Run(seed).steps
    ]


def branches(step: LocalStep) -> bool:
    """Whether a log is cut, or its epochs are looked up to say where it diverges."""
    answers = [m for m in step.sent if isinstance(m, FetchResponse)]
    diverges = any(m.diverging.epoch != UNDEFINED for m in answers)
    return diverges or len(step.after.log) < len(step.before.log)


@pytest.mark.slow
def test_steps_on_logs_that_branch_are_solutions_and_there_are_no_others() -> None:
    """Graphs of two voters are of one epoch or have nothing to cut; so of runs, too."""
    steps = list(filter(branches, run_steps(SEEDS[0])))
    actions = {step.action for step in steps}
    assert actions == {"HandleFetchRequest", "HandleFetchResponse"}
    compared = differences(QuorumRelation(THREE, IN_BRANCHES), steps)
    assert compared.steps + compared.skipped == len(steps) and compared.steps > 3
    assert not compared.missing and not compared.spare


def served(step: LocalStep) -> bool:
    """Whether a fetch is answered at once, with records."""
    fetch = isinstance(step.input, FetchRequest)
    return fetch and any(isinstance(m, FetchResponse) and m.records for m in step.sent)


def fetches(**functions: Any) -> Compared:
    """Fetches of one voter that are served by another, with these functions on branches."""
    steps = list(filter(served, run_steps(SEEDS[0])))
    of = steps[0]
    pair = [step for step in steps if (step.node, step.input.source) == (of.node, of.input.source)]
    logs = BRANCHES._replace(functions={**BRANCHES.functions, **functions})
    return differences(QuorumRelation(THREE, IN_BRANCHES._replace(logs=logs)), pair[:4])


def _one_further(log: Any, offset: Any, end: Any, limit: Any) -> Records:
    """The planted fault: the records that come later."""
    return slice_of(log, offset + 1, end, limit)


def _any_number(log: Branch, offset: Any, end: Any, limit: Any) -> Records:
    """The planted fault: as many records as it likes."""
    some = slice_of(log, offset, end, limit)
    return Records(fresh("some"), Number(some.top.term), some.base)


class _NeverDiverges(QuorumRules):
    __slots__ = ()

    def fetch_diverges(self, row: Row, m: FetchRequest) -> bool:
        return False


def test_a_rule_that_is_another_is_told() -> None:
    steps = [each for each in run_steps(SEEDS[0]) if branches(each) and not each.before.parked]
    of = next(step for step in steps if step.action == "HandleFetchRequest")
    compared = differences(QuorumRelation(THREE, IN_BRANCHES, _NeverDiverges), [of])
    assert compared.missing and compared.spare


@pytest.mark.slow
def test_the_functions_of_branches_make_what_the_handlers_make() -> None:
    compared = fetches()
    assert compared.steps > 0 and not compared.missing and not compared.spare


@pytest.mark.slow
def test_a_function_that_is_wrong_makes_steps_missing() -> None:
    compared = fetches(slice_of=_one_further)
    assert compared.missing and compared.spare


@pytest.mark.slow
def test_a_function_that_is_too_loose_makes_spare_solutions() -> None:
    compared = fetches(slice_of=_any_number)
    assert compared.spare and not compared.missing
