"""Controllers whose voters change, and observers, with snapshots of their log, as one protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kraftcheck.reference.kit.protocol import Handlers, NodeKind, Protocol, Substitution, World
from kraftcheck.reference.quorum.snapshots.handlers import SnapshotHandlers
from kraftcheck.reference.quorum.snapshots.messages import (
    INPUTS,
    MESSAGES,
    CleanSnapshots,
    CreateSnapshot,
    Input,
)
from kraftcheck.reference.quorum.snapshots.properties import PROPERTIES
from kraftcheck.reference.quorum.snapshots.rules import SnapshotRules
from kraftcheck.reference.quorum.snapshots.sometimes import sometimes
from kraftcheck.reference.quorum.snapshots.types import Constants, SnapshotRow, initial_snapshot_row
from kraftcheck.reference.quorum.types import is_running
from kraftcheck.reference.quorum.voters.properties import committed_next
from kraftcheck.reference.quorum.voters.protocol import VOTERS

_voters: Final = VOTERS.world
assert _voters is not None, "that of runs of voters"

METADATA_REPLICA_KIND: Final = NodeKind(
    name="metadata-replica",
    module="Snapshots",
    row=SnapshotRow,
    inputs=INPUTS,
    initial=initial_snapshot_row,
    is_running=is_running,
    running="Running",
    role=lambda row: str(row.role),
)


def _local(constants: Constants, node: int, row: SnapshotRow) -> Iterator[Input]:
    """All that may come to a node by itself."""
    assert _voters is not None
    yield from _voters.local(constants, node, row)
    if is_running(row):
        for offset in range(1, row.high_watermark + 1):
            yield CreateSnapshot(offset)
            yield CleanSnapshots(offset)


def _handlers(constants: Constants, of: Substitution) -> Handlers:
    handlers: SnapshotHandlers = of(SnapshotHandlers)(constants, of(SnapshotRules)(constants), of)
    return handlers.step


SNAPSHOTS: Final = Protocol(
    name="snapshots",
    sentence="controllers and observers make, fetch and load snapshots of the metadata log",
    constants=Constants,
    kinds=(METADATA_REPLICA_KIND,),
    messages=MESSAGES,
    alike="controllers",
    peers=lambda constants: constants.nodes,
    nodes=lambda constants: constants.nodes,
    kind_of=lambda constants, node: METADATA_REPLICA_KIND,
    handlers=_handlers,
    rules=(SnapshotRules,),
    handler_classes=(SnapshotHandlers,),
    sometimes=tuple(sometimes.all),
    extends=VOTERS.name,
    world=World(
        constants={
            "nodes": ((1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 4, 5)),
            "first_voters": ((1, 2, 3), (1,), (1, 2)),
            "fetch_max_records": (2, 1),
            "state_machines": (False,),
        },
        local=_local,
        properties=PROPERTIES,
        moves=(400, 800),
        history=committed_next,
        disturbances={
            **_voters.disturbances,
            CreateSnapshot: (50, 200),
            CleanSnapshots: (50, 200),
        },
    ),
)
PROTOCOL: Final = SNAPSHOTS
