"""A few voters under a script: what tests of bugs drive by hand, message by message."""

from __future__ import annotations

from typing import TypeVar

from kraftcheck.reference.bugs.catalog import rules_for
from kraftcheck.reference.bugs.probing import Consulted
from kraftcheck.reference.quorum.handlers import QuorumHandlers
from kraftcheck.reference.quorum.invariants import INVARIANTS, check_step, history_init
from kraftcheck.reference.quorum.messages import (
    BeginQuorumEpochRequest,
    Crash,
    ElectionTimeout,
    FetchRequest,
    FetchResponse,
    FetchTimeout,
    Flush,
    Input,
    Message,
    Resign,
    Restart,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Constants, Row, initial_row

M = TypeVar("M", bound=Message)


class Impossible(Exception):
    """The script cannot go on: what it asks for cannot happen under these rules."""


class Cluster:
    """Voters with a bug (or none) in them. Messages rest until the script delivers them."""

    def __init__(
        self, bug: str | None, constants: Constants, consulted: Consulted | None = None
    ) -> None:
        self.handlers = QuorumHandlers(constants, rules_for(QuorumRules, bug, constants, consulted))
        self.rows: dict[int, Row] = dict.fromkeys(constants.voters, initial_row(constants))
        self.sent: list[Message] = []
        self.history = history_init(constants)
        self.violated: set[str] = set()
        """Every invariant that some step violated."""

    def do(self, node: int, *inputs: Input) -> None:
        for input in inputs:
            outcome = self.handlers.step(node, self.rows[node], input)
            if outcome is None or outcome.ignored:
                raise Impossible(f"node {node} has no use for {input}")
            before, self.rows = self.rows, {**self.rows, node: outcome.row}
            self.sent += outcome.sent
            constants = self.handlers.constants
            if check_step(constants, before, self.rows, node, self.history) is not None:
                self.violated |= {
                    each.name
                    for each in INVARIANTS
                    if each.check(before, self.rows, self.history) is not None
                }

    def deliver(self, of: type[M], source: int, destination: int) -> None:
        """The latest message of this type between the two; it may have been delivered before."""
        for m in reversed(self.sent):
            if isinstance(m, of) and (m.source, m.destination) == (source, destination):
                self.do(destination, m)
                return
        raise Impossible(f"{source} has sent no {of.__name__} to {destination}")

    def time_out(self, node: int) -> None:
        follows = self.rows[node].role == "Follower"
        self.do(node, FetchTimeout() if follows else ElectionTimeout())

    def ask_for_vote(self, node: int, voter: int) -> None:
        self.deliver(VoteRequest, node, voter)
        self.deliver(VoteResponse, voter, node)

    def stand(self, node: int, voter: int) -> None:
        """The node becomes a candidate, by a pre-vote of this voter.

        It may take rounds: a node that is behind is first told the epoch.
        """
        for _ in range(5):
            self.time_out(node)
            if self.rows[node].role == "Prospective":
                self.ask_for_vote(node, voter)
            if self.rows[node].role == "Candidate":
                return
        raise Impossible(f"node {voter} does not let node {node} stand")

    def elect(self, node: int, voter: int) -> None:
        """The node becomes a leader, by this voter's votes."""
        self.stand(node, voter)
        self.ask_for_vote(node, voter)
        if self.rows[node].role != "Leader":
            raise Impossible(f"node {voter} does not vote for node {node}")

    def step_down(self, node: int) -> None:
        """A leader resigns and leaves its epoch."""
        self.do(node, Resign(), ElectionTimeout())

    def follow(self, node: int, leader: int) -> None:
        self.deliver(BeginQuorumEpochRequest, leader, node)

    def fetch(self, node: int, leader: int) -> None:
        """One fetch and its answer."""
        self.deliver(FetchRequest, node, leader)
        self.deliver(FetchResponse, leader, node)

    def restart(self, node: int, keep: int | None = None) -> None:
        """A crash that keeps the log up to `keep`, all that is on disk by default; then a start."""
        self.do(node, Crash(self.rows[node].flushed if keep is None else keep), Restart())

    def flush(self, node: int) -> None:
        self.do(node, Flush())
