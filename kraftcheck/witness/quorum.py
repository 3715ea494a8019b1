"""A quorum of Kafka's: how its voters are driven by chance, along schedules, and through graphs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
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
from reference.quorum.protocol import QUORUM
from reference.quorum.types import Constants
from reference.runner.scripted import QuorumSetting
from tla_utils import Record, Value
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
    """See driving.Component."""

    protocol = QUORUM
    methods = IN_KAFKA

    def settings(self, nodes: int, seed: int) -> QuorumSetting:
        return QuorumSetting(tuple(range(1, nodes + 1)), FETCH_MAX_RECORDS)

    def setting(self, options: Mapping[str, Any]) -> QuorumSetting:
        return msgspec.convert(dict(options), QuorumSetting)

    def constants(self, setting: QuorumSetting) -> Constants:
        return Constants(setting.voters, setting.fetch_max_records)

    def begin(self, setting: QuorumSetting, host: Host, watched: bool) -> KafkaSchedule:
        return KafkaSchedule(self.constants(setting), host, watched)

    def walk(self, schedule: KafkaSchedule, seed: int, moves: int) -> None:
        walk(schedule, seed, moves, MOVES)

    def left_open(self, trace: ForeignTrace) -> list[Finding]:
        return left_open(trace)


VOTERS: Final = _Voters()
by_chance = partial(driving.by_chance, VOTERS)
replay = partial(driving.replay, VOTERS)


def left_open(trace: ForeignTrace) -> list[Finding]:
    """Fetches that were answered without news, or parked in spite of news.

    The entry high-watermark-answers allows both, since a request of the spec does not say which
    high watermark its sender knows. In the trace it stands in the row that the sender was in.
    """
    known: dict[tuple[int, Value], set[Value]] = defaultdict(set)
    found = []
    for step in trace.steps:
        sent = [Record(dict(message)) for message in step.sent or ()]
        for message in sent:
            if message["type"] == "FetchRequest":
                known[step.run, message].add(step.after["highWatermark"])
        if step.input is None or step.input["type"] != "FetchRequest":
            continue
        request = Record(dict(step.input))
        knew = [int(str(each)) for each in known[step.run, request]]
        if not knew:
            continue  # nobody sent it: that is a finding of its own
        now = int(str(step.after["highWatermark"]))
        empty = [m for m in sent if m.get("request") == request and _says_nothing(m)]
        parked, before = step.after["parked"], step.before["parked"]
        assert isinstance(parked, frozenset), parked
        assert isinstance(before, frozenset), before
        if empty and min(knew) >= now:
            found.append(Finding(step.line, "AnsweredInVain", f"its sender knows {min(knew)}"))
        if request in parked - before and max(knew) < now:
            found.append(Finding(step.line, "ParkedInVain", f"its sender knows {max(knew)} only"))
    return found


def _says_nothing(answer: Record) -> bool:
    """Of the answer to a fetch: no error, no record, no divergence."""
    return (
        answer["error"] == "NONE"
        and answer["records"] == ()
        and answer["diverging"] == Record(epoch=-1, endOffset=-1)
    )


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
    profile = kafka.allowed()
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
            host_of(kafka, QUORUM, constants, answers="content") as host,
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
