"""The scenario `partition`: one partition under load, for how long, with which chances of trouble.

Tuned so that runs are short and resemble each other, and so that in at least half of them the
leader changes, in a fifth a follower cuts its log, in three of ten the ISR shrinks and grows again
(benchmarks/simulator.py prints how far that holds).

Kafka's own times are longer (heartbeats every 2 s, sessions of 9 s, replica lag of 30 s); the
relations between them are kept: several heartbeats to a session, a replica may lag for about as
long as a session lasts, requests time out before sessions do.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from kraftcheck.reference.sim.options import Palette


class Paces(msgspec.Struct, frozen=True, kw_only=True):
    """How often brokers and the controller act by themselves, milliseconds of virtual time."""

    heartbeat: int = 1100
    heartbeat_starting: int = 60
    """While a broker starts or stops, it does not wait for the next turn."""
    session: int = 2400
    """broker.session.timeout.ms."""
    registration: int = 700
    controller_request: int = 700
    """A request to the controller is given up."""
    fetch: int = 2
    """From an answer to the next fetch, if there is something to fetch."""
    fetch_watermark: int = 2
    """And if there is nothing but a higher high watermark to learn."""
    fetch_max_wait: int = 2500
    """And if there is nothing (replica.fetch.wait.max.ms, which the leader would have waited)."""
    fetch_backoff: int = 500
    fetch_timeout: int = 500
    lag: int = 1100
    """replica.lag.time.max.ms."""
    isr_check: int = 120
    """From a replica's falling behind to the next periodic look at the ISR."""
    checkpoint: int = 2500
    produce: int = 1300
    """request.timeout.ms of a produce request, at the broker."""


class PartitionLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What clients do. Durations are milliseconds of virtual time."""

    producers: int = 2
    consumers: int = 2
    think_ms: tuple[int, ...] = (500, 1000)
    read_ms: tuple[int, ...] = (900, 2500)
    linger_ms: int = 5
    request_ms: int = 1600
    """A client gives up on an answer."""
    delivery_ms: int = 4000
    retry_ms: int = 120


class PartitionScenario(msgspec.Struct, frozen=True, kw_only=True):
    """A family of runs of one partition. Durations are milliseconds of virtual time."""

    name: str
    sentence: str
    palettes: Mapping[str, Palette]
    paces: Paces
    load: PartitionLoad
    faulty_ms: tuple[int, ...]
    """How long trouble may go on; then everything is healed."""
    healed_ms: int
    """How long the healed partition has for its progress."""
    max_events: int


PARTITION = PartitionScenario(
    name="partition",
    sentence="a partition is replicated, its leader and ISR change, brokers crash and recover",
    palettes={
        "replicas": ((28, 3), (1, 2), (1, 4)),
        "min_insync_replicas": ((12, 2), (1, 1)),
        "elr": ((3, True), (1, False)),
        "unclean": ((3, False), (1, True)),
        "acks": ((3, "all"), (1, "1"), (1, "0")),
        "idempotence": ((1, False),),
        "batch_records": ((1, 2),),
        "follower_reads": ((1, True),),
        "deletes": ((1, False), (1, True)),
        "folding": ((1, 500),),
        "loss": ((2, 30), (1, 100)),
        "duplication": ((2, 30), (1, 100)),
        "reordering": ((2, 30), (1, 100)),
        "answers_lost": ((1, 100), (1, 300)),
        "suffering": (
            *((2, "ReplicaFetchRequest"), (2, "ReplicaFetchResponse")),
            *((1, "AlterPartitionRequest"), (1, "AlterPartitionResponse")),
        ),
        "hold_ms": ((1, 100), (1, 800), (1, 2000)),
        "latency_ms": ((1, 7),),
        "slow_node": ((1, 10),),
        "metadata_ms": ((1, 200),),
        "partitions": ((1, 2), (1, 4)),
        "crashes": ((1, 4), (1, 6)),
        "racks": ((1, 0), (1, 1)),
        "shutdowns": ((1, 2),),
        "elections": ((1, 3), (1, 5)),
        "slow": ((1, 3), (1, 5)),
        "stale": ((1, 2), (1, 4)),
        "silent": ((1, 2),),
        "failovers": ((1, 1),),
        "one_way": ((1, 0), (1, 500)),
        "lossy": ((1, 1000), (2, 300)),
        "corrupt": ((1, 0), (1, 500)),
        "reckless": ((3, False), (1, True)),
        "alter_ms": ((1, 300),),
        "aim": ((5, "append"), (1, "proposal")),
        "flush_ms": ((1, 200),),
        "calm_ms": ((2, 1300), (1, 800)),
    },
    paces=Paces(),
    load=PartitionLoad(),
    faulty_ms=(4500, 6000),
    healed_ms=40_000,
    max_events=20_000,
)
