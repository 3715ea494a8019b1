"""What is proved of the quorum's logs goes through; with a bug in the rules it does not."""

from __future__ import annotations

from typing import Any

import pytest
import z3

from kraftcheck.reference.bugs.catalog import bug
from kraftcheck.reference.proofs.obligations import IMPLIES
from kraftcheck.reference.quorum.handlers import HANDLERS
from kraftcheck.reference.quorum.messages import VoteResponse
from kraftcheck.reference.quorum.proof import completeness, completeness_proof
from kraftcheck.reference.quorum.proof.branches import BRANCHES, END, EPOCH, WATCHED
from kraftcheck.reference.quorum.proof.completeness_proof import (
    PREFIX,
    PROPERTIES,
    Known,
    assumed,
    discharge,
    obligations,
)
from kraftcheck.reference.quorum.proof.relation import cases
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Constants

TWO, THREE = Constants((0, 1), 1), Constants((0, 1, 2), 1)
QUICK = (
    *("Init", "HandleAppend", "HandleElectionTimeout", "HandleCrash", "HandleFetchMaxWait"),
    *(f"{IMPLIES}{name}" for name in PROPERTIES),
)


def test_every_handler_is_an_obligation() -> None:
    names = [name.removeprefix(PREFIX) for name in obligations()]
    assert set(HANDLERS.values()) < set(names)
    assert len(names) == len(HANDLERS) + 1 + len(PROPERTIES)


@pytest.mark.parametrize("name", QUICK)
def test_an_obligation_is_proved(name: str) -> None:
    """A sample; `make prove` discharges all, for 3 and 5 voters."""
    found = discharge(THREE, f"{PREFIX}{name}")
    assert (found.status, found.broken, found.reason) == ("proved", "", "")
    assert found.paths or name not in HANDLERS.values()


LONG = (
    *("HandleRestart", "HandleFlush", "HandleVoteRequest", "HandleFetchRequest"),
    "HandleFetchResponse",
)
"""Those that a bug breaks."""


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_what_bugs_break_is_proved_without_them(name: str) -> None:
    """Of two voters, which takes seconds. It is these that a part of the invariant which is missing
    or too weak leaves unproved."""
    found = discharge(TWO, f"{PREFIX}{name}")
    assert (found.status, found.broken, found.reason) == ("proved", "", "")


@pytest.mark.slow
def test_an_invariant_without_a_part_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Since voters that know no leader fetch, it takes that only a leader answers with records."""
    monkeypatch.setattr(completeness, "_from_leader", lambda m: z3.BoolVal(True))
    assert discharge(TWO, f"{PREFIX}HandleFetchResponse").status == "failed"


LEADS = "Branch of 0, Cached of 0, Disk of 0, Acked of 0, Leads of 0, an epoch is won once"


@pytest.mark.parametrize(
    ("id", "action", "broken"),
    [
        ("Z02", "HandleRestart", LEADS),
        ("Z05", "HandleFlush", "Leads of 0"),
        ("Z06", "HandleVoteRequest", "Backed"),
        ("Z20", "HandleRestart", "Cached of 0"),
    ],
)
def test_a_bug_breaks_an_obligation_and_the_state_is_told(
    id: str, action: str, broken: str
) -> None:
    rules: Any = bug(id).replacement
    found = discharge(THREE, f"{PREFIX}{action}", rules)
    assert (found.status, found.broken) == ("failed", broken)
    assert found.state[0].startswith("watched: epoch ")
    assert found.state[-1].startswith("then log of 0: ")


@pytest.mark.parametrize("id", ["Z03", "Z04", "Z07", "Z08"])
@pytest.mark.slow
def test_a_bug_of_replication_breaks_an_obligation(id: str) -> None:
    action = {"Z03": "HandleFetchResponse"}.get(id, "HandleFetchRequest")
    rules: Any = bug(id).replacement
    assert discharge(THREE, f"{PREFIX}{action}", rules).status == "failed"


@pytest.mark.parametrize(
    ("property", "part"),
    [("LeaderCompleteness", "Complete"), ("CommittedSurvives", "Acked")],
)
def test_a_property_that_the_invariant_does_not_imply_fails(
    property: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = completeness_proof.parts_of

    def fewer(*given: Any) -> dict[str, z3.BoolRef]:
        return {k: t for k, t in full(*given).items() if not k.startswith(part)}

    monkeypatch.setattr(completeness_proof, "parts_of", fewer)
    found = discharge(THREE, f"{PREFIX}{IMPLIES}{property}")
    assert (found.status, found.broken) == ("failed", property)


def test_logs_that_are_no_branches_match_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """LogMatching needs the tree: here the branch of an epoch depends on who has the log."""
    owned = z3.Function("owned", z3.IntSort(), z3.IntSort(), z3.IntSort())
    monkeypatch.setattr(completeness_proof, "cut", owned)
    assert discharge(THREE, f"{PREFIX}{IMPLIES}LogMatching").status == "proved"
    monkeypatch.setattr(completeness_proof, "cut", lambda e, at: owned(e, z3.FreshInt()))
    assert discharge(THREE, f"{PREFIX}{IMPLIES}LogMatching").status == "failed"


def test_a_handler_without_a_path_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completeness_proof, "cases", lambda *given, **more: ())
    assert discharge(THREE, f"{PREFIX}HandleCrash").status == "unknown"


def test_the_invariant_allows_a_later_leader_of_what_is_committed() -> None:
    """So what is proved of it is not proved of nothing."""
    s = completeness.any_logs(THREE, {})
    solver = z3.Solver()
    epochs = [log.top for log in s.logs.values()]
    solver.add(*WATCHED, *completeness_proof.parts_of(s, epochs).values())
    leads = z3.And(s.base.rows[0].role == completeness.LEADER, s.base.rows[0].epoch == 7)
    solver.add(s.committed, leads, EPOCH == 5, s.logs[0].has)
    assert solver.check() == z3.sat


def test_a_step_that_elects_is_possible_under_all_that_is_assumed() -> None:
    """Of the watched epoch, and of a later one when the watched record is committed."""
    possible = set()
    for case in cases(THREE, QuorumRules(THREE), [VoteResponse], logs=BRANCHES):
        if case.outcome.row.role != "Leader":
            continue
        before = completeness.any_logs(THREE, {case.node: case.row})
        after = completeness.after(before, case)
        epoch, log = after.base.rows[case.node].epoch, after.logs[case.node]
        solver = z3.SimpleSolver()
        solver.add(*WATCHED, *case.condition, *assumed(before, after, case, Known()))
        solver.add(completeness.elected(before, case))
        for name, wish in {
            "own": z3.And(epoch == EPOCH, log.length >= END),
            "later": z3.And(epoch > EPOCH, before.committed, log.has),
        }.items():
            if solver.check(wish) == z3.sat:
                possible.add(name)
    assert possible == {"own", "later"}
