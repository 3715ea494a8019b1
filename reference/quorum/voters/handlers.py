"""What a controller does where the voters change: the twin of specs/quorum/voters/VoterChanges.tla.

Law of this file: as that of reference/quorum/handlers.py, whose handlers take every step under the
set that is in force at the node; a node that is none of them is an observer. After the step the
node reads from its log which set is in force now.

Not modelled here: snapshots, directory ids but for a disk that is replaced (a node is a voter's
key), the ApiVersions exchange of an Add, clocks (a node that was caught up once in an epoch remains
so, V15). Every node begins with the bootstrap set, so the first leader need not write it (V22); nor
does one that has moved to other listeners.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.log import UNDEFINED
from kraftcheck.reference.kit.protocol import Outcome, Substitution, correct
from kraftcheck.reference.quorum import messages as quorum
from kraftcheck.reference.quorum.handlers import QuorumHandlers
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import (
    AWAITING,
    READY,
    Outcome as QuorumOutcome,
    Row,
    is_running,
)
from kraftcheck.reference.quorum.voters.messages import (
    INPUTS,
    AddVoter,
    AddVoterRequest,
    AddVoterResponse,
    AutoJoinTimeout,
    ChangeListeners,
    Error,
    FetchFromBootstrap,
    FetchResponse,
    Input,
    RemoveVoter,
    ReplaceDisk,
    UpdateVoterRequest,
    UpdateVoterResponse,
    UpdateVoterTimeout,
    UpgradeKraftVersion,
    VoterChangeTimeout,
)
from kraftcheck.reference.quorum.voters.rules import Read, VoterRules
from kraftcheck.reference.quorum.voters.types import (
    VOTERS_RECORD,
    Asks,
    Constants,
    Heard,
    Refusal,
    VoterRow,
    VotersEntry,
    in_force,
    initial_voter_row,
)

OF_MESSAGES: Final = (UpdateVoterRequest, UpdateVoterResponse, AddVoterRequest, AddVoterResponse)


class InForceHandlers(QuorumHandlers):
    """The quorum's handlers under one set.

    Every record says which set it has; those that a leader writes of the quorum have none.
    """

    entry = VotersEntry


def with_history(row: VoterRow, read: Read) -> VoterRow:
    return replace(row, history=read.history, history_end=read.history_end)


class VoterHandlers:
    """The handlers, for one set of constants and one set of rules.

    answer: makes answers to fetches.
    """

    def __init__(
        self,
        constants: Constants,
        rules: VoterRules | None = None,
        of: Substitution = correct,
        answer: Callable[..., FetchResponse] = FetchResponse,
    ) -> None:
        self.constants = constants
        self._substituted, self._answer = of, answer
        self.rules = VoterRules(constants) if rules is None else rules
        self._under: dict[tuple[int, ...], InForceHandlers] = {}
        self._handlers: dict[str, Callable[[int, VoterRow, Any], Outcome | None]] = {
            of.__name__: handle for of, handle in handlers_of(self, INPUTS, self._taken).items()
        }

    def step(self, node: int, row: VoterRow, input: Input) -> Outcome | None:
        """One step of one node, or None where the input is disabled."""
        if isinstance(input, OF_MESSAGES) and not is_running(row):
            return None
        return self._handlers[type(input).__name__](node, row, input)

    def in_force(self, row: VoterRow) -> InForceHandlers:
        """The quorum's handlers under the set that is in force at this row's node."""
        return self._of(self.rules.voters_of(row))

    def _of(self, voters: tuple[int, ...]) -> InForceHandlers:
        if voters not in self._under:
            known, of = in_force(self.constants, voters), self._substituted
            self._under[voters] = of(InForceHandlers)(known, of(QuorumRules)(known))
            self._under[voters].answer = self._answer
        return self._under[voters]

    # --- The end of every step: what the log says now, and what the leader makes of it.

    def noted(self, before: VoterRow, after: Row) -> VoterRow:
        """The row after a step of the quorum's."""
        assert isinstance(after, VoterRow), "made from one"
        end = len(after.log)
        rules = self.rules
        read = with_history(
            after,
            rules.history_after_truncation(before, end)
            if end < len(before.log)
            else rules.history_after_append(before, after),
        )
        if not self.in_force(read).leads_same_epoch(before, read):
            read = replace(read, caught_up=(), change=UNDEFINED, heard=())
            if (read.role, read.epoch, read.leader) == ("Follower", before.epoch, before.leader):
                return read
            return replace(read, asks="", has_updated_leader=False)
        at_end = [
            v
            for v, offset in zip(self.constants.nodes, read.end_offsets, strict=True)
            if offset >= end or v in before.caught_up
        ]
        voters = rules.voters_of(read)
        return replace(read, caught_up=tuple([v for v in at_end if v not in voters]))

    def opened(
        self, n: int, before: VoterRow, outcome: QuorumOutcome
    ) -> tuple[VoterRow, tuple[Any, ...]]:
        """V22. What a new leader has: its first record, and the set. With what it sends."""
        now = self.noted(before, outcome.row)
        opens = now.role == "Leader" and self.rules.writes_bootstrap_set(now)
        under = self.in_force(now)
        if not opens or under.leads_same_epoch(before, now):
            return now, outcome.sent
        voters = self.rules.voters_of(now)
        entry = VotersEntry(now.epoch, VOTERS_RECORD, voters, ())
        longer = replace(now, log=(*now.log, entry))
        written = under.finish(n, now, longer)
        return self.noted(now, written.row), quorum.canonical((*outcome.sent, *written.sent))

    def after(self, n: int, before: VoterRow, outcome: QuorumOutcome) -> Outcome:
        """Take the high watermark, the change it completes and a leaving leader as one step."""
        now, sent = self.opened(n, before, outcome)
        waits = now.change >= now.high_watermark
        done = now if waits else replace(now, change=UNDEFINED)
        if not self.rules.leaves_after_removal(n, now):
            return Outcome(done, sent, outcome.ignored)
        left = self.in_force(now).resign(n, done)
        sent = quorum.canonical((*sent, *left.sent))
        return Outcome(self.noted(done, left.row), sent, outcome.ignored)

    def _taken(self, n: int, row: VoterRow, input: Any) -> Outcome | None:
        """A step of the quorum under the set in force."""
        outcome = self.in_force(row).step(n, row, input)
        return None if outcome is None else self.after(n, row, outcome)

    def counted(self, n: int, row: VoterRow) -> tuple[int, ...]:
        """Of whom a majority commits: V20."""
        voters = self.rules.voters_of(row)
        if self.rules.counts_itself(n, row) == (n in voters):
            return voters
        return tuple(sorted({*voters} ^ {n}))

    def _counting(self, n: int, row: VoterRow, input: Any) -> Outcome | None:
        """A step of the quorum that may commit, under the set of whom a majority does."""
        outcome = self._of(self.counted(n, row)).step(n, row, input)
        return None if outcome is None else self.after(n, row, outcome)

    def refuse(self, row: VoterRow, reason: str) -> Outcome:
        return Outcome(row, (), reason)

    # --- What a set that changes leaves as it is is `_taken`, or may commit.

    handle_fetch_request = _counting
    handle_flush = _counting

    def handle_request_timeout(
        self, n: int, row: VoterRow, input: quorum.RequestTimeout
    ) -> Outcome | None:
        """What was asked in place of records is asked no longer."""
        if row.asks and input.peer == row.leader:
            row = replace(row, asks="")
        return self._taken(n, row, input)

    # --- What is otherwise for who is no voter.

    def handle_election_timeout(self, n: int, row: VoterRow, input: Any) -> Outcome | None:
        """V13. The timers of elections run for voters, and end terms for all."""
        if not self.rules.may_stand(n, row) and row.role != "Resigned":
            return None
        return self._taken(n, row, input)

    def handle_fetch_timeout(self, n: int, row: VoterRow, input: Any) -> Outcome | None:
        return self._taken(n, row, input) if self.rules.may_stand(n, row) else None

    def handle_check_quorum_timeout(self, n: int, row: VoterRow, input: Any) -> Outcome | None:
        """Q15, V20."""
        if row.role != "Leader" or not self.rules.check_quorum_binds(n, row):
            return None
        return self.after(n, row, self.in_force(row).resign(n, row))

    def handle_fetch_response(self, n: int, row: VoterRow, m: FetchResponse) -> Outcome | None:
        """V21, V25. Whoever asks for something else waits for no records."""
        if row.asks and m.source == row.leader:
            return self.refuse(row, "NotAwaited")
        outcome = self.in_force(row).step(n, row, m)
        if outcome is None:
            return None
        if n not in self.rules.voters_of(row) and not self.rules.flushes_as_observer(row):
            flushed = min(row.flushed, len(outcome.row.log))
            outcome = replace(outcome, row=replace(outcome.row, flushed=flushed))
        return self.after(n, row, outcome)

    def handle_fetch_from_bootstrap(
        self, n: int, row: VoterRow, input: FetchFromBootstrap
    ) -> Outcome | None:
        """V25. Who is no voter and hears from no leader asks any other node."""
        if n in self.rules.voters_of(row) or row.role not in ("Unattached", "Follower"):
            return None
        at = self.constants.nodes.index(input.peer)
        if input.peer == n or row.connections[at] != READY:
            return None
        asked = self.in_force(row).finish_asking(n, row, row, (), (input.peer,))
        return self.after(n, row, asked)

    # --- Changes: V14 to V19. Whoever asks is told by `ignored` what Kafka answers; the decision
    # --- and the record in the log are one step (V18).

    def append_voters(
        self,
        n: int,
        row: VoterRow,
        voters: tuple[int, ...],
        told: tuple[int, ...],
        timed: bool = False,
    ) -> Outcome:
        """told: voters of it who say that they have moved.

        timed: the timer of a change runs from here.
        """
        if timed:
            row = replace(row, change=len(row.log))
        moved = self.rules.moved_after(row, voters, told)
        entry = VotersEntry(row.epoch, VOTERS_RECORD, voters, moved)
        longer = replace(row, log=(*row.log, entry))
        return self.after(n, row, self.in_force(row).finish(n, row, longer))

    def _change(
        self, n: int, row: VoterRow, node: int, refused: Refusal, told: tuple[int, ...] = ()
    ) -> Outcome | None:
        if not is_running(row):
            return None
        if row.role != "Leader":
            return self.refuse(row, "NotLeader")
        if refused:
            return self.refuse(row, refused)
        return self.append_voters(n, row, self.rules.changed_voters(row, node), told, timed=True)

    def handle_add_voter(self, n: int, row: VoterRow, input: AddVoter) -> Outcome | None:
        return self._change(n, row, input.voter, self.rules.add_refused(row, input.voter))

    def handle_remove_voter(self, n: int, row: VoterRow, input: RemoveVoter) -> Outcome | None:
        return self._change(n, row, input.voter, self.rules.remove_refused(row, input.voter))

    def handle_voter_change_timeout(
        self, n: int, row: VoterRow, input: VoterChangeTimeout
    ) -> Outcome | None:
        """V19. The change is forgotten; its record may be committed yet."""
        if row.change == UNDEFINED:
            return None
        return self.refuse(replace(row, change=UNDEFINED), "")

    # --- What a follower asks its leader for by itself, in place of records: V17, V24.

    def leader_request(self, n: int, row: VoterRow) -> UpdateVoterRequest | AddVoterRequest:
        leader = row.leader
        if row.asks == "AddVoter":
            return AddVoterRequest(n, leader, n, row.moved)
        return UpdateVoterRequest(n, leader, row.epoch, row.moved)

    def ask(self, n: int, row: VoterRow, what: Asks) -> Outcome:
        """Whatever was in flight to the leader is given up for it."""
        connections = [*row.connections]
        connections[self.constants.nodes.index(row.leader)] = AWAITING
        asking = replace(row, connections=tuple(connections), asks=what)
        return Outcome(asking, (self.leader_request(n, asking),), "")

    def handle_update_voter_timeout(
        self, n: int, row: VoterRow, input: UpdateVoterTimeout
    ) -> Outcome | None:
        if row.role != "Follower" or not self.rules.updates_voter(n, row):
            return None
        return self.ask(n, row, "UpdateVoter")

    def handle_auto_join_timeout(
        self, n: int, row: VoterRow, input: AutoJoinTimeout
    ) -> Outcome | None:
        follows = self.constants.auto_join and row.role == "Follower"
        if not follows or not self.rules.joins_by_itself(n, row):
            return None
        return self.ask(n, row, "AddVoter")

    def answered(
        self, n: int, of: type[Any], m: Any, error: Error, outcome: Outcome | None
    ) -> Outcome | None:
        """The leader's answer, in the step that decides."""
        if outcome is None:
            return None
        after = outcome.row
        answer = of(n, m.source, error, after.epoch, after.leader, m)
        return Outcome(outcome.row, quorum.canonical((*outcome.sent, answer)), "")

    def handle_add_voter_request(self, n: int, row: VoterRow, m: AddVoterRequest) -> Outcome | None:
        """V15, V24. Answered when it is in the log (ackWhenCommitted = false)."""
        refused = self.rules.add_refused(row, m.voter)
        leads = row.role == "Leader"
        error: Any = (refused or "NONE") if leads else "NOT_LEADER_OR_FOLLOWER"
        told = (m.voter,) if m.moved else ()
        changed = self._change(n, row, m.voter, refused, told)
        return self.answered(n, AddVoterResponse, m, error, changed)

    def handle_update_voter_request(
        self, n: int, row: VoterRow, m: UpdateVoterRequest
    ) -> Outcome | None:
        """V17.

        Under kraft.version 0 the leader keeps what it hears; else it writes it, which is no change
        that anybody waits for.
        """
        asked = quorum.FetchRequest(m.source, m.destination, m.epoch, 0, 0)
        error: Any = self.in_force(row).rules.fetch_request_error(row, asked)
        if error == "NONE":
            error = self.rules.update_refused(row, m.source) or "NONE"
        done = self.refuse(row, "")
        if error == "NONE" and self.rules.kraft_version_of(row) == 0:
            others = [each for each in row.heard if each.node != m.source]
            known = sorted([*others, Heard(m.source, m.moved)], key=lambda each: each.node)
            done = self.refuse(replace(row, heard=tuple(known)), "")
        elif error == "NONE":
            told = (m.source,) if m.moved else ()
            done = self.append_voters(n, row, self.rules.voters_of(row), told)
        return self.answered(n, UpdateVoterResponse, m, error, done)

    def hear_of_leader(self, n: int, row: VoterRow, m: Any, updated: bool) -> Outcome | None:
        if not row.asks or m.request != self.leader_request(n, row):
            return self.refuse(row, "NotAwaited")
        under = self.in_force(row)
        in_flight = under.request_in_flight(n, row, m.source)
        heard = replace(row, asks="", has_updated_leader=row.has_updated_leader or updated)
        received = under.receive_response(
            n,
            heard,
            replace(m, request=in_flight),
            lambda answered: under.finish(n, heard, answered),
        )
        return self.after(n, heard, received)

    def handle_update_voter_response(
        self, n: int, row: VoterRow, m: UpdateVoterResponse
    ) -> Outcome | None:
        return self.hear_of_leader(n, row, m, m.error == "NONE")

    def handle_add_voter_response(
        self, n: int, row: VoterRow, m: AddVoterResponse
    ) -> Outcome | None:
        return self.hear_of_leader(n, row, m, False)

    # --- The upgrade of kraft.version: V23.

    def handle_upgrade_kraft_version(
        self, n: int, row: VoterRow, input: UpgradeKraftVersion
    ) -> Outcome | None:
        if not is_running(row):
            return None
        if row.role != "Leader":
            return self.refuse(row, "NotLeader")
        if refused := self.rules.upgrade_refused(n, row):
            return self.refuse(row, refused)
        told = [each.node for each in row.heard if each.moved]
        own = (n,) if row.moved else ()
        return self.append_voters(n, row, self.rules.voters_of(row), (*told, *own))

    # --- Crash and restart: what was read of the log is forgotten, and is read again.

    def handle_crash(self, n: int, row: VoterRow, input: quorum.Crash) -> Outcome | None:
        down = self.in_force(row).step(n, row, input)
        if down is None:
            return None
        assert isinstance(down.row, VoterRow), "made from one"
        forgets = replace(
            down.row,
            history=row.history[:1],
            history_end=0,
            caught_up=(),
            change=UNDEFINED,
            asks="",
            has_updated_leader=False,
            heard=(),
        )
        return Outcome(forgets, down.sent, down.ignored)

    def handle_restart(self, n: int, row: VoterRow, input: quorum.Restart) -> Outcome | None:
        read = self.rules.history_after_append(row, row)
        return self._taken(n, with_history(row, read), input)

    def handle_change_listeners(
        self, n: int, row: VoterRow, input: ChangeListeners
    ) -> Outcome | None:
        """V17. It will come back with other listeners."""
        may = self.constants.listeners_change and row.role == "Down"
        return self.refuse(replace(row, moved=True), "") if may and not row.moved else None

    def handle_replace_disk(self, n: int, row: VoterRow, input: ReplaceDisk) -> Outcome | None:
        """V10. It is a node of its own, which only observes; its voter is down as before."""
        if row.role != "Down":
            return None
        if not self.rules.may_return_empty(row):
            return self.refuse(row, "INVALID_VOTER_KEY")
        return self.refuse(initial_voter_row(self.constants, n), "")
