"""The controller's state from its log alone: what a new active controller knows (C0).

Law of this file: a pure fold over committed batches. It shares no code with the handlers that
decide what a batch says, so that one can be held against the other (tests/reference/cluster/sim).

A batch is known with the input that caused it: a record of a registration in Kafka carries the
incarnation, which here only the request does. Sessions are no part of the log: a replayed row has
those of a controller that has heard from nobody.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from msgspec.structs import replace

from kraftcheck.reference.partition.messages import (
    BrokerRecord,
    ControllerInput,
    MetadataRecord,
    RegisterBrokerRequest,
)
from kraftcheck.reference.partition.types import (
    UNDEFINED,
    Contact,
    ControllerRow,
    PartitionConstants,
    initial_controller,
)

CommittedBatch: TypeAlias = tuple[ControllerInput, tuple[MetadataRecord, ...]]
"""What caused it, and what it says of one partition and its brokers."""

UNHEARD = Contact(live=True, metadata_offset=UNDEFINED, shutdown_offset=UNDEFINED)


def replay(
    constants: PartitionConstants,
    batches: Iterable[CommittedBatch],
    first: ControllerRow | None = None,
) -> ControllerRow:
    """The controller's row after these batches, from the first on.

    first: its row before them, where that is not the partition's own.
    """
    row = initial_controller(constants) if first is None else first
    registrations, partition, offset = list(row.registrations), row.partition, row.offset
    for cause, records in batches:
        for at, record in enumerate(records, offset):
            if isinstance(record, BrokerRecord):
                of = constants.brokers.index(record.broker)
                said = record.registration
                registrations[of] = replace(
                    registrations[of],
                    epoch=said.epoch,
                    fenced=said.fenced,
                    stopping=said.stopping,
                )
                if isinstance(cause, RegisterBrokerRequest):
                    registrations[of] = replace(
                        registrations[of], incarnation=cause.incarnation, record_offset=at
                    )
            else:
                partition = record.partition
        offset += len(records)
    contacts = (UNHEARD,) * len(registrations)
    return replace(
        row,
        registrations=tuple(registrations),
        partition=partition,
        offset=offset,
        contacts=contacts,
    )
