"""A group of the consumer protocol: the reference's handlers, for members that come and go.

KIP-848. What a heartbeat does is decided by `reference/groups`, whose spec TLC has checked
(docs/reference/groups.md). Its members are nodes and its partitions numbers: a member that joins is
given a node that nobody has, of which there is always one more. Timers, names and the assignor are
here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.classic import Runtime
from kraftcheck.kafka.serve.codec import Message
from kraftcheck.kafka.serve.logs import Promise
from kraftcheck.kafka.serve.world import INTERNAL, ServedWorld
from kraftcheck.reference.groups.coordinator import CoordinatorHandlers
from kraftcheck.reference.groups.log import newest
from kraftcheck.reference.groups.messages import (
    COORDINATOR,
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LOADER,
    MIGRATION,
    OFFSETS as OFFSETS_NODE,
    Given,
    GroupCommit,
    GroupHeartbeat,
    GroupRecord,
    GroupSessionTimeout,
    GroupTail,
    MemberRecord,
    RebalanceTimeout,
)
from kraftcheck.reference.groups.properties import PROPERTIES
from kraftcheck.reference.groups.rules import GroupRules, as_set
from kraftcheck.reference.groups.types import (
    INITIAL_MEMBER,
    INITIAL_OFFSETS,
    NO_MEMBER,
    Constants,
    GroupCoordinator,
    OffsetsLog,
    initial_group,
    initial_loader,
    initial_migration,
)
from kraftcheck.reference.kit.properties import Due
from kraftcheck.reference.kit.protocol import Outcome

HEARTBEAT_MS: Final = 200
"""group.consumer.heartbeat.interval.ms: a rebalance takes some of them. Kafka's is 5,000."""
SESSION_MS: Final = 45_000
STATIC_LEAVE: Final = -2
ASSIGNOR: Final = "uniform"
_ASKED: Final = (
    *("GroupTypeInv", "HeldIsAssigned", "ServerSingleOwner", "EpochsBounded"),
    *("AssignedIsSubscribed", "AssignedIsTarget", "EpochsMonotonic", "Withheld"),
)
"""What the reference's groups promise of a coordinator."""
_PROMISES: Final = tuple([each for each in PROPERTIES if each.name in _ASKED])


class Known(msgspec.Struct, frozen=True):
    """Who a node is, as the record has it."""

    node: int
    id: str
    instance: str | None
    client: str
    rebalance_ms: int
    names: tuple[str, ...]
    """Of topics."""
    pattern: str | None
    """Of more of them."""
    left: bool = False
    """For a while, as static members may."""


class ConsumerRecord(msgspec.Struct, frozen=True):
    """What is durable of a group."""

    group: str
    members: tuple[Known, ...]
    partitions: tuple[tuple[str, int], ...]
    """Topic ids, in hexadecimal, and indexes, by number."""
    nodes: int
    state: GroupRecord


class _Handlers(CoordinatorHandlers):
    """With an assignor that is quick, and moves few partitions."""

    __slots__ = ()

    def assigned(self, group: GroupRecord, wanted: tuple[int, ...]) -> dict[int, int]:
        of = dict(zip(self.rules.constants.members, group.members, strict=True))
        able = {p: [n for n in of if p in of[n].subscribed] for p in wanted}
        owner = {p: n for n, each in of.items() for p in each.target if n in able.get(p, ())}
        share = {n: sum(each == n for each in owner.values()) for n in of}
        for p in wanted:
            if p not in owner:
                owner[p] = min(able[p], key=share.__getitem__)
                share[owner[p]] += 1
        moving = True
        while moving:
            moving = False
            for p in wanted:
                least = min(able[p], key=share.__getitem__)
                if share[owner[p]] > share[least] + 1:
                    share[owner[p]] -= 1
                    share[least] += 1
                    owner[p] = least
                    moving = True
        return owner


