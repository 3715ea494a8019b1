"""A broker that hosts a replica: the twin of Hosting.tla.

Law of this file: a handler sees the broker's row and one input, and answers with the one outcome
that the spec allows, or with None where the spec allows none (the input is disabled). Every
decision is asked of `rules`.

The row has the committed metadata as well, `image`, as far as this broker is concerned; the
controller is inputs that change it. What the broker tells of its directories is accepted at once,
where the topic and the assignment are those that it knows.

Left out: epochs of brokers, fetches and records (a log has all that was acknowledged or not), a
clean stop, and a future log that a start finds without the replica's log.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.log import UNDEFINED
from kraftcheck.reference.kit.protocol import Outcome
from kraftcheck.reference.partition.hosting.messages import (
    INPUTS,
    Acknowledge,
    ApplyRecords,
    AssignmentChanged,
    CancelMove,
    FutureCaughtUp,
    HostCrash,
    HostRestart,
    Input,
    IsrChanged,
    JoinIsr,
    LeaderChanged,
    LoadSnapshot,
    LogDirFailure,
    MoveReplica,
    PromoteFuture,
    Propose,
    ReportDirectory,
    TopicCreated,
    TopicDeleted,
    TransactionAborted,
)
from kraftcheck.reference.partition.hosting.rules import HostingRules
from kraftcheck.reference.partition.hosting.types import (
    NO_IMAGE,
    NO_REPLICA,
    UNASSIGNED,
    Constants,
    HostRow,
    Image,
    Log,
    Replica,
)


def newer(image: Image, leader: bool = False, **fields: Any) -> Image:
    """The image after a change of the partition; leader: of its leader as well."""
    epochs = {
        "partition_epoch": image.partition_epoch + 1,
        "leader_epoch": image.leader_epoch + leader,
    }
    return replace(image, **{**epochs, **fields})


def out_of_isr(image: Image) -> Image:
    """The controller takes the broker out of the ISR, and has another one lead."""
    if not image.in_isr:
        return image
    return newer(image, image.leads, leads=False, in_isr=False)


def without_lead(image: Image) -> Image:
    """The broker stays in the ISR as its last member, and does not lead any more (C10)."""
    return newer(image, True, leads=False) if image.leads else image


def moved(image: Image) -> Image:
    """The broker becomes a replica, or stops being one: leaving raises the leader epoch (R3)."""
    return newer(
        image,
        image.assigned,
        assigned=not image.assigned,
        directory=UNASSIGNED,
        leads=False,
        in_isr=False,
    )


def without_log(logs: tuple[Log, ...], directory: int) -> tuple[Log, ...]:
    return tuple([log for log in logs if log.directory != directory])


def with_log(logs: tuple[Log, ...], log: Log) -> tuple[Log, ...]:
    return tuple(sorted((*without_log(logs, log.directory), log)))


def note_directory(row: HostRow, directory: int) -> HostRow:
    """The controller hears where the replica is, if it is still the one that it knows."""
    image = row.image
    known = image.assigned and image.topic_id == row.replica.topic_id
    if not known or image.directory == directory:
        return row
    return replace(row, image=newer(image, directory=directory))


def without_future(row: HostRow) -> HostRow:
    return replace(row, future=UNASSIGNED, future_caught_up=False, future_assigned=False)


def is_hosted(row: HostRow) -> bool:
    """Whether the replica serves, and the metadata mean it."""
    replica = row.replica
    return row.running and replica.state == "Online" and replica.topic_id == row.image.topic_id


class HostingHandlers:
    """The handlers, for one set of constants and one set of rules."""

    def __init__(self, constants: Constants, rules: HostingRules | None = None) -> None:
        self.constants = constants
        self.rules = HostingRules(constants) if rules is None else rules
        self._handlers: dict[type, Callable[[HostRow, Any], HostRow | None]] = handlers_of(
            self, INPUTS
        )

    def step(self, row: HostRow, input: Input) -> Outcome | None:
        """One step of the broker or of its metadata, or None where the input is disabled."""
        after = self._handlers[type(input)](row, input)
        return None if after is None else Outcome(after)

    # --- What the controller commits.

    def handle_topic_created(self, row: HostRow, input: TopicCreated) -> HostRow | None:
        if row.image.topic_id:
            return None
        id, active = row.topics_made + 1, input.assigned and row.running and row.published
        image = Image(id, input.assigned, UNASSIGNED, active, active, 0, 0)
        return replace(row, image=image, topics_made=id, acknowledged=False)

    def handle_topic_deleted(self, row: HostRow, input: TopicDeleted) -> HostRow | None:
        if not row.image.topic_id:
            return None
        return replace(row, image=NO_IMAGE, acknowledged=False, aborted=UNDEFINED)

    def handle_assignment_changed(self, row: HostRow, input: AssignmentChanged) -> HostRow | None:
        return replace(row, image=moved(row.image)) if row.image.topic_id else None

    def handle_transaction_aborted(self, row: HostRow, input: TransactionAborted) -> HostRow | None:
        """V28. The metadata are what they were."""
        if not row.image.topic_id or row.aborted != UNDEFINED:
            return None
        return replace(row, aborted=row.image.partition_epoch)

    def handle_leader_changed(self, row: HostRow, input: LeaderChanged) -> HostRow | None:
        image = row.image
        if not image.in_isr:
            return None
        return replace(row, image=newer(image, True, leads=not image.leads))

    def handle_isr_changed(self, row: HostRow, input: IsrChanged) -> HostRow | None:
        return replace(row, image=newer(row.image)) if row.image.assigned else None

    def handle_join_isr(self, row: HostRow, input: JoinIsr) -> HostRow | None:
        if row.image.in_isr or row.applied != row.image or not is_hosted(row):
            return None
        log = Log(row.replica.directory, row.replica.topic_id, True)
        image = newer(row.image, in_isr=True)
        level = row.future_caught_up and log in row.logs
        return replace(row, image=image, logs=with_log(row.logs, log), future_caught_up=level)

    def handle_acknowledge(self, row: HostRow, input: Acknowledge) -> HostRow | None:
        """Only a replica that serves, in the ISR, has them."""
        image = row.image
        if not image.topic_id or (image.in_isr and not is_hosted(row)):
            return None
        has = row.replica.directory if image.in_isr else UNASSIGNED
        logs = [log if log.directory == has else replace(log, complete=False) for log in row.logs]
        level = row.future_caught_up and not image.in_isr
        return replace(row, acknowledged=True, logs=tuple(logs), future_caught_up=level)

    # --- What the broker applies.

    def handle_apply_records(self, row: HostRow, input: ApplyRecords) -> HostRow | None:
        new = row.applied != row.image or row.aborted != UNDEFINED
        return self.read(row, False) if row.running and (new or not row.published) else None

    def handle_load_snapshot(self, row: HostRow, input: LoadSnapshot) -> HostRow | None:
        return self.read(row, True) if row.running else None

    def read(self, row: HostRow, by_snapshot: bool) -> HostRow:
        """V28. If what was aborted is applied, what the broker would tell of it is refused."""
        if not self.rules.reads_aborted(row, by_snapshot):
            return replace(self.applied(row, by_snapshot), aborted=UNDEFINED)
        after = self.applied(replace(row, image=moved(row.image)), by_snapshot)
        return replace(after, image=row.image, aborted=UNDEFINED)

    def applied(self, row: HostRow, by_snapshot: bool) -> HostRow:
        """Deletions come before creations (R13)."""
        rules, image = self.rules, row.image
        read = replace(row, applied=image, published=True)
        if not row.published:
            kept = [
                log
                for log in row.logs
                if log.directory not in row.online or not rules.is_stray(log, image)
            ]
            read = replace(read, logs=tuple(kept))
            if not any(log.directory in row.online for log in kept):
                read = without_future(read)
        if row.replica.state != "None" and (
            rules.is_of_deleted_topic(row, by_snapshot) or rules.has_left(row, by_snapshot)
        ):
            read = self.removed(read)
        if not image.assigned:
            return read
        if read.replica.state == "Online":
            return self.updated(read, by_snapshot)
        return self.created(read)

    def removed(self, row: HostRow) -> HostRow:
        """The log goes with the replica, if it can be reached."""
        at = row.replica.directory
        if row.replica.state == "Offline":
            if not self.rules.forgets_offline(row):
                return row
            return without_future(replace(row, replica=NO_REPLICA))
        logs = without_log(row.logs, at)
        return without_future(replace(row, replica=NO_REPLICA, logs=logs))

    def updated(self, row: HostRow, by_snapshot: bool) -> HostRow:
        """R6. A replica of another topic is not touched."""
        image, replica = row.image, row.replica
        if replica.topic_id != image.topic_id:
            return row
        follows = replace(
            replica,
            leads=image.leads,
            leader_epoch=image.leader_epoch,
            partition_epoch=image.partition_epoch,
            pending=replica.pending
            and image.leads
            and not self.rules.clears_pending(row, by_snapshot),
        )
        kept = row.future_assigned and image.directory == row.future
        row = replace(row, replica=follows, future_assigned=kept)
        return row if kept else note_directory(row, replica.directory)

    def hosting(self, row: HostRow, topic_id: int, directory: int, online: bool) -> HostRow:
        image = row.image
        replica = Replica(
            "Online" if online else "Offline",
            topic_id,
            directory,
            image.leads,
            image.leader_epoch,
            image.partition_epoch,
            False,
        )
        return replace(row, replica=replica)

    def created(self, row: HostRow) -> HostRow:
        """R20.

        The log that is there is taken, or one is made. Of two the one is taken where the controller
        believes the replica, and the other goes. A future log takes its place, or the move goes on
        (R21).
        """
        rules, image, old = self.rules, row.image, row.replica
        found = [log for log in row.logs if log.directory in row.online]
        if found and old.state == "None":
            log = next((each for each in found if each.directory == image.directory), found[0])
            if row.future and rules.recovers_future(row):
                log = Log(row.future, log.topic_id, log.complete and row.future_caught_up)
            others = [each for each in row.logs if each not in found]
            if row.future == log.directory:
                row = without_future(row)
            taken = replace(row, logs=tuple(sorted((*others, log))))
            return note_directory(
                self.hosting(taken, log.topic_id, log.directory, True), log.directory
            )
        if not rules.may_create(row):
            stays = old.state == "Offline" and old.topic_id == image.topic_id
            return row if stays else self.hosting(row, image.topic_id, image.directory, False)
        at = image.directory if image.directory in row.online else row.online[0]
        made = replace(row, logs=with_log(row.logs, Log(at, image.topic_id, not row.acknowledged)))
        return note_directory(self.hosting(made, image.topic_id, at, True), at)

    # --- Directories: R18, R19, R21.

    def handle_log_dir_failure(self, row: HostRow, input: LogDirFailure) -> HostRow | None:
        """A broker whose last directory fails stops."""
        failed = input.directory
        if not row.running or failed not in row.online or len(row.online) == 1:
            return None
        if self.constants.sole:
            return None
        left = tuple([each for each in row.online if each != failed])
        at, replica = row.replica.directory, row.replica
        if replica.state == "Online" and at == failed:
            offline = replace(replica, state="Offline", pending=False)
            row = self.without_move(replace(row, replica=offline))
        elif row.future == failed:
            row = self.without_move(row)
        return replace(row, online=left)

    def without_move(self, row: HostRow) -> HostRow:
        """The replica stays where it is; the controller hears of it if it believes otherwise."""
        back = self.rules.takes_back_assignment(row)
        after = without_future(row)
        return note_directory(after, row.replica.directory) if back else after

    def handle_report_directory(self, row: HostRow, input: ReportDirectory) -> HostRow | None:
        failed = input.directory
        if not row.running or failed in (*row.online, *row.reported):
            return None
        believed = row.image.assigned and row.image.directory == failed
        image = out_of_isr(row.image) if believed else row.image
        return replace(row, image=image, reported=tuple(sorted((*row.reported, failed))))

    def handle_move_replica(self, row: HostRow, input: MoveReplica) -> HostRow | None:
        elsewhere = input.directory in row.online and input.directory != row.replica.directory
        if not is_hosted(row) or row.future or not elsewhere:
            return None
        return replace(row, future=input.directory)

    def handle_future_caught_up(self, row: HostRow, input: FutureCaughtUp) -> HostRow | None:
        if not row.future or not is_hosted(row) or not row.image.assigned:
            return None
        return note_directory(replace(row, future_caught_up=True, future_assigned=True), row.future)

    def handle_promote_future(self, row: HostRow, input: PromoteFuture) -> HostRow | None:
        if not self.rules.promotes_future(row):
            return None
        replica, to = row.replica, row.future
        old = next(log for log in row.logs if log.directory == replica.directory)
        new = replace(old, directory=to, complete=old.complete and row.future_caught_up)
        logs = with_log(without_log(row.logs, replica.directory), new)
        return without_future(replace(row, replica=replace(replica, directory=to), logs=logs))

    def handle_cancel_move(self, row: HostRow, input: CancelMove) -> HostRow | None:
        return self.without_move(row) if row.running and row.future else None

    # --- The process.

    def handle_propose(self, row: HostRow, input: Propose) -> HostRow | None:
        replica = row.replica
        if not is_hosted(row) or not replica.leads or replica.pending:
            return None
        return replace(row, replica=replace(replica, pending=True))

    def handle_host_crash(self, row: HostRow, input: HostCrash) -> HostRow | None:
        if not row.running:
            return None
        return replace(
            row,
            running=False,
            published=False,
            applied=NO_IMAGE,
            replica=NO_REPLICA,
            future_assigned=False,
        )

    def handle_host_restart(self, row: HostRow, input: HostRestart) -> HostRow | None:
        if row.running or not input.directories:
            return None
        all = self.constants.directories
        failed = tuple([each for each in all if each not in input.directories])
        if failed and self.constants.sole:
            return None
        reached = [log for log in row.logs if log.directory in input.directories]
        if row.future not in input.directories or not reached:
            row = without_future(row)
        return replace(
            row,
            running=True,
            image=(without_lead if self.constants.sole else out_of_isr)(row.image),
            online=input.directories,
            reported=failed,
        )
