"""Scenarios of a quorum: under which load, for how long, with which chances of trouble.

`QUORUM` is tuned so that runs are short and resemble each other (few epochs, few records, few
values of every option), because what is worth judging is the distinct step; and so that in most of
them leaders change and in many a follower cuts its log. benchmarks/simulator.py prints how far
that holds.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from kraftcheck.reference.quorum.timers import Timeouts
from kraftcheck.reference.sim.options import Palette


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What clients do. Durations are milliseconds of virtual time."""

    clients: int
    appends: int
    """At most so many records, not counting those that probe the healed core."""
    think_ms: tuple[int, ...]
    patience_ms: int


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A family of runs. Durations are milliseconds of virtual time."""

    name: str
    sentence: str
    palettes: Mapping[str, Palette]
    timeouts: Timeouts
    load: Load
    faulty_ms: tuple[int, ...]
    """How long trouble may go on; then the core is healed."""
    healed_ms: int
    """How long the healed core has for its progress."""
    max_events: int
    """A bound on the events of one run."""


QUORUM = Scenario(
    name="quorum",
    sentence="a KRaft controller quorum elects, replicates, crashes and recovers",
    palettes={
        "voters": ((56, 3), (2, 5), (1, 1), (1, 2)),
        "fetch_max_records": ((16, 2), (1, 1), (1, 4)),
        "start": ((2, "orderly"), (2, "tie"), (1, "drawn")),
        "loss": ((2, 20), (2, 60), (1, 150)),
        "duplication": ((2, 30), (1, 100)),
        "reordering": ((2, 30), (1, 100)),
        "suffering": (
            *((3, "VoteRequest"), (1, "VoteResponse"), (1, "BeginQuorumEpochRequest")),
            *((1, "FetchRequest"), (1, "FetchResponse")),
        ),
        "hold_ms": ((1, 100), (1, 800), (1, 3000)),
        "latency_ms": ((1, 7), (1, 22)),
        "slow_node": ((1, 10),),
        "partitions": ((1, 2), (1, 4)),
        "one_way": ((1, 0), (1, 500)),
        "crashes": ((1, 2), (1, 4)),
        "lossy": ((1, 1000), (1, 500)),
        "resignations": ((1, 1),),
        "crash_on": ((3, "vote"), (1, "election"), (1, "append"), (1, "truncation")),
        "flush_ms": ((1, 50), (1, 400)),
        "coarse_timers": ((1, True),),
        "clock_skew": ((2, 20), (1, 100)),
        "calm_ms": ((2, 2500), (1, 1500), (1, 4000)),
    },
    timeouts=Timeouts(retry_backoff=200, request_timeout=2000),
    load=Load(clients=2, appends=4, think_ms=(500, 1200, 2000), patience_ms=4000),
    faulty_ms=(5000, 7000, 9000),
    healed_ms=60_000,
    max_events=20_000,
)
