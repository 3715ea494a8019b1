"""What consumer groups promise, as named properties: the twin of GroupProperties.tla.

Law of this file: no rule is asked, or else replacing one would change the property with it. That an
answer is told only of what is committed (AnswerAfterCommit) is about messages: TLC asks it; here
EpochIsCommitted sees a part of it.

What is said of each record of any log is asked of the one that a step has made: those that were
there before were asked when they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, combinations, permutations
from typing import Any, Final, TypeAlias

import msgspec

from kraftcheck.reference.groups.messages import (
    COORDINATOR,
    LOADER,
    MIGRATION,
    OFFSETS,
    RELEASED_EPOCH,
    GroupRecord,
    MemberRecord,
)
from kraftcheck.reference.groups.types import (
    CommittedOffset,
    Constants,
    GroupCoordinator,
    GroupEntry,
    GroupLoader,
    GroupMember,
    GroupMigration,
    GroupOffsets,
    MigratedMember,
    MigratingClient,
    PendingOffset,
)
from kraftcheck.reference.kit.properties import of_state

RETENTION: Final = 2
Rows: TypeAlias = Mapping[int, Any]


OUTSIDE: Final = ("Unsubscribed", "Joining", "Fatal")
"""The states of a consumer that is no member, or has no epoch yet."""


class State(msgspec.Struct):
    """All rows, by what they are. Of protocols that extend this one, some may lack."""

    constants: Constants
    coordinator: GroupCoordinator
    members: Mapping[int, GroupMember]
    loader: GroupLoader
    offsets: GroupOffsets
    migration: GroupMigration

    def now(self, n: int) -> MemberRecord:
        """What the coordinator knows of a member."""
        at = self.constants.members.index(n)
        return now(self.coordinator).members[at]


def state_of(constants: Constants, rows: Rows) -> State:
    members = {n: rows[n] for n in constants.members}
    alone: tuple[Any, Any, Any] = (rows.get(LOADER), rows.get(OFFSETS), rows.get(MIGRATION))
    return State(constants, rows[COORDINATOR], members, *alone)


# --- Words


def now(row: GroupCoordinator) -> GroupRecord:
    return row.log.leader[-1] if row.log.leader else row.log.committed


def made(old: State, new: State) -> tuple[GroupRecord, ...]:
    """Give the record that a step has appended, if it has.

    If it was no step of the coordinator, the newest one. Each that a coordinator may find was
    appended at some time (log.py).
    """
    group = now(new.coordinator)
    is_there = old.coordinator is not new.coordinator and group is now(old.coordinator)
    return () if is_there else (group,)


def members_of(constants: Constants, group: GroupRecord) -> dict[int, MemberRecord]:
    return dict(zip(constants.members, group.members, strict=True))


def has(member: MemberRecord) -> set[int]:
    return {*member.assigned, *member.pending}


def is_current(state: State, n: int) -> bool:
    """Whether the coordinator takes the member for the one that it is.

    Of others nothing is promised: who was fenced may fetch on until it hears of it.
    """
    member, row = state.now(n), state.members[n]
    known = row.state not in OUTSIDE and member.state != "None"
    return known and row.epoch in (member.epoch, member.previous_epoch)


def _made_members(old: State, new: State) -> Iterator[tuple[GroupRecord, int, MemberRecord]]:
    for group in made(old, new):
        for n, member in zip(new.constants.members, group.members, strict=True):
            yield group, n, member


# --- Types


def group_type_inv(old: State, new: State) -> str | None:
    """Every field of a row has a value of its type.

    Misses: a value of the right type that is wrong in this state.
    """
    for _, n, member in _made_members(old, new) if new.members == old.members else ():
        if {*member.assigned} & {*member.pending}:
            return f"member {n} has to revoke what it is assigned"
        if (member.state == "Unrevoked") != (member.pending != ()):
            return f"member {n} is {member.state} and has to revoke {list(member.pending)}"
    for n, row in new.members.items():
        if row.busy and row.state != "Reconciling":
            return f"consumer {n} is busy and {row.state}"
        if row.state in OUTSIDE and (row.owned or row.current):
            return f"consumer {n} is {row.state} and has partitions"
        if row.state == "Stable" and not row.reconciled:
            return f"consumer {n} is Stable and not at its assignment"
    return None


def held_is_assigned(old: State, new: State) -> str | None:
    """The partitions that a group holds are those that its member records have.

    Misses: wrong member records.
    """
    for group in made(old, new):
        said = {p for member in group.members for p in has(member)}
        if {*group.held} != said:
            return f"in epoch {group.epoch} {list(group.held)} are held, and {sorted(said)} are"
    return None


# --- Safety: the coordinator


def server_single_owner(old: State, new: State) -> str | None:
    """No log that a coordinator may have gives one partition to two members.

    Misses: what members fetch (see SingleOwner).
    """
    for group in made(old, new):
        of = members_of(new.constants, group)
        for m, n in combinations(of, 2):
            if both := has(of[m]) & has(of[n]):
                return f"partition {min(both)} belongs to members {m} and {n}"
    return None


def epochs_bounded(old: State, new: State) -> str | None:
    """No member epoch exceeds the target epoch, and no target epoch exceeds the group epoch.

    Misses: an epoch that should have increased.
    """
    for group, n, member in _made_members(old, new):
        if group.target_epoch > group.epoch:
            return f"targets of epoch {group.target_epoch} in epoch {group.epoch}"
        if not member.previous_epoch <= member.epoch <= group.target_epoch:
            return f"member {n} is in epoch {member.epoch} after {member.previous_epoch}"
    return None


def assigned_is_subscribed(old: State, new: State) -> str | None:
    """A member has only partitions to which it subscribed.

    Misses: a partition that a member should have.
    """
    for _, n, member in _made_members(old, new):
        if wrong := {*member.assigned} - {*member.subscribed}:
            return f"member {n} is assigned {min(wrong)} and does not subscribe to it"
    return None


def target_is_whole(old: State, new: State) -> str | None:
    """A current target assigns every partition to which some member subscribes.

    Misses: a target that is never computed.
    """
    for group in made(old, new):
        if group.target_epoch == group.epoch:
            absent = {*new.constants.growing} - {*group.grown}
            wanted = {p for member in group.members for p in member.subscribed} - absent
            if wrong := wanted ^ {p for member in group.members for p in member.target}:
                return f"partition {min(wrong)} is wanted, or in the target, and not both"
    return None


def static_identity(old: State, new: State) -> str | None:
    """An instance id belongs to at most one member.

    Misses: the wrong member.
    """
    for group in made(old, new) if new.constants.static else ():
        of = members_of(new.constants, group)
        for each in new.constants.static:
            known = [n for n in each if of[n].state != "None"]
            if len(known) > 1:
                return f"members {known} have one instance id"
    return None


def assigned_is_target(old: State, new: State) -> str | None:
    """In the target's epoch a member has at most its target, and a stable member exactly its
    target.

    Misses: members in an earlier epoch, and whether they ever reach their target.
    """
    for group, n, member in _made_members(old, new):
        is_there = member.epoch == group.target_epoch == group.epoch
        if not is_there or member.state not in ("Stable", "Unreleased"):
            continue
        assigned, target = {*member.assigned}, {*member.target}
        if not assigned <= target or (member.state == "Stable" and assigned != target):
            return f"member {n} is {member.state} with {sorted(assigned)}, not {sorted(target)}"
    return None


# --- Safety: members


def single_owner(state: State) -> str | None:
    """No two members that the coordinator counts as members may fetch one partition.

    Misses: a fenced member that fetches until it learns of it.
    """
    current = [n for n in state.members if is_current(state, n)]
    for m, n in combinations(current, 2):
        if both := {*state.members[m].owned} & {*state.members[n].owned}:
            return f"members {m} and {n} both fetch partition {min(both)}"
    return None


def owned_is_held(state: State) -> str | None:
    """A member may fetch only partitions that its coordinator attributes to it.

    Misses: a fenced member, and a partition that nobody fetches.
    """
    for n, row in state.members.items():
        wrong = {*row.owned} - has(state.now(n))
        if wrong and is_current(state, n):
            return f"member {n} fetches partition {min(wrong)}, which is not its own"
    return None


def epoch_is_committed(state: State) -> str | None:
    """A member has no epoch that is not committed.

    Misses: an uncommitted assignment in a committed epoch.
    """
    committed = state.coordinator.log.committed.target_epoch
    ahead = [n for n, row in state.members.items() if row.epoch > committed]
    if ahead:
        return f"member {ahead[0]} knows of epoch {state.members[ahead[0]].epoch} > {committed}"
    return None


def ack_is_heard(state: State) -> str | None:
    """The coordinator does not wait for a revocation that the member has already reported.

    Misses: a member whose report is in flight.
    """
    for n, row in state.members.items():
        member = state.now(n)
        waited = member.state == "Unrevoked" and row.epoch == member.epoch
        has_said = row.state == "Stable" and not row.awaiting and not row.unsent
        if waited and has_said and row.target == member.assigned:
            return f"member {n} has revoked, and is waited for"
    return None


def nobody_gives_up(state: State) -> str | None:
    """A member gives up only if another member may have its instance id.

    Misses: a member that is always refused and retries for ever.
    """
    lost = [n for n, row in state.members.items() if row.state == "Fatal"]
    if not lost:
        return None
    shared = [n for each in state.constants.static if len(each) > 1 for n in each]
    alone = [n for n in lost if n not in shared]
    return f"member {alone[0]} was refused, and gives up" if alone else None


def kept_is_not_fetched(state: State) -> str | None:
    """A static member that left temporarily fetches nothing.

    Misses: other members that fetch its partitions (see SingleOwner).
    """
    for n in chain.from_iterable(state.constants.static):
        if state.now(n).epoch == RELEASED_EPOCH and state.members[n].owned:
            return f"member {n} has left for a while, and fetches"
    return None


# --- Safety: a broker with a replica (GroupReplayProperties.tla)


def coordinated(state: State) -> str | None:
    """When all elections and resignations are handled, a broker has a coordinator exactly if it
    leads.

    Misses: brokers with events that wait.
    """
    row = state.loader
    if row.events or row.leads == (row.state != "Inactive"):
        return None
    return f"in epoch {row.leader_epoch} its coordinator is {row.state}"


def load_succeeds(state: State) -> str | None:
    """No load fails.

    Misses: a load that ends in a wrong state (see ReplayEqual).
    """
    return f"a load failed at {state.loader.position}" if state.loader.state == "Failed" else None


def _last_entry(row: GroupLoader, kind: str, n: int) -> GroupEntry | None:
    own = [entry for entry in row.entries if (entry.kind, entry.member) == (kind, n)]
    return own[-1] if own and own[-1].exists else None


def replay_equal(state: State) -> str | None:
    """An active coordinator has exactly the state that the log implies, whatever was cleaned
    meanwhile.

    Misses: coordinators that are still loading, and a wrong log.
    """
    row = state.loader
    if not row.leads or row.events or row.state != "Active":
        return None
    for n, member in zip(state.constants.members, row.members, strict=True):
        if member.known != (_last_entry(row, "Member", n) is not None):
            return f"member {n} is {'' if member.known else 'not '}known"
        named, last = _last_entry(row, "Member", n), _last_entry(row, "Current", n)
        if named is not None and member.id != named.epoch:
            return f"member {n} has id {member.id}, not {named.epoch}"
        if member.known and (last is None or (member.epoch, member.assigned) != _of(last)):
            return f"member {n} has {list(member.assigned)} of epoch {member.epoch}"
    held = {(p, member.epoch) for member in row.members for p in member.assigned}
    if {(each.partition, each.epoch) for each in row.held} != held:
        return f"{[each.partition for each in row.held]} are held"
    return None


def _of(entry: GroupEntry) -> tuple[int, tuple[int, ...]]:
    return RELEASED_EPOCH if entry.away else entry.epoch, entry.assigned


# --- Offsets (GroupOffsetsProperties.tla)


def _committed(row: GroupOffsets) -> dict[int, CommittedOffset]:
    return {each.partition: each for each in row.committed}


def _current(row: GroupOffsets) -> dict[int, CommittedOffset]:
    """Of the topic that has the name now."""
    known = _committed(row)
    return {p: each for p, each in known.items() if each.anew or p not in row.renewed}


def commits_handed_out(state: State) -> str | None:
    """Every committed offset is at most the position up to which records were given to the
    application.

    Misses: partitions that the member does not have, and records that were given and not processed.
    """
    known = _current(state.offsets)
    for position in state.offsets.positions:
        each = known.get(position.partition)
        if each is not None and each.offset > position.handed_out:
            return f"{each.offset} of partition {each.partition}, up to {position.handed_out} only"
    return None


def given_up_is_committed(old: State, new: State) -> str | None:
    """Before a member gives a partition up, it has committed everything that the application
    received.

    Misses: a partition that is taken away without a revocation (a fenced member).
    """
    known = _committed(new.offsets)
    for position in old.offsets.positions:
        p = position.partition
        is_done = p in known and known[p].offset == position.handed_out
        if p in old.offsets.revoking and p not in new.offsets.taken and not is_done:
            return f"partition {p}, handed out to {position.handed_out}, is not committed"
    return None


def start_at_committed(old: State, new: State) -> str | None:
    """A member that takes a partition begins at the committed offset, or at 0 if there is none.

    Misses: a wrong commit, and the time between reading the offset and taking the partition.
    """
    before = {position.partition for position in old.offsets.positions}
    known = _current(old.offsets)
    for position in new.offsets.positions:
        p, each = position.partition, known.get(position.partition)
        begins = 0 if each is None else each.offset
        if p not in before and position.handed_out != begins:
            return f"partition {p} at {position.handed_out}, not {begins}"
    return None


def handover_no_regress(old: State, new: State) -> str | None:
    """A committed offset decreases only while the member has the partition.

    Misses: a member that has the partition and goes back.
    """
    known = _committed(new.offsets)
    for each in old.offsets.committed:
        later = known.get(each.partition)
        has_it = each.partition in old.offsets.taken
        if later is not None and later.offset < each.offset and not has_it:
            return f"partition {each.partition} goes back from {each.offset} to {later.offset}"
    return None


def _deleted_now(old: State, new: State) -> set[int]:
    return {*new.offsets.deleted} - {*old.offsets.deleted}


def nothing_of_deleted(old: State, new: State) -> str | None:
    """After the deletion of a topic no state remains that a new topic of the same name could
    inherit.

    Misses: later effects of the deletion.
    """
    row, deleted = new.offsets, _deleted_now(old, new)
    kept = {p: each for p, each in _current(old.offsets).items() if p in old.offsets.renewed}
    entries: list[Any] = [*row.committed, *row.requested, *row.positions] if deleted else []
    for each in (*entries, *row.pending):
        is_new = each.partition in old.offsets.renewed
        of_new = is_new and (not isinstance(each, CommittedOffset) or each.partition in kept)
        if each.partition in deleted and (isinstance(each, PendingOffset) or not of_new):
            return f"partition {each.partition} was deleted, and {each} is left"
    return None


def offsets_kept(old: State, new: State) -> str | None:
    """An offset disappears only with its topic, with its empty group, or by expiry.

    It expires if the group was empty for the retention time, nobody committed since, and no
    transaction has a pending offset for the partition.

    Misses: offsets that are kept too long.
    """
    row, left = old.offsets, _committed(new.offsets)
    pending = {each.partition for each in row.pending}
    for each in row.committed:
        p = each.partition
        if p in left or (p in _deleted_now(old, new) and not each.anew):
            continue
        old_enough = min(row.now - row.since, row.now - each.time) >= RETENTION
        is_right = _group_deleted_now(old, new) or (old_enough and p not in pending)
        if row.group != "Empty" or not is_right:
            sent = ", and another one is sent" if p in pending else ""
            return f"that of partition {p}, in a group that is {row.group}{sent}"
    return None


def _group_deleted_now(old: State, new: State) -> bool:
    return old.offsets.group != "Dead" and new.offsets.group == "Dead"


def pending_by_own_marker(old: State, new: State) -> str | None:
    """A pending offset is committed or dropped by the marker of its own producer and transaction,
    unless the transaction sends another offset or the topic or group is deleted. An offset that was
    committed later stays.

    Misses: a marker that never arrives.
    """
    row, known = old.offsets, _committed(new.offsets)
    kept = {(each.partition, each.transaction, each.producer) for each in new.offsets.pending}
    for each in {*row.pending} - {*new.offsets.pending}:
        whose = each.transaction, each.producer
        own = [marker for marker in row.markers if (marker.transaction, marker.producer) == whose]
        done = known.get(each.partition)
        is_committed = done is not None and done.offset == each.offset
        is_right = any(is_committed or each.overtaken or not marker.commits for marker in own)
        is_right = is_right or each.partition in _deleted_now(old, new)
        is_right = is_right or _group_deleted_now(old, new)
        if (each.partition, *whose) not in kept and not is_right:
            return f"{each.offset} of partition {each.partition}, transaction {each.transaction}"
    return None


# --- Members of both protocols (GroupMigrationProperties.tla)


def _recorded(state: State) -> dict[int, tuple[MigratedMember, MigratingClient]]:
    row = state.migration
    known = zip(state.constants.members, row.members, row.clients, strict=True)
    return {n: (member, client) for n, member, client in known if member.protocol != "None"}


def recorded_once(state: State) -> str | None:
    """The records of a group of the consumer protocol give no partition to two members.

    Misses: groups of the classic protocol, and what members fetch.
    """
    if state.migration.type != "Consumer":
        return None
    of = {n: {*each.assigned, *each.pending} for n, (each, _) in _recorded(state).items()}
    for m, n in combinations(of, 2):
        if both := of[m] & of[n]:
            return f"partition {min(both)} belongs to members {m} and {n}"
    return None


def one_owner_in_migration(state: State) -> str | None:
    """No two members that the group has not removed fetch one partition.

    Misses: a removed member that has not learned of its removal.
    """
    of = {n: {*client.owned} for n, (each, client) in _recorded(state).items() if not each.left}
    for m, n in combinations(of, 2):
        if both := of[m] & of[n]:
            return f"members {m} and {n} both fetch partition {min(both)}"
    return None


def no_orphan(state: State) -> str | None:
    """When all recorded members are present and have a response that nothing is new, every
    partition has an owner.

    Misses: a group whose members never reach this state.
    """
    known = _recorded(state)
    is_quiet = {*known} <= {*state.migration.told}
    if not known or not is_quiet or any(client.state == "Closed" for _, client in known.values()):
        return None
    owned = {p for _, client in known.values() for p in client.owned}
    left = {*state.constants.partitions} - owned
    return f"nobody has partition {min(left)}" if left else None


def generation_kept(old: State, new: State) -> str | None:
    """Epochs and generations never decrease.

    Misses: one that should have increased.
    """
    before, after = old.migration.epoch, new.migration.epoch
    return f"epoch {before} goes back to {after}" if after < before else None


# --- Properties of steps


def epochs_monotonic(old: State, new: State) -> str | None:
    """Committed epochs never decrease.

    A member's epoch decreases only if it was removed meanwhile or left temporarily.

    Misses: an epoch that should have increased.
    """
    before, after = old.coordinator.log.committed, new.coordinator.log.committed
    if after.epoch < before.epoch or after.target_epoch < before.target_epoch:
        return f"epoch {before.epoch} goes back to {after.epoch}"
    between = (*old.coordinator.log.leader, before)
    for at, (was, member) in enumerate(zip(before.members, after.members, strict=True)):
        removed = any(group.members[at].state == "None" for group in between)
        goes_back = RELEASED_EPOCH != member.epoch < was.epoch
        if member.state != "None" and goes_back and not removed:
            return f"a member goes back from epoch {was.epoch} to {member.epoch}"
    return None


def _is_move(old: State, new: State) -> bool:
    one, other = old.coordinator.log, new.coordinator.log
    return one.committed == other.committed and one.tails == other.tails


def _share_an_instance(state: State, m: int, n: int) -> bool:
    return any({m, n} <= {*each} for each in state.constants.static)


def withheld(old: State, new: State) -> str | None:
    """A member receives a partition only if no other member has it, except one that it replaces.

    A new coordinator assigns nothing when it takes over.

    Misses: what a new coordinator makes of uncommitted records, and a partition that is withheld
    for ever.
    """
    if _is_move(old, new):
        return None
    before = members_of(old.constants, now(old.coordinator))
    after = members_of(new.constants, now(new.coordinator))
    for n, m in permutations(before, 2):
        given = {*after[n].assigned} - {*before[n].assigned}
        taken = given & has(before[m])
        if taken and not (after[m].state == "None" and _share_an_instance(old, n, m)):
            return f"partition {min(taken)} of member {m} is given to member {n}"
    return None


def replaced_has_left(old: State, new: State) -> str | None:
    """A static member is replaced only after it has stopped fetching.

    (A removed member may fetch until it learns of its removal.)

    Misses: a member that is removed and not replaced.
    """
    if _is_move(old, new):
        return None
    for each in old.constants.static:
        known = [n for n in each if old.now(n).state != "None"]
        has_joined = any(old.now(n).state == "None" != new.now(n).state for n in each)
        fetching = [n for n in known if has_joined and old.members[n].owned]
        if fetching:
            return f"member {fetching[0]} is replaced, and fetches"
    return None


named: Final = of_state(state_of)

PROPERTIES: Final = (
    named("GroupTypeInv", group_type_inv, "coordinator", "members"),
    named("HeldIsAssigned", held_is_assigned, "coordinator"),
    named("ServerSingleOwner", server_single_owner, "coordinator"),
    named("EpochsBounded", epochs_bounded, "coordinator"),
    named("AssignedIsSubscribed", assigned_is_subscribed, "coordinator"),
    named("TargetIsWhole", target_is_whole, "coordinator"),
    named("StaticIdentity", static_identity, "coordinator"),
    named("AssignedIsTarget", assigned_is_target, "coordinator"),
    named("SingleOwner", single_owner, "coordinator", "members"),
    named("OwnedIsHeld", owned_is_held, "coordinator", "members"),
    named("EpochIsCommitted", epoch_is_committed, "coordinator", "members"),
    named("AckIsHeard", ack_is_heard, "coordinator", "members"),
    named("NobodyGivesUp", nobody_gives_up, "coordinator", "members"),
    named("KeptIsNotFetched", kept_is_not_fetched, "coordinator", "members"),
    named("Coordinated", coordinated, "loader"),
    named("LoadSucceeds", load_succeeds, "loader"),
    named("ReplayEqual", replay_equal, "loader"),
    named("CommitsHandedOut", commits_handed_out, "offsets"),
    named("GivenUpIsCommitted", given_up_is_committed, "offsets"),
    named("StartAtCommitted", start_at_committed, "offsets"),
    named("HandoverNoRegress", handover_no_regress, "offsets"),
    named("OffsetsKept", offsets_kept, "offsets"),
    named("NothingOfDeleted", nothing_of_deleted, "offsets"),
    named("PendingByOwnMarker", pending_by_own_marker, "offsets"),
    named("RecordedOnce", recorded_once, "migration"),
    named("OneOwnerInMigration", one_owner_in_migration, "migration"),
    named("NoOrphan", no_orphan, "migration"),
    named("GenerationKept", generation_kept, "migration"),
    named("EpochsMonotonic", epochs_monotonic, "coordinator"),
    named("Withheld", withheld, "coordinator"),
    named("ReplacedHasLeft", replaced_has_left, "coordinator"),
)
