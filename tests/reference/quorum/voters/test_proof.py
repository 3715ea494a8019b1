"""What is proved where the voters change goes through; without a part of it, or with a bug in the
rules, it does not; and what it takes for granted of trees is true of trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
import z3

from kraftcheck.reference.bugs.catalog import bug
from kraftcheck.reference.proofs.obligations import Obligation
from kraftcheck.reference.quorum.handlers import HANDLERS
from kraftcheck.reference.quorum.proof.branches import BEFORE, START
from kraftcheck.reference.quorum.types import NOBODY
from kraftcheck.reference.quorum.voters.proof import sets
from kraftcheck.reference.quorum.voters.proof.any_set import BOOTSTRAP, PREFIX, REACHES
from kraftcheck.reference.quorum.voters.proof.proof import (
    _ELECTIONS,
    CHANGES,
    COMMITS,
    DISK,
    HISTORY,
    LATE,
    ONCE,
    PARTS,
    PROOF,
    VOTES,
    WINS,
    _Contest,
    _of_election,
    adjacent_sets,
)
from kraftcheck.reference.quorum.voters.proof.sets import Position, base, members
from kraftcheck.reference.quorum.voters.rules import VoterRules

THREE, FIVE = range(3), range(5)


OF_SETS = [name for name in PROOF.obligations(PROOF.properties) if PREFIX not in name]
QUICK = ("HandleRestart", "HandleCrash", "HandleAppend", BOOTSTRAP, REACHES)


def test_every_handler_is_an_obligation() -> None:
    names = {name.removeprefix(PREFIX) for name in PROOF.obligations(())}
    assert {*HANDLERS.values(), BOOTSTRAP, *CHANGES, DISK, REACHES} < names


@pytest.mark.parametrize("name", [*OF_SETS, *(f"{PREFIX}{name}" for name in QUICK)])
def test_an_obligation_is_proved(name: str) -> None:
    """A sample; `make prove` discharges all, for 3 and 5 nodes."""
    found = PROOF.discharge(3, name, VoterRules, 60_000)
    assert (found.status, found.broken, found.reason) == ("proved", "", "")


@pytest.mark.parametrize("name", OF_SETS)
@pytest.mark.parametrize("nodes", [pytest.param(5, marks=pytest.mark.slow)])
def test_an_obligation_of_sets_is_proved_of_five(nodes: int, name: str) -> None:
    found = PROOF.discharge(nodes, name, VoterRules, 60_000)
    assert (found.status, found.broken, found.reason) == ("proved", "", "")


@pytest.mark.parametrize("without", PARTS)
@pytest.mark.parametrize("name", _ELECTIONS)
def test_both_parts_that_speak_of_sets_are_needed(name: str, without: str) -> None:
    done = Obligation(name)
    parts = [part for part in PARTS if part != without]
    _of_election(THREE, VoterRules, 60_000, name, done, parts)
    assert (done.status, done.broken) == ("failed", name)
    assert " stands in epoch " in done.state[0]


@pytest.mark.parametrize("name", _ELECTIONS)
def test_it_is_of_sets_that_differ(name: str) -> None:
    """What is assumed is possible where the other log was left under a set of another epoch."""
    c = _Contest(FIVE)
    given, _ = _ELECTIONS[name](c)
    other = {WINS: c.key, ONCE: sets.begins(c.epoch), LATE: sets.begins(c.later)}[name]
    apart = [a != b for a, b in zip(members(c.log, FIVE), members(other, FIVE), strict=True)]
    solver = z3.SimpleSolver()
    solver.add(*given, c.log.last.top >= 1, other.last.top >= 1, z3.Or(apart))
    assert solver.check() == z3.sat


@pytest.mark.slow
@pytest.mark.parametrize(
    ("id", "name", "broken"),
    [
        ("Z11", COMMITS, COMMITS),
        ("Z17", DISK, DISK),
        ("Z19", "HandleAddVoter", "OneChangeAtATime"),
        ("Z19", "HandleRemoveVoter", "OneChangeAtATime"),
        ("Z110", HISTORY, HISTORY),
        ("Z112", "HandleRemoveVoter", "AdjacentSets, OneChangeAtATime"),
        ("Z114", "HandleRemoveVoter", "OneChangeAtATime"),
        ("Z115", VOTES, VOTES),
        ("Z115", COMMITS, COMMITS),
        ("Z116", f"{PREFIX}HandleFetchResponse", "Disk of 0"),
    ],
)
def test_a_bug_breaks_an_obligation_and_the_state_is_told(id: str, name: str, broken: str) -> None:
    rules: Any = bug(id).replacement
    found = PROOF.discharge(3, name, rules, 60_000)
    assert (found.status, found.broken) == ("failed", broken)
    assert found.state[0].startswith(("leader 0 of epoch ", "watched: epoch "))


class TwoAtOnce(VoterRules):
    __slots__ = ()

    def changed_voters(self, row: Any, node: int) -> tuple[int, ...]:
        return tuple(sorted({*self.voters_of(row)} ^ {*self.constants.nodes[:2]}))


def test_a_rule_that_changes_two_voters_breaks_adjacent_sets() -> None:
    found = PROOF.discharge(3, "HandleRemoveVoter", TwoAtOnce, 60_000)
    assert (found.status, found.broken) == ("failed", "AdjacentSets")


# --- Trees that are made by chance.

Record = tuple[int, frozenset[int]]
"""Epoch, and the set of a Voters record; none of others."""
FIRST = frozenset({0, 1})
NOTHING: frozenset[int] = frozenset()


class Tree:
    """Epochs, each opened behind a cut log of an earlier one, with Voters records among others."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.logs: dict[int, tuple[Record, ...]] = {0: ()}
        self.start: dict[int, int] = {}
        for e in sorted(random.sample(range(1, 7), 4)):
            below = random.choice([*self.logs.values()])
            log = [*below[: random.randint(0, len(below))]]
            self.start[e] = len(log)
            log.append((e, NOTHING))
            for _ in range(random.randint(0, 4)):
                voters = self.last(log)[2] ^ {random.choice(THREE)}
                log.append((e, voters if voters and random.random() < 0.6 else NOTHING))
            self.logs[e] = tuple(log)

    def last(self, log: Any) -> tuple[int, int, frozenset[int]]:
        """The last Voters record: its epoch, the offset behind it, its set."""
        for at in range(len(log), 0, -1):
            if log[at - 1][1]:
                return log[at - 1][0], at, log[at - 1][1]
        return 0, 0, FIRST

    def base(self, e: int, end: int) -> int:
        keys = [at for at in range(self.start[e] + 2, end) if self.logs[e][at - 1][1]]
        return max(keys, default=self.start[e] + 1)

    def positions(self) -> Iterator[tuple[int, int]]:
        yield 0, 0
        for e, start in self.start.items():
            yield from ((e, length) for length in range(start + 1, len(self.logs[e]) + 1))

    def told(self) -> Iterator[z3.BoolRef]:
        for e in range(8):
            yield (z3.Select(sets.WINNER, e) != NOBODY) == (e in self.start)
        for e, start in self.start.items():
            yield START(e) == start
            yield BEFORE(e) == (self.logs[e][start - 1][0] if start else 0)
        for top, length in self.positions():
            epoch, end, voters = self.last(self.logs[top][:length])
            yield sets.LAST_EPOCH(top, length) == epoch
            yield sets.LAST_END(top, length) == end
            yield from (sets.MEMBER(epoch, end, v) == (v in voters) for v in THREE)
            if epoch:
                yield sets.BASE(epoch, end) == self.base(epoch, end)
            else:
                yield sets.BASE(0, 0) == 0
            for e, log in self.logs.items():
                yield sets.HOLDS(top, length, e) == (
                    top > 0 and len(log) >= length and log[length - 1][0] == top
                )

    def facts(self) -> Iterator[z3.BoolRef]:
        """What the proof takes for granted of it."""
        at = [Position(z3.IntVal(top), z3.IntVal(end)) for top, end in self.positions()]
        for each in at:
            yield from sets.tree_facts(each, at)
            yield each.last.last.same(each.last)
            yield adjacent_sets(each.last, THREE)
            yield z3.Or(members(each, THREE))
            key = sets.is_key(base(each.last))
            yield z3.Implies(each.last.top >= 1, key)
            yield from (sets.passes(each, other.last) for other in at)

    def allowed(self) -> bool:
        solver = z3.SimpleSolver()
        solver.add(*self.told())
        assert solver.check() == z3.sat
        return bool(solver.check(*self.facts()) == z3.sat)


TREES = [Tree(seed) for seed in range(5)]


def test_what_is_taken_for_granted_is_true_of_every_tree() -> None:
    assert any(len({tree.last(log) for log in tree.logs.values()}) > 2 for tree in TREES)
    assert all(tree.allowed() for tree in TREES)


def test_it_is_not_true_of_a_base_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tree, "base", lambda self, e, end: self.start[e] + 1)
    assert not all(tree.allowed() for tree in TREES)
