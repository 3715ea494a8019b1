"""Handle snapshots of the metadata log at a controller, or a broker that observes.

It is the twin of specs/quorum/snapshots/Snapshots.tla.

Law of this file: as that of reference/quorum/voters/handlers.py, whose handlers take every other
step. `log` is all that a node has: what its latest snapshot has, and the records after it. Which
part of it can still be read record by record is said by `log_start`.

Not modelled here: bytes and positions (a snapshot comes with one answer), partial files, batches
that a snapshot might cut, the bootstrap checkpoint (V12), retention (any prefix that a
snapshot covers may go), a start of the log that a restart moves back to its segment's (V3), what a
broker makes of the metadata (V26 to V28), and what reference/quorum/voters does not model.
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
from kraftcheck.reference.quorum.snapshots.messages import (
    INPUTS,
    MESSAGES,
    CleanSnapshots,
    CreateSnapshot,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Input,
)
from kraftcheck.reference.quorum.snapshots.rules import SnapshotRules, data_of
from kraftcheck.reference.quorum.snapshots.types import (
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
from kraftcheck.reference.quorum.types import AWAITING, Row, is_running
from kraftcheck.reference.quorum.voters.handlers import InForceHandlers, VoterHandlers
from kraftcheck.reference.quorum.voters.messages import ReplaceDisk
from kraftcheck.reference.quorum.voters.rules import VoterRules, sets_in
from kraftcheck.reference.quorum.voters.types import History, VotersAt, VotersLog


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
        if isinstance(input, MESSAGES) and not is_running(row):
            return None
        return self._handlers[type(input)](node, row, input)

    def under(self, row: SnapshotRow) -> InForceHandlers:
        """The quorum's handlers under the set that is in force at this row's node."""
        return self.voters.in_force(row)

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
        if not is_running(new):
            return NO_MACHINE
        machine, rules = old.machine, self.rules
        if rules.is_active(old) and not rules.is_active(new):
            machine = Machine(machine.next, machine.stable.records, machine.stable)
        if rules.begins_with_snapshot(new, machine.next):
            machine = self.from_snapshot(new.snapshots[-1])
        watermark = new.high_watermark
        if watermark <= machine.next:
            return machine
        return self.read_to(machine, new.log, watermark)

    def kept(self, row: SnapshotRow, outcome: Outcome | None) -> Outcome | None:
        """A download ends with its role."""
        if outcome is None:
            return None
        after = outcome.row
        if (after.role, after.epoch, after.leader) != ("Follower", row.epoch, row.leader):
            after = replace(after, download=NO_ID)
        if self.constants.state_machines:
            after = replace(after, machine=self.machine_after(row, after))
        sent = canonical([self.outgoing(after, m) for m in outcome.sent])
        return Outcome(after, sent, outcome.ignored)

    def finished(self, n: int, before: SnapshotRow, row: Row) -> Outcome | None:
        """A step of the quorum's that leads to this row."""
        outcome = self.under(before).finish(n, before, row)
        return self.kept(before, self.voters.after(n, before, outcome))

    def refuse(self, row: SnapshotRow, reason: str) -> Outcome:
        return Outcome(row, (), reason)

    def read_anew(self, row: SnapshotRow, log: VotersLog, end: int) -> History:
        """V11. The sets of what a node has whose latest snapshot ends there."""
        first = VotersAt(UNDEFINED, row.bootstrap)
        return self.rules.history_after_snapshot((first, *sets_in(log, 0)), end)

    def _taken(self, n: int, row: SnapshotRow, input: Any) -> Outcome | None:
        """A step that snapshots leave as it is."""
        return self.kept(row, self.voters.step(n, row, input))

    # --- Made, and cleaned: V2, V3.

    def handle_create_snapshot(
        self, n: int, row: SnapshotRow, input: CreateSnapshot
    ) -> Outcome | None:
        if not is_running(row) or not self.rules.snapshot_allowed(row, input.end):
            return None
        taken = self.rules.snapshot_taken(row, input.end)
        history = self.rules.history_after_snapshot(row.history, input.end)
        snapshots = tuple(sorted((*row.snapshots, taken), key=lambda s: s.end_offset))
        return self.refuse(replace(row, history=history, snapshots=snapshots), "")

    def handle_clean_snapshots(
        self, n: int, row: SnapshotRow, input: CleanSnapshots
    ) -> Outcome | None:
        if not is_running(row) or not self.rules.prefix_deletable(row, input.offset):
            return None
        kept = tuple([s for s in row.snapshots if s.end_offset >= input.offset])
        return self.refuse(replace(row, log_start=input.offset, snapshots=kept), "")

    # --- Fetched: V5, V6.

    def handle_fetch_request(self, n: int, row: SnapshotRow, m: FetchRequest) -> Outcome | None:
        """V5. Such an answer notes nothing of who fetched."""
        under = self.under(row)
        error = under.rules.fetch_request_error(row, m)
        if error != "NONE" or not self.rules.fetch_needs_snapshot(row, m):
            return self._taken(n, row, m)
        answer: Any = under.fetch_error_response(row, m, "NONE")
        latest = id_of(row.snapshots[-1])
        told = replace(answer, high_watermark=row.high_watermark, snapshot_id=latest)
        return Outcome(row, (told,), "")

    def handle_fetch_snapshot_request(
        self, n: int, row: SnapshotRow, m: FetchSnapshotRequest
    ) -> Outcome | None:
        """V6.

        A fetch of a snapshot shows the leader that its follower lives, and nothing of where it is.
        """
        under = self.under(row)
        asked = FetchRequest(m.source, m.destination, m.epoch, 0, 0)
        error: Any = under.rules.fetch_request_error(row, asked)
        if error == "NONE" and not self.rules.is_served(row, m.snapshot_id):
            error = "SNAPSHOT_NOT_FOUND"
        found = NO_SNAPSHOT
        if error == "NONE":
            found = next(s for s in row.snapshots if id_of(s) == m.snapshot_id)
            voter = m.source in self.voters.rules.voters_of(row)
            fetched = tuple(sorted({*row.fetched_voters, *((m.source,) if voter else ())}))
            round_over = under.rules.check_quorum_satisfied(fetched, n)
            row = replace(row, fetched_voters=() if round_over else fetched)
        answer = FetchSnapshotResponse(n, m.source, error, row.epoch, row.leader, found, request=m)
        return Outcome(row, (answer,), "")

    # --- Loaded: V7.

    def is_heard(self, row: SnapshotRow, m: FetchResponse | FetchSnapshotResponse) -> bool:
        """Say whether a response is the followed leader's, to the request that is in flight.

        All others are for the quorum to judge.
        """
        awaited = row.connections[self.constants.nodes.index(m.source)] == AWAITING
        follows = row.role == "Follower" and row.leader == m.source
        return follows and awaited and m.epoch == row.epoch

    def handle_fetch_response(self, n: int, row: SnapshotRow, m: FetchResponse) -> Outcome | None:
        """V5. The next request is for the snapshot."""
        under = self.under(row)
        if row.download != NO_ID:
            return self.refuse(row, "NotAwaited")
        asked = under.request_in_flight(n, row, m.source)
        if m.snapshot_id == NO_ID or m.request != asked or not self.is_heard(row, m):
            return self._taken(n, row, m)
        asks = replace(row, download=m.snapshot_id)
        follower = replace(under.answered(asks, m), has_fetched=True)
        return self.finished(n, asks, follower)

    def with_snapshot(self, row: SnapshotRow, snapshot: Snapshot) -> SnapshotRow:
        """V4, V7.

        The log is replaced by the snapshot, all that was made of the log is made anew, and what the
        snapshot has is committed.
        """
        log = self.rules.log_after_snapshot(row, snapshot)
        history = self.read_anew(row, log, snapshot.end_offset)
        return replace(
            row,
            log=log,
            flushed=len(log),
            epoch_cache=cache_of(log),
            history=history,
            history_end=len(log),
            log_start=snapshot.end_offset,
            snapshots=(snapshot,),
            download=NO_ID,
        )

    def load(self, n: int, answered: SnapshotRow, m: FetchSnapshotResponse) -> Outcome | None:
        loaded = self.with_snapshot(answered, m.snapshot)
        return self.finished(n, loaded, replace(loaded, high_watermark=m.snapshot.end_offset))

    def handle_fetch_snapshot_response(self, n: int, row: SnapshotRow, m: Any) -> Outcome | None:
        """m: a FetchSnapshotResponse, which the quorum's handlers take for a response of theirs."""
        under = self.under(row)
        if row.download == NO_ID:
            return self.refuse(row, "NotAwaited")
        asked: Any = under.request_in_flight(n, row, m.source)
        if m.request != self.fetch_snapshot_request(row, asked):
            return self.refuse(row, "NotAwaited")
        if not self.is_heard(row, m) or m.error not in ("NONE", "SNAPSHOT_NOT_FOUND"):
            judged: Any = under.fetch_error_response(row, asked, m.error)
            heard = replace(judged, source=m.source, destination=n, epoch=m.epoch, leader=m.leader)
            outcome = under.receive_response(
                n, row, heard, lambda after: under.finish(n, row, after)
            )
            return self.kept(row, self.voters.after(n, row, outcome))
        answered: Any = replace(under.answered(row, m), has_fetched=True)
        if m.error == "SNAPSHOT_NOT_FOUND":
            return self.finished(n, row, replace(answered, download=NO_ID))
        if self.rules.replaces_log(row, m.snapshot):
            return self.load(n, answered, m)
        return self.finished(n, row, under.halt(row))

    # --- Crash and restart: V4.

    def handle_crash(self, n: int, row: SnapshotRow, input: Crash) -> Outcome | None:
        outcome = self._taken(n, row, input)
        if outcome is None:
            return None
        history = self.read_anew(row, (), 0)
        return self.refuse(replace(outcome.row, history=history, download=NO_ID), "")

    def handle_restart(self, n: int, row: SnapshotRow, input: Restart) -> Outcome | None:
        if row.role != "Down":
            return None
        if not self.rules.may_start(row):
            return self.finished(n, row, self.under(row).halt(row))
        if row.snapshots and self.rules.snapshot_is_ahead(row, row.snapshots[-1]):
            return self._taken(n, self.with_snapshot(row, row.snapshots[-1]), input)
        end = row.snapshots[-1].end_offset if row.snapshots else 0
        history = self.read_anew(row, row.log, end)
        return self._taken(n, replace(row, history=history, history_end=len(row.log)), input)

    def handle_replace_disk(self, n: int, row: SnapshotRow, input: ReplaceDisk) -> Outcome | None:
        """V10. Snapshots go with the disk."""
        outcome = self.voters.step(n, row, input)
        if outcome is None or outcome.ignored:
            return outcome
        return self.refuse(initial_snapshot_row(self.constants), "")
