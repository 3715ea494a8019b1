"""The state of a controller where the voters change: that of the quorum, and which sets it knows.

Law of this file: values only. `VoterRow` is the row of specs/quorum/voters/VoterChanges.tla, the
same fields in the same order in snake case. What `reference/kit/log.py` and
`reference/quorum/types.py` say of values holds here.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from kraftcheck.reference.kit.fields import AtLeastOne, Node, SetOf
from kraftcheck.reference.kit.log import UNDEFINED, Entry
from kraftcheck.reference.quorum.types import Constants as QuorumConstants, Row, initial_row

VOTERS_RECORD = -1
"""Value of the control record of a set of voters."""


class VotersEntry(Entry, frozen=True, gc=False, array_like=True):
    """A record of the log, and the set of voters that it has; empty for all but Voters records."""

    voters: SetOf[Node] = ()
    moved: SetOf[Node] = ()
    """Who of them has other listeners than at first (V17)."""


VotersLog: TypeAlias = tuple[VotersEntry, ...]


class VotersAt(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A set of voters, and the offset of its record; -1 of the bootstrap set."""

    offset: int
    voters: SetOf[Node]


History: TypeAlias = tuple[VotersAt, ...]


class Constants(msgspec.Struct, frozen=True, tag="voters", tag_field="protocol"):
    """Every controller, and who of them votes at first: the bootstrap set (V12)."""

    nodes: SetOf[Node]
    first_voters: SetOf[Node]
    fetch_max_records: AtLeastOne
    kraft_version: int = 1
    """0 or 1, that of the bootstrap set (V23)."""
    auto_join: bool = False
    """As Kafka's controller.auto.join.enable (V24)."""
    listeners_change: bool = False
    """Whether a controller may come back with other listeners (V17)."""
    unformatted: SetOf[Node] = ()
    """Who was formatted without the bootstrap snapshot, and observes (V12)."""

    def __post_init__(self) -> None:
        assert self.first_voters, "a quorum has voters"
        for named in (self.nodes, self.first_voters, self.unformatted):
            assert list(named) == sorted(set(named)), "nodes are sorted and distinct"
        assert set(self.first_voters) <= set(self.nodes), "who votes is a controller"
        assert min(self.nodes) >= 0, "-1 is nobody"
        observers = {*self.nodes} - {*self.first_voters}
        assert {*self.unformatted} <= observers, "who is formatted without a set is no first voter"
        assert self.kraft_version in (0, 1), "kraft.version is 0 or 1"


class InForce(QuorumConstants, frozen=True):
    """What a quorum is under one set: its voters, and all whom a row's functions have.

    Who was formatted without a set knows of no voter.
    """

    among: SetOf[Node]

    def __post_init__(self) -> None:
        if self.voters:
            super().__post_init__()

    @property
    def nodes(self) -> tuple[int, ...]:
        return self.among


class Heard(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """V17. What a leader has heard of a voter: whether it has other listeners than at first."""

    node: Node
    moved: bool


Asks: TypeAlias = Literal["", "UpdateVoter", "AddVoter"]


class VoterRow(Row, frozen=True, gc=False, cache_hash=True):
    """The whole state of a controller: the row of the quorum, and what it knows of voters."""

    log: VotersLog
    history: History
    """Volatile: the sets that were read from the log, the bootstrap set first."""
    history_end: int
    """Volatile: up to where the log was read."""
    caught_up: SetOf[Node]
    """Leader: who is no voter and was at the end of its log in this epoch, sorted."""
    change: int
    """Leader: the offset of the change whose timer runs, or -1."""
    moved: bool
    """Durable: it has other listeners than at first (V17)."""
    asks: Asks
    """Follower: what it asks its leader for in place of records."""
    has_updated_leader: bool
    """Follower: its leader has heard of it by UpdateVoter."""
    heard: SetOf[Heard]
    """Leader: of whom it has heard by UpdateVoter in this epoch, under kraft.version 0, sorted."""


Refusal: TypeAlias = Literal[
    "",
    "REQUEST_TIMED_OUT",
    "UNSUPPORTED_VERSION",
    "DUPLICATE_VOTER",
    "VOTER_NOT_FOUND",
    "INVALID_UPDATE_VERSION",
]
"""Kafka's error, or none."""


def in_force(constants: Constants, voters: tuple[int, ...]) -> InForce:
    """The quorum of this set."""
    return InForce(voters, constants.fetch_max_records, constants.nodes)


def initial_voter_row(constants: Constants, n: int | None = None) -> VoterRow:
    """Give the first state of a controller.

    It has nothing, and knows the bootstrap set, unless n is one that was formatted without it.
    """
    known = () if n in constants.unformatted else constants.first_voters
    first = initial_row(in_force(constants, constants.nodes))
    return VoterRow(
        **msgspec.structs.asdict(first),
        history=(VotersAt(UNDEFINED, known),),
        history_end=0,
        caught_up=(),
        change=UNDEFINED,
        moved=False,
        asks="",
        has_updated_leader=False,
        heard=(),
    )
