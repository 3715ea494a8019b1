"""What promises depend on, of a recording: how clients and topic were configured, what happened.

Field names and meanings are those of the table of promises (reference/clients/promises.py), so that
whoever judges a recording can ask the table; real clusters share no code with it, and a test holds
the names together.

What happened is read from the metadata log where the cluster is ours. Elsewhere it is not known,
and the worst that clean elections allow is assumed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from kraftcheck.kafka.live.metadata import Record

NOBODY = -1
RECOVERING = 1
"""Of a LeaderRecoveryState."""


class Outage(msgspec.Struct, frozen=True):
    """A node was killed at `begin` and had started again at `end` (the machine's clock, ms)."""

    node: int
    begin: int
    end: int


class Move(msgspec.Struct, frozen=True):
    """A partition got a leader again, or another one."""

    partition: int
    time: int
    """The controller's clock, ms."""
    old: int
    """Who led last."""
    new: int
    unclean: bool
    """The new one was in neither ISR nor ELR, and has to recover. One that joins the ISR with the
    record that ends a reassignment and makes it the leader has not.
    """


class _Led(msgspec.Struct):
    """What a partition's records have said so far."""

    leader: int
    last: int
    """Who led last, if nobody does now."""
    isr: list[int]
    elr: list[int]
    recovering: bool = False
    """The leader was elected from outside, and has not said yet that it has recovered."""


def moves_of(topic: str, records: Sequence[Record]) -> list[Move]:
    """Who led the partitions of the topic after whom, since it was last created."""
    topic_id = None
    led: dict[int, _Led] = {}
    moves: list[Move] = []
    for record in records:
        data = record.data
        if record.kind == "TOPIC_RECORD" and data["name"] == topic:
            topic_id, led, moves = data["topicId"], {}, []
        if topic_id is None or data.get("topicId") != topic_id or "partitionId" not in data:
            continue
        number = data["partitionId"]
        if record.kind == "PARTITION_RECORD":
            leader = data["leader"]
            led[number] = _Led(leader, leader, data["isr"], data.get("eligibleLeaderReplicas", []))
        elif record.kind == "PARTITION_CHANGE_RECORD":
            moves += _changed(led[number], number, record)
    return moves


def _changed(led: _Led, partition: int, record: Record) -> list[Move]:
    data = record.data
    safe = {*led.isr, *led.elr}
    led.isr = data.get("isr", led.isr)
    led.elr = data.get("eligibleLeaderReplicas", led.elr)
    led.recovering = data.get("leaderRecoveryState", led.recovering) == RECOVERING
    leader = data.get("leader", led.leader)
    moved = leader not in (NOBODY, led.leader)
    unclean = leader not in safe and led.recovering
    move = Move(partition, record.time, led.last, leader, unclean)
    led.leader = leader
    led.last = led.last if leader == NOBODY else leader
    return [move] if moved else []


def envelope(
    moves: Sequence[Move], faults: Sequence[str], outages: Sequence[Outage], session_ms: int
) -> dict[str, Any]:
    """What went wrong, by the worst of the partitions; fields of `Envelope`.

    faults: kinds that were begun. session_ms: for so long a broker that is gone may lead. A leader
    was replaced alive if no outage of it explains the move: then it may have served on beside the
    new one, until it heard.
    """
    counts: dict[tuple[int, bool], int] = {}
    for move in moves:
        key = (move.partition, move.unclean)
        counts[key] = counts.get(key, 0) + 1

    def worst(unclean: bool) -> int:
        return max((n for (_, kind), n in counts.items() if kind is unclean), default=0)

    return {
        "leader_moves": worst(False),
        "unclean_moves": worst(True),
        "lossy": sum(fault.endswith("power") for fault in faults),
        "disks_lost": 0,
        "network_partitions": sum(fault == "partition" for fault in faults),
        "zombie": any(not _dead(move, outages, session_ms) for move in moves),
        "expired": False,
    }


ASSUMED: Mapping[str, Any] = {
    "leader_moves": 1,
    "unclean_moves": 0,
    "lossy": 0,
    "disks_lost": 0,
    "network_partitions": 1,
    "zombie": True,
    "expired": False,
}
"""Of a cluster that is not ours: anything short of lost data and unclean elections."""


def _dead(move: Move, outages: Sequence[Outage], session_ms: int) -> bool:
    """Whether the old leader was dead, or had been until so shortly that nobody knew better."""
    return any(
        outage.node == move.old and outage.begin <= move.time <= outage.end + session_ms
        for outage in outages
    )


def eligible_leaders(records: Sequence[Record]) -> bool:
    """Whether the controllers keep ELRs (KIP-966): feature eligible.leader.replicas.version."""
    levels = [
        record.data["featureLevel"]
        for record in records
        if record.kind == "FEATURE_LEVEL_RECORD"
        and record.data["name"] == "eligible.leader.replicas.version"
    ]
    return bool(levels) and levels[-1] >= 1
