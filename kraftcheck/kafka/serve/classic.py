"""A group of the classic protocol: members join, one of them assigns, all are told (G37 to G42).

Kafka's ClassicGroup and GroupMetadataManager. Members choose among the protocols that all of them
have; the coordinator understands neither metadata nor assignments. What is durable is one record a
generation: members that are in a rebalance join again when another coordinator takes over.

No spec stands behind this file: the reference's coordinator of this protocol
(reference/groups/classic) knows neither static members nor several protocols.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, Protocol, TypeAlias

import msgspec

from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.codec import Message
from kraftcheck.kafka.serve.logs import Promise

GroupState: TypeAlias = Literal["Empty", "PreparingRebalance", "CompletingRebalance", "Stable"]
SESSION_MS: Final = (500, 1_800_000)
"""What a session timeout may be. Kafka's least is 6,000 unless it is told otherwise, as those for
tests are.
"""


class KnownMember(msgspec.Struct, frozen=True):
    """A member as the record has it."""

    id: str
    instance: str | None
    client: str
    session_ms: int
    rebalance_ms: int
    metadata: bytes
    assignment: bytes


class ClassicRecord(msgspec.Struct, frozen=True):
    """What is durable of a group."""

    group: str
    generation: int
    protocol_type: str
    protocol: str
    leader: str
    members: tuple[KnownMember, ...]


class Runtime(Protocol):
    """The coordinator that has the group."""

    def write(self, record: Any, told: Callable[[str], None]) -> None:
        """`told` hears the error when it is replicated, or is not."""
        ...

    def after(self, real_ms: int, what: Callable[[], None]) -> None:
        """Unless another coordinator has taken over by then."""
        ...

    def new_id(self, client: str) -> str: ...
    def fail(self) -> None:
        """What is in memory is not what the log says."""
        ...


class Member:
    def __init__(self, id: str, instance: str | None, client: str) -> None:
        self.id = id
        self.instance = instance
        self.client = client
        self.session_ms = self.rebalance_ms = 0
        self.protocols: dict[str, bytes] = {}
        self.assignment = b""
        self.joining: Promise | None = None
        self.syncing: Promise | None = None
        self.heard = 0
        """How often it was heard of: a timer of an earlier time is none."""

    def hear(self, body: Message) -> None:
        self.session_ms = body["session_timeout_ms"]
        asked = body.get("rebalance_timeout_ms", -1)
        self.rebalance_ms = self.session_ms if asked < 0 else asked
        self.protocols = {each["name"]: each["metadata"] for each in body["protocols"]}

    def known(self, protocol: str) -> KnownMember:
        return KnownMember(
            self.id,
            self.instance,
            self.client,
            self.session_ms,
            self.rebalance_ms,
            self.protocols.get(protocol, b""),
            self.assignment,
        )


class ClassicGroup:
    """A group. Requests are promised an answer, which comes now or later."""

    kind: Final = "classic"

    def __init__(self, id: str, runtime: Runtime, record: ClassicRecord | None = None) -> None:
        self.id = id
        self._runtime = runtime
        self.state: GroupState = "Empty"
        self.generation = 0
        self.protocol_type = ""
        self.protocol = ""
        self.leader = ""
        self.members: dict[str, Member] = {}
        self._pending: set[str] = set()
        """Ids that were given to members that have not come back with them (KIP-394)."""
        if record is not None:
            self._load(record)

    def _load(self, record: ClassicRecord) -> None:
        self.generation, self.protocol_type = record.generation, record.protocol_type
        self.protocol, self.leader = record.protocol, record.leader
        for known in record.members:
            member = Member(known.id, known.instance, known.client)
            member.session_ms, member.rebalance_ms = known.session_ms, known.rebalance_ms
            member.protocols = {record.protocol: known.metadata}
            member.assignment = known.assignment
            self.members[known.id] = member
        self.state = "Stable" if self.members else "Empty"

    def begin(self) -> None:
        """Another coordinator has taken over: everybody has the time of a session."""
        for member in self.members.values():
            self._hear(member)

    # --- G38: join

    def join(self, body: Message, client: str, needs_id: bool, promise: Promise) -> None:
        """needs_id: whether who has no member id is given one to join with (KIP-394)."""
        id, instance = body["member_id"], body.get("group_instance_id")
        error = self._join_error(body)
        if error != "NONE":
            self._refuse(promise, error, id)
        elif not id:
            self._join_anew(body, client, needs_id, promise)
        elif id in self._pending:
            self._pending.discard(id)
            self._add(id, body, client, promise)
        elif (error := self.member_error(id, instance)) != "NONE":
            self._refuse(promise, error, id)
        else:
            self._join_again(self.members[id], body, promise)

    def _join_error(self, body: Message) -> str:
        least, most = SESSION_MS
        if not least <= body["session_timeout_ms"] <= most:
            return "INVALID_SESSION_TIMEOUT"
        names = {each["name"] for each in body["protocols"]}
        others = [m for m in self.members.values() if m.id != body["member_id"]]
        if not names or not body["protocol_type"]:
            return "INCONSISTENT_GROUP_PROTOCOL"
        if others and body["protocol_type"] != self.protocol_type:
            return "INCONSISTENT_GROUP_PROTOCOL"
        if others and not names.intersection(*[m.protocols for m in others]):
            return "INCONSISTENT_GROUP_PROTOCOL"
        return "NONE"

    def member_error(self, id: str, instance: str | None) -> str:
        """Of a request by who should be a member."""
        if instance is not None:
            known = self._static(instance)
            if known is None:
                return "UNKNOWN_MEMBER_ID"
            if known.id != id:
                return "FENCED_INSTANCE_ID"
        return "NONE" if id in self.members else "UNKNOWN_MEMBER_ID"

    def _static(self, instance: str | None) -> Member | None:
        if instance is None:
            return None
        return next((m for m in self.members.values() if m.instance == instance), None)

    def _join_anew(self, body: Message, client: str, needs_id: bool, promise: Promise) -> None:
        id, instance = self._runtime.new_id(client), body.get("group_instance_id")
        old = self._static(instance)
        if old is not None:
            self._replace(old, id, body, promise)
        elif instance is None and needs_id:
            self._pending.add(id)
            self._runtime.after(body["session_timeout_ms"], lambda: self._never_came(id))
            self._refuse(promise, "MEMBER_ID_REQUIRED", id)
        else:
            self._add(id, body, client, promise)

    def _never_came(self, id: str) -> None:
        if id in self._pending:
            self._pending.discard(id)
            self._complete_join_if_all()

    def _add(self, id: str, body: Message, client: str, promise: Promise) -> None:
        member = Member(id, body.get("group_instance_id"), client)
        if not self.members:
            self.leader, self.protocol_type = id, body["protocol_type"]
        self.members[id] = member
        member.hear(body)
        member.joining = promise
        self._hear(member)
        self._rebalance()

    def _replace(self, old: Member, id: str, body: Message, promise: Promise) -> None:
        """A static member is back with another id; the old one is fenced."""
        same = old.protocols == {each["name"]: each["metadata"] for each in body["protocols"]}
        for waiting in (old.joining, old.syncing):
            if waiting is not None:
                self._refuse(waiting, "FENCED_INSTANCE_ID", old.id)
        member = Member(id, old.instance, old.client)
        member.assignment = old.assignment
        member.hear(body)
        members = [member if m is old else m for m in self.members.values()]
        self.members = {m.id: m for m in members}
        if self.leader == old.id:
            self.leader = id
        self._hear(member)
        if self.state == "Stable" and same:
            self._write(lambda error: self._joined_or(error, member, promise))
            return
        member.joining = promise
        self._rebalance()

    def _joined_or(self, error: str, member: Member, promise: Promise) -> None:
        if error == "NONE":
            promise.tell(self._joined(member, skip=True))
        else:
            self._refuse(promise, error, member.id)

    def _join_again(self, member: Member, body: Message, promise: Promise) -> None:
        said = {each["name"]: each["metadata"] for each in body["protocols"]}
        changed = said != member.protocols
        leads = self.state == "Stable" and member.id == self.leader
        member.hear(body)
        self._hear(member)
        if self.state in ("CompletingRebalance", "Stable") and not changed and not leads:
            promise.tell(self._joined(member))
            return
        member.joining = promise
        self._rebalance()

    def _rebalance(self) -> None:
        if self.state == "PreparingRebalance":
            self._complete_join_if_all()
            return
        for member in self.members.values():
            self._end_sync(member, "REBALANCE_IN_PROGRESS")
        self.state = "PreparingRebalance"
        generation = self.generation
        longest = max([m.rebalance_ms for m in self.members.values()], default=0)
        self._runtime.after(longest, lambda: self._join_is_late(generation))
        self._complete_join_if_all()

    def _join_is_late(self, generation: int) -> None:
        if self.state == "PreparingRebalance" and self.generation == generation:
            self._complete_join()

    def _complete_join_if_all(self) -> None:
        awaited = any(m.joining is None for m in self.members.values())
        if self.state == "PreparingRebalance" and not self._pending and not awaited:
            self._complete_join()

    def _complete_join(self) -> None:
        """The next generation is of those that have joined, and of static ones that are away."""
        for member in list(self.members.values()):
            if member.joining is None and member.instance is None:
                del self.members[member.id]
        self.generation += 1
        if not self.members:
            self.state, self.protocol, self.leader = "Empty", "", ""
            self._write(lambda _: None)
            return
        if self.leader not in self.members or self.members[self.leader].joining is None:
            there = [m.id for m in self.members.values() if m.joining is not None]
            self.leader = (there or list(self.members))[0]
        self.protocol = self._voted()
        self.state = "CompletingRebalance"
        for member in self.members.values():
            member.assignment = b""
            if member.joining is not None:
                promise, member.joining = member.joining, None
                promise.tell(self._joined(member))
                self._hear(member)
        generation = self.generation
        longest = max(m.rebalance_ms for m in self.members.values())
        self._runtime.after(longest, lambda: self._sync_is_late(generation))

    def _voted(self) -> str:
        """What most prefer of what all have."""
        names = [list(m.protocols) for m in self.members.values()]
        common = set(names[0]).intersection(*names)
        votes = [next(name for name in each if name in common) for each in names]
        return max(dict.fromkeys(votes), key=votes.count)

    def _joined(self, member: Member, skip: bool = False) -> Message:
        """skip: the leader is not to assign anything (KIP-814)."""
        leads = member.id == self.leader
        answer: Message = {
            "generation_id": self.generation,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol,
            "leader": self.leader,
            "member_id": member.id,
            "members": [
                {
                    "member_id": m.id,
                    "group_instance_id": m.instance,
                    "metadata": m.protocols[self.protocol],
                }
                for m in (self.members.values() if leads else ())
            ],
        }
        return answer | ({"skip_assignment": True} if skip and leads else {})

    def _refuse(self, promise: Promise, error: str, id: str) -> None:
        told: Message = {"error_code": ERRORS[error]}
        if promise.request.api == "JoinGroup":
            told |= {"member_id": id, "protocol_name": None if promise.request.version >= 7 else ""}
        promise.tell(told)

    # --- G39: sync

    def sync(self, body: Message, promise: Promise) -> None:
        error = self.member_error(body["member_id"], body.get("group_instance_id"))
        ours = (self.protocol_type, self.protocol)
        said = (body.get("protocol_type"), body.get("protocol_name"))
        if error != "NONE":
            promise.refuse(error)
        elif body["generation_id"] != self.generation:
            promise.refuse("ILLEGAL_GENERATION")
        elif any(one not in (None, other) for one, other in zip(said, ours, strict=True)):
            promise.refuse("INCONSISTENT_GROUP_PROTOCOL")
        elif self.state == "PreparingRebalance":
            promise.refuse("REBALANCE_IN_PROGRESS")
        else:
            self._sync(self.members[body["member_id"]], body["assignments"], promise)

    def _sync(self, member: Member, assignments: Iterable[Message], promise: Promise) -> None:
        self._hear(member)
        if self.state == "Stable":
            promise.tell(self._assigned(member))
            return
        member.syncing = promise
        if member.id != self.leader:
            return
        given = {each["member_id"]: each["assignment"] for each in assignments}
        for each in self.members.values():
            each.assignment = given.get(each.id, b"")
        generation = self.generation
        self._write(lambda error: self._assigned_or(error, generation))

    def _assigned_or(self, error: str, generation: int) -> None:
        """The assignment is durable, or not."""
        if self.state != "CompletingRebalance" or self.generation != generation:
            return
        if error != "NONE":
            for member in self.members.values():
                self._end_sync(member, error)
            self._rebalance()
            return
        self.state = "Stable"
        for member in self.members.values():
            if member.syncing is not None:
                promise, member.syncing = member.syncing, None
                promise.tell(self._assigned(member))
                self._hear(member)

    def _assigned(self, member: Member) -> Message:
        return {
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol,
            "assignment": member.assignment,
        }

    def _end_sync(self, member: Member, error: str) -> None:
        if member.syncing is not None:
            promise, member.syncing = member.syncing, None
            promise.refuse(error)

    def _sync_is_late(self, generation: int) -> None:
        """Who has not asked for its assignment is none any more."""
        if self.state != "CompletingRebalance" or self.generation != generation:
            return
        for member in list(self.members.values()):
            if member.syncing is None and member.instance is None:
                del self.members[member.id]
        self._rebalance()

    # --- G40, G41: live and leave

    def heartbeat(self, body: Message, promise: Promise) -> None:
        error = self.member_error(body["member_id"], body.get("group_instance_id"))
        if error == "NONE" and body["generation_id"] != self.generation:
            error = "ILLEGAL_GENERATION"
        if error == "NONE":
            self._hear(self.members[body["member_id"]])
            if self.state == "PreparingRebalance":
                error = "REBALANCE_IN_PROGRESS"
        promise.refuse(error)

    def leave(self, id: str, instance: str | None) -> str:
        """Returns Kafka's error."""
        static = self._static(instance)
        if instance is not None:
            if static is None:
                return "UNKNOWN_MEMBER_ID"
            if id not in ("", static.id):
                return "FENCED_INSTANCE_ID"
            id = static.id
        if id in self._pending:
            self._never_came(id)
            return "NONE"
        if id not in self.members:
            return "UNKNOWN_MEMBER_ID"
        self._remove(self.members[id])
        return "NONE"

    def _remove(self, member: Member) -> None:
        del self.members[member.id]
        for waiting in (member.joining, member.syncing):
            if waiting is not None:
                self._refuse(waiting, "UNKNOWN_MEMBER_ID", member.id)
        self._rebalance()

    def _hear(self, member: Member) -> None:
        """Its session begins anew."""
        member.heard += 1
        heard = member.heard
        self._runtime.after(member.session_ms, lambda: self._session_over(member, heard))

    def _session_over(self, member: Member, heard: int) -> None:
        waits = member.joining is not None or member.syncing is not None
        if member.heard == heard and self.members.get(member.id) is member and not waits:
            self._remove(member)

    # --- Records, and what is said of it

    def _write(self, told: Callable[[str], None]) -> None:
        members = tuple([m.known(self.protocol) for m in self.members.values()])
        ours = (self.protocol_type, self.protocol, self.leader)
        self._runtime.write(ClassicRecord(self.id, self.generation, *ours, members), told)

    def commit_error(self, body: Message) -> str:
        """Of who commits offsets, or fetches them (ClassicGroup.validateOffsetCommit)."""
        id, generation = body["member_id"], body["generation_id_or_member_epoch"]
        instance = body.get("group_instance_id")
        if generation < 0 and self.state == "Empty":
            return "NONE"
        error = self.member_error(id, instance)
        if error != "NONE":
            return error
        if generation != self.generation:
            return "ILLEGAL_GENERATION"
        self._hear(self.members[id])
        return "REBALANCE_IN_PROGRESS" if self.state == "CompletingRebalance" else "NONE"

    def deletion_error(self) -> str:
        """Of who deletes offsets (KIP-496)."""
        is_empty = not self.members or self.protocol_type == "consumer"
        return "NONE" if is_empty else "NON_EMPTY_GROUP"

    def subscribes(self, topic: str) -> bool:
        """Whether a member may: where that cannot be told, each does."""
        if self.protocol_type != "consumer" or not self.members:
            return False
        said = [m.protocols.get(self.protocol, b"") for m in self.members.values()]
        return any(names is None or topic in names for names in map(_subscription, said))

    def fetch_error(self, body: Message) -> str:
        return "NONE"

    def described(self) -> Message:
        return {
            "group_id": self.id,
            "group_state": self.state,
            "protocol_type": self.protocol_type,
            "protocol_data": self.protocol if self.state == "Stable" else "",
            "members": [
                {
                    "member_id": m.id,
                    "group_instance_id": m.instance,
                    "client_id": m.client,
                    "client_host": "/127.0.0.1",
                    "member_metadata": m.protocols.get(self.protocol, b""),
                    "member_assignment": m.assignment,
                }
                for m in self.members.values()
            ],
        }


def _subscription(metadata: bytes) -> list[str] | None:
    """The topics of a member's metadata (ConsumerProtocolSubscription); None: it is something else.

    Members of every version begin with these.
    """
    try:
        (count,) = struct.unpack_from(">i", metadata, 2)
        at, names = 6, []
        for _ in range(count):
            (size,) = struct.unpack_from(">h", metadata, at)
            names.append(metadata[at + 2 : at + 2 + size].decode())
            at += 2 + size
    except (struct.error, UnicodeDecodeError):
        return None
    return names
