"""ElectionSafety and VoteOnce for any number of epochs, log lengths and messages.

What is proved is an inductive invariant: it holds at first, every step of every handler keeps it,
and it implies the properties. A step changes one row and adds messages, so it is judged with the
acting node's row as the path of relation.py has it, any other rows, and one message of the network
at a time: the invariant says of each message what is true of it, and every message that is sent is
checked. A message says only what can never cease to be true, so old messages are no burden; that
ballots and winners never change is an obligation of its own.

Two things are remembered that no handler reads (L5), as functions on all epochs:

    ballot[v][e]    for whom v voted in epoch e, or Nobody
    winner[e]       who became leader of epoch e, or Nobody

The invariant, with its parts by name (a part that speaks of all epochs is assumed at every epoch
that a step mentions and shown for one that nothing is known of):

    Form            values are of their types; epochs of logs are at most the row's Filed
    the quorum-state file says what the row says Voted           the row's vote is the ballot of its
    epoch FutureUnvoted   no ballot beyond the row's epoch Counted         a candidate voted for
    itself, knows no leader, and whoever it counts voted for it MajorityChose   a winner has the
    ballots of a majority LeaderWon       whom a row calls leader won its epoch RoleKnows       a
    leader and a resigned leader call themselves leader, a follower another; nobody
                    else who runs calls itself leader
    Parked          what is parked are requests by their form

and of messages: a vote that was granted is a ballot; who is called leader in a response, and who
sends Begin- or EndQuorumEpoch, won the epoch; fetched records are of epochs up to the response's.

WLOG one node acts and one other is its peer: handlers compare nodes for equality only (L9), and the
invariant does not tell voters apart, so all other pairs are renamings of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Final

import z3

from kraftcheck.reference.proofs.obligations import Obligation, discharged, obligation_names
from kraftcheck.reference.proofs.symbolic import Cache, bits_of, term_of, truth_of
from kraftcheck.reference.proofs.terms import values_in
from kraftcheck.reference.quorum.handlers import HANDLERS
from kraftcheck.reference.quorum.messages import (
    RESPONSES,
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchResponse,
    VoteResponse,
)
from kraftcheck.reference.quorum.proof.relation import (
    KIND_OF,
    Case,
    cases,
    message_in_form,
    sent_of,
    whole_log,
)
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import NOBODY, ROLES, Constants, Row, initial_row

PROPERTIES: Final = ("ElectionSafety", "VoteOnce")
_CANDIDATE, _LEADER, _FOLLOWER, _RESIGNED = (
    ROLES.index(role) for role in ("Candidate", "Leader", "Follower", "Resigned")
)
# A row that calls itself leader leads, has resigned, or does nothing any more.
_MAY_LEAD: Final = tuple(ROLES.index(role) for role in ("Leader", "Resigned", "Down", "Halted"))


@dataclass(frozen=True)
class RowTerms:
    """What the invariant looks at in a row, as terms."""

    role: z3.ArithRef
    epoch: z3.ArithRef
    leader: z3.ArithRef
    voted: z3.ArithRef
    file_epoch: z3.ArithRef
    file_leader: z3.ArithRef
    file_voted: z3.ArithRef
    latest: z3.ArithRef
    top: z3.ArithRef
    granted: Mapping[int, z3.BoolRef]


def terms_of(row: Row, voters: Sequence[int]) -> RowTerms:
    """The terms of a row, symbolic or recorded."""
    cache: Any = row.epoch_cache
    latest = cache.latest if isinstance(cache, Cache) else (cache[-1].epoch if cache else 0)
    file = row.quorum_state
    return RowTerms(
        role=z3.IntVal(ROLES.index(row.role)),
        epoch=term_of(row.epoch),
        leader=term_of(row.leader),
        voted=term_of(row.voted),
        file_epoch=term_of(file.epoch),
        file_leader=term_of(file.leader),
        file_voted=term_of(file.voted),
        latest=term_of(latest),
        top=whole_log(row.log).top.term,
        granted=bits_of(row.granted, voters),
    )


def any_row(name: str, voters: Sequence[int]) -> RowTerms:
    """Any row in any role."""
    names = [field.name for field in fields(RowTerms) if field.name != "granted"]
    numbers = {field: z3.Int(f"{name}.{field}") for field in names}
    return RowTerms(**numbers, granted={v: z3.Bool(f"{name}.granted.{v}") for v in voters})


@dataclass(frozen=True)
class System:
    """All rows, and what is remembered."""

    constants: Constants
    rows: Mapping[int, RowTerms]
    ballot: Mapping[int, z3.ArrayRef]
    winner: z3.ArrayRef

    def majority(self, bits: Sequence[z3.BoolRef]) -> z3.BoolRef:
        """More than half: VoterSet.IsMajority, which is no rule that a bug may replace."""
        return z3.PbGe([(bit, 1) for bit in bits], len(self.constants.voters) // 2 + 1)


def _nobody_or_voter(constants: Constants, node: z3.ArithRef) -> z3.BoolRef:
    return z3.Or([node == v for v in (NOBODY, *constants.voters)])


def row_parts(system: System, v: int) -> dict[str, z3.BoolRef]:
    """What the invariant says of one row."""
    constants, row = system.constants, system.rows[v]
    ballot = system.ballot
    counted = [
        z3.Implies(row.granted[g], z3.Select(ballot[g], row.epoch) == v) for g in constants.voters
    ]
    form = [
        *(_nobody_or_voter(constants, node) for node in (row.leader, row.voted)),
        *(row.role >= 0, row.role < len(ROLES), row.epoch >= 0),
        *(row.latest >= 0, row.latest <= row.epoch, row.top >= 0, row.top <= row.epoch),
    ]
    filed = [row.file_epoch == row.epoch, row.file_leader == row.leader]
    return {
        "Form": z3.And(form),
        "Filed": z3.And(*filed, row.file_voted == row.voted),
        "Voted": z3.Select(ballot[v], row.epoch) == row.voted,
        "Counted": z3.Implies(
            row.role == _CANDIDATE,
            z3.And(row.voted == v, row.leader == NOBODY, row.granted[v], *counted),
        ),
        "LeaderWon": z3.Implies(
            row.leader != NOBODY, z3.Select(system.winner, row.epoch) == row.leader
        ),
        "RoleKnows": z3.And(
            z3.Implies(z3.Or(row.role == _LEADER, row.role == _RESIGNED), row.leader == v),
            z3.Implies(row.role == _FOLLOWER, z3.And(row.leader != NOBODY, row.leader != v)),
            z3.Implies(row.leader == v, z3.Or([row.role == role for role in _MAY_LEAD])),
        ),
    }


def epoch_parts(system: System, e: z3.ArithRef) -> dict[str, z3.BoolRef]:
    """What the invariant says of one epoch."""
    constants, voters = system.constants, system.constants.voters
    chosen = z3.Select(system.winner, e)
    ballots = {v: z3.Select(system.ballot[v], e) for v in voters}
    future = [z3.Implies(e > system.rows[v].epoch, ballots[v] == NOBODY) for v in voters]
    return {
        "Form": z3.And([_nobody_or_voter(constants, t) for t in (chosen, *ballots.values())]),
        "FutureUnvoted": z3.And(future),
        "MajorityChose": z3.Implies(
            chosen != NOBODY, system.majority([ballots[v] == chosen for v in voters])
        ),
    }


def message_part(system: System, m: Any) -> z3.BoolRef:
    """What is true of a message for ever."""
    known = []
    if isinstance(m, BeginQuorumEpochRequest | EndQuorumEpochRequest):
        known.append(z3.Select(system.winner, term_of(m.epoch)) == m.source)
    if isinstance(m, RESPONSES):
        leader = term_of(m.leader)
        won = z3.Select(system.winner, term_of(m.epoch)) == leader
        known.append(z3.Implies(leader != NOBODY, won))
    if isinstance(m, VoteResponse):
        given = z3.And(truth_of(m.granted), z3.Not(truth_of(m.request.pre_vote)))
        ballot = z3.Select(system.ballot[m.source], term_of(m.request.epoch))
        known.append(z3.Implies(given, ballot == m.destination))
    if isinstance(m, FetchResponse):
        known.append(whole_log(m.records).top.term <= term_of(m.epoch))
    return z3.And(known)


def epochs_of(item: Any) -> list[z3.ArithRef]:
    """The epochs that a message mentions."""
    found = [term_of(item.epoch)] if hasattr(item, "epoch") else []
    return found + (epochs_of(item.request) if hasattr(item, "request") else [])


def after(before: System, case: Case) -> System:
    """The system after a step: the row replaced, ballot and winner written beside it."""
    n, voters = case.node, before.constants.voters
    row = terms_of(case.outcome.row, voters)
    was = before.rows[n]
    ballot = before.ballot[n]
    open_ = z3.Select(ballot, row.epoch) == NOBODY
    written = z3.If(open_, z3.Store(ballot, row.epoch, row.voted), ballot)
    elected = z3.And(row.role == _LEADER, z3.Or(was.role != _LEADER, was.epoch != row.epoch))
    winner = z3.If(elected, z3.Store(before.winner, row.epoch, n), before.winner)
    return replace(
        before,
        rows={**before.rows, n: row},
        ballot={**before.ballot, n: written},
        winner=winner,
    )


def voted_once(before: System, case: Case) -> z3.BoolRef:
    """VoteOnce as a step: a vote in an epoch in which the node has voted is for the same."""
    row = terms_of(case.outcome.row, before.constants.voters)
    given = z3.Select(before.ballot[case.node], row.epoch)
    return z3.Implies(z3.And(given != NOBODY, row.voted != NOBODY), row.voted == given)


def election_safety(system: System) -> z3.BoolRef:
    """ElectionSafety: whoever knows the leader of an epoch knows the same one."""
    rows = system.rows
    return z3.And(
        [
            z3.Implies(
                z3.And(
                    rows[a].epoch == rows[b].epoch,
                    rows[a].leader != NOBODY,
                    rows[b].leader != NOBODY,
                ),
                rows[a].leader == rows[b].leader,
            )
            for a in rows
            for b in rows
            if a < b
        ]
    )


def any_system(constants: Constants, acting: Mapping[int, RowTerms]) -> System:
    voters = constants.voters
    rows = {v: acting[v] if v in acting else any_row(f"v{v}", voters) for v in voters}
    epochs = z3.IntSort()
    ballot = {v: z3.Array(f"ballot{v}", epochs, epochs) for v in voters}
    return System(constants, rows, ballot, z3.Array("winner", epochs, epochs))


def invariant(system: System, epochs: Sequence[z3.ArithRef]) -> list[z3.BoolRef]:
    """The whole invariant, with what it says of epochs at these."""
    parts = [part for v in system.rows for part in row_parts(system, v).values()]
    return parts + [part for e in epochs for part in epoch_parts(system, e).values()]


def obligations(properties: Sequence[str] = PROPERTIES) -> list[str]:
    """The names of all obligations; each can be discharged for itself."""
    return obligation_names(HANDLERS.values(), properties)


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
    )


def _solver(timeout_ms: int) -> z3.Solver:
    solver = z3.Solver()
    solver.set("timeout", timeout_ms)
    return solver


_ANYWHERE: Final = z3.Int("e")
"""An epoch that nothing is known of."""


def _initially(constants: Constants, timeout_ms: int, done: Obligation) -> None:
    first = terms_of(initial_row(constants), constants.voters)
    nothing = z3.K(z3.IntSort(), z3.IntVal(NOBODY))
    system = System(
        constants,
        dict.fromkeys(constants.voters, first),
        dict.fromkeys(constants.voters, nothing),
        nothing,
    )
    goals = {f"{name} of {v}": t for v in system.rows for name, t in row_parts(system, v).items()}
    goals |= epoch_parts(system, _ANYWHERE)
    _check(_solver(timeout_ms), goals, done, system, None, timeout_ms)


def _kept(
    constants: Constants, rules: QuorumRules, timeout_ms: int, action: str, done: Obligation
) -> None:
    """Every path of one handler keeps the invariant."""
    found = cases(constants, rules, [KIND_OF[action]])
    done.each(found, lambda case: _path_keeps(constants, case, done, timeout_ms))


def _path_keeps(constants: Constants, case: Case, done: Obligation, timeout_ms: int) -> bool:
    n, voters = case.node, constants.voters
    before = any_system(constants, {n: terms_of(case.row, voters)})
    later = after(before, case)
    row = later.rows[n]
    epochs = [*(r.epoch for r in before.rows.values()), row.epoch, _ANYWHERE]
    solver = _solver(timeout_ms)
    solver.add(*case.condition)
    arrived = case.input if hasattr(case.input, "destination") else None
    if arrived is not None:
        epochs += epochs_of(arrived)
        solver.add(*message_in_form(constants, arrived), message_part(before, arrived))
    for waiting in case.row.parked:
        solver.add(*message_in_form(constants, waiting))
    solver.add(*invariant(before, epochs))
    return _check(solver, step_goals(before, later, case), done, before, case, timeout_ms)


def step_goals(before: System, later: System, case: Case) -> dict[str, z3.BoolRef]:
    """What is shown of a step: the invariant after it, and that nothing is voted or won twice."""
    n, constants, voters = case.node, before.constants, before.constants.voters
    goals = {f"{name} of {v}": t for v in voters for name, t in row_parts(later, v).items()}
    goals |= epoch_parts(later, _ANYWHERE)
    parked = [t for m in case.outcome.row.parked for t in message_in_form(constants, m)]
    goals["Parked"] = z3.And(parked)
    goals["VoteOnce"] = voted_once(before, case)
    for v in voters:
        kept = z3.Select(before.ballot[v], _ANYWHERE)
        goals[f"ballots of {v} stay"] = z3.Implies(
            kept != NOBODY, z3.Select(later.ballot[v], _ANYWHERE) == kept
        )
    kept = z3.Select(before.winner, _ANYWHERE)
    goals["winners stay"] = z3.Implies(kept != NOBODY, z3.Select(later.winner, _ANYWHERE) == kept)
    for number, (condition, message) in enumerate(sent_of(case.outcome)):
        assert message.source == n, "nobody sends in another's name"
        said = z3.And(message_part(later, message), *message_in_form(constants, message))
        goals[f"what message {number} ({type(message).__name__}) says"] = z3.Implies(
            condition, said
        )
    return goals


def _implied(constants: Constants, timeout_ms: int, name: str, done: Obligation) -> None:
    """The invariant implies a property; VoteOnce speaks of steps: a goal of every handler."""
    system = any_system(constants, {})
    solver = _solver(timeout_ms)
    solver.add(*invariant(system, [row.epoch for row in system.rows.values()]))
    if name == "ElectionSafety":
        goals = {name: election_safety(system)}
    else:
        # One ballot for each voter and epoch is the form of the function; that votes agree with it
        # and that it never changes was shown of every step.
        goals = {
            f"Voted of {v}": z3.Select(system.ballot[v], row.epoch) == row.voted
            for v, row in system.rows.items()
        }
    if done.possible(solver):
        _check(solver, goals, done, system, None, timeout_ms)


def _check(
    solver: z3.Solver,
    goals: Mapping[str, z3.BoolRef],
    done: Obligation,
    system: System,
    case: Case | None,
    timeout_ms: int,
) -> bool:
    """Whether all goals follow; else notes those that do not, with a state in which one fails."""
    # Small epochs read better.
    epochs = [row.epoch for row in system.rows.values()]
    small = [z3.And([epoch <= bound for epoch in epochs]) for bound in (2, 4, 8)]
    return done.judge(solver, goals, timeout_ms, partial(readable, system, case), small)


def readable(system: System, case: Case | None, model: z3.ModelRef) -> list[str]:
    """A model of the solver as lines: each row, the input, and what came of it."""
    value = values_in(model)

    def row_line(v: int, row: RowTerms) -> str:
        granted = [g for g, bit in row.granted.items() if value(bit)]
        epoch = value(row.epoch)
        ballots = value(z3.Select(system.ballot[v], row.epoch))
        return (
            f"voter {v}: {ROLES[value(row.role)]}, epoch {epoch}, leader {value(row.leader)}, "
            f"voted {value(row.voted)}, file ({value(row.file_epoch)}, {value(row.file_leader)}, "
            f"{value(row.file_voted)}), latest epoch {value(row.latest)}, granted {granted}, "
            f"ballot {ballots}, winner {value(z3.Select(system.winner, row.epoch))}"
        )

    lines = [row_line(v, row) for v, row in system.rows.items()]
    if case is not None:
        lines.append(f"voter {case.node} handles {tell(case.input, value)}")
        lines.append(f"then {row_line(case.node, terms_of(case.outcome.row, list(system.rows)))}")
        for condition, message in sent_of(case.outcome):
            if value(condition):
                lines.append(f"and sends {tell(message, value)}")
    return lines


def tell(item: Any, value: Callable[[z3.ExprRef], Any]) -> str:
    """A symbolic message or input with its fields as the model has them."""
    told = []
    for name in item.__struct_fields__:
        part = getattr(item, name)
        if hasattr(part, "__struct_fields__"):
            told.append(f"{name}={tell(part, value)}")
        elif hasattr(part, "words"):
            told.append(f"{name}={part.words[value(part.term) % len(part.words)]}")
        elif hasattr(part, "term"):
            told.append(f"{name}={value(part.term)}")
        elif hasattr(part, "length"):
            told.append(f"{name}=({value(part.length.term)} records)")
        else:
            told.append(f"{name}={part}")
    return f"{type(item).__name__}({', '.join(told)})"
