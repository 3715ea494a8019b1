"""A voter over RaftClientTestContext: what it is given, and what is asserted of it.

The context has one voter of Kafka's, a mock log, a mock channel and a clock that the test moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from kraftcheck.kafka.witness.junit.written import Test, Wrong, common, outcomes, refused
from kraftcheck.reference.quorum.messages import (
    NO_DIVERGENCE,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    ElectionTimeout,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchTimeout,
    Flush,
    Resign,
    Restart,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.quorum.sim.words import move_words
from kraftcheck.reference.quorum.types import NOBODY, UNDEFINED
from kraftcheck.reference.steered.moves import NodeStep

POLL: Final = "context.client.poll();"
FETCHED: Final = "deliverFetchResponse"
MEMBERS: Final = Path(__file__).with_name("fetched.java")
"""FETCHED: the context has nothing that answers one fetch of several."""


def test(wrong: Wrong) -> Test:
    """The test of the voter that takes the last step. Raises BadInput: an input has no words."""
    last = wrong.steps[-1]
    own = wrong.own
    while own and isinstance(own[0].input, Restart):
        own.pop(0)  # How a run begins.
    voters = ", ".join(map(str, last.constants.voters))
    body = [
        "RaftClientTestContext context = new RaftClientTestContext",
        f"    .Builder({last.node}, Set.of({voters}))",
        "    .withRaftProtocol(RaftClientTestContext.RaftProtocol.KIP_996_PROTOCOL)",
        "    .build();",
    ]
    for step in own:
        said = [
            [*_sent(each), *_state(step.node, each.row), *_committed(step, each.row)]
            for each in outcomes(step, wrong)
        ]
        body += ["", f"// {_words(step)}", *_delivered(step.input, step), *common(said)]
    members = []
    if any(line.startswith(FETCHED) for line in body):
        members = MEMBERS.read_text(encoding="utf-8").splitlines()
    return Test("org.apache.kafka.raft", body, "voter", members=members)


def _words(step: NodeStep) -> str:
    return move_words(step.constants, step.node, step.input)


# -- What is delivered


def _key(node: int) -> str:
    return f"ReplicaKey.of({node}, ReplicaKey.NO_DIRECTORY_ID)"


def _leader(node: int) -> str:
    return "OptionalInt.empty()" if node == NOBODY else f"OptionalInt.of({node})"


def _delivered(m: Any, step: NodeStep) -> list[str]:
    """The lines that give the voter an input. Raises BadInput: the context has none."""
    match m:
        case Flush():
            return []  # A part of the step before.
        case ElectionTimeout():
            return ["context.time.sleep(2L * context.electionTimeoutMs());", POLL]
        case FetchTimeout():
            return ["context.time.sleep(context.fetchTimeoutMs);", POLL]
        case Resign():
            return [f"context.client.resign({step.before.epoch});", POLL]
        case VoteResponse():
            given = str(m.granted).lower() if m.error == "NONE" else f"Errors.{m.error}"
            return [
                "context.pollUntilRequest();",
                "for (RaftRequest.Outbound request :"
                " context.channel.drainSentRequests(Optional.of(ApiKeys.VOTE))) {",
                f"    if (request.destination().id() == {m.source}) {{",
                "        context.deliverResponse(request.correlationId(), request.destination(),",
                f"            context.voteResponse({given}, {_leader(m.leader)}, {m.epoch}));",
                "    }",
                "}",
                POLL,
            ]
        case FetchResponse() if _is_plain(m):
            response = f"{m.epoch}, {m.leader}, {_batch(m)}, {m.high_watermark}, Errors.{m.error}"
            return [
                f"{FETCHED}(context, {m.source}, context.fetchResponse(",
                f"    {response}));",
            ]
        case VoteRequest():
            kind = "preVoteRequest" if m.pre_vote else "voteRequest"
            call = f"{kind}({m.epoch}, {_key(m.source)}, {m.last_epoch}, {m.last_offset})"
        case BeginQuorumEpochRequest():
            call = f"beginEpochRequest({m.epoch}, {m.source})"
        case EndQuorumEpochRequest():
            successors = ", ".join(map(_key, m.successors))
            call = f"endEpochRequest({m.epoch}, {m.source}, List.of({successors}))"
        case FetchRequest():
            fetched = f"{m.fetch_offset}, {m.last_fetched_epoch}"
            call = f"fetchRequest({m.epoch}, {_key(m.source)}, {fetched}, 0)"
        case _:
            raise refused("RaftClientTestContext", _words(step))
    return [f"context.deliverRequest(context.{call});", POLL]


def _is_plain(m: FetchResponse) -> bool:
    """Whether the context's fetchResponse can make it."""
    return m.diverging == NO_DIVERGENCE and len({each.epoch for each in m.records}) < 2


def _batch(m: FetchResponse) -> str:
    """The records of one epoch. Their values do not matter to a voter."""
    if not m.records:
        return "MemoryRecords.EMPTY"
    values = ", ".join('"a"' for _ in m.records)
    offset, epoch = m.request.fetch_offset, m.records[0].epoch
    return f"context.buildBatch({offset}, {epoch}, List.of({values}))"


# -- What is asserted


def _sent(outcome: Any) -> Iterator[str]:
    for message in outcome.sent:
        words = ""
        if isinstance(message, VoteResponse):
            kind, words = "Vote", f", {str(message.granted).lower()}"
        elif isinstance(message, BeginQuorumEpochResponse):
            kind = "BeginQuorumEpoch"
        elif isinstance(message, EndQuorumEpochResponse):
            kind = "EndQuorumEpoch"
        else:
            continue
        told = f"Errors.{message.error}, {message.epoch}, {_leader(message.leader)}{words}"
        yield f"context.assertSent{kind}Response({told});"


def _state(node: int, row: Any) -> Iterator[str]:
    epoch, leader, voted = row.quorum_state.epoch, row.quorum_state.leader, row.quorum_state.voted
    # A leader of Kafka does not keep for whom it voted: for itself (LeaderState.election).
    voted = NOBODY if leader == node else voted
    if leader == NOBODY and voted == NOBODY:
        yield f"context.assertUnknownLeaderAndNoVotedCandidate({epoch});"
    elif leader == NOBODY:
        yield f"context.assertVotedCandidate({epoch}, {voted});"
    elif voted == NOBODY:
        yield f"context.assertElectedLeader({epoch}, {leader});"
    else:
        yield f"context.assertElectedLeaderAndVotedKey({epoch}, {leader}, {_key(voted)});"


def _committed(step: NodeStep, row: Any) -> Iterator[str]:
    """The high watermark, where somebody knows one."""
    if {each.high_watermark for each in (step.before, step.after, row)} != {UNDEFINED}:
        known = row.high_watermark != UNDEFINED
        expected = f"of({row.high_watermark})" if known else "empty()"
        yield f"assertEquals(OptionalLong.{expected}, context.client.highWatermark());"
