"""What groups are asked on both sides."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.groups.messages import (
    ALL_FIELDS,
    COORDINATOR,
    LOADER,
    MIGRATION,
    OF_OTHERS,
    OFFSETS,
    OWN,
    RELEASED_EPOCH,
    GroupHeartbeat,
    GroupHeartbeatResponse,
    LeaderChange,
    MemberRecord,
    MemberState,
    TransactionMarker,
)
from kraftcheck.reference.groups.types import (
    INITIAL_MEMBER,
    CommittedOffset,
    FetchPosition,
    GroupMember,
    MigratedMember,
    PendingOffset,
    RequestedCommit,
)
from kraftcheck.traces.steps.translation import Abstraction
from tests.conformance.judged_states import Plain, Variables
from tests.reference.groups.plants import (
    GROUP,
    KEPT,
    LOADED,
    MIGRATED,
    PLANTED,
    THREE,
    coordinator,
    with_member,
)
from tests.reference.plain import Rows
from tla_utils import function


def variables(rows: Rows) -> Variables:
    """The variables of the spec in this state."""
    form = Abstraction(THREE).row
    return {
        "coordinator": form(rows[COORDINATOR]),
        "clients": function((n, form(rows[n])) for n in THREE.members),
        "network": frozenset(),
        "loader": form(rows[LOADER]),
        "offsets": form(rows[OFFSETS]),
        "migration": form(rows[MIGRATION]),
    }


SETS = ((), (1,), (2,), (1, 2))


def member_records() -> Iterator[MemberRecord]:
    states: tuple[MemberState, ...] = ("Stable", "Unrevoked")
    for state, epoch, assigned, pending in itertools.product(states, (2, 3), SETS, SETS):
        yield MemberRecord(state, epoch, epoch - 1, (1, 2), (), assigned, pending)


def heartbeats() -> Iterator[GroupHeartbeat]:
    for epoch, given, owned in itertools.product((0, 1, 2, 3), ((), ("Owned",), ALL_FIELDS), SETS):
        if "Owned" in given or not owned:
            yield GroupHeartbeat(1, 0, 1, epoch, given, (), owned)


def clients() -> Iterator[GroupMember]:
    for current, target, awaiting in itertools.product(SETS, SETS, (False, True)):
        yield replace(
            INITIAL_MEMBER,
            current=current,
            target=target,
            reconciling=target[:1],
            owned=current,
            awaiting=awaiting,
            correlation=2,
        )
    # Its target has changed since it began to take what it takes.
    yield replace(INITIAL_MEMBER, current=(1,), target=(1,), reconciling=(2,), correlation=2)


def questions() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """(rule, arguments)."""
    response = GroupHeartbeatResponse(0, 1, 2, "NONE", 2, True, (1,))
    row = coordinator(GROUP)
    waiting = replace(row, log=replace(row.log, leader=(GROUP,)), waiting=(response,))
    for node in (row, waiting):
        yield from (("WaitsForWritten", (node,)), ("WaitingAfterMove", (node.waiting,)))
    yield from (("OwnedAfterFence", (owned,)) for owned in SETS)
    yield from (("UnsentAfterFailure", (unsent,)) for unsent in ((), ("Owned",), ALL_FIELDS))
    for owner in ({}, {1: 1}, {1: 1, 2: 1}, {1: 1, 2: 2}):
        for known in (GROUP, with_member(2, subscribed=())):
            yield "IsTarget", (known, owner)
    yield from (("BumpedEpoch", (epoch,)) for epoch in (1, 4))
    beats, records = [*heartbeats()], [*member_records()]
    for member in records:
        for rule in ("AcceptsPreviousEpoch", "MemberEpochError"):
            yield from ((rule, (member, m)) for m in beats)
        for retargeted in (False, True):
            yield from (("RevocationBlocks", (member, m, retargeted)) for m in beats)
        for rule in ("IsRevocationLate", "JoinError", "KeptForAWhile"):
            yield rule, (member,)
        for epoch in (RELEASED_EPOCH, member.epoch):
            holder = replace(member, epoch=epoch)
            yield from (("InstanceError", (holder, m)) for m in beats[::5])
        yield from (("IsFree", (replace(GROUP, held=h), member, 1)) for h in SETS)
        yield from (("HeldAfter", (h, member, after)) for h in SETS for after in records[::7])
        yield from (
            ("TellsAssignment", (m, member, after)) for m in beats[::3] for after in records[::9]
        )
        other = replace(member, subscribed=(1,))
        yield from (("ChangesSubscription", (member, each)) for each in (member, other))
    yield from (("EpochOfLeaving", (n,)) for n in THREE.members)
    yield from (("SharesInstance", each) for each in itertools.permutations(THREE.members, 2))
    yield from (("ChangesMetadata", (with_member(1, subscribed=(1,)), p)) for p in (1, 2, 3))
    yield from (("HasRevoked", (some, m)) for some in SETS[1:] for m in beats)
    for epoch in (2, 3, 4):
        yield "NeedsTarget", (replace(GROUP, epoch=epoch),)
    for epoch in (0, 1, 2):
        yield "IsOutdatedEvent", (LOADED, LeaderChange(True, epoch))
    numbers = list(itertools.product((RELEASED_EPOCH, -1, 0, 1, 2), repeat=2))
    yield from ((rule, pair) for rule in ("IsLoaded", "MayTake") for pair in numbers)
    epochs = (RELEASED_EPOCH, 0, 1)
    yield from (("LetsGo", each) for each in itertools.product(epochs, (False, True)))
    bare = ("IgnoresOrphan", "RecordsReplacement", "KeepsChanged", "ForgetsWhenLoaded")
    yield from ((rule, ()) for rule in bare)
    for epoch in (1, 2):
        yield "StampedEpoch", (replace(KEPT, epoch=2), RequestedCommit(1, 1, epoch))
    for fetched, handed_out in ((2, 1), (3, 3)):
        yield "Committable", (FetchPosition(1, fetched, handed_out),)
    for group, revoking, asked in itertools.product(("Empty", "Rebalancing", "Stable"), SETS, SETS):
        kept = replace(KEPT, group=group, revoking=revoking, asked=asked)
        yield "MayExpire", (kept,)
        yield from (("MayHandOut", (kept, p)) for p in (1, 2))
        yield from (("ToReset", (kept, rest)) for rest in SETS)
        yield from (("ExpiryBase", (kept, CommittedOffset(1, 1, time))) for time in (0, 1, 2))
        marked = replace(kept, markers=(TransactionMarker(1, commits=True),))
        sent = replace(kept, pending=(PendingOffset(1, 1, 1),))
        for rule in ("PendingAfterTombstone", "IsSpared"):
            yield from ((rule, (each, p)) for each in (kept, sent) for p in (1, 2))
        yield "MayDeleteGroup", (kept,)
        yield from (("IsMarkerAnswered", (each,)) for each in (kept, marked))
        yield from (("IsStableOffset", (each, p)) for each in (kept, sent) for p in (1, 2))
    yield from beside()
    yield from migrations()
    for client in clients():
        yield "Report", (client,)
        yield from (("IsAwaited", (client, replace(response, correlation=c))) for c in (1, 2))


def beside() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """What comes of transactions of two producers, and of topics that are made anew."""
    pending = tuple(PendingOffset(p, 1, 1, producer=p) for p in (OWN, OF_OTHERS))
    for producer in (OWN, OF_OTHERS):
        marker = TransactionMarker(1, commits=True, producer=producer)
        yield "OfMarker", (replace(KEPT, pending=pending), marker)
        yield "IsMarkerAnswered", (replace(KEPT, markers=(marker,)),)
    for flag in (False, True):
        yield "IsNewest", (replace(pending[0], overtaken=flag),)
        offset = CommittedOffset(1, 1, 1, anew=flag)
        yield "GoesWithTopic", (offset,)
        yield from (("IsOfTopic", (replace(KEPT, renewed=some), offset)) for some in SETS)
    for epoch in (1, 2):
        request = RequestedCommit(1, 1, epoch, sends=True)
        yield "AcceptsTxnOffsets", (replace(KEPT, epoch=2), request)


def migrations() -> Iterator[tuple[str, tuple[Any, ...]]]:
    for epoch, target, assigned, pending in itertools.product((1, 2), SETS, SETS, SETS):
        member = MigratedMember("Classic", epoch, target, assigned, pending, (), left=False)
        yield from ((rule, (member,)) for rule in ("AssignmentAfterDowngrade", "KeptForAWhile"))
        yield "PendingAfterUpgrade", (replace(member, pending=(), owned=pending),)
        for held, behind in itertools.product(SETS, (1, 2)):
            yield "TellsToJoin", (replace(MIGRATED, target_epoch=behind), member, held)
    for policy in ("Bidirectional", "Upgrade"):
        row = replace(MIGRATED, policy=policy)
        yield from ((rule, (row,)) for rule in ("MigratesBack", "DowngradedGeneration"))


PLAIN: Final = Plain(
    PLANTED,
    "GroupPromises",
    (
        "EpochsMonotonic",
        "Withheld",
        "ReplacedHasLeft",
        "GivenUpIsCommitted",
        "StartAtCommitted",
        "OffsetsKept",
        "NothingOfDeleted",
        "HandoverNoRegress",
        "PendingByOwnMarker",
        "GenerationKept",
    ),
    variables,
    questions,
    (THREE, replace(THREE, static=())),
    ("Z91", {"RevocationBlocks"}),
)
