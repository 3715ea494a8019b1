"""Define the state of a node where the metadata log has snapshots.

It is that of a controller whose voters change, and which snapshots it has.

Law of this file: values only. `SnapshotRow` is the row of specs/quorum/snapshots/Snapshots.tla, the
same fields in the same order in snake case. What `reference/quorum/voters/types.py` says of values
holds here.
"""

from __future__ import annotations

from typing import Final

import msgspec

from kraftcheck.reference.kit.fields import Node, SetOf
from kraftcheck.reference.kit.log import UNDEFINED
from kraftcheck.reference.quorum.voters.types import (
    Constants as VoterConstants,
    VoterRow,
    VotersLog,
    initial_voter_row,
)


class Constants(VoterConstants, frozen=True, tag="snapshots", tag_field="protocol"):
    """As where voters change: every controller or broker, and who of them votes at first."""

    state_machines: bool = False
    """Whether controllers keep what the committed records say (V8, V29)."""


class SnapshotId(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """V1. The offset after the last record that a snapshot has, and the epoch of that record."""

    end_offset: int
    epoch: int


class Snapshot(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """V1. The effect of all records below an offset; here it has these records themselves."""

    end_offset: int
    epoch: int
    records: VotersLog


NO_ID: Final = SnapshotId(UNDEFINED, UNDEFINED)
NO_SNAPSHOT: Final = Snapshot(UNDEFINED, UNDEFINED, ())


def id_of(snapshot: Snapshot) -> SnapshotId:
    return SnapshotId(snapshot.end_offset, snapshot.epoch)


class Stable(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """V29. What a deposed controller goes back to: the records that count, up to an end."""

    end_offset: int
    records: VotersLog


class Machine(msgspec.Struct, frozen=True, gc=False, array_like=True, cache_hash=True):
    """V29. What a controller has read: up to where, and the records that count."""

    next: int
    records: VotersLog
    stable: Stable


NO_MACHINE: Final = Machine(0, (), Stable(0, ()))


class SnapshotRow(VoterRow, frozen=True, gc=False, cache_hash=True):
    """The whole state of a node. Its log has what its latest snapshot has, and what follows."""

    bootstrap: SetOf[Node]
    """Durable: the first set, of the bootstrap checkpoint (V12)."""
    log_start: int
    """Where what can be read record by record begins."""
    snapshots: SetOf[Snapshot]
    """Durable: those that are complete, by their ends."""
    download: SnapshotId
    """Follower: the id of the snapshot that it asks for."""
    machine: Machine
    """Volatile, with state_machines. What an active controller has written besides is in its log
    from `next` on."""


def initial_snapshot_row(constants: Constants) -> SnapshotRow:
    """The first state of every node: it has no snapshot."""
    return SnapshotRow(
        **msgspec.structs.asdict(initial_voter_row(constants)),
        bootstrap=constants.first_voters,
        log_start=0,
        snapshots=(),
        download=NO_ID,
        machine=NO_MACHINE,
    )
