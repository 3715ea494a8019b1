"""Consumer groups: who coordinates them, and their requests (G2 to G8).

The leader of `__consumer_offsets` coordinates every group, for as long as it takes itself for the
leader. What it knows it has from that log; a coordinator that was replaced lives on until it hears
of it, and can commit nothing. Groups of either protocol: classic.py, members.py.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Final, NamedTuple, TypeAlias

from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.batches import Batch
from kraftcheck.kafka.serve.classic import ClassicGroup, ClassicRecord
from kraftcheck.kafka.serve.codec import Message
from kraftcheck.kafka.serve.core import Core
from kraftcheck.kafka.serve.logs import Followed, Leadership, Promise, not_leading
from kraftcheck.kafka.serve.members import ConsumerGroup, ConsumerRecord
from kraftcheck.kafka.serve.partition import ServedPartition
from kraftcheck.kafka.serve.requests import Request, Serve, Waiting
from kraftcheck.reference.partition.log import Record as Entry

Group: TypeAlias = ClassicGroup | ConsumerGroup
Record: TypeAlias = ClassicRecord | ConsumerRecord

_NEEDS_ID: Final = 4
"""The version of JoinGroup from which on nobody joins without a member id (KIP-394)."""


class Committed(NamedTuple):
    """A record of an offset."""

    group: str
    topic: str
    """Its id, in hexadecimal."""
    partition: int
    offset: int
    leader_epoch: int
    metadata: str


class OffsetGone(NamedTuple):
    """An offset was deleted."""

    group: str
    topic: str
    partition: int


class GroupGone(ClassicRecord, frozen=True):
    """A group was deleted, with its offsets."""


class Coordinator(Leadership):
    def __init__(self, groups: Groups, broker: int, log: dict[str, Record]) -> None:
        super().__init__(groups.core, groups.log, broker)
        self._failed = False
        self.groups: dict[str, Group] = {}
        for id, record in log.items():
            if isinstance(record, ClassicRecord):
                self.groups[id] = ClassicGroup(id, self, record)
            else:
                self.groups[id] = self.consumers(id, record)
            self.groups[id].begin()

    def consumers(self, id: str, record: ConsumerRecord | None = None) -> ConsumerGroup:
        return ConsumerGroup(id, self, self.core.world, record)

    def is_active(self) -> bool:
        return super().is_active() and not self._failed

    def fail(self) -> None:
        """A write has failed: what is in memory is not what the log says, which is read again."""
        self._failed = True

    def new_id(self, client: str) -> str:
        return self.core.new_id(client)


class _Asked(Promise):
    """An answer of a coordinator, which may be replaced before it gives it (G7)."""

    def __init__(self, request: Request, coordinator: Coordinator, hurries: bool) -> None:
        super().__init__(request, hurries)
        self._coordinator = coordinator

    def is_ready(self) -> bool:
        if not super().is_ready() and not self._coordinator.is_active():
            self.refuse("NOT_COORDINATOR")
        return super().is_ready()


class Groups:
    def __init__(self, core: Core) -> None:
        self.core = core
        self.log = core.world.offsets
        self._coordinators: dict[int, Coordinator] = {}
        records: Followed[dict[str, Record]]
        records = Followed(core.world, self.log, dict, _take, committed=False)
        self._records = records
        core.listeners.append(self._look)
        self.served: dict[str, Serve] = {
            "JoinGroup": self._join,
            "SyncGroup": self._sync,
            "Heartbeat": self._heartbeat,
            "LeaveGroup": self._leave,
            "ConsumerGroupHeartbeat": self._consumer_heartbeat,
            "DescribeGroups": self._describe,
            "ConsumerGroupDescribe": self._describe_consumers,
            "ListGroups": self._list,
            "DeleteGroups": self._delete,
        }

    def _look(self, news: Set[ServedPartition]) -> None:
        """Whoever leads the log now goes on with the members' sessions."""
        if self.log in news:
            for broker in self.log.brokers:
                if self.log.row(broker).status == "Running":
                    self.coordinator_of(broker)

    def coordinator_of(self, broker: int) -> tuple[str, Coordinator | None]:
        """The coordinator that a broker is, or why it is none."""
        error = not_leading(self.log, broker)
        if error != "NONE":
            return error, None
        known = self._coordinators.get(broker)
        if known is None or not known.is_active():
            known = Coordinator(self, broker, self._records.state_of(broker))
            self._coordinators[broker] = known
        return "NONE", known

    # --- The classic protocol

    def _classic(
        self, request: Request, do: Callable[[ClassicGroup, Promise], None], create: bool = False
    ) -> Message | Waiting:
        """Has a group do what is asked for."""
        id = request.body["group_id"]
        error, coordinator = self.coordinator_of(request.broker)
        if coordinator is None:
            return {"error_code": ERRORS[error]}
        group = coordinator.groups.get(id)
        if isinstance(group, ConsumerGroup) and group.state == "Empty" and create:
            group = None
        if group is None and create:
            group = coordinator.groups[id] = ClassicGroup(id, coordinator)
        if not id:
            error = "INVALID_GROUP_ID"
        elif group is None:
            error = "UNKNOWN_MEMBER_ID"
        elif isinstance(group, ConsumerGroup):
            error = "INCONSISTENT_GROUP_PROTOCOL" if create else "UNKNOWN_MEMBER_ID"
        else:
            promise = _Asked(request, coordinator, hurries=False)
            do(group, promise)
            return answered(promise)
        if request.api == "JoinGroup":
            return {"error_code": ERRORS[error], "member_id": request.body["member_id"]}
        return {"error_code": ERRORS[error]}

    def _join(self, request: Request) -> Message | Waiting:
        body, needs_id = request.body, request.version >= _NEEDS_ID
        return self._classic(
            request,
            lambda group, promise: group.join(body, request.client, needs_id, promise),
            create=body["member_id"] == "",
        )

    def _sync(self, request: Request) -> Message | Waiting:
        return self._classic(request, lambda group, promise: group.sync(request.body, promise))

    def _heartbeat(self, request: Request) -> Message | Waiting:
        return self._classic(request, lambda group, promise: group.heartbeat(request.body, promise))

    def _leave(self, request: Request) -> Message | Waiting:
        return self._classic(
            request, lambda group, promise: promise.tell(self._left(group, promise))
        )

    def _left(self, group: ClassicGroup, promise: Promise) -> Message:
        request = promise.request
        if request.version < 3:
            return {"error_code": ERRORS[group.leave(request.body["member_id"], None)]}
        told = []
        for each in request.body["members"]:
            error = group.leave(each["member_id"], each["group_instance_id"])
            named = {key: each[key] for key in ("member_id", "group_instance_id")}
            told.append({**named, "error_code": ERRORS[error]})
        return {"members": told}

    # --- The consumer protocol

    def _consumer_heartbeat(self, request: Request) -> Message | Waiting:
        body = request.body
        id = body["group_id"]
        error, coordinator = self.coordinator_of(request.broker)
        if coordinator is None:
            return {"error_code": ERRORS[error]}
        group = coordinator.groups.get(id)
        if isinstance(group, ClassicGroup) and not group.members:
            group = None
        if not id:
            return {"error_code": ERRORS["INVALID_REQUEST"]}
        if not isinstance(group, ConsumerGroup):
            if group is not None or body["member_epoch"] != 0:
                return {"error_code": ERRORS["GROUP_ID_NOT_FOUND"]}
            group = coordinator.groups[id] = coordinator.consumers(id)
        promise = _Asked(request, coordinator, hurries=True)
        group.heartbeat(body, request.client, promise)
        return answered(promise)

    # --- What is said of groups, and their end

    def _describe(self, request: Request) -> Message:
        error, coordinator = self.coordinator_of(request.broker)
        told = []
        for id in request.body["groups"]:
            group = coordinator.groups.get(id) if coordinator else None
            if isinstance(group, ClassicGroup):
                told.append(group.described())
                continue
            why = error
            if coordinator is not None and request.version >= 6:
                why = "GROUP_ID_NOT_FOUND"
            told.append({"error_code": ERRORS[why], "group_id": id, "group_state": "Dead"})
        return {"groups": told}

    def _describe_consumers(self, request: Request) -> Message:
        error, coordinator = self.coordinator_of(request.broker)
        told = []
        for id in request.body["group_ids"]:
            group = coordinator.groups.get(id) if coordinator else None
            if isinstance(group, ConsumerGroup):
                told.append(group.described())
            else:
                why = error if coordinator is None else "GROUP_ID_NOT_FOUND"
                told.append({"error_code": ERRORS[why], "group_id": id})
        return {"groups": told}

    def _list(self, request: Request) -> Message:
        """Of this coordinator; who is none has none."""
        _, coordinator = self.coordinator_of(request.broker)
        body, told = request.body, []
        states = {state.lower() for state in body.get("states_filter", ())}
        kinds = {kind.lower() for kind in body.get("types_filter", ())}
        for id, group in (coordinator.groups if coordinator else {}).items():
            if states and group.state.lower() not in states:
                continue
            if kinds and group.kind not in kinds:
                continue
            protocol = "consumer" if isinstance(group, ConsumerGroup) else group.protocol_type
            named = {"group_id": id, "protocol_type": protocol, "group_state": group.state}
            told.append(named | {"group_type": group.kind})
        return {"groups": told}

    def _delete(self, request: Request) -> Message | Waiting:
        error, coordinator = self.coordinator_of(request.broker)
        results: list[Message] = []
        promise = Promise(request, hurries=True)
        left = 0
        for id in request.body["groups_names"]:
            slot: Message = {"group_id": id, "error_code": ERRORS[error]}
            results.append(slot)
            group = coordinator.groups.get(id) if coordinator else None
            if coordinator is None:
                continue
            if group is None or group.state != "Empty":
                why = "GROUP_ID_NOT_FOUND" if group is None else "NON_EMPTY_GROUP"
                slot["error_code"] = ERRORS[why]
                continue
            del coordinator.groups[id]
            left += 1

            def finish(error: str, slot: Message = slot) -> None:
                nonlocal left
                slot["error_code"] = ERRORS[error]
                left -= 1
                if not left:
                    promise.tell({"results": results})

            coordinator.write(GroupGone(*nobody(id)), finish)
        if not left:
            promise.tell({"results": results})
        return answered(promise)


def answered(promise: Promise) -> Message | Waiting:
    """The answer, if it is there."""
    answer = promise.answer() if promise.is_ready() else None
    return promise if answer is None else answer


def _take(known: dict[str, Record], _: Entry, batch: Batch) -> None:
    record = batch.value
    if isinstance(record, GroupGone):
        known.pop(record.group, None)
    elif isinstance(record, ClassicRecord | ConsumerRecord):
        known[record.group] = record
    elif isinstance(record, Committed) and record.group not in known:
        known[record.group] = ClassicRecord(*nobody(record.group))


def nobody(id: str) -> tuple[str, int, str, str, str, tuple[()]]:
    """A group that has no members, and had none."""
    return id, 0, "", "", "", ()
