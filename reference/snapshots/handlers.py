"""Handle snapshots of the metadata log at a controller, or a broker that observes.

It is the twin of specs/snapshots/Snapshots.tla.

Law of this file: as that of reference/voters/handlers.py, whose handlers take every other step.
`quorum.log` is all that a node has: what its latest snapshot has, and the records after it. Which
part of it can still be read record by record is said by `log_start`.

Not modelled here: bytes and positions (a snapshot comes with one answer), partial files, batches
that a snapshot might cut, the bootstrap checkpoint (V12), retention (any prefix that a
snapshot covers may go), a start of the log that a restart moves back to its segment's (V3), what a
broker makes of the metadata (V26 to V28), and what reference/voters does not model.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.log import UNDEFINED, cache_of
from kraftcheck.reference.kit.messages import canonical
from kraftcheck.reference.kit.protocol import Outcome, Substitution, correct
from kraftcheck.reference.quorum.messages import Crash, FetchRequest, Restart
from kraftcheck.reference.quorum.types import AWAITING, Row, is_running
from kraftcheck.reference.snapshots.messages import (
    INPUTS,
    MESSAGES,
    CleanSnapshots,
    CreateSnapshot,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Input,
)
from kraftcheck.reference.snapshots.rules import SnapshotRules, data_of, log_of
from kraftcheck.reference.snapshots.types import (
    NO_ID,
    NO_MACHINE,
    NO_SNAPSHOT,
    Constants,
    Machine,
    Snapshot,
    SnapshotRow,
    Stable,
    id_of,
    initial_snapshot_row,
)
from kraftcheck.reference.voters.handlers import InForceHandlers, VoterHandlers
from kraftcheck.reference.voters.messages import ReplaceDisk
from kraftcheck.reference.voters.rules import VoterRules, sets_in
from kraftcheck.reference.voters.types import History, QuorumRow, VotersAt, VotersLog


class SnapshotHandlers:
    """The handlers, for one set of constants and one set of rules."""

    def __init__(
        self,
        constants: Constants,
        rules: SnapshotRules | None = None,
        of: Substitution = correct,
    ) -> None:
        self.constants = constants
        self.rules = SnapshotRules(constants) if rules is None else rules
        self.voters: VoterHandlers = of(VoterHandlers)(
            constants, of(VoterRules)(constants), of, partial(FetchResponse, snapshot_id=NO_ID)
        )
        self._handlers: dict[type, Callable[[int, SnapshotRow, Any], Outcome | None]] = handlers_of(
            self, INPUTS, otherwise=self._taken
        )

    def step(self, node: int, row: SnapshotRow, input: Input) -> Outcome | None:
        """One step of one node, or None where the input is disabled."""
        if isinstance(input, MESSAGES) and not is_running(row.voter.quorum):
            return None
        return self._handlers[type(input)](node, row, input)

    def under(self, row: SnapshotRow) -> InForceHandlers:
        """The quorum's handlers under the set that is in force at this row's node."""
        return self.voters.in_force(row.voter)

    # --- The end of every step.

    def fetch_snapshot_request(self, row: SnapshotRow, m: FetchRequest) -> FetchSnapshotRequest:
        return FetchSnapshotRequest(m.source, m.destination, m.epoch, row.download)

    def outgoing(self, row: SnapshotRow, m: Any) -> Any:
        """V5, V7.

        Who loads a snapshot asks for it where it would ask for records. Who asks for records that
        are gone is told of a snapshot instead.
        """
        if isinstance(m, FetchRequest) and row.download != NO_ID:
            return self.fetch_snapshot_request(row, m)
        if not isinstance(m, FetchResponse) or not m.records:
            return m
        if self.rules.fetch_needs_snapshot(row, m.request):
            return replace(m, records=(), snapshot_id=id_of(row.snapshots[-1]))
        return m

    def from_snapshot(self, snapshot: Snapshot) -> Machine:
        """V8."""
        records, end = data_of(snapshot.records), snapshot.end_offset
        return Machine(end, records, Stable(self.rules.stable_after_snapshot(end), records))

    def read_to(self, machine: Machine, log: VotersLog, end: int) -> Machine:
        """V29.

        Batches are read up to an end. It goes back to what it has after the last of them that has
        data, unless it goes back to more already.
        """
        records = machine.records + data_of(log[machine.next : end])
        ends = [i for i in range(machine.next + 1, end + 1) if data_of((log[i - 1],))]
        last = max(ends, default=0)
        goes_on = last > machine.stable.end_offset
        return Machine(end, records, Stable(last, records) if goes_on else machine.stable)

    def machine_after(self, old: SnapshotRow, new: SnapshotRow) -> Machine:
        """V29. Who is active no more goes back; then all that is committed is read."""
        if not is_running(new.voter.quorum):
            return NO_MACHINE
        machine, rules = old.machine, self.rules
        if rules.is_active(old) and not rules.is_active(new):
            machine = Machine(machine.next, machine.stable.records, machine.stable)
        if rules.begins_with_snapshot(new, machine.next):
            machine = self.from_snapshot(new.snapshots[-1])
        watermark = new.voter.quorum.high_watermark
        if watermark <= machine.next:
            return machine
        return self.read_to(machine, log_of(new), watermark)

    def kept(self, row: SnapshotRow, outcome: Outcome | None) -> Outcome | None:
        """A download ends with its role."""
        if outcome is None:
            return None
        before, quorum = row.voter.quorum, outcome.row.quorum
        now = (quorum.role, quorum.epoch, quorum.leader)
        follows = now == ("Follower", before.epoch, before.leader)
        after = replace(row, voter=outcome.row, download=row.download if follows else NO_ID)
        if self.constants.state_machines:
            after = replace(after, machine=self.machine_after(row, after))
        sent = canonical([self.outgoing(after, m) for m in outcome.sent])
        return Outcome(after, sent, outcome.ignored)

    def finished(self, n: int, row: SnapshotRow, quorum: Row) -> Outcome | None:
        """A step of the quorum's that leads to this row of it."""
        outcome = self.under(row).finish(n, row.voter.quorum, quorum)
        return self.kept(row, self.voters.after(n, row.voter, outcome))

    def refuse(self, row: SnapshotRow, reason: str) -> Outcome:
        return Outcome(row, (), reason)

    def read_anew(self, row: SnapshotRow, log: VotersLog, end: int) -> History:
        """V11. The sets of what a node has whose latest snapshot ends there."""
        first = VotersAt(UNDEFINED, row.bootstrap)
        return self.rules.history_after_snapshot((first, *sets_in(log, 0)), end)

    def _taken(self, n: int, row: SnapshotRow, input: Any) -> Outcome | None:
        """A step that snapshots leave as it is."""
        return self.kept(row, self.voters.step(n, row.voter, input))

    # --- Made, and cleaned: V2, V3.

    def handle_create_snapshot(
        self, n: int, row: SnapshotRow, input: CreateSnapshot
    ) -> Outcome | None:
        if not is_running(row.voter.quorum) or not self.rules.snapshot_allowed(row, input.end):
            return None
        taken = self.rules.snapshot_taken(row, input.end)
        history = self.rules.history_after_snapshot(row.voter.history, input.end)
        snapshots = tuple(sorted((*row.snapshots, taken), key=lambda s: s.end_offset))
        trimmed = replace(row.voter, history=history)
        return self.refuse(replace(row, voter=trimmed, snapshots=snapshots), "")

    def handle_clean_snapshots(
        self, n: int, row: SnapshotRow, input: CleanSnapshots
    ) -> Outcome | None:
        if not is_running(row.voter.quorum) or not self.rules.prefix_deletable(row, input.offset):
            return None
        kept = tuple([s for s in row.snapshots if s.end_offset >= input.offset])
        return self.refuse(replace(row, log_start=input.offset, snapshots=kept), "")

    # --- Fetched: V5, V6.

    def handle_fetch_request(self, n: int, row: SnapshotRow, m: FetchRequest) -> Outcome | None:
        """V5. Such an answer notes nothing of who fetched."""
        quorum, under = row.voter.quorum, self.under(row)
        error = under.rules.fetch_request_error(quorum, m)
        if error != "NONE" or not self.rules.fetch_needs_snapshot(row, m):
            return self._taken(n, row, m)
        answer: Any = under.fetch_error_response(quorum, m, "NONE")
        latest = id_of(row.snapshots[-1])
        told = replace(answer, high_watermark=quorum.high_watermark, snapshot_id=latest)
        return Outcome(row, (told,), "")

    def handle_fetch_snapshot_request(
        self, n: int, row: SnapshotRow, m: FetchSnapshotRequest
    ) -> Outcome | None:
        """V6.

        A fetch of a snapshot shows the leader that its follower lives, and nothing of where it is.
        """
        quorum, under = row.voter.quorum, self.under(row)
        asked = FetchRequest(m.source, m.destination, m.epoch, 0, 0)
        error: Any = under.rules.fetch_request_error(quorum, asked)
        if error == "NONE" and not self.rules.is_served(row, m.snapshot_id):
            error = "SNAPSHOT_NOT_FOUND"
        found = NO_SNAPSHOT
        if error == "NONE":
            found = next(s for s in row.snapshots if id_of(s) == m.snapshot_id)
            voter = m.source in self.voters.rules.voters_of(row.voter)
            fetched = tuple(sorted({*quorum.fetched_voters, *((m.source,) if voter else ())}))
            round_over = under.rules.check_quorum_satisfied(fetched, n)
            heard = replace(quorum, fetched_voters=() if round_over else fetched)
            row = replace(row, voter=replace(row.voter, quorum=heard))
        answer = FetchSnapshotResponse(
            n, m.source, error, quorum.epoch, quorum.leader, found, request=m
        )
        return Outcome(row, (answer,), "")

    # --- Loaded: V7.

    def is_heard(self, row: SnapshotRow, m: FetchResponse | FetchSnapshotResponse) -> bool:
        """Say whether a response is the followed leader's, to the request that is in flight.

        All others are for the quorum to judge.
        """
        quorum = row.voter.quorum
        awaited = quorum.connections[self.constants.nodes.index(m.source)] == AWAITING
        follows = quorum.role == "Follower" and quorum.leader == m.source
        return follows and awaited and m.epoch == quorum.epoch

    def handle_fetch_response(self, n: int, row: SnapshotRow, m: FetchResponse) -> Outcome | None:
        """V5. The next request is for the snapshot."""
        quorum, under = row.voter.quorum, self.under(row)
        if row.download != NO_ID:
            return self.refuse(row, "NotAwaited")
        asked = under.request_in_flight(n, quorum, m.source)
        if m.snapshot_id == NO_ID or m.request != asked or not self.is_heard(row, m):
            return self._taken(n, row, m)
        follower = replace(under.answered(quorum, m), has_fetched=True)
        return self.finished(n, replace(row, download=m.snapshot_id), follower)

    def with_snapshot(self, row: SnapshotRow, snapshot: Snapshot) -> SnapshotRow:
        """V4, V7.

        The log is replaced by the snapshot, all that was made of the log is made anew, and what the
        snapshot has is committed.
        """
        log = self.rules.log_after_snapshot(row, snapshot)
        quorum = replace(row.voter.quorum, log=log, flushed=len(log), epoch_cache=cache_of(log))
        history = self.read_anew(row, log, snapshot.end_offset)
        voter = replace(row.voter, quorum=quorum, history=history, history_end=len(log))
        return replace(
            row,
            voter=voter,
            log_start=snapshot.end_offset,
            snapshots=(snapshot,),
            download=NO_ID,
        )

    def load(
        self, n: int, row: SnapshotRow, m: FetchSnapshotResponse, answered: QuorumRow
    ) -> Outcome | None:
        known = replace(row, voter=replace(row.voter, quorum=answered))
        loaded = self.with_snapshot(known, m.snapshot)
        quorum = replace(loaded.voter.quorum, high_watermark=m.snapshot.end_offset)
        return self.finished(n, loaded, quorum)

    def handle_fetch_snapshot_response(self, n: int, row: SnapshotRow, m: Any) -> Outcome | None:
        """m: a FetchSnapshotResponse, which the quorum's handlers take for a response of theirs."""
        quorum, under = row.voter.quorum, self.under(row)
        if row.download == NO_ID:
            return self.refuse(row, "NotAwaited")
        asked: Any = under.request_in_flight(n, quorum, m.source)
        if m.request != self.fetch_snapshot_request(row, asked):
            return self.refuse(row, "NotAwaited")
        if not self.is_heard(row, m) or m.error not in ("NONE", "SNAPSHOT_NOT_FOUND"):
            judged: Any = under.fetch_error_response(quorum, asked, m.error)
            heard = replace(judged, source=m.source, destination=n, epoch=m.epoch, leader=m.leader)
            outcome = under.receive_response(
                n, quorum, heard, lambda after: under.finish(n, quorum, after)
            )
            return self.kept(row, self.voters.after(n, row.voter, outcome))
        answered: Any = replace(under.answered(quorum, m), has_fetched=True)
        if m.error == "SNAPSHOT_NOT_FOUND":
            return self.finished(n, replace(row, download=NO_ID), answered)
        if self.rules.replaces_log(row, m.snapshot):
            return self.load(n, row, m, answered)
        return self.finished(n, row, under.halt(quorum))

    # --- Crash and restart: V4.

    def handle_crash(self, n: int, row: SnapshotRow, input: Crash) -> Outcome | None:
        outcome = self._taken(n, row, input)
        if outcome is None:
            return None
        forgets = replace(outcome.row.voter, history=self.read_anew(row, (), 0))
        return Outcome(replace(outcome.row, voter=forgets, download=NO_ID))

    def handle_restart(self, n: int, row: SnapshotRow, input: Restart) -> Outcome | None:
        quorum = row.voter.quorum
        if quorum.role != "Down":
            return None
        if not self.rules.may_start(row):
            return self.finished(n, row, self.under(row).halt(quorum))
        if row.snapshots and self.rules.snapshot_is_ahead(row, row.snapshots[-1]):
            return self._taken(n, self.with_snapshot(row, row.snapshots[-1]), input)
        log = log_of(row)
        end = row.snapshots[-1].end_offset if row.snapshots else 0
        read = replace(row.voter, history=self.read_anew(row, log, end), history_end=len(log))
        return self._taken(n, replace(row, voter=read), input)

    def handle_replace_disk(self, n: int, row: SnapshotRow, input: ReplaceDisk) -> Outcome | None:
        """V10. Snapshots go with the disk."""
        outcome = self.voters.step(n, row.voter, input)
        if outcome is None or outcome.row == row.voter:
            return None if outcome is None else self.refuse(row, outcome.ignored)
        return self.refuse(initial_snapshot_row(self.constants), outcome.ignored)
