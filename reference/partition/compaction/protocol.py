"""A broker's replica of a compacted partition, as one protocol.

In a run of its own the partition does with a replica what it likes, within what it promises: what
is known to be committed is not cut, and a leader has cleaned what it sends. In a cluster whose
coordinator has such a log it does what the brokers do (reference/cluster/sim/compacted.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from kraftcheck.reference.kit.protocol import Handlers, NodeKind, Protocol, Substitution, World
from kraftcheck.reference.partition.compaction.handlers import CompactionHandlers
from kraftcheck.reference.partition.compaction.messages import (
    INPUTS,
    AppendBatch,
    CleanSegment,
    CopyBatches,
    CutReplica,
    Input,
    ReadBatch,
    ReplicaCrash,
    RollSegment,
    StartCleaning,
    StartLoading,
    Unload,
)
from kraftcheck.reference.partition.compaction.properties import PROPERTIES
from kraftcheck.reference.partition.compaction.rules import CompactionRules
from kraftcheck.reference.partition.compaction.sometimes import sometimes
from kraftcheck.reference.partition.compaction.types import (
    Batch,
    CompactedReplica,
    Constants,
    initial_replica,
)

MOST_BATCHES: Final = 14
"""Of the log, in a run."""

REPLICA_KIND: Final = NodeKind(
    name="compacted-replica",
    module="Compaction",
    row=CompactedReplica,
    inputs=INPUTS,
    initial=initial_replica,
    role=lambda row: f"{row.state}, cleans" if row.clean_to else row.state,
)


def _handlers(constants: Constants, of: Substitution) -> Handlers:
    replica = of(CompactionHandlers)(constants, of(CompactionRules)(constants))
    return lambda node, row, input: replica.step(row, input)


# --- What comes to replicas by itself


def batches(constants: Constants, offset: int) -> Iterator[Batch]:
    """Those that may be written there: one key is written or removed, or all are written."""
    for key in constants.keys:
        yield Batch(offset, offset + 1, (key,), (), (key,))
        yield Batch(offset, offset + 1, (key,), (key,), (key,))
    if len(constants.keys) > 1:
        yield Batch(offset, offset + 1, constants.keys, (), constants.keys)


def copies(constants: Constants, row: CompactedReplica) -> Iterator[CopyBatches]:
    """A batch, or two of which the leader has cleaned the first one; nobody had that key."""
    end, known = len(row.log), {key for batch in row.log for key in batch.kept}
    for one in batches(constants, end):
        yield CopyBatches((one,), 0)
        if one.removed and not known & {*one.removed}:
            yield CopyBatches((replace(one, kept=()),), end + 1)
        for other in batches(constants, end + 1):
            left = tuple([key for key in one.keys if key not in other.keys])
            if left != one.keys:
                yield CopyBatches((replace(one, kept=left), other), end + 2)


def _local(constants: Constants, _: int, row: CompactedReplica) -> Iterator[Input]:
    """All that the partition, the cleaner and coordinators may do."""
    end = len(row.log)
    if row.state == "Idle":
        if end + 2 <= MOST_BATCHES:
            yield from copies(constants, row)
        yield from map(CutReplica, range(max(row.high_watermark, row.covered), end))
        yield StartLoading()
    elif row.state == "Loaded" and end < MOST_BATCHES:
        yield from map(AppendBatch, batches(constants, end))
    yield from (RollSegment(), ReadBatch(), Unload(), ReplicaCrash())
    yield from map(StartCleaning, range(row.high_watermark, end + 1))
    yield from map(CleanSegment, sorted({0, row.position if row.state == "Loading" else end}))


COMPACTION: Final = Protocol(
    name="compaction",
    sentence="a broker's replica of a compacted partition is cleaned while others write and read",
    constants=Constants,
    kinds=(REPLICA_KIND,),
    messages=(),
    alike="brokers",
    peers=lambda constants: constants.replicas,
    nodes=lambda constants: constants.replicas,
    kind_of=lambda constants, node: REPLICA_KIND,
    handlers=_handlers,
    rules=(CompactionRules,),
    handler_classes=(CompactionHandlers,),
    sometimes=tuple(sometimes.all),
    world=World(
        constants={"replicas": ((1,), (1, 2)), "keys": ((1, 2), (1,), (1, 2, 3))},
        local=_local,
        properties=PROPERTIES,
        moves=(100, 200),
        disturbances={
            CopyBatches: (100, 300),
            CutReplica: (20, 100),
            Unload: (50, 200),
            ReplicaCrash: (20, 100),
        },
    ),
)
PROTOCOL: Final = COMPACTION
