"""Kafka's side: many trials of one fault at once, and what clients saw of each partition.

An *episode* is one fault on a cluster: a topic for each setup of that fault, some partitions each,
all led by the victim (live/episode.py). Each partition is a trial. Trials of one episode share the
fault and its moment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from experiments.prediction.outcomes import (
    APIS,
    CLASSES,
    SENT,
    Append,
    Named,
    Outcomes,
    Seen,
    outcomes_of,
)
from experiments.prediction.situations import ELECTIONS, SETUPS, Setup
from live import facts, metadata
from live.cluster import Cluster
from live.episode import Episode, Lane, run
from traces.formats import jsonlines
from traces.history import OK, Operation

SETTINGS: Final = {
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "3000",
    "offsets.topic.num.partitions": "1",
    "auto.leader.rebalance.enable": "false",
}
"""Shorter sessions and lags than Kafka's own, so that an episode takes less than a minute."""


class Observed(msgspec.Struct, frozen=True):
    """One episode. By setup (its name).

    read: of the partitions, those whose log could be read to its end afterwards; others are not
    counted. moved: among them, those whose leader was another for a while. outcomes: by API, how
    many trials showed a class.
    """

    fault: str
    number: int
    victim: str
    kafka: str
    machine: str
    date: str
    elr: bool
    partitions: int
    read: dict[str, int]
    moved: dict[str, int]
    outcomes: dict[str, dict[str, dict[str, int]]]


class Trials(msgspec.Struct, frozen=True):
    """What came of an episode before the metadata log is read. By setup: topic, and by partition
    what came of it; None: not read to the end."""

    fault: str
    number: int
    victim: str
    lanes: dict[str, tuple[str, tuple[Outcomes | None, ...]]]


def setups_of(fault: str) -> list[Setup]:
    return [setup for setup in SETUPS if setup.fault == fault]


def lane_of(setup: Setup, prefix: str, at: int, partitions: int) -> Lane:
    """The topic for a setup."""
    election = ELECTIONS[setup.election]
    topic = f"{prefix}-{at}-acks-{setup.acks}"
    return Lane(topic, setup.acks, election.min_insync_replicas, election.unclean, partitions)


def record(cluster: Cluster, fault: str, number: int, partitions: int, journal: Path) -> Trials:
    """One episode. The victim is another broker each time. Raises ClusterError."""
    setups = setups_of(fault)
    lanes = [lane_of(setup, f"{fault}-{number}", at, partitions) for at, setup in enumerate(setups)]
    victim = f"b{number % 3 + 1}"
    episode = run(cluster, lanes, None if fault == "none" else fault, victim, journal)
    seen = seen_by_key(jsonlines.read(journal).operations, episode)
    return Trials(
        fault,
        number,
        victim,
        {
            setup.name: (
                lane.topic,
                tuple(
                    outcomes_of(seen[f"{lane.topic}-{at}"]) if final is not None else None
                    for at in range(partitions)
                ),
            )
            for setup, lane, final in zip(setups, lanes, episode.final, strict=True)
        },
    )


def observed(
    trials: Trials, records: Sequence[metadata.Record], kafka: str, machine: str, date: str
) -> Observed:
    """records: the metadata log of the cluster, which tells whose leader moved."""
    read, moved = {}, {}
    outcomes: dict[str, dict[str, dict[str, int]]] = {}
    for name, (topic, found) in trials.lanes.items():
        movers = {move.partition for move in facts.moves_of(topic, records)}
        counted = [(at, each) for at, each in enumerate(found) if each is not None]
        read[name] = len(counted)
        moved[name] = sum(at in movers for at, _ in counted)
        counts = {api: Counter(c for _, each in counted for c in each[api]) for api in APIS}
        outcomes[name] = {
            api: {each: counts[api][each] for each in CLASSES[api] if counts[api][each]}
            for api in APIS
        }
    return Observed(
        fault=trials.fault,
        number=trials.number,
        victim=trials.victim,
        kafka=kafka,
        machine=machine,
        date=date,
        elr=facts.eligible_leaders(records),
        partitions=max(len(found) for _, found in trials.lanes.values()),
        read=read,
        moved=moved,
        outcomes=outcomes,
    )


def seen_by_key(operations: Iterable[Operation], episode: Episode) -> dict[str, Seen]:
    """Each partition's trial, by key."""
    keys = {f"{lane.topic}-{at}": lane for lane in episode.lanes for at in range(lane.partitions)}
    finals = {at for at in episode.final if at is not None}
    of: dict[str, list[Operation]] = {key: [] for key in keys}
    for each in operations:
        if each.key in of:
            of[each.key].append(each)
    return {key: _trial(of[key], lane.acks, finals) for key, lane in keys.items()}


def _trial(operations: Sequence[Operation], acks: str, finals: set[int]) -> Seen:
    reads: dict[int, list[tuple[int, int]]] = {}
    log: dict[int, int] = {}
    for each in operations:
        if each.f == "fetch" and each.result:
            if each.process in finals:
                log.update(each.result)
            else:
                reads.setdefault(each.process, []).extend(each.result)
    return Seen(
        appends=tuple(_append(each, acks) for each in operations if each.f == "append"),
        reads=tuple(tuple(each) for each in reads.values()),
        named=tuple(
            Named(each.invoked, each.completed, each.result)
            for each in operations
            if each.f == "latest" and each.outcome == OK and each.completed is not None
        ),
        log=log,
    )


def _append(operation: Operation, acks: str) -> Append:
    if operation.outcome != OK:
        return Append(operation.argument, operation.invoked, None, None)
    if acks == "0":
        return Append(operation.argument, operation.invoked, SENT, None)
    return Append(operation.argument, operation.invoked, operation.completed, operation.result)
