"""Pairs of states to judge: steps of walks, and what becomes of them by one change.

The change is in one place of the state before a step or after it, or of what is remembered beside
(reference/quorum/properties.py and its twin of the partition). A function of constants and seeds
alone.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct

from kraftcheck.reference.bugs.catalog import rules_for
from kraftcheck.reference.kit.log import Log
from kraftcheck.reference.partition import properties as partition_properties
from kraftcheck.reference.partition.messages import Message, MetadataRecord
from kraftcheck.reference.partition.properties import PartitionHistory, PartitionState
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.sim.machine import broker_handlers_for
from kraftcheck.reference.partition.types import (
    BrokerRow,
    ControllerRow,
    PartitionConstants,
    RecordLog,
)
from kraftcheck.reference.quorum import properties
from kraftcheck.reference.quorum.handlers import QuorumHandlers
from kraftcheck.reference.quorum.properties import Ballot, QuorumHistory
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import ROLES, Constants, Row
from tests.reference.changes import Place, Pool
from tests.reference.partition.walks import Moves, PartitionWalk
from tests.reference.quorum.walks import walk

STRANGER: Final = 7
"""A node that is none."""


class Pair(NamedTuple):
    """Two moments, and what was sent in between. changed: where a walk had something else, from the
    outside in; empty where it took this very step."""

    before: Any
    after: Any
    sent: tuple[Message, ...] = ()
    changed: Place = ()


def varied(steps: Iterable[Pair], each: int) -> list[Pair]:
    """So many steps of each kind, which the moment after it says: the first ones."""
    kinds: Counter[Hashable] = Counter()
    found = []
    for step in steps:
        kinds[step.after.kind] += 1
        if kinds[step.after.kind] <= each:
            found.append(step)
    return found


def changed(pair: Pair, pool: Pool, chance: random.Random) -> Pair:
    """The pair with one change, four times of five in the moment after."""
    which = "before" if chance.random() < 0.2 else "after"
    place, moment = pool.changed(getattr(pair, which), chance)
    return pair._replace(changed=(which, *place), **{which: moment})


# --- The quorum


class Given(Struct, frozen=True):
    """A ballot, in the fields of the spec."""

    epoch: int
    given: tuple[int, ...]


class Appended(Struct, frozen=True):
    offset: int
    epoch: int
    value: int


class QuorumMoment(Struct, frozen=True):
    """Everything that properties look at. rows, ballots: by the position of the voter."""

    rows: tuple[Row, ...]
    committed: Log
    ballots: tuple[Given, ...]
    appended: tuple[Appended, ...]

    @classmethod
    def of(cls, rows: Iterable[Row], history: QuorumHistory) -> QuorumMoment:
        entries = [
            Appended(offset, epoch, value)
            for (offset, epoch), values in sorted(history.appended.items())
            for value in values
        ]
        ballots = tuple(Given(*ballot) for ballot in history.ballots.values())
        return cls(tuple(rows), history.committed, ballots, tuple(entries))

    @property
    def kind(self) -> Hashable:
        known = sum(row.high_watermark > 0 for row in self.rows)
        return (
            tuple(sorted(row.role for row in self.rows)),
            known,
            len({row.epoch for row in self.rows}),
        )

    def history(self, before: QuorumMoment, constants: Constants) -> QuorumHistory:
        """What is remembered at this moment, after the other one."""
        appended: dict[tuple[int, int], tuple[int, ...]] = {}
        for each in self.appended:
            known = appended.get((each.offset, each.epoch), ())
            appended[each.offset, each.epoch] = tuple(sorted((*known, each.value)))
        ballots = [Ballot(each.epoch, each.given) for each in self.ballots]
        named = dict(zip(constants.voters, ballots, strict=True))
        return QuorumHistory(named, self.committed, before.committed, appended)


def quorum_steps(constants: Constants, walks: Sequence[str | None], length: int) -> Iterator[Pair]:
    """Steps of walks, each of which has the bug that is named for it."""
    for seed, bug in enumerate(walks):
        history = properties.history_init(constants)
        for step in walk(
            QuorumHandlers(constants, rules_for(QuorumRules, bug, constants)), seed, length
        ):
            before = QuorumMoment.of(step.before.values(), history)
            history = properties.history_next(history, step.after)
            yield Pair(before, QuorumMoment.of(step.after.values(), history))


def quorum_pool(pairs: Sequence[Pair], often: frozenset[str]) -> Pool:
    nodes = (1, 2, 3, STRANGER)
    members = ("granted", "rejected", "unacked", "fetched_voters")
    more: dict[str, Iterable[Any]] = {f"Row.{name}[]": nodes for name in members}
    more |= {"Row.role": ROLES, "Row.leader": nodes, "Row.voted": nodes}
    more |= {"Row.connections[]": ("Busy",), "Given.given[]": nodes}
    return Pool([pair.after for pair in pairs], more, often)


# --- A partition


class PartitionMoment(Struct, frozen=True):
    """Everything that properties look at. rows: by the position of the broker."""

    rows: tuple[BrokerRow, ...]
    controller: ControllerRow
    metadata: tuple[MetadataRecord, ...]
    committed: RecordLog
    acked: tuple[int, ...]

    @classmethod
    def of(cls, state: PartitionState, history: PartitionHistory) -> PartitionMoment:
        rows, acked = tuple(state.rows.values()), tuple(sorted(history.acked))
        return cls(rows, state.controller, state.metadata, history.committed, acked)

    def state(self, constants: PartitionConstants) -> PartitionState:
        rows = dict(zip(constants.brokers, self.rows, strict=True))
        return PartitionState(rows, self.controller, self.metadata)

    @property
    def kind(self) -> Hashable:
        partition = self.controller.partition
        words = tuple(sorted((row.status, row.role, row.pending.kind) for row in self.rows))
        return words, len(partition.isr), len(partition.elr), bool(self.committed)

    def history(self, before: PartitionMoment) -> PartitionHistory:
        """What is remembered at this moment, after the other one."""
        acked, acked_before = frozenset(self.acked), frozenset(before.acked)
        return PartitionHistory(self.committed, before.committed, acked, acked_before)


def partition_steps(
    constants: PartitionConstants, walks: Sequence[tuple[str | None, Moves]], length: int
) -> Iterator[Pair]:
    """Steps of walks, each of which has the bug that is named for it, and makes such moves."""
    for seed, (bug, moves) in enumerate(walks):
        walk = PartitionWalk(constants, seed, rules_for(PartitionRules, bug, constants), moves)
        walk.handlers = broker_handlers_for(bug, constants)
        history = PartitionHistory()
        for step in walk.steps(length):
            before = PartitionMoment.of(PartitionState(*step.before), history)
            after = PartitionState(*step.after)
            history = partition_properties.history_next(history, after, step.outcome.sent)
            yield Pair(before, PartitionMoment.of(after, history), step.outcome.sent)


def partition_pool(pairs: Sequence[Pair], often: frozenset[str]) -> Pool:
    nodes = (1, 2, 3, STRANGER)
    more: dict[str, Iterable[Any]] = {
        "BrokerRow.status": ("Starting", "Running", "ShuttingDown", "Down"),
        "BrokerRow.leader": nodes,
        "Partition.leader": nodes,
        "Partition.last_known_leader": nodes,
        "Partition.isr[]": nodes,
        "Partition.elr[]": nodes,
        "Pending.kind": ("Swap",),
    }
    return Pool([pair.after for pair in pairs], more, often)


def entered(pair: Pair, constants: Constants | PartitionConstants) -> Pair:
    """The pair with such a memory after it as its rows make of the one before."""
    before, after = pair.before, pair.after
    if isinstance(constants, Constants):
        rows = dict(zip(constants.voters, after.rows, strict=True))
        history = properties.history_next(before.history(before, constants), rows)
        return pair._replace(after=QuorumMoment.of(after.rows, history))
    state = after.state(constants)
    told = partition_properties.history_next(before.history(before), state, pair.sent)
    return pair._replace(after=PartitionMoment.of(state, told))
