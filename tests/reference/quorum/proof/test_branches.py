"""Logs as branches of a tree say what kit/log.py says of the logs themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, permutations
from random import Random
from typing import Any

import pytest
import z3

from kraftcheck.reference.kit import log as core_log
from kraftcheck.reference.kit.log import Entry, EpochEnd, cache_of
from kraftcheck.reference.proofs.symbolic import Cache, Number, paths, term_of
from kraftcheck.reference.quorum.proof import branches
from kraftcheck.reference.quorum.proof.branches import (
    BRANCHES,
    END,
    EPOCH,
    WATCHED,
    Branch,
    Records,
)
from kraftcheck.reference.quorum.types import NOBODY

TREES = 5


def number(value: int) -> Number:
    return Number(z3.IntVal(value))


class Tree:
    """Epochs, each opened behind a cut branch of an earlier one, and a watched record."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.logs: dict[int, tuple[Entry, ...]] = {}
        self.start: dict[int, int] = {}
        for e in sorted(random.sample(range(1, 8), 4)):
            below = random.choice([(), *self.logs.values()])
            below = below[: random.randint(0, len(below))]
            self.start[e] = len(below)
            self.logs[e] = (*below, *[Entry(e, 0)] * random.randint(1, 3))
        self.epoch = random.choice(list(self.logs))
        self.end = random.randint(self.start[self.epoch] + 1, len(self.logs[self.epoch]))

    def told(self) -> Iterator[z3.BoolRef]:
        """All of it, for the solver."""
        watched = Entry(self.epoch, 0)
        yield from (self.epoch == EPOCH, self.end == END, *WATCHED)
        for e in range(9):
            nobody = z3.Select(branches.WINNER, e) == NOBODY
            yield z3.Not(nobody) if e in self.logs else nobody
        for e, log in self.logs.items():
            start = self.start[e]
            yield branches.START(e) == start
            yield branches.BEFORE(e) == (log[start - 1].epoch if start else 0)
            yield branches.HOLDS(e) == (log[self.end - 1 : self.end] == (watched,))
            yield from (branches.AT(e, i) == log[i].epoch for i in range(start))
            for asked in range(e):
                found = core_log.end_offset_for_epoch(cache_of(log), len(log), asked)
                yield branches.LOOK_EPOCH(e, asked) == found.epoch
                yield branches.LOOK_END(e, asked) == found.end_offset

    def facts(self) -> Iterator[z3.BoolRef]:
        """What the proof takes for granted of it."""
        for e, log in self.logs.items():
            ends = [z3.IntVal(at) for at in range(-1, len(log) + 2)]
            term = z3.IntVal(e)
            for asked in map(z3.IntVal, range(9)):
                yield branches.look_facts(term, asked)
                yield from (branches.region_facts(term, asked, at) for at in ends)
            yield from (branches.cut_facts(term, at) for at in ends)
            yield from (branches.nested_facts(term, at, low) for at in ends for low in ends)

    def solver(self) -> z3.Solver:
        solver = z3.SimpleSolver()
        solver.add(*self.told())
        return solver


def allowed(tree: Tree) -> bool:
    solver = tree.solver()
    assert solver.check() == z3.sat
    return bool(solver.check(*tree.facts()) == z3.sat)


def test_what_is_taken_for_granted_is_true_of_every_tree() -> None:
    assert all(allowed(Tree(seed)) for seed in range(TREES))


def _one_record_longer(cache: Any, end: int, epoch: int) -> EpochEnd:
    found = _true_end(cache, end, epoch)
    return EpochEnd(found.epoch, found.end_offset + 1)


_true_end = core_log.end_offset_for_epoch


def test_it_is_not_true_of_another_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_log, "end_offset_for_epoch", _one_record_longer)
    assert not all(allowed(Tree(seed)) for seed in range(TREES))


def branch(log: tuple[Entry, ...]) -> Branch:
    return Branch(number(len(log)), number(log[-1].epoch if log else 0))


def cache(log: tuple[Entry, ...]) -> Cache:
    return Cache(number(log[-1].epoch if log else 0))


def same(tree: Tree, expected: tuple[int, ...], code: Callable[..., Any], *given: Any) -> bool:
    """Whether the numbers that come out of abstract functions are these, and no others."""
    solver = tree.solver()
    (path,) = paths(lambda: [term_of(x) for x in code(*given)], tuple(tree.told()))
    solver.add(*path.condition)
    assert solver.check() == z3.sat
    wrong = [term != value for term, value in zip(path.result, expected, strict=True)]
    return bool(solver.check(z3.Or(wrong)) == z3.unsat)


def last(log: tuple[Entry, ...]) -> tuple[int, int]:
    return len(log), log[-1].epoch if log else 0


F = BRANCHES.functions


def ends(log: Any) -> tuple[Any, Any]:
    return log.length, log.top


def prefix(log: tuple[Entry, ...], at: int) -> Any:
    return ends(F["prefix"](branch(log), number(at)))


def truncated(log: tuple[Entry, ...], at: int) -> Any:
    return [F["cache_truncate"](cache(log), number(at)).latest]


def records(log: tuple[Entry, ...], at: int) -> Any:
    return branches.slice_of(branch(log), number(at), number(len(log)), number(2))


def length(log: tuple[Entry, ...], at: int) -> Any:
    return [records(log, at).length]


def longer(log: tuple[Entry, ...], at: int) -> Any:
    """Behind what is below them, the records of the same log from there on."""
    more = records(log, at)
    append = F["cache_append"](cache(log[:at]), number(at), more)
    return (*ends(branch(log[:at]) + more), append.latest)


def looked(log: tuple[Entry, ...], asked: int) -> Any:
    found = F["end_offset_for_epoch"](cache(log), number(len(log)), number(asked))
    return found.epoch, found.end_offset


def own(log: tuple[Entry, ...]) -> Any:
    return ends(branches.written((branch(log), log[-1])))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_functions_are_those_of_the_logs(seed: int) -> None:
    tree = Tree(seed)
    for log in tree.logs.values():
        for at in range(len(log) + 1):
            assert same(tree, last(log[:at]), prefix, log, at)
            left = core_log.cache_truncate(cache_of(log), at)
            assert same(tree, (core_log.latest_epoch(left),), truncated, log, at)
            part = core_log.slice_of(log, at, len(log), 2)
            assert same(tree, (len(part),), length, log, at)
            if part:
                newest = part[-1].epoch
                assert same(tree, (at + len(part), newest, newest), longer, log, at)
        for asked in range(9):
            found = core_log.end_offset_for_epoch(cache_of(log), len(log), asked)
            assert same(tree, (found.epoch, found.end_offset), looked, log, asked)
        assert same(tree, last((*log, log[-1])), own, log)


def joined(one: tuple[Entry, ...], other: tuple[Entry, ...]) -> Any:
    """The last record of a log behind another."""
    record = Records(number(1), number(other[-1].epoch), number(len(other) - 1))
    return ends(branch(one) + record)


def test_records_that_do_not_fit_make_a_log_of_which_nothing_is_known() -> None:
    judged = set()
    for tree in map(Tree, range(2)):
        for one, other in islice(permutations(tree.logs.values(), 2), 6):
            for at in range(len(one) + 1):
                fits = one[:at] == other[:-1]
                judged.add(fits)
                assert same(tree, last(other), joined, one[:at], other) == fits
    assert judged == {False, True}
