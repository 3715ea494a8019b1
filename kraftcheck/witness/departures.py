"""What a witness did that the specs forbid: known, by the entries of a profile, or not.

All steps are judged by the specs. Those that are refused are judged again with the profile in
place, and then with each of its entries left out: an entry is met by the steps that need it.

Law of this file: TLC judges. A step is a known departure only if it is accepted under the profile.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import msgspec

from tla_utils import Record, Value
from traces.foreign.batch import judge_batch, judge_steps
from traces.foreign.profiles import Profile
from traces.foreign.reading import ForeignStep, ForeignTrace
from traces.foreign.verdicts import VIOLATED, Finding, ForeignVerdict

IN_KAFKA = {
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


class Met(msgspec.Struct, frozen=True):
    """An entry of a profile that steps needed. of: its class. lines: where they are in the trace;
    runs: in which runs.
    """

    name: str
    of: str
    says: str
    source: str
    lines: list[int]
    runs: list[int]


class Witnessed(msgspec.Struct, frozen=True):
    """The judgement of a trace of a witness.

    found: what the specs with the profile say. forbidden: how many steps the specs alone refuse.
    met: which entries they needed. in_vain: what the profile leaves open, and is wrong in the runs.
    """

    found: ForeignVerdict
    forbidden: int
    met: list[Met]
    in_vain: list[Finding]

    @property
    def verdict(self) -> str:
        return VIOLATED if self.in_vain else self.found.verdict


def witnessed(
    trace: ForeignTrace, profile: Profile | None, told: Callable[[str], None] = lambda what: None
) -> Witnessed:
    """Judges a trace of full rows. told: hears what is done. Raises ToolError as judge_batch."""
    told("judging by the specs")
    refused = judge_steps(trace, trace.steps).lines()
    suspects = [step for step in trace.steps if step.line in refused]
    met = [] if profile is None else list(_met(trace, suspects, profile, told))
    told("judging")
    found = judge_batch(trace, profile=profile)
    return Witnessed(found, len(suspects), met, left_open(trace))


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


def _met(
    trace: ForeignTrace,
    suspects: list[ForeignStep],
    profile: Profile,
    told: Callable[[str], None],
) -> list[Met]:
    if not suspects:
        return []
    unknown = judge_steps(trace, suspects, profile=profile).lines()
    known = [step for step in suspects if step.line not in unknown]
    met = []
    for entry in profile.entries if known else ():
        told(f"judging without {entry.name}")
        needed = judge_steps(trace, known, profile=profile.without(entry.name)).lines()
        if needed:
            runs = sorted({step.run for step in known if step.line in needed})
            said = (entry.name, entry.of, entry.says, entry.source)
            met.append(Met(*said, sorted(needed), runs))
    return met
