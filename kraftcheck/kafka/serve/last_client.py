"""One more client, when a tape has been played again and all is healed: it reads all that there is.

Its requests are served as anybody's and seen by the witness, so that what was acknowledged and is
gone is found though no client of the session read it. They are on no tape, and nothing is left.
"""

from __future__ import annotations

from typing import Any

from kraftcheck.kafka.serve.codec import Message
from kraftcheck.kafka.serve.core import Core
from kraftcheck.kafka.serve.partition import ServedPartition
from kraftcheck.kafka.serve.requests import Request
from kraftcheck.kafka.serve.wire_history import Log, WireHistory
from kraftcheck.reference.partition.messages import NOBODY

_CONNECTION = -1
_LIMIT = 1 << 24
_UNCOMMITTED, _COMMITTED = 0, 1


def read_all(core: Core, seen: WireHistory) -> None:
    """Every partition of which clients have heard, and every offset that a group committed."""
    live = set(core.world.live_partitions)
    for log in list(seen.logs.values()):
        if log.partition in live:
            log.is_read = _reads(core, seen, log, _UNCOMMITTED)
            if any(append.transaction for append in log.appends):
                _reads(core, seen, log, _COMMITTED)
    committed: dict[str, dict[ServedPartition, None]] = {}
    for commit in seen.across.commits:
        if commit.partition in live:
            committed.setdefault(commit.group, {})[commit.partition] = None
    coordinator = core.world.offsets.controller.partition.leader
    for group, partitions in committed.items():
        topics: list[Message] = [
            {"name": each.topic.name, "partition_indexes": [each.index]} for each in partitions
        ]
        body = {"group_id": group, "topics": topics, "require_stable": True}
        _ask(core, seen, coordinator, "OffsetFetch", 7, body)


def _reads(core: Core, seen: WireHistory, log: Log, isolation: int) -> bool:
    """Whether it came to the end of the log."""
    partition = log.partition
    offset = _start(core, seen, log)
    while True:
        asked = {
            "partition": partition.index,
            "current_leader_epoch": -1,
            "fetch_offset": offset,
            "partition_max_bytes": _LIMIT,
        }
        body = {
            "replica_id": NOBODY,
            "max_wait_ms": 0,
            "min_bytes": 0,
            "max_bytes": _LIMIT,
            "isolation_level": isolation,
            "session_id": 0,
            "session_epoch": -1,
            "topics": [{"topic": partition.topic.name, "partitions": [asked]}],
            "forgotten_topics_data": [],
        }
        reads = len(log.reads)
        leader = partition.controller.partition.leader
        if leader == NOBODY or not _ask(core, seen, leader, "Fetch", 11, body):
            return False
        if len(log.reads) == reads:
            # It was refused.
            return False
        last = log.reads[-1]
        if not last.batches:
            return isolation == _UNCOMMITTED and last.end == offset
        offset = last.batches[-1].end


def _start(core: Core, seen: WireHistory, log: Log) -> int:
    """Where the log begins; where records were deleted, that has to be asked."""
    partition, leader = log.partition, log.partition.controller.partition.leader
    if leader == NOBODY or not partition.row(leader).log_start:
        return 0
    asked = {"partition_index": partition.index, "current_leader_epoch": -1, "timestamp": -2}
    topics = [{"name": partition.topic.name, "partitions": [asked]}]
    body = {"replica_id": NOBODY, "isolation_level": _UNCOMMITTED, "topics": topics}
    told = len(log.told)
    if not _ask(core, seen, leader, "ListOffsets", 5, body) or len(log.told) == told:
        return 0
    return log.told[-1][-1]


def _ask(
    core: Core, seen: WireHistory, broker: int, api: str, version: int, body: dict[str, Any]
) -> bool:
    """Whether it was answered at once."""
    request = Request(_CONNECTION, broker, api, version, 0, "")
    request.body = body
    seen.requested(core.world, request)
    answer = core.served[api](request)
    if not isinstance(answer, dict):
        return False
    seen.answered(core.world, request, answer)
    return True
