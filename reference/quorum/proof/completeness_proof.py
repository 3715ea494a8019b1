"""The obligations of completeness.py: the first state, every handler, and what it implies.

The invariant of elections (election.py) is assumed before each step, and of the row that acts after
it: it is proved of the same handlers by obligations of its own. What the invariant says of all
epochs is assumed at those that a step mentions and shown for one of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import z3

from kraftcheck.reference.proofs.assumed import WrittenOnce
from kraftcheck.reference.proofs.obligations import Obligation, discharged, obligation_names
from kraftcheck.reference.proofs.symbolic import term_of
from kraftcheck.reference.proofs.terms import values_in
from kraftcheck.reference.quorum.handlers import HANDLERS
from kraftcheck.reference.quorum.messages import FetchRequest, FetchResponse
from kraftcheck.reference.quorum.proof import completeness, election
from kraftcheck.reference.quorum.proof.branches import (
    BRANCHES,
    END,
    EPOCH,
    START,
    WATCHED,
    cut,
    region_facts,
)
from kraftcheck.reference.quorum.proof.completeness import LogSystem, any_logs, elected, log_terms
from kraftcheck.reference.quorum.proof.relation import (
    KIND_OF,
    Case,
    cases,
    message_in_form,
    sent_of,
)
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import NOBODY, Constants, initial_row

PROPERTIES: Final = ("LeaderCompleteness", "CommittedSurvives", "LogMatching")
"""What is proved of the quorum's logs, by the names of specs/quorum/QuorumProperties.tla."""
PREFIX: Final = "logs: "
"""Before the name of each obligation: elections have some of the same names."""
ANYWHERE: Final = z3.Int("e")
"""An epoch that nothing is known of."""


def obligations(properties: Sequence[str] = PROPERTIES) -> list[str]:
    """The names of all obligations; each can be discharged for itself."""
    return [f"{PREFIX}{name}" for name in obligation_names(HANDLERS.values(), properties)]


def discharge(
    constants: Constants,
    name: str,
    rules: type[QuorumRules] = QuorumRules,
    timeout_ms: int = 60_000,
) -> Obligation:
    """One obligation by its name."""
    return discharged(
        name,
        initially=partial(_initially, constants, timeout_ms),
        kept=partial(_kept, constants, rules(constants), timeout_ms),
        implied=partial(_implied, constants, timeout_ms),
        prefix=PREFIX,
    )


def new_solver(timeout_ms: int) -> z3.Solver:
    solver = z3.SimpleSolver()
    solver.set("timeout", timeout_ms)
    solver.add(*WATCHED)
    return solver


def parts_of(s: LogSystem, epochs: Sequence[z3.ArithRef]) -> dict[str, z3.BoolRef]:
    """The whole invariant, by parts; what it says of epochs, at these."""
    parts = {
        f"{name} of {v}": part
        for v in s.voters
        for name, part in completeness.row_parts(s, v).items()
    }
    for number, e in enumerate(epochs):
        parts |= {f"{k} {number}": part for k, part in completeness.epoch_parts(s, e).items()}
    return parts | completeness.system_parts(s)


def shown(s: LogSystem) -> dict[str, z3.BoolRef]:
    """The same to be shown: for an epoch of which nothing is known."""
    parts = parts_of(s, ())
    return parts | completeness.epoch_parts(s, ANYWHERE)


def _initially(constants: Constants, timeout_ms: int, done: Obligation) -> None:
    first = initial_row(constants)
    system = any_logs(constants, dict.fromkeys(constants.voters, first))
    nothing = z3.K(z3.IntSort(), z3.IntVal(NOBODY))
    base = election.System(
        constants, system.base.rows, dict.fromkeys(constants.voters, nothing), nothing
    )
    no = z3.BoolVal(False)
    begin = LogSystem(base, system.logs, dict.fromkeys(constants.voters, no), no, no)
    check(new_solver(timeout_ms), shown(begin), done, begin, None, timeout_ms)


def _implied(constants: Constants, timeout_ms: int, name: str, done: Obligation) -> None:
    s = any_logs(constants, {})
    solver = new_solver(timeout_ms)
    epochs = [*(log.top for log in s.logs.values()), EPOCH]
    epochs += [row.epoch for row in s.base.rows.values()]
    solver.add(*election.invariant(s.base, epochs), *parts_of(s, epochs).values())
    if done.possible(solver):
        check(solver, {name: _PROPERTY[name](s)}, done, s, None, timeout_ms)


