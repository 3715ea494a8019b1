"""Runs of the handlers have the invariant that the proof of the quorum's logs assumes.

A state that the proof could not imagine would be missed by it in silence. So what it assumes of
rows, epochs, messages and of what is foretold is evaluated on runs by chance, for every record that
may be watched.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
import z3
from msgspec.structs import replace

from kraftcheck.reference.bugs.catalog import bug
from kraftcheck.reference.kit.log import Entry, end_offset
from kraftcheck.reference.proofs.symbolic import Cache, Number
from kraftcheck.reference.quorum.handlers import QuorumHandlers
from kraftcheck.reference.quorum.messages import (
    Append,
    BeginQuorumEpochTimeout,
    Crash,
    ElectionTimeout,
    FetchMaxWait,
    FetchResponse,
    FetchTimeout,
    Flush,
    RequestTimeout,
    Resign,
    Restart,
)
from kraftcheck.reference.quorum.proof import branches, completeness, election
from kraftcheck.reference.quorum.proof.branches import END, EPOCH, WATCHED, Branch, Records
from kraftcheck.reference.quorum.proof.completeness import STOOD, LogSystem, log_terms
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import NOBODY, Constants, Outcome, Row, initial_row

THREE = Constants((0, 1, 2), 1)
SEEDS = (1, 4)
STEPS = 600


def number(value: int) -> Number:
    return Number(z3.IntVal(value))


def branch_row(row: Row) -> Row:
    """The row with its log and its epoch cache as the proof has them."""
    last = row.log[-1].epoch if row.log else 0
    latest = row.epoch_cache[-1].epoch if row.epoch_cache else 0
    log: Any = Branch(number(len(row.log)), number(last))
    cache: Any = Cache(number(latest))
    return replace(row, log=log, epoch_cache=cache)


class Run:
    """Three voters by chance. rows: of each state. steps: node, row, input, what came of it."""

    def __init__(self, seed: int, rules: type[QuorumRules] = QuorumRules) -> None:
        self.random, self.handlers = Random(seed), QuorumHandlers(THREE, rules(THREE))
        self.now = dict.fromkeys(THREE.voters, initial_row(THREE))
        self.rows = [dict(self.now)]
        self.steps: list[tuple[int, Row, Any, Outcome]] = []
        self.network: list[Any] = []
        for _ in range(STEPS):
            self._step()

    def _step(self) -> None:
        if self.network and self.random.random() < 0.75:
            input = self.random.choice(self.network[-5:])
            n = input.destination
        else:
            n = self.random.choice(THREE.voters)
            input = self._alone(n, self.now[n])
        outcome = self.handlers.step(n, self.now[n], input)
        if outcome is not None and not outcome.ignored:
            self.steps.append((n, self.now[n], input, outcome))
            self.now[n] = outcome.row
            self.rows.append(dict(self.now))
            self.network += outcome.sent

    def _alone(self, n: int, row: Row) -> Any:
        peer = self.random.choice(THREE.others(n))
        if row.role == "Down":
            return Restart()
        keep = self.random.randint(row.flushed, end_offset(row.log))
        parked = [FetchMaxWait(m) for m in row.parked]
        often = [Append(1), Flush(), Append(2), RequestTimeout(peer), *parked] * 4
        seldom = [ElectionTimeout(), FetchTimeout(), BeginQuorumEpochTimeout(), Resign()]
        return self.random.choice([*often, *seldom, Crash(keep)])

    # --- What is remembered, and what was foretold.

    def leaders(self) -> Iterator[tuple[int, int, tuple[Entry, ...]]]:
        """Each leader's epoch, who it is, and the log with which it began."""
        known = set()
        for rows in self.rows:
            for n, row in rows.items():
                if row.role == "Leader" and row.epoch not in known:
                    known.add(row.epoch)
                    yield row.epoch, n, row.log

    def told(self, epoch: int, end: int) -> Iterator[z3.BoolRef]:
        """What was foretold, with this record watched."""
        yield from (epoch == EPOCH, end == END, *WATCHED)
        for e, _, log in self.leaders():
            start = len(log) - 1
            yield branches.START(e) == start
            yield branches.BEFORE(e) == (log[start - 1].epoch if start else 0)
            holds = log[end - 1].epoch == epoch if end <= start else e == epoch
            yield branches.HOLDS(e) == holds
            yield from (branches.AT(e, at) == log[at].epoch for at in range(start))
        for before, rows in zip(self.rows, self.rows[1:], strict=False):
            for n, row in rows.items():
                if row.voted == n and row.epoch > before[n].epoch:
                    last, length = before[n].log[-1:], len(before[n].log)
                    far = [x.epoch > epoch or (x.epoch == epoch and length >= end) for x in last]
                    yield STOOD(n, row.epoch) == any(far)

    def states(self, epoch: int, end: int) -> Iterator[LogSystem]:
        """Every state as the proof has it, with this record watched."""
        nothing = z3.K(z3.IntSort(), z3.IntVal(NOBODY))
        winner: Any = nothing
        ballot: dict[int, Any] = dict.fromkeys(THREE.voters, nothing)
        acked, born, committed = set[int](), False, False
        for rows in self.rows:
            for n, row in rows.items():
                if row.voted != NOBODY:
                    ballot[n] = z3.Store(ballot[n], row.epoch, row.voted)
                held = row.log[end - 1 : end]
                has = bool(held) and held[0].epoch == epoch
                if row.epoch == epoch and has and row.flushed >= end:
                    acked.add(n)
                if row.role == "Leader":
                    winner = z3.simplify(z3.Store(winner, row.epoch, n))
                    born = born or (row.epoch == epoch and len(row.log) >= end)
                    committed = committed or (row.epoch == epoch and row.high_watermark >= end)
            symbols = {n: branch_row(row) for n, row in rows.items()}
            terms = {n: election.terms_of(row, THREE.voters) for n, row in symbols.items()}
            logs = {n: log_terms(row, THREE.voters) for n, row in symbols.items()}
            yield LogSystem(
                election.System(THREE, terms, dict(ballot), winner),
                logs,
                {n: z3.BoolVal(n in acked) for n in THREE.voters},
                z3.BoolVal(born),
                z3.BoolVal(committed),
            )


