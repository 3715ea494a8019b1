"""A schedule on which a voter of Kafka takes a wrong step, as a JUnit test for Kafka's repository.

The test is over RaftClientTestContext, Kafka's own: one voter runs, and what the others send it is
delivered by the test. So it has the inputs of that voter alone. After each of them it asserts what
Kafka did; after the last one, the wrong one, it asserts what the specification allows.

Law of this file: an input that the context cannot deliver is refused; none is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from kraftcheck.exits import BadInput
from kraftcheck.reference.quorum.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    ElectionTimeout,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchTimeout,
    Flush,
    Resign,
    Restart,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.quorum.sim.words import move_words
from kraftcheck.reference.quorum.types import NOBODY
from kraftcheck.reference.steered.moves import NodeStep

PROTOCOLS: Final = ("quorum", "quorum41")
"""Those whose schedules can be written as tests of Kafka's."""
LICENSE: Final = """\
/*
 * Licensed to the Apache Software Foundation (ASF) under one or more
 * contributor license agreements. See the NOTICE file distributed with
 * this work for additional information regarding copyright ownership.
 * The ASF licenses this file to You under the Apache License, Version 2.0
 * (the "License"); you may not use this file except in compliance with
 * the License. You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */
"""
IMPORTS: Final = {
    "Errors.": "org.apache.kafka.common.protocol.Errors",
    "ApiKeys.": "org.apache.kafka.common.protocol.ApiKeys",
    "@Test": "org.junit.jupiter.api.Test",
    "List.": "java.util.List",
    "Optional.": "java.util.Optional",
    "OptionalInt.": "java.util.OptionalInt",
    "Set.": "java.util.Set",
}
"""What a test imports, by what stands in it."""
NAME: Final = re.compile(r"[A-Z]\w*Test")
POLL: Final = "context.client.poll();"


class Wrong(NamedTuple):
    """Steps of Kafka's voters up to the wrong one, and what the specification allows instead."""

    steps: Sequence[NodeStep]
    allowed: Sequence[Any]
    """The outcomes, each with a row and what is sent."""


def render(wrong: Wrong, name: str, violates: str) -> str:
    """The Java source of a test class.

    Args:
        name: of the class; it ends in Test.
        violates: what is wrong, for the comment and for the method's name.

    Raises:
        BadInput: an input of the voter has no counterpart in Kafka's context.
    """
    if not NAME.fullmatch(name):
        raise BadInput(f"{name}.java: a test class has a name like VoteTest")
    last = wrong.steps[-1]
    own = [step for step in wrong.steps if step.node == last.node]
    while own and isinstance(own[0].input, Restart):
        own.pop(0)  # How a run begins.
    voters = ", ".join(map(str, last.constants.voters))
    body = [
        "RaftClientTestContext context = new RaftClientTestContext",
        f"    .Builder({last.node}, Set.of({voters}))",
        "    .withRaftProtocol(RaftClientTestContext.RaftProtocol.KIP_996_PROTOCOL)",
        "    .build();",
    ]
    for number, step in enumerate(own, 1):
        outcomes = wrong.allowed if number == len(own) else [_as_outcome(step)]
        body += [
            "",
            f"// {_words(step)}",
            *_delivered(step.input, step),
            *_asserted(step.node, outcomes),
        ]
    lines = [f"        {line}" if line else "" for line in body]
    method = "test" + "".join(
        part[0].upper() + part[1:] for part in re.findall(r"[A-Za-z0-9]+", violates)
    )
    source = [
        *(f"public class {name} {{", "    /**", f"     * {violates}."),
        *("     */", "    @Test", f"    public void {method}() throws Exception {{"),
        *(*lines, "    }", "}"),
    ]
    text = "\n".join(source) + "\n"
    imports = [f"import {each};" for word, each in IMPORTS.items() if _uses(text, word)]
    groups = ("import org.apache", "import org.junit", "import java")
    blocks = ["\n".join(each for each in sorted(imports) if each.startswith(of)) for of in groups]
    head = "\n\n".join(["package org.apache.kafka.raft;", *filter(None, blocks)])
    return f"{LICENSE}{head}\n\n{text}"


def _uses(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}", text) is not None


def _words(step: NodeStep) -> str:
    return move_words(step.constants, step.node, step.input)


class _Outcome(NamedTuple):
    row: Any
    sent: tuple[Any, ...]


def _as_outcome(step: NodeStep) -> _Outcome:
    return _Outcome(step.after, step.sent)


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
            raise BadInput(
                f"`{_words(step)}` has no counterpart in Kafka's RaftClientTestContext that is "
                "written here: no test is made of this schedule"
            )
    return [f"context.deliverRequest(context.{call});", POLL]


# -- What is asserted


def _asserted(node: int, outcomes: Sequence[Any]) -> list[str]:
    """What all outcomes have in common: what is sent, and the election's durable state."""
    said = [[*_sent(outcome), *_state(node, outcome.row)] for outcome in outcomes]
    return [line for line in said[0] if all(line in other for other in said)]


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
