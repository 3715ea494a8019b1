"""What the interner takes for the same."""

from __future__ import annotations

import msgspec

from kraftcheck.reference.sim.interning import Interner


class Vote(msgspec.Struct, frozen=True, tag="Vote"):
    epoch: int


class Ballot(msgspec.Struct, frozen=True, tag="Vote"):
    epoch: int


def test_two_types_that_say_the_same_are_told_apart() -> None:
    interner = Interner()
    vote, ballot = interner.input(Vote(1)), interner.input(Ballot(1))
    assert vote.body == ballot.body and vote is not ballot
    assert interner.input(Vote(1)) is vote and interner.row(Vote(1)) is not interner.row(Ballot(1))
