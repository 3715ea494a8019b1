"""A violation of each property of hosted replicas: what changes in a state in order."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.partition.hosting.protocol import HOSTING
from kraftcheck.reference.partition.hosting.types import (
    NO_REPLICA,
    Constants,
    HostRow,
    Image,
    Log,
    Replica,
    initial_host_row,
)
from tests.reference.plain import Plant, Planted, Rows, initial_rows

TWO: Final = Constants((1,), (1, 2))
FIRST: Final = initial_host_row(TWO)
IMAGE: Final = Image(1, True, 1, True, True, 0, 1)
REPLICA: Final = Replica("Online", 1, 1, True, 0, 1, True)


def leading(**fields: Any) -> HostRow:
    """The broker leads topic 1 from directory 1, and a proposal is on its way."""
    own = {"image": IMAGE, "applied": IMAGE, "replica": REPLICA, "logs": (Log(1, 1, True),)}
    return replace(FIRST, topics_made=1, acknowledged=True, **{**own, **fields})


def failed(**fields: Any) -> HostRow:
    """Its directory has failed, and the controller has heard of it."""
    offline = replace(REPLICA, state="Offline", pending=False)
    own = {"replica": offline, "online": (2,), "reported": (1,)}
    return leading(**{**own, **fields})


def plants() -> tuple[Plant, ...]:
    changed = {
        "LocalChangesSound": (
            leading(applied=replace(IMAGE, assigned=False)),
            leading(replica=NO_REPLICA),
            leading(replica=replace(REPLICA, leads=False, pending=True)),
            leading(replica=replace(REPLICA, leader_epoch=1)),
            leading(replica=replace(REPLICA, partition_epoch=2)),
        ),
        "AppliedWasCommitted": (
            leading(image=replace(IMAGE, partition_epoch=0)),
            leading(image=replace(IMAGE, assigned=False)),
        ),
        "NoReplicaOfOldTopic": (
            leading(logs=(Log(1, 2, True),)),
            leading(applied=replace(IMAGE, topic_id=2)),
        ),
        "LeaderCandidateCompleteness": (leading(logs=(Log(1, 1, False),)),),
        "OfflineDirNeverLeads": (failed(),),
        "DirectoryIsKnown": (
            leading(image=replace(IMAGE, directory=2)),
            leading(image=replace(IMAGE, directory=2), future=2),
        ),
        "ProposalKept": (leading(replica=replace(REPLICA, pending=False)),),
    }
    before: Rows = {1: leading()}
    return tuple([Plant(name, before, {1: row}) for name, rows in changed.items() for row in rows])


BEFORE: Final[Rows] = {1: leading()}
TWINS: Final = (
    Plant("LocalChangesSound", BEFORE, {1: leading(published=False, replica=NO_REPLICA)}),
)
PLANTED: Final = Planted(HOSTING, TWO, initial_rows(HOSTING, TWO), BEFORE, plants(), TWINS)
