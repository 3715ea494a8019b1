"""Which set of voters is in force where, in the tree of epochs.

As in reference/quorum/proof/branches.py epochs are a tree: each is opened once, behind a log that
ends at `START`, after a record of the epoch `BEFORE`. A *position* is a log: the epoch of its last
record and its length. A Voters record is named by its epoch and by the offset behind it; (0, 0) is
the bootstrap set. `LAST_EPOCH` and `LAST_END` say which one is the last of a position (V11), and
`MEMBER` whom it has. All of it is foretold: a run makes one such tree, chosen before it begins.

The records that decide are the first one of an epoch and each Voters record: the *keys*. Each is
committed, if it ever is, under the set that is in force right behind it, since the next change
waits for it (V14). `BASE` is the key before a Voters record in its own epoch.

Theorems on such trees are in `passes` and `tree_facts`; the tests hold them against trees that are
made by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import z3

from kraftcheck.reference.quorum.proof.branches import BEFORE, START
from kraftcheck.reference.quorum.types import NOBODY

_INT: Final = z3.IntSort()
_BOOL: Final = z3.BoolSort()
LAST_EPOCH: Final = z3.Function("set.epoch", _INT, _INT, _INT)
LAST_END: Final = z3.Function("set.end", _INT, _INT, _INT)
"""Position -> the last Voters record in it."""
MEMBER: Final = z3.Function("set.member", _INT, _INT, _INT, _BOOL)
"""Voters record, node -> whether its set has the node."""
BASE: Final = z3.Function("set.base", _INT, _INT, _INT)
"""Voters record -> where the key before it, of the same epoch, ends."""
HOLDS: Final = z3.Function("set.holds", _INT, _INT, _INT, _BOOL)
"""Epoch, end of a record of that epoch, branch -> whether the branch has the record."""
WINNER: Final = z3.Array("winner", _INT, _INT)


class Position(NamedTuple):
    """A log: the epoch of its last record (0: it is empty), and its length."""

    top: z3.ArithRef
    length: z3.ArithRef

    @property
    def last(self) -> Position:
        """Its last Voters record."""
        return Position(LAST_EPOCH(*self), LAST_END(*self))

    def same(self, other: Position) -> z3.BoolRef:
        return z3.And(self.top == other.top, self.length == other.length)

    def below(self, other: Position) -> z3.BoolRef:
        """The order of records on a branch."""
        shorter = z3.And(self.top == other.top, self.length < other.length)
        return z3.Or(self.top < other.top, shorter)

    def has(self, record: Position) -> z3.BoolRef:
        """Whether this log has the record with which that one ends."""
        return z3.And(self.length >= record.length, HOLDS(*record, self.top))

    def reaches(self, record: Position) -> z3.BoolRef:
        """Whether this log is, as votes compare logs (Q6), as far as that one."""
        same = z3.And(record.top == self.top, record.length <= self.length)
        return z3.Or(record.top < self.top, same)


def begins(e: z3.ArithRef) -> Position:
    """The log behind which an epoch was opened."""
    return Position(BEFORE(e), START(e))


def base(record: Position) -> Position:
    """The key before a Voters record."""
    return Position(record.top, BASE(*record))


def won(e: z3.ArithRef) -> z3.BoolRef:
    return z3.Select(WINNER, e) != NOBODY


def members(at: Position, nodes: Sequence[int]) -> list[z3.BoolRef]:
    """The set that is in force in a log, a bit for each node."""
    return [MEMBER(*at.last, v) for v in nodes]


def majority(voters: Sequence[z3.BoolRef], bits: Sequence[z3.BoolRef]) -> z3.BoolRef:
    """More than half of a set: VoterSet.IsMajority, which is no rule that a bug may replace."""

    def count(of: Sequence[z3.BoolRef]) -> z3.ArithRef:
        return z3.Sum([z3.If(bit, 1, 0) for bit in of])

    both = [z3.And(v, bit) for v, bit in zip(voters, bits, strict=True)]
    return 2 * count(both) > count(voters)


def adjacent(one: Sequence[z3.BoolRef], other: Sequence[z3.BoolRef]) -> z3.BoolRef:
    """Whether two sets differ by one voter (AdjacentSets)."""
    return z3.PbEq([(a != b, 1) for a, b in zip(one, other, strict=True)], 1)


def majority_near(voters: Sequence[z3.BoolRef], bits: Sequence[z3.BoolRef]) -> z3.BoolRef:
    """More than half of a set, or of one that differs from it by a voter."""
    sets = [list(voters)]
    for at, bit in enumerate(voters):
        sets.append([*voters[:at], z3.Not(bit), *voters[at + 1 :]])
    return z3.Or([z3.And(z3.Or(each), majority(each, bits)) for each in sets])


def is_key(at: Position) -> z3.BoolRef:
    """Whether the last record of a log is the first of its epoch, or a Voters record."""
    first = z3.And(at.length == START(at.top) + 1, at.last.same(begins(at.top).last))
    return z3.And(won(at.top), at.length > START(at.top), z3.Or(at.last.same(at), first))


def passes(at: Position, record: Position) -> z3.BoolRef:
    """Say that a log without the key's record has none behind that key.

    The log has the key before a Voters record, and its own last one is an earlier one.
    """
    known = z3.And(at.has(base(record)), at.last.below(record))
    return z3.Implies(known, at.last.same(base(record).last))


def tree_facts(at: Position, records: Sequence[Position]) -> list[z3.BoolRef]:
    """What is known of a log, and of which records of one epoch each are in it."""
    last = at.last
    facts = [
        *(last.top >= 0, last.top <= at.top, last.length <= at.length),
        (last.top == 0) == (last.length == 0),
        z3.Implies(at.top == 0, at.length == 0),
        z3.Implies(at.top >= 1, z3.And(won(at.top), at.length > START(at.top))),
    ]
    for record in records:
        e, end = record
        own = z3.And(e >= 1, end > START(e))
        held = HOLDS(e, end, at.top)
        facts.append(
            z3.Implies(
                own,
                z3.And(
                    *(z3.Implies(at.top == e, held), z3.Implies(at.top < e, z3.Not(held))),
                    z3.Implies(at.top > e, held == begins(at.top).has(record)),
                ),
            )
        )
    return facts
