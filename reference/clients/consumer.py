"""A consumer of one partition without IO: a position, fetches, and what to do when it is lost.

Law of this file: as in producer.py. The consumer asks one thing at a time: where to begin
(ListOffsets), or what stands at its position (Fetch). What it is not told by an answer it asks
again. `auto_offset_reset` says where it begins without a position, or with one that is out of range
(Kafka's OffsetFetcher and FetchCollector).

Left out: groups and committed offsets, transactions (read_uncommitted), several partitions.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from kraftcheck.reference.partition.log import UNDEFINED, Record
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    ConsumerFetchRequest,
    ConsumerFetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    Timestamp,
)

Reset: TypeAlias = Literal["earliest", "latest", "none"]


class ConsumerConfig(msgspec.Struct, frozen=True):
    client: int
    auto_offset_reset: Reset = "earliest"
    from_follower: bool = False
    """KIP-392: reads from whichever replica it is sent to."""
    fenced: bool = True
    """KIP-320: names the leader epoch that it knows."""


class Consumed(msgspec.Struct, frozen=True):
    """A record as it was read."""

    offset: int
    record: Record


class Learned(msgspec.Struct, frozen=True):
    """What an answer brought."""

    records: tuple[Consumed, ...] = ()
    refresh: bool = False
    """The consumer's metadata is old: another leader or epoch is to be asked for."""
    error: str = ""
    offset: int = UNDEFINED
    """Where the consumer begins, if the answer said so."""


NOTHING = Learned()
_STALE = ("NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH")


class Consumer:
    """One consumer. `position` is the next offset to be read, -1 when it has none."""

    __slots__ = ("_in_flight", "_reset", "config", "position")

    def __init__(self, config: ConsumerConfig, position: int = UNDEFINED) -> None:
        self.config = config
        self.position = position
        self._in_flight: ConsumerFetchRequest | ListOffsetsRequest | None = None
        self._reset: Timestamp = "Latest" if config.auto_offset_reset == "latest" else "Earliest"

    def seek(self, position: int) -> None:
        """Goes on reading at this offset; -1: wherever `auto_offset_reset` says."""
        self.position = position
        self._in_flight = None

    def poll(self, broker: int, epoch: int) -> ConsumerFetchRequest | ListOffsetsRequest | None:
        """Give what to ask of this broker now, under this leader epoch.

        None while an answer is awaited.
        """
        if self._in_flight is not None:
            return None
        known = epoch if self.config.fenced else UNDEFINED
        client = self.config.client
        if self.position == UNDEFINED:
            self._in_flight = ListOffsetsRequest(CLIENTS, broker, client, known, self._reset)
        else:
            self._in_flight = ConsumerFetchRequest(
                source=CLIENTS,
                destination=broker,
                client=client,
                epoch=known,
                fetch_offset=self.position,
                from_follower=self.config.from_follower,
            )
        return self._in_flight

    def on_timeout(self, request: ConsumerFetchRequest | ListOffsetsRequest) -> None:
        """The request will not be answered any more."""
        if self._in_flight == request:
            self._in_flight = None

    def on_list_offsets(self, m: ListOffsetsResponse) -> Learned:
        if m.request != self._in_flight:
            return NOTHING
        self._in_flight = None
        if m.error != "NONE":
            return Learned(refresh=m.error in _STALE, error=m.error)
        self.position = m.offset
        return Learned(offset=m.offset)

    def on_fetch(self, m: ConsumerFetchResponse) -> Learned:
        if m.request != self._in_flight:
            return NOTHING
        self._in_flight = None
        if m.error == "OFFSET_OUT_OF_RANGE" and self.config.auto_offset_reset != "none":
            # A follower may be behind; only the leader can say that an offset is gone.
            if not self.config.from_follower:
                self.position = UNDEFINED
            return Learned(refresh=self.config.from_follower, error=m.error)
        if m.error != "NONE":
            return Learned(refresh=m.error in _STALE, error=m.error)
        records = tuple(
            Consumed(offset, record) for offset, record in enumerate(m.records, self.position)
        )
        self.position += len(records)
        return Learned(records=records)