def leader_completeness(s: LogSystem) -> z3.BoolRef:
    """A leader that no voter has outlived holds what is committed."""
    rows = s.base.rows
    return z3.And(
        [
            z3.Implies(
                z3.And(
                    *(s.committed, row.role == completeness.LEADER),
                    *(other.epoch <= row.epoch for other in rows.values()),
                ),
                s.logs[v].has,
            )
            for v, row in rows.items()
        ]
    )


def committed_survives(s: LogSystem) -> z3.BoolRef:
    """What is committed is on the disks of a majority."""
    held = [z3.And(log.has, log.flushed >= END) for log in s.logs.values()]
    return z3.Implies(s.committed, s.majority(held))


def log_matching(s: LogSystem) -> z3.BoolRef:
    """Two logs with the same epoch at an offset are the same below it.

    Both are the branch of that epoch there.
    """
    at, below = z3.Int("offset"), z3.Int("offset.below")
    matches = []
    for a in s.voters:
        for b in s.voters:
            one, other = s.logs[a], s.logs[b]
            both = z3.And(below >= 1, below <= at, at <= one.length, at <= other.length)
            # What is cut twice is cut where it is shorter.
            tree = [cut(cut(x.top, at), below) == cut(x.top, below) for x in (one, other)]
            same = cut(one.top, at) == cut(other.top, at)
            follows = cut(one.top, below) == cut(other.top, below)
            matches.append(z3.Implies(z3.And(both, *tree, same), follows))
    return z3.And(matches)


_PROPERTY: Final[dict[str, Callable[[LogSystem], z3.BoolRef]]] = {
    "LeaderCompleteness": leader_completeness,
    "CommittedSurvives": committed_survives,
    "LogMatching": log_matching,
}


def _kept(
    constants: Constants, rules: QuorumRules, timeout_ms: int, action: str, done: Obligation
) -> None:
    """Every path of one handler keeps the invariant."""
    known = Known()
    found = cases(constants, rules, [KIND_OF[action]], logs=BRANCHES)
    done.each(found, lambda case: _path_keeps(constants, case, known, done, timeout_ms))


def _path_keeps(
    constants: Constants, case: Case, known: Known, done: Obligation, timeout_ms: int
) -> bool:
    before = any_logs(constants, {case.node: case.row})
    later = completeness.after(before, case)
    solver = new_solver(timeout_ms)
    solver.add(*case.condition, *assumed(before, later, case, known))
    goals = shown(later) | step_goals(before, later, case)
    given = {term.get_id() for term in solver.assertions()}
    goals = {name: goal for name, goal in goals.items() if goal.get_id() not in given}
    return check(solver, goals, done, before, case, timeout_ms)


class Known:
    """Both invariants before a step.

    What they say of other rows and at each epoch is written once for all paths of a handler: the
    acting row has the same epoch in all of them, as a symbol.
    """

    def __init__(self) -> None:
        self._once = WrittenOnce()

    def invariant(
        self, s: LogSystem, acting: int, epochs: Sequence[z3.ArithRef]
    ) -> list[z3.BoolRef]:
        """acting: whose row the path has; epochs: where to say what is said of all epochs."""
        now = s.base.rows[acting].epoch
        terms = [*_of_row(s, acting), *completeness.system_parts(s).values()]
        for v in s.voters:
            if v != acting:
                terms += self._once.parts("row", partial(_of_row, s, v), z3.IntVal(v), now)
        for e in {e.get_id(): e for e in epochs}.values():
            terms += self._once.parts("epoch", partial(_of_epoch, s, e), e, now)
        return terms


def _of_row(s: LogSystem, v: int) -> list[z3.BoolRef]:
    parts = (election.row_parts(s.base, v), completeness.row_parts(s, v))
    return [term for each in parts for term in each.values()]


def _of_epoch(s: LogSystem, e: z3.ArithRef) -> list[z3.BoolRef]:
    parts = (election.epoch_parts(s.base, e), completeness.epoch_parts(s, e))
    return [term for each in parts for term in each.values()]


def assumed(before: LogSystem, later: LogSystem, case: Case, known: Known) -> list[z3.BoolRef]:
    """What is known before the step, and elections' invariant of the acting row after it."""
    terms = known_before(before, later, case, known)
    return terms + list(election.row_parts(later.base, case.node).values())


