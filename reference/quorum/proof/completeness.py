"""What is true of logs in a quorum, whatever has happened: the invariant behind LeaderCompleteness.

Logs are branches (branches.py). One record is watched, that of epoch E at offset H - 1, chosen
before anything happens. Every high watermark of a leader of E lies behind a record of E, so "the
leader of E called H committed" is every commitment of every leader. Remembered beside the steps:

    acked[v]    v had the watched record on its disk while it was in epoch E
    born        the leader of E has appended the watched record
    committed   a leader of E had a high watermark of at least H

The commitment is *open* while a majority has acked it or may do so still, being in E or an earlier
epoch. Once it is not open it never is again, and H is never committed. The invariant, by parts:

    Branch      a row's log is a branch that has been cut; the watched record is in none unborn
    Cached      the epoch cache is the log's; of a voter that is down, perhaps of a longer log
    Disk        whoever has the watched record, but for the leader of E, has it on disk
    Acked       who has acked: in E or later; holds the record on disk for as long as it is open
    Leads       a leader's log ends in its epoch, which began where it says; what it has noted of
                others was acked, and its high watermark covers a record of its own epoch
    Served      somebody who has acked, or has the record in E, has it from a leader who has acked
    Votes       nobody votes in epoch 0
    Reached     who won an epoch has reached it
    Knows       who won an epoch knows it, for as long as it is in that epoch
    Stands      who stands in a later epoch is as far as E and H if it was so when it stood up (it
                may have crashed since), and never if it was not
    Backed      while open, whoever somebody who acked voted for in a later epoch stood up so
    Tree        an epoch that was won was opened behind a branch of an earlier one
    Holding     the watched record is on no branch of an earlier epoch, and on none unborn
    Complete    while open, whoever won a later epoch won it with the watched record
    Born, Committed     the watched epoch was won; what was committed a majority has acked

and of messages: a fetch is of a branch, and says acked if it is of E and reaches H; who asks for a
vote with a log as far as E and H stood up so; records fit where they were asked for, and if the
watched one is among them in E, its leader has acked; where a leader with the watched record says
that logs diverge, it is not below H; only a leader answers a fetch with either.

`STOOD` says of a voter and an epoch whether its log was as far as E and H, as votes compare logs,
when it stood for election. It is foretold, like the tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import z3

from kraftcheck.reference.kit.log import UNDEFINED
from kraftcheck.reference.proofs.symbolic import term_of, truth_of
from kraftcheck.reference.quorum.messages import FetchRequest, FetchResponse, VoteRequest
from kraftcheck.reference.quorum.proof import election
from kraftcheck.reference.quorum.proof.branches import (
    BEFORE,
    END,
    EPOCH,
    HOLDS,
    START,
    cut,
    has,
    valid,
    written,
)
from kraftcheck.reference.quorum.proof.relation import Case
from kraftcheck.reference.quorum.types import NOBODY, ROLES, Constants, Row

LEADER, DOWN = (ROLES.index(role) for role in ("Leader", "Down"))
STOOD: Final = z3.Function("stood", z3.IntSort(), z3.IntSort(), z3.BoolSort())
"""Voter, epoch -> whether it reached the watched record when it stood for election."""
_NUMBERS: Final = ("length", "flushed", "high_watermark", "epoch_start")


@dataclass(frozen=True)
class LogTerms:
    """What the invariant looks at in a row besides `election.RowTerms`."""

    length: z3.ArithRef
    top: z3.ArithRef
    """The last epoch."""
    flushed: z3.ArithRef
    high_watermark: z3.ArithRef
    epoch_start: z3.ArithRef
    end_offsets: Mapping[int, z3.ArithRef]

    @property
    def has(self) -> z3.BoolRef:
        return has(self.length, self.top)

    @property
    def reaches(self) -> z3.BoolRef:
        return reaches(self.top, self.length)


@dataclass(frozen=True)
class LogSystem:
    """All rows and what is remembered: `base` of elections, the others of logs."""

    base: election.System
    logs: Mapping[int, LogTerms]
    acked: Mapping[int, z3.BoolRef]
    born: z3.BoolRef
    committed: z3.BoolRef

    @property
    def voters(self) -> Sequence[int]:
        return self.base.constants.voters

    def won(self, e: z3.ArithRef) -> z3.BoolRef:
        return z3.Select(self.base.winner, e) != NOBODY

    def majority(self, bits: Sequence[z3.BoolRef]) -> z3.BoolRef:
        return self.base.majority(bits)

    @property
    def served(self) -> z3.BoolRef:
        """Whether the leader of the watched epoch has acked."""
        leader = z3.Select(self.base.winner, EPOCH)
        return z3.Or([z3.And(leader == v, self.acked[v]) for v in self.voters])

    @property
    def open(self) -> z3.BoolRef:
        """A majority has acked, or may do so still."""
        rows = self.base.rows
        return self.majority([z3.Or(self.acked[v], rows[v].epoch <= EPOCH) for v in self.voters])


def reaches(last_epoch: z3.ArithRef, end: z3.ArithRef) -> z3.BoolRef:
    """Whether a log is, as votes compare logs, at least as far as the watched record."""
    return z3.Or(last_epoch > EPOCH, z3.And(last_epoch == EPOCH, end >= END))


def log_terms(row: Row, voters: Sequence[int]) -> LogTerms:
    """The terms of a row, symbolic or the first."""
    log = written(row.log)
    return LogTerms(
        length=log.length.term,
        top=log.top.term,
        flushed=term_of(row.flushed),
        high_watermark=term_of(row.high_watermark),
        epoch_start=term_of(row.epoch_start),
        end_offsets={v: term_of(end) for v, end in zip(voters, row.end_offsets, strict=True)},
    )


def any_logs(constants: Constants, acting: Mapping[int, Row]) -> LogSystem:
    """Any system; acting: the rows that are given, by voter."""
    voters = constants.voters
    terms = {v: election.terms_of(row, voters) for v, row in acting.items()}
    logs = {v: log_terms(row, voters) for v, row in acting.items()}
    for v in voters:
        if v not in acting:
            numbers = {field: z3.Int(f"v{v}.{field}") for field in _NUMBERS}
            ends = {u: z3.Int(f"v{v}.end_offset.{u}") for u in voters}
            # The elections' rows name the last epoch of a log `top` as well.
            logs[v] = LogTerms(**numbers, top=z3.Int(f"v{v}.top"), end_offsets=ends)
    return LogSystem(
        election.any_system(constants, terms),
        logs,
        {v: z3.Bool(f"acked.{v}") for v in voters},
        z3.Bool("born"),
        z3.Bool("committed"),
    )


def row_parts(s: LogSystem, v: int) -> dict[str, z3.BoolRef]:
    """What the invariant says of one row."""
    row, log = s.base.rows[v], s.logs[v]
    at_watched = row.epoch == EPOCH
    held = z3.And(log.has, log.flushed >= END)
    runs = row.role != DOWN
    not_leader = z3.Select(s.base.winner, EPOCH) != v
    served_here = z3.And(at_watched, log.has, not_leader)
    stands = z3.And(row.epoch > EPOCH, row.voted == v, row.leader == NOBODY)
    stood = STOOD(v, row.epoch)
    return {
        "Branch": z3.And(
            *(valid(log.length, log.top, s.base.winner), log.top <= row.epoch),
            *(log.flushed >= 0, log.flushed <= log.length, z3.Implies(log.has, s.born)),
        ),
        "Cached": z3.And(
            z3.Or(row.latest == 0, z3.And(row.latest >= 1, s.won(row.latest))),
            *(log.top == cut(row.latest, log.length), z3.Implies(runs, log.top == row.latest)),
        ),
        "Disk": z3.Implies(z3.And(log.has, not_leader), log.flushed >= END),
        "Acked": z3.And(
            z3.Implies(s.acked[v], z3.And(row.epoch >= EPOCH, s.born)),
            z3.Implies(z3.And(s.acked[v], s.open), held),
            z3.Implies(z3.And(at_watched, held), s.acked[v]),
        ),
        "Leads": z3.Implies(row.role == LEADER, _leads(s, v)),
        "Served": z3.Implies(z3.Or(s.acked[v], served_here), s.served),
        "Votes": z3.Implies(row.voted != NOBODY, row.epoch >= 1),
        "Knows": z3.Implies(z3.Select(s.base.winner, row.epoch) == v, row.leader == v),
        "Stands": z3.Implies(
            stands,
            z3.And(
                z3.Implies(log.reaches, stood),
                z3.Implies(z3.And(stood, s.open, z3.Or(not_leader, s.acked[v])), log.reaches),
            ),
        ),
    }


def _leads(s: LogSystem, v: int) -> z3.BoolRef:
    """What is true of a leader."""
    row, log = s.base.rows[v], s.logs[v]
    at_watched = row.epoch == EPOCH
    noted = [
        z3.Implies(z3.And(at_watched, end >= END), s.acked[u])
        for u, end in log.end_offsets.items()
        if u != v
    ]
    high = log.high_watermark
    return z3.And(
        *(log.top == row.epoch, log.epoch_start == START(row.epoch)),
        *(log.length > log.epoch_start, z3.Or(high == UNDEFINED, high > log.epoch_start)),
        *noted,
        z3.Implies(z3.And(at_watched, high >= END), s.committed),
        z3.Implies(z3.And(at_watched, s.born), log.length >= END),
    )


def epoch_parts(s: LogSystem, e: z3.ArithRef) -> dict[str, z3.BoolRef]:
    """What the invariant says of one epoch."""
    below = z3.And(
        *(BEFORE(e) >= 0, BEFORE(e) < e, START(e) >= 0),
        valid(START(e), BEFORE(e), s.base.winner),
    )
    later = z3.And(e > EPOCH, START(e) >= END, s.born)
    backed = [
        z3.Implies(z3.And(s.acked[g], z3.Select(s.base.ballot[g], e) == v), STOOD(v, e))
        for v in s.voters
        for g in s.voters
    ]
    reached = [
        z3.Implies(z3.Select(s.base.winner, e) == v, row.epoch >= e)
        for v, row in s.base.rows.items()
    ]
    return {
        "Reached": z3.And(reached),
        "Backed": z3.Implies(z3.And(e > EPOCH, s.open), z3.And(backed)),
        "Tree": z3.Implies(s.won(e), z3.And(e >= 1, below)),
        "Holding": z3.Implies(z3.And(s.won(e), HOLDS(e)), z3.Or(e == EPOCH, later)),
        "Complete": z3.Implies(z3.And(s.won(e), e > EPOCH, s.open), HOLDS(e)),
    }


def system_parts(s: LogSystem) -> dict[str, z3.BoolRef]:
    """What the invariant says of what is remembered."""
    acked = s.majority([s.acked[v] for v in s.voters])
    return {
        "Born": z3.Implies(s.born, s.won(EPOCH)),
        "Committed": z3.Implies(s.committed, z3.And(s.born, acked)),
    }


def message_part(s: LogSystem, m: Any) -> z3.BoolRef:
    """What is true of a message for ever."""
    if isinstance(m, FetchRequest):
        return _fetch(s, m)
    if isinstance(m, VoteRequest):
        stands = z3.And(z3.Not(truth_of(m.pre_vote)), term_of(m.epoch) > EPOCH)
        far = reaches(term_of(m.last_epoch), term_of(m.last_offset))
        return z3.Implies(z3.And(stands, far), STOOD(m.source, term_of(m.epoch)))
    if isinstance(m, FetchResponse):
        return z3.And(_records(s, m), _diverging(s, m), _from_leader(m))
    return z3.BoolVal(True)


def _fetch(s: LogSystem, m: Any) -> z3.BoolRef:
    end, last, epoch = (term_of(x) for x in (m.fetch_offset, m.last_fetched_epoch, m.epoch))
    reached = z3.And(epoch == EPOCH, last == EPOCH, end >= END)
    return z3.And(
        *(valid(end, last, s.base.winner), last <= epoch, z3.Implies(has(end, last), s.born)),
        z3.Implies(reached, s.acked[m.source]),
    )


def _records(s: LogSystem, m: Any) -> z3.BoolRef:
    asked, last = (term_of(x) for x in (m.request.fetch_offset, m.request.last_fetched_epoch))
    records = written(m.records) if isinstance(m.records, tuple) else m.records
    count, top = records.length.term, records.top.term
    end = asked + count
    some = z3.And(
        *(valid(end, top, s.base.winner), top <= term_of(m.epoch), cut(top, asked) == last),
        z3.Implies(has(end, top), s.born),
        z3.Implies(z3.And(has(end, top), term_of(m.epoch) == EPOCH), s.served),
    )
    return z3.And(count >= 0, z3.Implies(count > 0, some))


def _from_leader(m: Any) -> z3.BoolRef:
    """Only a leader answers with records, or says where logs part.

    Who knows none has asked to find one, and makes nothing else of the answer.
    """
    parts = [term_of(x) != UNDEFINED for x in (m.diverging.epoch, m.diverging.end_offset)]
    count = (written(m.records) if isinstance(m.records, tuple) else m.records).length.term
    return z3.Implies(z3.Or(count > 0, *parts), term_of(m.leader) == m.source)


def _diverging(s: LogSystem, m: Any) -> z3.BoolRef:
    epoch, of, at = (term_of(x) for x in (m.epoch, m.diverging.epoch, m.diverging.end_offset))
    asked, last = (term_of(x) for x in (m.request.fetch_offset, m.request.last_fetched_epoch))
    told = z3.Or(of != UNDEFINED, at != UNDEFINED)
    leader_has = z3.Or(
        z3.And(epoch > EPOCH, s.open), z3.And(epoch == EPOCH, last == EPOCH, asked >= END)
    )
    above = z3.And(of >= EPOCH, at >= END)
    return z3.Implies(
        told,
        z3.And(of >= 0, at >= 0, z3.Implies(z3.And(last >= EPOCH, leader_has), above)),
    )


def parked_part(s: LogSystem, row: election.RowTerms, log: LogTerms, m: Any) -> z3.BoolRef:
    """What is true of a fetch that a leader has parked: it found it not diverging."""
    end, last = term_of(m.fetch_offset), term_of(m.last_fetched_epoch)
    return z3.And(
        *(_fetch(s, m), term_of(m.epoch) == row.epoch),
        *(end <= log.length, cut(row.epoch, end) == last),
    )


def elected(before: LogSystem, case: Case) -> z3.BoolRef:
    """Whether the step makes its node the leader of an epoch."""
    was = before.base.rows[case.node]
    row = election.terms_of(case.outcome.row, before.voters)
    return z3.And(row.role == LEADER, z3.Or(was.role != LEADER, was.epoch != row.epoch))


def opening(before: LogSystem, case: Case) -> z3.BoolRef:
    """What was foretold of an epoch that this step opens, where nobody has won it before."""
    log: Any = case.outcome.row.log
    if not isinstance(log, tuple) or len(log) < 2:
        return z3.BoolVal(True)
    below, e = written(log[:-1]), term_of(log[-1].epoch)
    at, last = below.length.term, below.top.term
    first = z3.And(elected(before, case), z3.Not(before.won(e)))
    holds = z3.If(at >= END, HOLDS(last), e == EPOCH)
    return z3.Implies(first, z3.And(START(e) == at, BEFORE(e) == last, HOLDS(e) == holds))


def standing(before: LogSystem, case: Case) -> z3.BoolRef:
    """What was foretold of a voter that stands for election in a new epoch in this step."""
    n = case.node
    row = election.terms_of(case.outcome.row, before.voters)
    stands = z3.And(row.voted == n, row.epoch > before.base.rows[n].epoch)
    return z3.Implies(stands, STOOD(n, row.epoch) == before.logs[n].reaches)


def after(before: LogSystem, case: Case) -> LogSystem:
    """The system after a step, with what is remembered written beside it."""
    n = case.node
    base = election.after(before.base, case)
    row, log = base.rows[n], log_terms(case.outcome.row, before.voters)
    at_watched = row.epoch == EPOCH
    leads = z3.And(row.role == LEADER, at_watched)
    held = z3.And(log.has, log.flushed >= END)
    return replace(
        before,
        base=base,
        logs={**before.logs, n: log},
        acked={**before.acked, n: z3.Or(before.acked[n], z3.And(at_watched, held))},
        born=z3.Or(before.born, z3.And(leads, log.length >= END)),
        committed=z3.Or(before.committed, z3.And(leads, log.high_watermark >= END)),
    )
