"""A quorum of Kafka's: how its voters are driven by chance, along schedules, and through graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from kraftcheck.witness import covering, histories
from kraftcheck.witness.chance import MOVES, walk
from kraftcheck.witness.kafka import Kafka
from kraftcheck.witness.quorum_graphs import Walk
from kraftcheck.witness.schedule import KafkaSchedule
from live.witness.host import Host
from reference.kit.protocol import Protocol
from reference.quorum.protocol import QUORUM
from reference.quorum.types import Constants
from reference.quorum41.protocol import QUORUM_41
from reference.runner.scripted import QuorumSetting
from traces.cover.models import CoverModel
from traces.foreign.reading import ForeignTrace
from traces.foreign.verdicts import Finding

FETCH_MAX_RECORDS = 2

IN_KAFKA: Final = {
    "HandleVoteRequest": "KafkaRaftClient.handleVoteRequest",
    "HandleVoteResponse": "KafkaRaftClient.handleVoteResponse",
    "HandleBeginQuorumEpochRequest": "KafkaRaftClient.handleBeginQuorumEpochRequest",
    "HandleBeginQuorumEpochResponse": "KafkaRaftClient.handleBeginQuorumEpochResponse",
    "HandleEndQuorumEpochRequest": "KafkaRaftClient.handleEndQuorumEpochRequest",
    "HandleEndQuorumEpochResponse": "KafkaRaftClient.handleEndQuorumEpochResponse",
    "HandleFetchRequest": "KafkaRaftClient.handleFetchRequest",
    "HandleFetchResponse": "KafkaRaftClient.handleFetchResponse",
    "HandleFetchMaxWait": "KafkaRaftClient.handleFetchRequest",
    "HandleAppend": "KafkaRaftClient.maybeAppendBatches",
    "HandleFlush": "KafkaRaftClient.flushLeaderLog",
    "HandleElectionTimeout": "KafkaRaftClient.pollCurrentState",
    "HandleFetchTimeout": "KafkaRaftClient.pollFollower",
    "HandleBeginQuorumEpochTimeout": "KafkaRaftClient.maybeSendBeginQuorumEpochRequests",
    "HandleCheckQuorumTimeout": "KafkaRaftClient.pollLeader",
    "HandleResign": "KafkaRaftClient.pollLeader",
    "HandleRequestTimeout": "RequestManager",
    "HandleCrash": "KafkaRaftLog, QuorumStateStore",
    "HandleRestart": "KafkaRaftClient.initialize, QuorumState.initialize",
}
"""Where Kafka does what an action of the spec says."""


class _Voters:
    """See driving.Component. protocol: by whose rules they are judged."""

    methods = IN_KAFKA

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.parts = (self,)

    def settings(self, nodes: int, seed: int) -> QuorumSetting:
        return QuorumSetting(tuple(range(1, nodes + 1)), FETCH_MAX_RECORDS)

    def setting(self, options: Mapping[str, Any]) -> QuorumSetting:
        return msgspec.convert(dict(options), QuorumSetting)

    def constants(self, setting: QuorumSetting) -> Constants:
        made: Constants = self.protocol.constants(setting.voters, setting.fetch_max_records)
        return made

    def begin(
        self, setting: QuorumSetting, host: Host, watched: bool, compares: bool = False
    ) -> KafkaSchedule:
        return KafkaSchedule(self.constants(setting), host, watched, compares)

    def walk(self, schedule: KafkaSchedule, seed: int, moves: int) -> None:
        walk(schedule, seed, moves, MOVES)

    def left_open(self, trace: ForeignTrace) -> list[Finding]:
        return []


VOTERS: Final = _Voters(QUORUM_41)
VOTERS_BEFORE_41: Final = _Voters(QUORUM)


def component(kafka: Kafka) -> _Voters:
    """How those of a version are driven: 4.0 has the rules before KIP-1166."""
    return VOTERS_BEFORE_41 if kafka.version.startswith("4.0.") else VOTERS


def cover(chosen: Sequence[CoverModel], specs: Path, *, kafka: Kafka, **options: Any) -> int:
    """As covering.cover."""
    rules = component(kafka).protocol.name
    return covering.cover(Walk, histories.drive, rules, chosen, specs, kafka=kafka, **options)
