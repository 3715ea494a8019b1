"""The state of a node and what a step makes of it.

Law of this file: values only. `Row` is the row of specs/quorum/QuorumHandlers.tla, the same fields
in the same order in snake case, and nothing else: no clock, deadline, correlation id or statistic
(L1).

Where the spec has a set, a row has a sorted tuple; where the spec has a function on voters, a row
has a tuple aligned with `Constants.voters`. So equal states are equal values, hash alike and encode
to the same bytes.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Literal, TypeAlias, get_args

import msgspec

from kraftcheck.reference.kit.fields import AtLeastOne, ByNode, Node, NodeOrNobody, SetOf
from kraftcheck.reference.kit.log import (
    LEADER_CHANGE as LEADER_CHANGE,
    UNDEFINED as UNDEFINED,
    CacheEntry as CacheEntry,
    Entry as Entry,
    EpochCache as EpochCache,
    EpochEnd as EpochEnd,
    Log as Log,
)
from kraftcheck.reference.quorum.messages import (
    NO_DIVERGENCE as NO_DIVERGENCE,
    FetchRequest,
    Message,
)

NOBODY = -1
"""No leader known, no vote given: Kafka's sentinel."""

Role: TypeAlias = Literal[
    "Unattached", "Prospective", "Candidate", "Leader", "Resigned", "Follower", "Down", "Halted"
]
ROLES: tuple[Role, ...] = get_args(Role)
Connection: TypeAlias = Literal["Ready", "Awaiting", "BackingOff"]
READY: Connection = "Ready"
AWAITING: Connection = "Awaiting"
BACKING_OFF: Connection = "BackingOff"
CONNECTIONS = frozenset((READY, AWAITING, BACKING_OFF))
Release: TypeAlias = Literal["4.0", "4.1"]


class Constants(msgspec.Struct, frozen=True, tag="quorum", tag_field="protocol"):
    """Who votes (Q1: the static voter set of kraft.version 0), and what a majority is.

    The twin of specs/quorum/VoterSet.tla. Not a decision that a bug may replace: properties use it.
    """

    release: ClassVar[Release] = "4.0"
    """By the rules of which release: of October 2024 (3.9 with pre-vote), or since 4.1, which has
    constants of its own (quorum41.py)."""
    voters: SetOf[Node]
    fetch_max_records: AtLeastOne

    def __post_init__(self) -> None:
        assert self.voters, "a quorum has voters"
        assert list(self.voters) == sorted(set(self.voters)), "voters are sorted and distinct"
        assert min(self.voters) >= 0, "-1 is nobody"
        assert self.fetch_max_records > 0, "a fetch that carries nothing makes no progress"

    @property
    def nodes(self) -> tuple[int, ...]:
        """Of whom a row's functions have an entry each, sorted; `voters` has more."""
        return self.voters

    def is_majority(self, nodes: Collection[int]) -> bool:
        """Whether these voters, each named once, are more than half of all."""
        return 2 * len(nodes) > len(self.voters)

    def others(self, node: int) -> tuple[int, ...]:
        return tuple(v for v in self.voters if v != node)


class QuorumStateFile(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The quorum-state file (Q2)."""

    epoch: int
    leader: NodeOrNobody
    voted: NodeOrNobody


class Row(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """The whole state of one voter. The hash is kept, because steps are memoised by row."""

    role: Role
    epoch: int
    leader: NodeOrNobody
    voted: NodeOrNobody
    quorum_state: QuorumStateFile
    """Durable: the quorum-state file."""
    log: Log
    """Durable up to `flushed`."""
    flushed: int
    epoch_cache: EpochCache
    """Durable: leader-epoch-checkpoint."""
    high_watermark: int
    """-1 when unknown."""
    granted: SetOf[Node]
    """Votes of this (pre-)election, sorted."""
    rejected: SetOf[Node]
    has_fetched: bool
    """Fetched from the leader in this epoch."""
    epoch_start: int
    """Leader: offset of its LeaderChange."""
    end_offsets: ByNode[int]
    """Leader: what each other voter fetched, by the position of the voter."""
    fetched_voters: SetOf[Node]
    """Leader: heard from since the last check-quorum round, sorted."""
    unacked: SetOf[Node]
    """Resigned: the voters that have yet to learn of it, sorted."""
    successors: tuple[Node, ...]
    """Resigned: who should be the next leader, best first."""
    connections: ByNode[Connection]
    """By the position of the peer."""
    parked: SetOf[FetchRequest]
    """Leader: fetches waiting for records, in the order of `kit.messages.canonical`."""
    announced: int
    """Epoch in which the state machine was notified of its leadership, or -1."""


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """What one step makes: the new row, what was sent, and why an input was ignored if it was.

    `sent` is in the order of `kit.messages.canonical`: sorted, nothing twice.
    """

    row: Row
    sent: tuple[Message, ...]
    ignored: str


def is_running(row: Row) -> bool:
    return row.role not in ("Down", "Halted")


def initial_row(constants: Constants) -> Row:
    """The first state of every voter: it knows nothing and has nothing."""
    return Row(
        role="Unattached",
        epoch=0,
        leader=NOBODY,
        voted=NOBODY,
        quorum_state=QuorumStateFile(0, NOBODY, NOBODY),
        log=(),
        flushed=0,
        epoch_cache=(),
        high_watermark=UNDEFINED,
        granted=(),
        rejected=(),
        has_fetched=False,
        epoch_start=UNDEFINED,
        end_offsets=(UNDEFINED,) * len(constants.voters),
        fetched_voters=(),
        unacked=(),
        successors=(),
        connections=(READY,) * len(constants.voters),
        parked=(),
        announced=UNDEFINED,
    )