def as_records(m: Any) -> Any:
    if not isinstance(m, FetchResponse):
        return m
    last = m.records[-1].epoch if m.records else 0
    base = number(m.request.fetch_offset)
    return replace(m, records=Records(number(len(m.records)), number(last), base))


def broken(run: Run, epoch: int, end: int, every: int = 9) -> set[str]:
    """The parts of the invariant that are not true of some state, or of some message at last."""
    solver = z3.SimpleSolver()
    solver.add(*run.told(epoch, end))
    assert solver.check() == z3.sat
    states = list(run.states(epoch, end))
    won = [z3.IntVal(e) for e, _, _ in run.leaders()]
    found = set()
    for s, rows in list(zip(states, run.rows, strict=True))[::every]:
        parts: dict[str, Any] = dict(completeness.system_parts(s))
        for v in THREE.voters:
            parts |= {f"{k} of {v}": t for k, t in completeness.row_parts(s, v).items()}
            of = s.base.rows[v], s.logs[v]
            waiting = [completeness.parked_part(s, *of, m) for m in rows[v].parked]
            parts[f"parked of {v}"] = z3.And(waiting)
        for e in won:
            parts |= {f"{k} {e}": t for k, t in completeness.epoch_parts(s, e).items()}
        found |= _false(solver, parts)
    messages = map(as_records, dict.fromkeys(run.network))
    said = {str(m): completeness.message_part(states[-1], m) for m in messages}
    return found | _false(solver, said)


def _false(solver: z3.Solver, parts: dict[str, Any]) -> set[str]:
    if solver.check(z3.Not(z3.And(list(parts.values())))) == z3.unsat:
        return set()
    return {name for name, part in parts.items() if solver.check(z3.Not(part)) != z3.unsat}


def watchable(run: Run) -> list[tuple[int, int]]:
    """Records of the epochs in which something was committed."""
    rows = [row for state in run.rows for row in state.values() if row.role == "Leader"]
    marks = {(row.epoch, row.high_watermark) for row in rows if row.high_watermark > 0}
    return sorted(marks)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_has_the_invariant(seed: int) -> None:
    run = Run(seed)
    marks = watchable(run)
    assert len({epoch for epoch, _ in marks}) > 1, "several epochs commit"
    for epoch, end in (marks[0], marks[-1]):
        assert broken(run, epoch, end) == set()


@pytest.mark.parametrize(("id", "part"), [("Z03", "Disk of 2"), ("Z05", "Leads of 1")])
def test_a_run_with_a_bug_has_not(id: str, part: str) -> None:
    rules: Any = bug(id).replacement
    run = Run(SEEDS[0], rules)
    assert part in broken(run, *watchable(run)[0])