def known_before(before: LogSystem, later: LogSystem, case: Case, known: Known) -> list[z3.BoolRef]:
    """Give the invariants before the step, at all epochs that it mentions, and of what arrives.

    Also what was foretold of the step.
    """
    constants, n = before.base.constants, case.node
    row, log = later.base.rows[n], later.logs[n]
    arrived = case.input if hasattr(case.input, "destination") else None
    epochs = [EPOCH, ANYWHERE, row.epoch, log.top, row.latest]
    epochs += [term for each in before.base.rows.values() for term in (each.epoch, each.latest)]
    epochs += [each.top for each in before.logs.values()]
    terms = [completeness.opening(before, case), completeness.standing(before, case)]
    for m in (*([arrived] if arrived is not None else []), *case.row.parked):
        epochs += _epochs_of(m)
        terms += [*message_in_form(constants, m), election.message_part(before.base, m)]
        terms.append(completeness.message_part(before, m))
        if isinstance(m, FetchRequest):
            asked, at = term_of(m.last_fetched_epoch), term_of(m.fetch_offset)
            terms.append(region_facts(before.base.rows[n].latest, asked, at))
    of = before.base.rows[n], before.logs[n]
    terms += [completeness.parked_part(before, *of, m) for m in case.row.parked]
    return terms + known.invariant(before, n, epochs)


def _epochs_of(m: Any) -> list[z3.ArithRef]:
    found = election.epochs_of(m)
    request = getattr(m, "request", m)
    for name in ("last_fetched_epoch", "last_epoch"):
        if hasattr(request, name):
            found.append(term_of(getattr(request, name)))
    if isinstance(m, FetchResponse):
        records: Any = m.records
        found += [term_of(m.diverging.epoch), records.top.term]
    return found


def step_goals(before: LogSystem, later: LogSystem, case: Case) -> dict[str, z3.BoolRef]:
    """What is shown of a step besides the invariant after it."""
    n = case.node
    was, row = before.base.rows[n], later.base.rows[n]
    stays = z3.And(
        was.role == completeness.LEADER,
        row.role == completeness.LEADER,
        was.epoch == row.epoch,
    )
    goals = {
        "what is not open stays so": z3.Implies(later.open, before.open),
        "epochs do not go back": row.epoch >= was.epoch,
        "a leader's log grows": z3.Implies(stays, later.logs[n].length >= before.logs[n].length),
        "an epoch is won once": z3.Implies(elected(before, case), z3.Not(before.won(row.epoch))),
    }
    parked = [
        completeness.parked_part(later, row, later.logs[n], m) for m in case.outcome.row.parked
    ]
    goals["Parked"] = z3.And(parked)
    for number, (condition, message) in enumerate(sent_of(case.outcome)):
        goals[f"what message {number} ({type(message).__name__}) says"] = z3.Implies(
            condition, completeness.message_part(later, message)
        )
    return goals


def check(
    solver: z3.Solver,
    goals: Mapping[str, z3.BoolRef],
    done: Obligation,
    system: LogSystem,
    case: Case | None,
    timeout_ms: int,
) -> bool:
    """Whether all goals follow; else notes those that do not, with a state in which one fails."""
    epochs = [row.epoch for row in system.base.rows.values()]
    lengths = [log.length for log in system.logs.values()]
    small = [z3.And([x <= bound for x in (*epochs, *lengths)]) for bound in (3, 6)]
    return done.judge(solver, goals, timeout_ms, partial(readable, system, case), small)


def readable(system: LogSystem, case: Case | None, model: z3.ModelRef) -> list[str]:
    """A model as lines: what is watched, each row and its log, the input and what came of it."""
    value = values_in(model)
    acked = [v for v in system.voters if value(system.acked[v])]
    lines = [
        f"watched: epoch {value(EPOCH)}, which begins at {value(START(EPOCH))}, up to "
        f"{value(END)}; acked by {acked}, born {value(system.born)}, committed "
        f"{value(system.committed)}"
    ]
    lines += [f"log of {v}: {_log_line(log, value)}" for v, log in system.logs.items()]
    lines += election.readable(system.base, case, model)
    if case is not None:
        log = log_terms(case.outcome.row, system.voters)
        lines.append(f"then log of {case.node}: {_log_line(log, value)}")
    return lines


def _log_line(log: completeness.LogTerms, value: Callable[[z3.ExprRef], Any]) -> str:
    ends = {v: value(end) for v, end in log.end_offsets.items()}
    return (
        f"{value(log.length)} records, the last of epoch {value(log.top)}, flushed "
        f"{value(log.flushed)}, has the watched one {value(log.has)}, high watermark "
        f"{value(log.high_watermark)}, epoch start {value(log.epoch_start)}, noted {ends}"
    )
