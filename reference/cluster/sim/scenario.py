"""The scenario `cluster`: a topic of several partitions and the quorum that carries its metadata.

Trouble comes more gently than in the scenarios of the parts, since here two kinds of it meet. What
this scenario is for lies between the parts: controllers that fail over with decisions in flight,
answers that wait for a commit, metadata that concerns several partitions.

Unless a run asks for it no broker stops cleanly: whether one may go depends on all its partitions
at once, which is no input of the specification of one partition. Where replicas move it is
(docs/reference/reconfiguration.md).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from kraftcheck.reference.partition.sim.scenario import PARTITION, PartitionScenario
from kraftcheck.reference.quorum.timers import Timeouts
from kraftcheck.reference.sim.options import Palette


class ClusterScenario(msgspec.Struct, frozen=True, kw_only=True):
    """A family of runs of a cluster. Durations are milliseconds of virtual time."""

    name: str
    sentence: str
    palettes: Mapping[str, Mapping[str, Palette]]
    """Of the cluster's shape, of the quorum's options, of all others."""
    timeouts: Timeouts
    """Of the quorum."""
    partition: PartitionScenario
    """Paces and load of its partitions."""
    faulty_ms: tuple[int, ...]
    healed_ms: int
    max_events: int


_OF_DATA = {
    **PARTITION.palettes,
    "replicas": ((28, 3), (1, 2)),
    "shutdowns": ((1, 0),),
    "failovers": ((1, 0),),
    "aim": ((1, ""),),
    "partitions": ((1, 1), (1, 3)),
    "crashes": ((1, 2), (1, 4)),
    "calm_ms": ((2, 1600), (1, 1100)),
}

CLUSTER = ClusterScenario(
    name="cluster",
    sentence="controllers carry the metadata of several partitions, and fail over",
    palettes={
        "shape": {
            "brokers": ((6, 3), (1, 4)),
            "topic_partitions": ((6, 2), (1, 1), (1, 3)),
        },
        "quorum": {
            "voters": ((8, 3), (1, 1)),
            "fetch_max_records": ((4, 2), (1, 4)),
            "start": ((2, "orderly"), (1, "tie")),
            "loss": ((2, 20), (1, 60)),
            "duplication": ((1, 30),),
            "reordering": ((1, 30),),
            "hold_ms": ((1, 100), (1, 800)),
            "partitions": ((1, 2),),
            "one_way": ((1, 0), (1, 500)),
            "crashes": ((1, 2),),
            "lossy": ((1, 1000),),
            "resignations": ((1, 1), (1, 3)),
            "crash_on": ((1, "election"), (2, "append")),
            "flush_ms": ((1, 50),),
            "calm_ms": ((2, 2000), (1, 3000)),
        },
        "data": _OF_DATA,
    },
    timeouts=Timeouts(retry_backoff=200, request_timeout=2000),
    partition=PARTITION,
    faulty_ms=(6000, 7500),
    healed_ms=60_000,
    max_events=60_000,
)
