"""The handlers of a controller-quorum voter: the twin of specs/quorum/QuorumHandlers.tla.

Law of this file: a handler sees its own node, that node's row and one input, and answers with one
outcome that the spec allows, or with None where the spec allows none (the input is disabled).
Every decision is a call of `rules`. Where the spec allows several outcomes, `choose` says which is
taken; the reference takes the first, and `outcomes` returns all of them. Same names and order as in
the spec, so that both can be read side by side: the changes of role; what a role owes to its peers;
`finish`, which every handler ends in; then the handlers, grouped as Kafka groups them.

Nothing here raises because of what a peer sent: an error is a code in a response. An AssertionError
is a mistake of ours.

The voters of `constants` are the set in force. Where it changes (reference/quorum/voters), each
step is taken under the set that is in force at its node, which may be none of them.

Not modelled here: snapshots (V1 to V8), cluster ids and directory ids, version negotiation, clocks.
Timers are inputs that may come at any time; timers.py says which are armed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import permutations
from typing import Any, TypeAlias

from msgspec.structs import replace

from kraftcheck.reference.kit import log
from kraftcheck.reference.kit.dispatch import action_name, handlers_of
from kraftcheck.reference.kit.fields import put
from kraftcheck.reference.kit.log import LEADER_CHANGE, UNDEFINED, Entry, EpochEnd, Log
from kraftcheck.reference.quorum.messages import (
    INPUTS,
    MESSAGES,
    NO_DIVERGENCE,
    Append,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    BeginQuorumEpochTimeout,
    CheckQuorumTimeout,
    Crash,
    ElectionTimeout,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    Error,
    FetchMaxWait,
    FetchRequest,
    FetchResponse,
    FetchTimeout,
    Flush,
    Input,
    Message,
    Request,
    RequestTimeout,
    Resign,
    Response,
    Restart,
    VoteRequest,
    VoteResponse,
    canonical,
)
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import (
    AWAITING,
    BACKING_OFF,
    NOBODY,
    READY,
    Connection,
    Constants,
    Outcome,
    Role,
    Row,
    is_running,
)

Peers: TypeAlias = tuple[int, ...]
HANDLERS: dict[type, str] = {of: action_name(of) for of in INPUTS}
"""From the type of an input to the name of its action, as in the spec and in traces."""


def action_of(input: Input) -> str:
    """The name of the action that handles this input, also of one of its subclasses elsewhere."""
    of = type(input)
    return HANDLERS.get(of) or action_name(of)


def _plus(nodes: tuple[int, ...], node: int) -> tuple[int, ...]:
    """The sorted set of voters with one added."""
    return nodes if node in nodes else tuple(sorted((*nodes, node)))


def _minus(nodes: tuple[int, ...], node: int) -> tuple[int, ...]:
    """The sorted set of voters with one taken out."""
    return tuple(v for v in nodes if v != node)


def first(choices: Iterable[Any]) -> Any:
    return next(iter(choices))


class QuorumHandlers:
    """The handlers, for one set of constants and one set of rules.

    Layers of the quorum have records and answers to fetches with more fields.
    """

    entry: type[Entry] = Entry
    """A record that a leader appends, from its epoch and value."""
    answer: Callable[..., FetchResponse] = FetchResponse

    def __init__(self, constants: Constants, rules: QuorumRules | None = None) -> None:
        self.constants = constants
        self.rules = QuorumRules(constants) if rules is None else rules
        assert self.rules.constants == constants, "rules for another quorum"
        self._position = {node: at for at, node in enumerate(constants.nodes)}
        self._others = {node: constants.others(node) for node in constants.nodes}
        self._no_offsets = (UNDEFINED,) * len(constants.nodes)
        self._all_ready: tuple[Connection, ...] = (READY,) * len(constants.nodes)
        self.choose: Callable[[Iterable[Any]], Any] = first
        self._handlers: dict[str, Callable[[int, Row, Any], Outcome | None]] = {
            of.__name__: handle for of, handle in handlers_of(self, INPUTS).items()
        }

    def step(self, node: int, row: Row, input: Input) -> Outcome | None:
        """One step of one node, or None where the input is disabled.

        Deterministic: where the spec allows several outcomes, always the first is taken.
        """
        if isinstance(input, MESSAGES):
            assert input.destination == node, f"for somebody else than {node}: {input}"
            if not is_running(row):
                return None
        return self._handlers[type(input).__name__](node, row, input)

    def outcomes(self, node: int, row: Row, input: Input) -> list[Outcome]:
        """All outcomes that the spec allows, each once, the reference's own first."""
        found: dict[Outcome, None] = {}
        path: list[int] = []
        while True:
            widths: list[int] = []

            def choose(choices: Iterable[Any], widths: list[int] = widths) -> Any:
                among = [*choices]
                widths.append(len(among))
                if len(widths) > len(path):
                    path.append(0)
                return among[path[len(widths) - 1]]

            self.choose = choose
            try:
                outcome = self.step(node, row, input)
            finally:
                self.choose = first
            if outcome is not None:
                found[outcome] = None
            while path and path[-1] + 1 >= widths[len(path) - 1]:
                path.pop()
            if not path:
                return [*found]
            path[-1] += 1

    # --- Changes of role (1.2). Each forgets what belonged to the old role and resets the
    # --- connections, so that late responses no longer count (Q22).

    def enter_role(self, row: Row, role: Role, epoch: int, leader: int, voted: int) -> Row:
        return replace(
            row,
            role=role,
            epoch=epoch,
            leader=leader,
            voted=voted,
            granted=(),
            rejected=(),
            has_fetched=False,
            epoch_start=UNDEFINED,
            end_offsets=self._no_offsets,
            fetched_voters=(),
            unacked=(),
            successors=(),
            connections=self._all_ready,
        )

    def voted_in(self, row: Row, epoch: int) -> int:
        return self.rules.voted_within_epoch(row) if epoch == row.epoch else NOBODY

    def become_unattached(self, row: Row, epoch: int) -> Row:
        return self.enter_role(row, "Unattached", epoch, NOBODY, self.voted_in(row, epoch))

    def become_follower(self, row: Row, epoch: int, leader: int) -> Row:
        return self.enter_role(row, "Follower", epoch, leader, self.voted_in(row, epoch))

    def become_leader(self, n: int, row: Row) -> Row:
        """Q9. The leader opens its epoch with a control record of its own."""
        start = log.end_offset(row.log)
        leader = self.enter_role(row, "Leader", row.epoch, n, row.voted)
        return replace(
            leader,
            epoch_start=start,
            epoch_cache=log.cache_assign(row.epoch_cache, row.epoch, start),
            log=(*row.log, self.entry(row.epoch, LEADER_CHANGE)),
            flushed=self.rules.flushed_after_leader_append(row),
            high_watermark=UNDEFINED,
        )

    def become_candidate(self, n: int, row: Row) -> Row:
        candidate = replace(
            self.enter_role(row, "Candidate", row.epoch + 1, NOBODY, n), granted=(n,)
        )
        return self.become_leader(n, candidate) if self.rules.election_won((n,)) else candidate

    def become_prospective(self, n: int, row: Row) -> Row:
        prospective = replace(
            self.enter_role(row, "Prospective", row.epoch, row.leader, row.voted), granted=(n,)
        )
        if self.rules.election_won((n,)):
            return self.become_candidate(n, prospective)
        return prospective

    def pre_vote_lost(self, row: Row) -> Row:
        """1.2. A pre-vote that is lost leads back to where the node came from."""
        if row.leader == NOBODY:
            return self.become_unattached(row, row.epoch)
        return self.become_follower(row, row.epoch, row.leader)

    def become_resigned(self, n: int, row: Row, successors: tuple[int, ...]) -> Row:
        resigned = self.enter_role(row, "Resigned", row.epoch, n, row.voted)
        return replace(resigned, unacked=self._others[n], successors=successors)

    def halt(self, row: Row) -> Row:
        return self.enter_role(row, "Halted", row.epoch, row.leader, row.voted)

    # --- Requests that a role owes to its peers, and their responses.

    def fetch_request(self, n: int, row: Row, peer: int) -> FetchRequest:
        return FetchRequest(
            source=n,
            destination=peer,
            epoch=row.epoch,
            fetch_offset=log.end_offset(row.log),
            last_fetched_epoch=self.rules.last_fetched_epoch(row),
        )

    def vote_request(self, n: int, row: Row, peer: int) -> VoteRequest:
        return VoteRequest(
            source=n,
            destination=peer,
            epoch=row.epoch,
            last_epoch=self.rules.last_fetched_epoch(row),
            last_offset=log.end_offset(row.log),
            pre_vote=row.role == "Prospective",
        )

    def begin_quorum_epoch_request(self, n: int, row: Row, peer: int) -> BeginQuorumEpochRequest:
        return BeginQuorumEpochRequest(source=n, destination=peer, epoch=row.epoch)

    def end_quorum_epoch_request(self, n: int, row: Row, peer: int) -> EndQuorumEpochRequest:
        return EndQuorumEpochRequest(
            source=n, destination=peer, epoch=row.epoch, successors=row.successors
        )

    def request_in_flight(self, n: int, row: Row, peer: int) -> Request | None:
        """Q22. The one request that may be in flight from n to this peer.

        A node without a leader that is no voter fetches to find one.
        """
        if row.role in ("Prospective", "Candidate"):
            return self.vote_request(n, row, peer)
        if row.role in ("Follower", "Unattached"):
            return self.fetch_request(n, row, peer)
        if row.role == "Leader":
            return self.begin_quorum_epoch_request(n, row, peer)
        if row.role == "Resigned":
            return self.end_quorum_epoch_request(n, row, peer)
        return None

    def owed(self, n: int, row: Row) -> tuple[int, ...]:
        """Whom n must ask now. A leader's BeginQuorumEpoch is owed by its timer."""
        if row.role in ("Prospective", "Candidate"):
            if self.rules.election_lost(row.rejected):
                return ()
            heard = row.granted + row.rejected
            return tuple(v for v in self.constants.voters if v not in heard)
        if row.role == "Follower":
            return (row.leader,)
        if row.role == "Resigned":
            return row.unacked
        return ()

    # Every response names the epoch and leader that its sender knows.

    def vote_response(self, row: Row, m: VoteRequest, error: Error, granted: bool) -> VoteResponse:
        return VoteResponse(
            m.destination, m.source, error, row.epoch, row.leader, granted=granted, request=m
        )

    def fetch_response(
        self,
        row: Row,
        m: FetchRequest,
        records: Log,
        diverging: EpochEnd,
        high_watermark: int,
        error: Error = "NONE",
    ) -> FetchResponse:
        return self.answer(
            source=m.destination,
            destination=m.source,
            error=error,
            epoch=row.epoch,
            leader=row.leader,
            records=records,
            diverging=diverging,
            high_watermark=high_watermark,
            request=m,
        )

    def fetch_error_response(self, row: Row, m: FetchRequest, error: Error) -> FetchResponse:
        return self.fetch_response(row, m, (), NO_DIVERGENCE, UNDEFINED, error)

    # --- The end of every step. KafkaRaftClient handles one event and then polls its state, which
    # --- sends what the state owes; nothing comes between.

    def leads_same_epoch(self, before: Row, after: Row) -> bool:
        return before.role == "Leader" and after.role == "Leader" and after.epoch == before.epoch

    def parked_fetch_errors(self, before: Row, after: Row) -> list[FetchResponse]:
        """Q12. A node that stops leading answers its parked fetches."""
        if self.leads_same_epoch(before, after):
            return []
        return [
            self.fetch_error_response(after, m, "NOT_LEADER_OR_FOLLOWER") for m in before.parked
        ]

    def finish_asking(
        self, n: int, before: Row, row: Row, replies: Iterable[Message], peers: tuple[int, ...]
    ) -> Outcome:
        """Sends requests to the `peers` whose connections are ready."""
        connections = row.connections
        sent: list[Message] = [*replies, *self.parked_fetch_errors(before, row)]
        for peer in peers:
            position = self._position[peer]
            if connections[position] == READY:
                connections = put(connections, position, AWAITING)
                request = self.request_in_flight(n, row, peer)
                assert request is not None, f"{row.role} owes nothing"
                sent.append(request)
        after = replace(
            row,
            connections=connections,
            parked=row.parked if self.leads_same_epoch(before, row) else (),
            quorum_state=self.rules.persisted_quorum_state(row),
            announced=row.epoch if self.rules.may_announce_leader(row) else UNDEFINED,
        )
        return Outcome(after, canonical(sent), "")

    def finish(self, n: int, before: Row, row: Row, *replies: Message) -> Outcome:
        """A new leader announces itself at once."""
        if row.role == "Leader" and not self.leads_same_epoch(before, row):
            return self.finish_asking(n, before, row, replies, self._others[n])
        return self.finish_asking(n, before, row, replies, self.owed(n, row))

    def ignore(self, row: Row, reason: str) -> Outcome:
        """An ignored input is a step too, and has a named reason (L6)."""
        return Outcome(row, (), reason)

    def _connected(self, row: Row, peer: int, connection: Connection) -> Row:
        position = self._position[peer]
        return replace(row, connections=put(row.connections, position, connection))

    def answered(self, row: Row, m: Response) -> Row:
        """The response has been used: its connection is ready for the next request."""
        return self._connected(row, m.source, READY)

    def back_off(self, row: Row, m: Response) -> Row:
        return self._connected(row, m.source, BACKING_OFF)

    def learn(self, n: int, row: Row, leader: int, epoch: int) -> Row:
        """Q10. What a node makes of a leader and an epoch, not older than its own."""
        if self.rules.conflicting_leader(n, row, leader, epoch):
            return self.halt(row)
        if epoch > row.epoch and leader == NOBODY:
            return self.become_unattached(row, epoch)
        if epoch > row.epoch:
            return self.become_follower(row, epoch, leader)
        if leader != NOBODY and row.leader == NOBODY:
            return self.become_follower(row, epoch, leader)
        return row

    def receive_response(
        self, n: int, row: Row, m: Response, use: Callable[[Row], Outcome]
    ) -> Outcome:
        """Q8, Q16, the part that all responses share.

        A response that was awaited is used up here, or continues to `use` with its connection ready
        again.
        """
        if not self.rules.answers_in_flight(row, m, self.request_in_flight(n, row, m.source)):
            return self.ignore(row, "NotAwaited")
        if self.rules.is_stale_response(row, m):
            return self.finish(n, row, self.back_off(row, m))
        answered = self.answered(row, m)
        if (
            m.epoch > row.epoch
            or m.error in ("FENCED_LEADER_EPOCH", "NOT_LEADER_OR_FOLLOWER")
            or (m.leader != NOBODY and row.leader == NOBODY)
        ):
            learned = self.learn(n, answered, m.leader, m.epoch)
            return self.finish(n, row, self.back_off(row, m) if learned == answered else learned)
        if m.error == "INVALID_REQUEST":
            return self.finish(n, row, self.halt(row))
        return use(answered)

    # --- Vote: Q5 to Q8.

    def handle_vote_request(self, n: int, row: Row, m: VoteRequest) -> Outcome:
        error = self.rules.vote_request_error(row, m)
        if error != "NONE":
            return self.finish(n, row, row, self.vote_response(row, m, error, granted=False))
        voter = self.become_unattached(row, m.epoch) if m.epoch > row.epoch else row
        granted = (
            self.rules.pre_vote_granted(voter, m)
            if m.pre_vote
            else self.rules.vote_granted(voter, m)
        )
        if granted and self.rules.vote_recorded(m) and voter.voted == NOBODY:
            voter = replace(voter, voted=m.source)
            if voter.role == "Prospective":
                voter = replace(voter, granted=(n,), rejected=())
        return self.finish(n, row, voter, self.vote_response(voter, m, "NONE", granted))

    def handle_vote_response(self, n: int, row: Row, m: VoteResponse) -> Outcome:
        def count(answered: Row) -> Outcome:
            granted = _plus(row.granted, m.source) if m.granted else row.granted
            rejected = row.rejected if m.granted else _plus(row.rejected, m.source)
            counted = replace(answered, granted=granted, rejected=rejected)
            if self.rules.election_won(granted):
                elected = self.become_leader if row.role == "Candidate" else self.become_candidate
                return self.finish(n, row, elected(n, counted))
            if self.rules.election_lost(rejected) and row.role == "Prospective":
                return self.finish(n, row, self.pre_vote_lost(counted))
            return self.finish(n, row, counted)

        return self.receive_response(n, row, m, count)

    # --- BeginQuorumEpoch and EndQuorumEpoch: Q10, Q11. EndQuorumEpoch shortens the follower's
    # --- fetch timer, which no row contains (timers.py).

    def handle_leader_request(
        self,
        n: int,
        row: Row,
        m: BeginQuorumEpochRequest | EndQuorumEpochRequest,
        respond: Callable[[Row, Error], Message],
    ) -> Outcome:
        error = self.rules.leader_request_error(row, m)
        if error != "NONE":
            return self.finish(n, row, row, respond(row, error))
        learned = self.learn(n, row, m.source, m.epoch)
        if learned.role == "Halted":
            return self.finish(n, row, learned)
        return self.finish(n, row, learned, respond(learned, "NONE"))

    def handle_begin_quorum_epoch_request(
        self, n: int, row: Row, m: BeginQuorumEpochRequest
    ) -> Outcome:
        def respond(known: Row, error: Error) -> Message:
            return BeginQuorumEpochResponse(n, m.source, error, known.epoch, known.leader, m)

        return self.handle_leader_request(n, row, m, respond)

    def handle_begin_quorum_epoch_response(
        self, n: int, row: Row, m: BeginQuorumEpochResponse
    ) -> Outcome:
        return self.receive_response(n, row, m, lambda answered: self.finish(n, row, answered))

    def handle_end_quorum_epoch_request(
        self, n: int, row: Row, m: EndQuorumEpochRequest
    ) -> Outcome:
        def respond(known: Row, error: Error) -> Message:
            return EndQuorumEpochResponse(n, m.source, error, known.epoch, known.leader, m)

        return self.handle_leader_request(n, row, m, respond)

    def handle_end_quorum_epoch_response(
        self, n: int, row: Row, m: EndQuorumEpochResponse
    ) -> Outcome:
        def use(answered: Row) -> Outcome:
            told = replace(answered, unacked=_minus(answered.unacked, m.source))
            return self.finish(n, row, told)

        return self.receive_response(n, row, m, use)

    # --- Fetch: Q12 to Q16.

    def advance_high_watermark(self, n: int, row: Row) -> Row:
        offset = self.rules.majority_end_offset(n, row)
        if self.rules.may_advance_high_watermark(row, offset):
            return replace(row, high_watermark=offset)
        return row

    def note_fetch(self, n: int, row: Row, m: FetchRequest, diverges: bool) -> Row:
        """Q14, Q15. What the leader notes of a fetch before it answers."""
        if not self.rules.fetch_updates_end_offset(diverges):
            return row
        voter = m.source in self.constants.voters
        fetched = _plus(row.fetched_voters, m.source) if voter else row.fetched_voters
        noted = replace(
            row,
            end_offsets=put(row.end_offsets, self._position[m.source], m.fetch_offset),
            fetched_voters=() if self.rules.check_quorum_satisfied(fetched, n) else fetched,
        )
        return self.advance_high_watermark(n, noted)

    def fetched_records(self, row: Row, m: FetchRequest) -> Log:
        end = self.rules.servable_end_offset(row)
        return log.slice_of(row.log, m.fetch_offset, end, self.constants.fetch_max_records)

    def diverging_epoch(self, row: Row, m: FetchRequest) -> EpochEnd:
        end = log.end_offset(row.log)
        return log.end_offset_for_epoch(row.epoch_cache, end, m.last_fetched_epoch)

    def handle_fetch_request(self, n: int, row: Row, m: FetchRequest) -> Outcome:
        error = self.rules.fetch_request_error(row, m)
        if error != "NONE":
            return self.finish(n, row, row, self.fetch_error_response(row, m, error))
        diverges = self.rules.fetch_diverges(row, m)
        noted = self.note_fetch(n, row, m, diverges)
        if diverges:
            diverging = self.diverging_epoch(row, m)
            return self.finish(
                n, row, noted, self.fetch_response(noted, m, (), diverging, noted.high_watermark)
            )
        records = self.fetched_records(noted, m)
        if records:
            response = self.fetch_response(noted, m, records, NO_DIVERGENCE, noted.high_watermark)
            return self.finish(n, row, noted, response)
        if m not in noted.parked:
            noted = replace(noted, parked=canonical((*noted.parked, m)))
        return self.finish(n, row, noted)

    def handle_fetch_max_wait(self, n: int, row: Row, input: FetchMaxWait) -> Outcome | None:
        """The wait of a parked fetch is over: it is answered without records."""
        m = input.request
        if m not in row.parked:
            return None
        return self.finish(
            n,
            row,
            replace(row, parked=tuple(p for p in row.parked if p != m)),
            self.fetch_response(row, m, (), NO_DIVERGENCE, row.high_watermark),
        )

    def truncate_to(self, row: Row, offset: int) -> Row:
        """Q16, divergence: cut the log and ask again."""
        return replace(
            row,
            log=log.prefix(row.log, offset),
            flushed=min(row.flushed, offset),
            epoch_cache=self.rules.truncated_epoch_cache(row, offset),
        )

    def append_fetched(self, row: Row, records: Log) -> Row:
        """Q16, records: append, flush, then believe the leader's high watermark."""
        if not records:
            return row
        longer = replace(
            row,
            log=row.log + records,
            epoch_cache=log.cache_append(row.epoch_cache, log.end_offset(row.log), records),
        )
        return replace(longer, flushed=self.rules.flushed_after_follower_append(longer))

    def handle_fetch_response(self, n: int, row: Row, m: FetchResponse) -> Outcome:
        def use(answered: Row) -> Outcome:
            follower = replace(answered, has_fetched=True)
            if m.diverging != NO_DIVERGENCE:
                if self.rules.truncation_refused(row, m.diverging):
                    return self.finish(n, row, self.halt(row))
                offset = self.rules.truncation_offset(row, m.diverging)
                return self.finish(n, row, self.truncate_to(follower, offset))
            longer = self.append_fetched(follower, self.rules.appendable(row, m))
            high_watermark = self.rules.follower_high_watermark(longer, m.high_watermark)
            return self.finish(n, row, replace(longer, high_watermark=high_watermark))

        return self.receive_response(n, row, m, use)

    # --- The leader's own log: append, then flush as a step of its own.

    def handle_append(self, n: int, row: Row, input: Append) -> Outcome | None:
        if not is_running(row):
            return None
        if row.role != "Leader":
            return self.ignore(row, "NotLeader")
        longer = replace(row, log=(*row.log, self.entry(row.epoch, input.value)))
        flushed = self.rules.flushed_after_leader_append(longer)
        return self.finish(n, row, replace(longer, flushed=flushed))

    def handle_flush(self, n: int, row: Row, input: Flush) -> Outcome | None:
        """Q14. Flushed records count, and parked fetches that they serve return."""
        if not is_running(row) or row.flushed == log.end_offset(row.log):
            return None
        flushed = replace(row, flushed=log.end_offset(row.log))
        counted = self.advance_high_watermark(n, flushed) if row.role == "Leader" else flushed
        served = [(m, self.fetched_records(counted, m)) for m in row.parked]
        waiting = tuple(m for m, records in served if not records)
        return self.finish(
            n,
            row,
            replace(counted, parked=waiting),
            *(
                self.fetch_response(counted, m, records, NO_DIVERGENCE, counted.high_watermark)
                for m, records in served
                if records
            ),
        )

    # --- Timers: 1.3. None: the timer is not armed.

    def handle_election_timeout(self, n: int, row: Row, input: ElectionTimeout) -> Outcome | None:
        if row.role in ("Unattached", "Candidate"):
            return self.finish(n, row, self.become_prospective(n, row))
        if row.role == "Prospective":
            return self.finish(n, row, self.pre_vote_lost(row))
        if row.role == "Resigned":
            epoch = self.rules.epoch_after_resigned(row.epoch)
            return self.finish(n, row, self.become_unattached(row, epoch))
        return None

    def handle_fetch_timeout(self, n: int, row: Row, input: FetchTimeout) -> Outcome | None:
        if row.role != "Follower":
            return None
        return self.finish(n, row, self.become_prospective(n, row))

    def handle_begin_quorum_epoch_timeout(
        self, n: int, row: Row, input: BeginQuorumEpochTimeout
    ) -> Outcome | None:
        """Resent for the whole leadership (1.3)."""
        if row.role != "Leader":
            return None
        return self.finish_asking(n, row, row, (), self._others[n])

    def successor_list(self, n: int, row: Row) -> Peers:
        """Q11.

        Voters by descending end offset. Ties may stand in either order; that of voters is the
        first.
        """
        far = {v: -row.end_offsets[self._position[v]] for v in self._others[n]}
        own = sorted(far, key=far.__getitem__)
        offsets = [far[v] for v in own]
        orders = (p for p in permutations(own) if [far[v] for v in p] == offsets)
        chosen: Peers = self.choose(orders)
        return chosen

    def resign(self, n: int, row: Row) -> Outcome:
        return self.finish(n, row, self.become_resigned(n, row, self.successor_list(n, row)))

    def handle_check_quorum_timeout(
        self, n: int, row: Row, input: CheckQuorumTimeout
    ) -> Outcome | None:
        if row.role != "Leader" or not self.rules.check_quorum_applies():
            return None
        return self.resign(n, row)

    def handle_resign(self, n: int, row: Row, input: Resign) -> Outcome | None:
        return self.resign(n, row) if row.role == "Leader" else None

    def handle_request_timeout(self, n: int, row: Row, input: RequestTimeout) -> Outcome | None:
        """A request timed out or its back-off is over: the connection is ready."""
        if not is_running(row) or row.connections[self._position[input.peer]] == READY:
            return None
        return self.finish(n, row, self._connected(row, input.peer, READY))

    # --- Crash and restart: Q3, P23. A crash loses everything volatile and any part of the
    # --- unflushed tail; `keep` is where the log ends afterwards.

    def handle_crash(self, n: int, row: Row, input: Crash) -> Outcome | None:
        if not is_running(row) or not row.flushed <= input.keep <= log.end_offset(row.log):
            return None
        file = row.quorum_state
        down = replace(
            self.enter_role(row, "Down", file.epoch, file.leader, file.voted),
            log=log.prefix(row.log, input.keep),
            flushed=input.keep,
            high_watermark=UNDEFINED,
            parked=(),
            announced=UNDEFINED,
        )
        return Outcome(down, (), "")

    def start_in(self, n: int, row: Row, role: Role) -> Row:
        """Q3. What starting in a role means, once StartupRole has chosen it."""
        file = row.quorum_state
        log_epoch = self.rules.last_fetched_epoch(row)
        if role == "Unattached" and file.epoch < log_epoch:
            return self.enter_role(row, role, log_epoch, NOBODY, NOBODY)
        if role == "Unattached":
            leader = self.rules.remembered_leader(file)
            return self.enter_role(row, role, file.epoch, leader, file.voted)
        if role == "Follower":
            return self.enter_role(row, role, file.epoch, file.leader, file.voted)
        if role == "Candidate":
            candidate = self.enter_role(row, role, file.epoch, NOBODY, n)
            return replace(candidate, granted=(n,))
        if role == "Resigned":
            return self.become_resigned(n, row, ())
        assert role == "Leader", f"nobody starts as {role}"
        return self.become_leader(n, row)

    def handle_restart(self, n: int, row: Row, input: Restart) -> Outcome | None:
        if row.role != "Down":
            return None
        cache = self.rules.recovered_epoch_cache(row.epoch_cache, log.end_offset(row.log))
        up = replace(row, epoch_cache=cache)
        role = self.rules.startup_role(n, row.quorum_state, self.rules.last_fetched_epoch(up))
        started = self.start_in(n, up, role)
        if self.constants.voters == (n,):
            started = self.become_prospective(n, started)
        return self.finish(n, row, started)
