"""The rows of a share partition, and what they begin as: values, with the names of the spec.

Law of this file: nothing is decided here. Rows are immutable and hashable.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from kraftcheck.reference.kit.fields import NOBODY, AtLeastOne, NodeOrNobody, SetOf
from kraftcheck.reference.shares.messages import (
    NO_START,
    AckKind,
    Answer,
    CellState,
    DeliveredRecord,
    StoredCell,
    StoredState,
    StoredTail,
    WriteShareGroupState,
)

Phase: TypeAlias = Literal["Empty", "Initializing", "Resolving", "Active"]


class Constants(msgspec.Struct, frozen=True, tag="shares", tag_field="protocol"):
    """What a run is made of."""

    members: SetOf[int]
    """The consumers' nodes, all above 0."""
    records: AtLeastOne
    """The number of offsets; the first is 1."""
    bases: SetOf[int]
    """The first offset of each record batch."""
    max_delivery: AtLeastOne
    """The limit of deliveries (group.share.delivery.count.limit)."""
    max_in_flight: AtLeastOne
    """The limit of offsets from the start to the end (group.share.partition.max.record.locks)."""
    latest: bool
    """Whether no start offset is stored at first, and share.auto.offset.reset is `latest`."""
    max_leaders: AtLeastOne
    """The last leader epoch."""
    max_incarnations: AtLeastOne
    """The broker replaces no share partition after this one."""
    max_coordinators: AtLeastOne
    """The last leader epoch of the coordinator's log."""

    def __post_init__(self) -> None:
        bases = list(self.bases)
        assert bases == sorted({*bases}) and bases[:1] == [1], "batches begin with offset 1"
        assert bases[-1] <= self.records, "a batch has records"

    @property
    def offsets(self) -> range:
        return range(1, self.records + 1)

    def end_of_batch(self, base: int) -> int:
        return min([b for b in self.bases if b > base], default=self.records + 1) - 1

    def base_of(self, offset: int) -> int:
        return max(b for b in self.bases if b <= offset)


class Cell(msgspec.Struct, frozen=True):
    """What the leader has cached of an offset."""

    state: CellState
    count: int
    """Deliveries."""
    member: NodeOrNobody
    """The holder."""
    moving: bool
    """Whether its write is under way."""
    previous: NodeOrNobody
    """The holder if that write fails."""
    expired: bool
    """Whether the lock ran out during the write."""
    final: bool
    """Whether the log start archived it."""


NO_CELL: Final = Cell("None", 0, NOBODY, False, NOBODY, False, False)
NO_STORED: Final = StoredCell("None", 0)


class PendingAck(msgspec.Struct, frozen=True, order=True):
    """An acknowledgement whose write is under way; of nobody, where a session has ended."""

    source: NodeOrNobody
    first: int
    last: int
    kind: AckKind
    write: WriteShareGroupState


class ShareLeader(msgspec.Struct, frozen=True):
    """The leader of the share partition (specs/shares/ShareHandlers.tla)."""

    high_watermark: int
    log_start: int
    leader_epoch: int
    incarnation: int
    state_epoch: int
    phase: Phase
    start: int
    end: int
    cells: tuple[Cell, ...]
    gap: int
    gap_end: int
    pending: SetOf[PendingAck]


class StateLog(msgspec.Struct, frozen=True):
    """The share partition's part of __share_group_state (specs/common/GroupLog.tla)."""

    committed: StoredState
    leader: tuple[StoredState, ...]
    tails: SetOf[StoredTail]


class ShareCoordinator(msgspec.Struct, frozen=True):
    """The share coordinator (specs/shares/ShareHandlers.tla)."""

    leader_epoch: int
    """Of the log's partition."""
    log: StateLog
    waiting: SetOf[Answer]
    """Answers that wait for the commit."""


class AskedAck(msgspec.Struct, frozen=True, order=True):
    """An acknowledgement without an answer."""

    first: int
    last: int
    kind: AckKind


class ShareConsumer(msgspec.Struct, frozen=True):
    """A consumer (specs/shares/ShareHandlers.tla)."""

    leader_epoch: int
    """Of the last answer; 0 before the first."""
    held: SetOf[DeliveredRecord]
    asked: SetOf[AskedAck]
    done: SetOf[int]
    """The offsets whose ACCEPT or REJECT was answered without an error."""


INITIAL_CONSUMER: Final = ShareConsumer(0, (), (), ())


def initial_stored(constants: Constants) -> StoredState:
    start = NO_START if constants.latest else 1
    return StoredState(start, 1, 0, 0, (NO_STORED,) * constants.records)


def initial_coordinator(constants: Constants) -> ShareCoordinator:
    log = StateLog(initial_stored(constants), (), (StoredTail(()),))
    return ShareCoordinator(1, log, ())


def initial_leader(constants: Constants) -> ShareLeader:
    """Under `latest` the first batch was produced before the group subscribed."""
    there = constants.end_of_batch(1) if constants.latest else constants.records
    cells = (NO_CELL,) * constants.records
    return ShareLeader(there, 1, 1, 1, 0, "Empty", 1, 1, cells, 0, 0, ())
