"""A quorum of Kafka's: how its voters are driven by chance, along schedules, and through graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from kraftcheck import artifacts, exits
from kraftcheck.exits import BadInput
from kraftcheck.screen import Columns, Screen
from kraftcheck.witness import covering, driving
from kraftcheck.witness.chance import MOVES, walk
from kraftcheck.witness.driving import LISTED, RESULT, host_of, use_jar
from kraftcheck.witness.kafka import Kafka, tried
from kraftcheck.witness.schedule import KafkaSchedule
from kraftcheck.witness.speech import Speech
from live.witness.host import Host
from reference.kit.protocol import Protocol
from reference.protocols import protocol_of
from reference.quorum.protocol import QUORUM
from reference.quorum.types import Constants
from reference.quorum41.protocol import QUORUM_41
from reference.runner.scripted import QuorumSetting
from reference.steered.scripts import Script
from traces.cover.matching import Matcher
from traces.cover.models import CoverModel, Dumped, dump_graph
from traces.foreign.profiles import Profile
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


def voters(kafka: Kafka) -> _Voters:
    """How those of a version are driven: 4.0 has the rules before KIP-1166."""
    return VOTERS_BEFORE_41 if kafka.version.startswith("4.0.") else VOTERS


def by_chance(*, kafka: Kafka, **options: Any) -> int:
    """As driving.by_chance."""
    return driving.by_chance(voters(kafka), kafka=kafka, **options)


def replay(script: Script, path: Path, *, kafka: Kafka, **options: Any) -> int:
    """As driving.replay."""
    return driving.replay(voters(kafka), script, path, kafka=kafka, **options)


# -- Graphs

GRAPH_HEADS = ("graph", ">states", ">edges", ">taken", ">moves", ">seconds", ">edges/min", "result")


def cover(
    chosen: Sequence[CoverModel],
    specs: Path,
    *,
    kafka: Kafka,
    out: Path | None,
    jar: str | None,
    screen: Screen,
) -> int:
    """Takes every edge of the graphs. Raises as `by_chance`."""
    use_jar(jar)
    profile = kafka.allowed(voters(kafka).protocol.name)
    place = artifacts.claim(out) if out else None
    columns = Columns(
        GRAPH_HEADS, [(m.name, m.states, m.edges, m.edges, *[""] * 4) for m in chosen]
    )
    screen.line(columns.head)
    codes, documents = [], []
    for model in chosen:
        found = _covered(dump_graph(model, specs, note=screen.note), kafka, profile, screen)
        code = exits.VIOLATED if found.wrong else exits.HOLDS
        minute = round(60 * len(found.taken) / found.seconds)
        cells = [model.states, model.edges, len(found.taken), found.moves, found.seconds, minute]
        screen.line(columns.row([model.name, *cells, exits.VERDICTS[code]]))
        for why, edges in found.why.most_common():
            screen.line(f"  not taken: {edges:,}, {why}")
        for told in found.wrong[:LISTED]:
            screen.line(f"  refused: {told}")
        codes.append(code)
        documents.append(_of_graph(model, found, code))
    code = exits.worst(codes)
    document = {"verdict": exits.VERDICTS[code], "kafka": kafka.version, "graphs": documents}
    if place is not None:
        artifacts.write_json(place / RESULT, document)
    screen.document(document)
    return code


def _covered(
    dumped: Dumped, kafka: Kafka, profile: Profile | None, screen: Screen
) -> covering.OnKafka:
    matcher = Matcher(dumped.dump, dumped.composition)
    matcher.explore()
    if matcher.mismatches:
        raise BadInput(f"{dumped.model.name}: the reference is not the model: run kraftcheck cover")
    constants = dumped.composition.constants
    assert isinstance(constants, Constants), constants

    def work() -> covering.OnKafka:
        with (
            host_of(kafka, protocol_of(constants), constants, answers="content") as host,
            screen.progress(f"{dumped.model.name}: edges", dumped.model.edges) as meter,
        ):
            return covering.drive(matcher, host, Speech(constants), meter.update)

    found = tried(work)
    covering.explain(found, matcher, profile)
    return found


def _of_graph(model: CoverModel, found: covering.OnKafka, code: int) -> dict[str, Any]:
    return {
        "graph": model.name,
        "states": model.states,
        "edges": model.edges,
        "taken": len(found.taken),
        "not_taken": dict(sorted(found.why.items())),
        "walks": found.walks,
        "moves": found.moves,
        "seconds": round(found.seconds, 3),
        "refused": found.wrong,
        "verdict": exits.VERDICTS[code],
    }