class ConsumerGroup:
    """A group, in one tenure of its coordinator."""

    kind: Final = "consumer"

    def __init__(
        self, id: str, runtime: Runtime, world: ServedWorld, record: ConsumerRecord | None = None
    ) -> None:
        self.id = id
        self._runtime = runtime
        self._world = world
        self._known: dict[int, Known] = {}
        self._partitions: dict[tuple[str, int], int] = {}
        self._nodes = 0
        self._asked: dict[int, tuple[Promise, Known]] = {}
        self._numbers = self._writing = 0
        self._heard: dict[int, int] = {}
        self._waits: dict[int, MemberRecord] = {}
        """Of members that are to revoke: since when their time runs."""
        if record is None:
            self._grow(1)
            state = initial_group(self._constants)
        else:
            state = record.state
            self._known = {each.node: each for each in record.members}
            self._partitions = {key: at + 1 for at, key in enumerate(record.partitions)}
            self._grow(record.nodes)
        log = OffsetsLog(state, (), (GroupTail(()),))
        self._row = GroupCoordinator(leader_epoch=1, log=log, waiting=())
        self._promises = Due(_PROMISES)
        self._spare()

    # --- Nodes

    def _grow(self, nodes: int) -> None:
        self._nodes = nodes
        self._constants = Constants(
            members=tuple(range(1, nodes + 1)),
            partitions=tuple(sorted(self._partitions.values())),
            max_coordinators=1,
            max_correlation=1,
        )
        self._handlers = _Handlers(GroupRules(self._constants))

    def _spare(self) -> int:
        """A node that nobody has."""
        present = zip(self._constants.members, newest(self._row.log).members, strict=True)
        free = [n for n, each in present if each.state == "None" and n not in self._known]
        if free:
            return free[0]
        self._grow(self._nodes + 1)
        log = self._row.log

        def grown(group: GroupRecord) -> GroupRecord:
            return replace(group, members=(*group.members, NO_MEMBER))

        self._row = replace(
            self._row,
            log=OffsetsLog(
                committed=grown(log.committed),
                leader=tuple(map(grown, log.leader)),
                tails=tuple([GroupTail(tuple(map(grown, t.records))) for t in log.tails]),
            ),
        )
        return self._nodes

    def _node_of(self, id: str, instance: str | None) -> int | None:
        for node, each in self._known.items():
            if each.id == id or (instance is not None and each.instance == instance):
                return node
        return None

    @property
    def members(self) -> Mapping[int, Known]:
        return MappingProxyType(self._known)

    def record_of(self, node: int) -> MemberRecord:
        return newest(self._row.log).members[node - 1]

    # --- Partitions

    def _numbers_of(self, said: Iterable[tuple[str, int]]) -> tuple[int, ...]:
        numbers = self._partitions
        return as_set([numbers.setdefault(key, len(numbers) + 1) for key in said])

    def _wanted(self, known: Known) -> tuple[int, ...]:
        """The partitions that there are of the topics that a member subscribes to."""
        pattern = re.compile(known.pattern) if known.pattern else None
        return self._numbers_of(
            (topic.id.hex(), partition.index)
            for name, topic in self._world.topics.items()
            if name not in INTERNAL
            and (name in known.names or (pattern and pattern.fullmatch(name)))
            for partition in topic.partitions
        )

    def _named(self, numbers: Iterable[int], with_names: bool = False) -> list[Message]:
        keys = list(self._partitions)
        by: dict[str, list[int]] = {}
        for number in numbers:
            id, index = keys[number - 1]
            by.setdefault(id, []).append(index)
        told: list[Message] = []
        for id, indexes in by.items():
            topic = self._world.with_id(bytes.fromhex(id))
            named = {"topic_name": topic.name if topic else ""} if with_names else {}
            told.append({"topic_id": bytes.fromhex(id), **named, "partitions": indexes})
        return told

    # --- Heartbeats: G11 to G21

    def heartbeat(self, body: Message, client: str, promise: Promise) -> None:
        id, instance, epoch = body["member_id"], body["instance_id"], body["member_epoch"]
        if error := self._form_error(body):
            promise.refuse(error)
            return
        if not id:
            id = self._runtime.new_id(client)
        node = self._node_of(id, instance)
        if node is not None and (error := self._identity_error(node, id, epoch)):
            promise.refuse(error)
            return
        if epoch == STATIC_LEAVE:
            self._leave_for_a_while(node, promise)
            return
        known = self._said(node or self._spare(), id, body, client)
        subscribed = self._wanted(known)
        given: list[Given] = []
        owned: tuple[int, ...] = ()
        if body["topic_partitions"] is not None:
            given.append("Owned")
            owned = self._numbers_of(
                (topic["topic_id"].hex(), index)
                for topic in body["topic_partitions"]
                for index in topic["partitions"]
            )
        if body["rebalance_timeout_ms"] != -1:
            given.append("RebalanceTimeout")
        before = self.record_of(known.node)
        # Of topics that were made or deleted the coordinator knows without being told.
        if epoch != LEAVE_EPOCH and (_says_topics(body) or subscribed != before.subscribed):
            given.append("Subscription")
        else:
            subscribed = ()
        self._numbers += 1
        self._asked[self._numbers] = promise, known
        sent = GroupHeartbeat(
            *(known.node, COORDINATOR, self._numbers, epoch),
            *(tuple(given), subscribed, owned),
        )
        if epoch >= 0 and (node is not None or epoch == JOIN_EPOCH):
            self._known[known.node] = known
            self._hear(known.node)
        self._step(sent)

    def _form_error(self, body: Message) -> str:
        """Whether a heartbeat says what it must (KIP-848)."""
        epoch = body["member_epoch"]
        joins = body["rebalance_timeout_ms"] > 0 and _says_topics(body)
        owns = any(each["partitions"] for each in body["topic_partitions"] or ())
        if epoch < STATIC_LEAVE or (epoch == STATIC_LEAVE and body["instance_id"] is None):
            return "INVALID_REQUEST"
        if epoch == JOIN_EPOCH and (not joins or owns):
            return "INVALID_REQUEST"
        if body["server_assignor"] not in (None, ASSIGNOR, "range"):
            return "UNSUPPORTED_ASSIGNOR"
        try:
            re.compile(body.get("subscribed_topic_regex") or "")
        except re.error:
            return "INVALID_REGULAR_EXPRESSION"
        return ""

    def _identity_error(self, node: int, id: str, epoch: int) -> str:
        """G13. Of a static member that is known under another id."""
        known = self._known[node]
        if known.id == id:
            return ""
        if epoch != JOIN_EPOCH:
            return "FENCED_INSTANCE_ID"
        return "" if known.left else "UNRELEASED_INSTANCE_ID"

    def _said(self, node: int, id: str, body: Message, client: str) -> Known:
        """What is known of a member after its heartbeat."""
        was = self._known.get(node)
        names, pattern = body["subscribed_topic_names"], body.get("subscribed_topic_regex")
        rebalance_ms = body["rebalance_timeout_ms"]
        return Known(
            node=node,
            id=id,
            instance=body["instance_id"],
            client=client,
            rebalance_ms=rebalance_ms if rebalance_ms > 0 or was is None else was.rebalance_ms,
            names=was.names if names is None and was is not None else tuple(names or ()),
            pattern=pattern if pattern is not None or was is None else was.pattern,
        )

    def _leave_for_a_while(self, node: int | None, promise: Promise) -> None:
        """G19. What it has stays its own until its session ends."""
        if node is None:
            promise.refuse("UNKNOWN_MEMBER_ID")
            return
        known = replace(self._known[node], left=True)
        self._known[node] = known
        self._hear(node)
        told = {"member_id": known.id, "member_epoch": STATIC_LEAVE}
        self._write(lambda _: promise.tell(told))

    # --- Steps

    def _step(self, input: Any) -> None:
        before = self._row
        outcome: Outcome | None = self._handlers.step(before, input)
        if outcome is None:
            return
        self._row = outcome.row
        if self._world.watched:
            self._judge(before)
        self._tell(outcome.sent)
        after = newest(self._row.log)
        for node, each in zip(self._constants.members, after.members, strict=True):
            if each.state == "None" and node in self._known:
                self._known.pop(node)
                self._waits.pop(node, None)
            elif each.state == "Unrevoked" and self._waits.get(node) != each:
                self._waits[node] = each
                due = self._late(node, each)
                self._runtime.after(self._known[node].rebalance_ms, due)
        if not isinstance(input, GroupCommit) and after != newest(before.log):
            self._write(self._written)

    def _judge(self, before: GroupCoordinator) -> None:
        """Members, loaders and migrations are elsewhere: of them nothing is asked."""
        constants = self._constants
        others: dict[int, Any] = {
            LOADER: initial_loader(constants),
            OFFSETS_NODE: INITIAL_OFFSETS,
            MIGRATION: initial_migration(constants),
        }
        others |= dict.fromkeys(constants.members, INITIAL_MEMBER)
        rows = [{COORDINATOR: row, **others} for row in (before, self._row)]
        for promise, found in self._promises.wrong(constants, *rows):
            self._world.breaks(promise.name, f"group {self.id}", found)

    def _written(self, error: str) -> None:
        if error != "NONE":
            return
        # The last of several that are under way commits all.
        if not self._writing:
            self._step(GroupCommit())

    def _write(self, told: Callable[[str], None]) -> None:
        self._writing += 1

        def heard(error: str) -> None:
            self._writing -= 1
            if error != "NONE":
                # Nobody knows what became of it: the log is read again (G2).
                for promise, _ in self._asked.values():
                    promise.refuse(error)
                self._runtime.fail()
            told(error)

        record = ConsumerRecord(
            self.id,
            tuple(self._known.values()),
            tuple(self._partitions),
            self._nodes,
            newest(self._row.log),
        )
        self._runtime.write(record, heard)

    def _tell(self, sent: Iterable[Any]) -> None:
        for told in sent:
            promise, known = self._asked.pop(told.correlation)
            answer: Message = {
                "error_code": ERRORS[told.error],
                "member_id": known.id,
                "member_epoch": told.epoch,
                "heartbeat_interval_ms": HEARTBEAT_MS,
            }
            if told.tells:
                answer["assignment"] = {"topic_partitions": self._named(told.assigned)}
            promise.tell(answer)

    # --- Time: G20

    def begin(self) -> None:
        for node in list(self._known):
            self._hear(node)

    def _hear(self, node: int) -> None:
        heard = self._heard[node] = self._heard.get(node, 0) + 1

        def over() -> None:
            if self._heard.get(node) == heard and node in self._known:
                self._step(GroupSessionTimeout(node))

        self._runtime.after(SESSION_MS, over)

    def _late(self, node: int, since: MemberRecord) -> Callable[[], None]:
        def over() -> None:
            if self._waits.get(node) == since == self.record_of(node):
                self._step(RebalanceTimeout(node))

        return over

    # --- Offsets, and what is said of it

    @property
    def state(self) -> str:
        group = newest(self._row.log)
        there = [each for each in group.members if each.state != "None"]
        if not there:
            return "Empty"
        if group.epoch > group.target_epoch:
            return "Assigning"
        is_there = all(m.state == "Stable" and m.epoch == group.target_epoch for m in there)
        return "Stable" if is_there else "Reconciling"

    def commit_error(self, body: Message) -> str:
        """G30, without the epochs of assignments (KIP-1251)."""
        epoch = body["generation_id_or_member_epoch"]
        if epoch < 0 and self.state == "Empty":
            return "NONE"
        return self._epoch_error(body["member_id"], epoch)

    def fetch_error(self, body: Message) -> str:
        """G33."""
        if not body.get("member_id"):
            return "NONE"
        return self._epoch_error(body["member_id"], body["member_epoch"])

    def deletion_error(self) -> str:
        """Of who deletes offsets (KIP-496)."""
        return "NONE"

    def subscribes(self, topic: str) -> bool:
        """Whether a member does."""
        return any(
            topic in each.names or bool(each.pattern and re.fullmatch(each.pattern, topic))
            for each in self._known.values()
        )

    def _epoch_error(self, id: str, epoch: int) -> str:
        node = self._node_of(id, None)
        if node is None:
            return "UNKNOWN_MEMBER_ID"
        return "NONE" if self.record_of(node).epoch == epoch else "STALE_MEMBER_EPOCH"

    def described(self) -> Message:
        group = newest(self._row.log)
        members = []
        for node, known in self._known.items():
            each = self.record_of(node)
            of = {"assignment": each.assigned, "target_assignment": each.target}
            members.append(
                {
                    "member_id": known.id,
                    "instance_id": known.instance,
                    "member_epoch": each.epoch,
                    "client_id": known.client,
                    "client_host": "/127.0.0.1",
                    "subscribed_topic_names": list(known.names),
                    "subscribed_topic_regex": known.pattern,
                    **{k: {"topic_partitions": self._named(v, True)} for k, v in of.items()},
                    "member_type": 1,
                }
            )
        return {
            "group_id": self.id,
            "group_state": self.state,
            "group_epoch": group.epoch,
            "assignment_epoch": group.target_epoch,
            "assignor_name": ASSIGNOR,
            "members": members,
        }


def _says_topics(body: Message) -> bool:
    names, pattern = body["subscribed_topic_names"], body.get("subscribed_topic_regex")
    return names is not None or pattern is not None
