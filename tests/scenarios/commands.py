"""What the commands of a transcript mean: a quorum that a script drives and that prints its steps.

Law of this file: every command prints everything it made happen, step by step, so that a transcript
hides nothing. A command that asks for what the quorum cannot do (an input that is disabled) is part
of the story and prints so; a command that means nothing is a ScriptError.

Messages rest in the network until a command delivers or drops them. A delivered message may be
delivered again, as in the spec. `deliver` takes the latest that has not been delivered, else the
latest of all.
"""

from __future__ import annotations

import re

from kraftcheck.reference.bugs.catalog import bugs_of, rules_for
from kraftcheck.reference.quorum.handlers import QuorumHandlers
from kraftcheck.reference.quorum.invariants import INVARIANTS, check_step, history_init
from kraftcheck.reference.quorum.messages import (
    Append,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    BeginQuorumEpochTimeout,
    CheckQuorumTimeout,
    Crash,
    ElectionTimeout,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchMaxWait,
    FetchRequest,
    FetchResponse,
    FetchTimeout,
    Flush,
    Input,
    Message,
    RequestTimeout,
    Resign,
    Restart,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.sim.words import log_words, message_words, move_words
from kraftcheck.reference.quorum.types import Constants, Row, initial_row
from tests.scenarios.quorum_words import row_words, step_words
from tests.scenarios.scripting import Commands, WrongArgument

KINDS: dict[str, type[Message]] = {
    "vote": VoteRequest,
    "vote-answer": VoteResponse,
    "begin": BeginQuorumEpochRequest,
    "begin-answer": BeginQuorumEpochResponse,
    "end": EndQuorumEpochRequest,
    "end-answer": EndQuorumEpochResponse,
    "fetch": FetchRequest,
    "fetch-answer": FetchResponse,
}
"""The names of messages in scripts."""


class Sent:
    """A message in the network."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.waits = True
        """Neither delivered nor dropped yet."""
        self.dropped = False


class Script(Commands):
    """The quorum of one transcript. Each public method with a docstring is a command."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._set_up(Constants((1, 2, 3), 2), None)

    def _set_up(self, constants: Constants, bug: str | None) -> None:
        self._constants = constants
        self._handlers = QuorumHandlers(constants, rules_for(QuorumRules, bug, constants))
        self._rows: dict[int, Row] = dict.fromkeys(constants.voters, initial_row(constants))
        self._network: list[Sent] = []
        self._history = history_init(constants)

    # --- Steps

    def _row(self, node: int) -> Row:
        if node not in self._rows:
            voters = ", ".join(map(str, self._constants.voters))
            raise WrongArgument(f"node {node} is no voter; the voters are {voters}")
        return self._rows[node]

    def _do(self, node: int, input: Input) -> bool:
        """One step, printed. Whether it was a step and was not ignored."""
        before = self._row(node)
        outcome = self._handlers.step(node, before, input)
        if outcome is None:
            move = move_words(self._constants, node, input)
            self._out += [move, f"  disabled: node {node} is {before.role}"]
            return False
        self._out += step_words(self._constants, node, input, before, outcome)
        rows, self._rows = self._rows, {**self._rows, node: outcome.row}
        self._network += map(Sent, outcome.sent)
        if check_step(self._constants, rows, self._rows, node, self._history) is not None:
            for each in INVARIANTS:
                if (what := each.check(rows, self._rows, self._history)) is not None:
                    self._out.append(f"  VIOLATES {each.name}: {what}")
        return not outcome.ignored

    def _pick(self, kind: str, source: int, destination: int) -> Sent:
        if kind not in KINDS:
            raise WrongArgument(f"unknown message {kind!r}; there are: {', '.join(KINDS)}")
        self._row(source), self._row(destination)
        there = [
            s
            for s in self._network
            if isinstance(s.message, KINDS[kind])
            and (s.message.source, s.message.destination) == (source, destination)
            and not s.dropped
        ]
        if not there:
            raise WrongArgument(f"there is no {kind} from {source} to {destination} to deliver")
        return next((s for s in reversed(there) if s.waits), there[-1])

    def _deliver(self, sent: Sent) -> bool:
        sent.waits = False
        return self._do(sent.message.destination, sent.message)

    def _role(self, node: int) -> str:
        """Asked again after each step."""
        return self._row(node).role

    # --- Commands: the quorum

    def quorum(self, *, voters: int = 3, fetch_max: int = 2, bug: str = "") -> None:
        """Starts anew with voters 1 to `voters`; with the rules of a bug if one is named."""
        if voters < 1 or fetch_max < 1:
            raise WrongArgument("a quorum has at least one voter, and a fetch one record")
        if bug and bug not in [each.id for each in bugs_of("quorum") if each.in_scope]:
            raise WrongArgument(f"unknown bug {bug!r}")
        self._set_up(Constants(tuple(range(1, voters + 1)), fetch_max), bug or None)
        what = f", with the rules of {bug}" if bug else ""
        self._out.append(f"voters {', '.join(map(str, self._constants.voters))}{what}")

    def rows(self) -> None:
        """One line for each node."""
        for node, row in self._rows.items():
            vote = "" if row.voted == -1 else f", voted for {row.voted}"
            known = "?" if row.high_watermark == -1 else row.high_watermark
            self._out.append(
                f"{node} {row.role} in epoch {row.epoch}{vote}: {log_words(row.log)} "
                f"(flushed {row.flushed}, high watermark {known})"
            )

    def row(self, node: int) -> None:
        """All fields of one node."""
        self._out += row_words(self._constants, self._row(node))

    def network(self) -> None:
        """The messages that wait to be delivered."""
        waiting = [message_words(self._constants, s.message) for s in self._network if s.waits]
        self._out += waiting or ["no message waits"]

    def committed(self) -> None:
        """What some leader ever held committed."""
        self._out.append(log_words(self._history.committed))

    # --- Commands: messages

    def deliver(self, kind: str, source: int, destination: int) -> None:
        """Delivers one message."""
        self._deliver(self._pick(kind, source, destination))

    def drop(self, kind: str, source: int, destination: int) -> None:
        """Loses one message."""
        sent = self._pick(kind, source, destination)
        sent.waits, sent.dropped = False, True
        self._out.append(f"lost: {message_words(self._constants, sent.message)}")

    def drop_all(self) -> None:
        """Loses every message that waits."""
        for sent in self._network:
            if sent.waits:
                sent.waits, sent.dropped = False, True
                self._out.append(f"lost: {message_words(self._constants, sent.message)}")

    # --- Commands: one input

    def time_out(self, node: int) -> None:
        """The fetch timer of a follower, else the election timer."""
        self._do(node, FetchTimeout() if self._role(node) == "Follower" else ElectionTimeout())

    def check_quorum(self, node: int) -> None:
        """A leader has not heard from a majority for too long."""
        self._do(node, CheckQuorumTimeout())

    def announce(self, node: int) -> None:
        """A leader's BeginQuorumEpoch timer."""
        self._do(node, BeginQuorumEpochTimeout())

    def request_timeout(self, node: int, peer: int) -> None:
        """A request to this peer took too long, or its back-off is over."""
        self._row(peer)
        self._do(node, RequestTimeout(peer))

    def fetch_wait(self, leader: int, follower: int) -> None:
        """The wait of a parked fetch is over."""
        parked = [m for m in self._row(leader).parked if m.source == follower]
        if not parked:
            raise WrongArgument(f"node {leader} has parked no fetch of {follower}")
        self._do(leader, FetchMaxWait(parked[-1]))

    def resign(self, node: int) -> None:
        """A leader is asked to step down."""
        self._do(node, Resign())

    def append(self, node: int, value: str) -> None:
        """A client's record, written v1, v2 and so on."""
        if not re.fullmatch(r"v[1-9][0-9]*", value):
            raise WrongArgument(f"a value is written v1, v2 and so on, not {value!r}")
        self._do(node, Append(int(value[1:])))

    def flush(self, node: int) -> None:
        """What was appended reaches the disk."""
        self._do(node, Flush())

    def crash(self, node: int, *, keep: int = -1) -> None:
        """Stops a node; the log ends at `keep`, by default where it is flushed."""
        self._do(node, Crash(self._row(node).flushed if keep == -1 else keep))

    def restart(self, node: int) -> None:
        """Starts a node from what is on disk."""
        self._do(node, Restart())

    # --- Commands: what several steps make

    def ask_for_vote(self, node: int, voter: int) -> None:
        """A vote request and its answer."""
        if self._deliver(self._pick("vote", node, voter)):
            self._deliver(self._pick("vote-answer", voter, node))

    def elect(self, node: int, voter: int) -> None:
        """Lets time pass until this voter's votes have made the node leader; three rounds."""
        for _ in range(3):
            self.time_out(node)
            for stage in ("Prospective", "Candidate"):
                if self._role(node) == stage:
                    self.ask_for_vote(node, voter)
            if self._role(node) == "Leader":
                return
        self._out.append(f"node {node} is not elected")

    def begin(self, leader: int, node: int) -> None:
        """The node hears of its leader."""
        self._deliver(self._pick("begin", leader, node))

    def fetch(self, node: int, leader: int) -> None:
        """A fetch, and its answer unless it is parked."""
        sent = len(self._network)
        self._deliver(self._pick("fetch", node, leader))
        for answer in self._network[sent:]:
            if isinstance(answer.message, FetchResponse) and answer.message.destination == node:
                self._deliver(answer)
