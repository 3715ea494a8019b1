"""Read from the wire what clients saw of the members of groups.

A coordinator told them of generations, of assignments, and of who has a partition.

*The classic protocol* has no spec behind it (classic.py), so that this is its judge. Of what one
coordinator says in one tenure: generations go up; those of one generation are told one leader and
one protocol, and only the leader who is in it; nobody is told that all is well with a generation
once a later one was told to somebody. A member is given what the leader of its generation sent for
it, whichever coordinator answers (G38 to G40). A static member that comes back has another id and
the same place in the generation, so it counts as the one it was; who has the old id is told no more
that all is well (KIP-345).

*The consumer protocol*: who has a partition has it until its own request says otherwise, or it was
told that it is none. Once a partition was given to another, nobody who still has it is told that
all is well (G18, KIP-848). Who is silent may have been removed without a word, so to give away what
it had is right. An earlier coordinator that does not know of the next one is not judged by what
that one said.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.codec import Message
from kraftcheck.kafka.serve.requests import Request
from kraftcheck.kafka.serve.world import ServedWorld

_NONE: Final = ERRORS["NONE"]
_JOIN_EPOCH: Final = 0
_NO_MEMBER: Final = frozenset(
    ERRORS[name] for name in ("FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID")
)
_Place: TypeAlias = tuple[bytes, int]
"""A partition: its topic's id, and its index."""


class _Generation(NamedTuple):
    """As one coordinator told it."""

    number: int
    leader: str
    protocol: str
    told: int
    """When first."""


class _Classic:
    def __init__(self) -> None:
        self.latest: dict[int, _Generation] = {}
        """By the coordinator's tenure."""
        self.sent: dict[int, list[dict[str, bytes]]] = {}
        """By generation, what was sent to be given to each member."""
        self.instances: dict[str, str] = {}
        """By member id, of static members."""
        self.places: dict[str, tuple[str, int, int]] = {}
        """By instance, the id that it was told last, by which tenure, and when."""

    def name(self, member: str) -> str:
        """What stays the same when a static member comes back."""
        return self.instances.get(member, member)


class _Given(NamedTuple):
    member: str
    told: int
    tenure: int


class _Consumers:
    def __init__(self) -> None:
        self.has: dict[str, set[_Place]] = {}
        """By member, what it may still have."""
        self.given: dict[_Place, _Given] = {}


class Members:
    """broken: by group, what was told and should not have been; the first of each."""

    def __init__(self) -> None:
        self.broken: dict[str, str] = {}
        self.told = 0
        """How many answers were judged."""
        self._classic: dict[str, _Classic] = {}
        self._consumers: dict[str, _Consumers] = {}

    def requested(self, request: Request) -> None:
        body = request.body
        if request.api == "SyncGroup" and body["assignments"]:
            given = {each["member_id"]: bytes(each["assignment"]) for each in body["assignments"]}
            sent = self._group(body["group_id"]).sent
            sent.setdefault(body["generation_id"], []).append(given)

    def answered(
        self, now: int, world: ServedWorld, request: Request, body: Message, invoked: int
    ) -> None:
        api, asked = request.api, request.body
        tenure = world.offsets.row(request.broker).leader_epoch
        if api == "ConsumerGroupHeartbeat":
            self.told += 1
            self._beat(now, tenure, request, body, invoked)
        elif api in ("JoinGroup", "SyncGroup", "Heartbeat") and not body.get("error_code"):
            self.told += 1
            group = self._group(asked["group_id"])
            found = (
                self._joined(group, now, tenure, body, asked.get("group_instance_id"))
                if api == "JoinGroup"
                else self._is_well(group, tenure, asked, invoked, api)
            )
            if api == "SyncGroup":
                found = found or self._given(group, asked, bytes(body.get("assignment", b"")))
            if found:
                self.broken.setdefault(asked["group_id"], found)

    def _group(self, id: str) -> _Classic:
        return self._classic.setdefault(id, _Classic())

    # --- Classic

    def _joined(
        self, group: _Classic, now: int, tenure: int, body: Message, instance: str | None
    ) -> str:
        number, member, leader = body["generation_id"], body["member_id"], body["leader"]
        if instance is not None:
            group.instances[member] = instance
            group.places[instance] = member, tenure, now
        known = group.latest.get(tenure)
        if body.get("members") and member != leader:
            return f"{member!r} was told who is in generation {number}, and {leader!r} leads it"
        if known is None or number > known.number:
            protocol = body["protocol_name"]
            group.latest[tenure] = _Generation(number, leader, protocol, now)
            return ""
        if number < known.number:
            return f"{member!r} joined generation {number} after there was {known.number}"
        leads, led = group.name(leader), group.name(known.leader)
        if (leads, body["protocol_name"]) != (led, known.protocol):
            was = f"{known.leader!r} and {known.protocol!r}"
            is_now = f"{leader!r} and {body['protocol_name']!r}"
            return f"leader and protocol of generation {number} were {was}, and then {is_now}"
        return ""

    def _is_well(self, group: _Classic, tenure: int, asked: Message, invoked: int, api: str) -> str:
        generation, member = asked["generation_id"], asked["member_id"]
        place = group.places.get(group.name(member))
        if place is not None and place[:2] != (member, tenure):
            latest, of, told = place
            if of == tenure and invoked > told:
                return f"{api} of {member!r} was well after {latest!r} had taken its place"
        known = group.latest.get(tenure)
        if known is None or generation >= known.number or invoked < known.told:
            return ""
        return f"{api} of generation {generation} was well after there was {known.number}"

    def _given(self, group: _Classic, asked: Message, given: bytes) -> str:
        member, generation = asked["member_id"], asked["generation_id"]
        name = group.name(member)
        for sent in group.sent.get(generation, [{}]):
            if given in ([of for id, of in sent.items() if group.name(id) == name] or [b""]):
                return ""
        return f"{member!r} was given what nobody sent for it in generation {generation}"

    # --- KIP-848

    def _beat(self, now: int, tenure: int, request: Request, body: Message, invoked: int) -> None:
        asked = request.body
        group = self._consumers.setdefault(asked["group_id"], _Consumers())
        member = body.get("member_id") or asked["member_id"]
        error = body.get("error_code", _NONE)
        if error in _NO_MEMBER or asked["member_epoch"] <= _JOIN_EPOCH:
            group.has[member] = set()
        if error != _NONE or asked["member_epoch"] < _JOIN_EPOCH:
            return
        has = group.has.setdefault(member, set())
        if asked["topic_partitions"] is not None:
            has = group.has[member] = set(_places(asked["topic_partitions"]))
        for place in sorted(has):
            given = group.given.get(place)
            if given is None or given.member == member:
                continue
            if invoked > given.told and tenure >= given.tenure:
                why = f"partition {place[1]} was given to {given.member!r}, and {member!r}, "
                why += "which has it still, was told that all is well"
                self.broken.setdefault(asked["group_id"], why)
        assignment: Any = body.get("assignment")
        if assignment is not None:
            for place in _places(assignment["topic_partitions"]):
                has.add(place)
                group.given[place] = _Given(member, now, tenure)


def _places(topics: list[Message]) -> Iterator[_Place]:
    for topic in topics:
        for index in topic["partitions"]:
            yield topic["topic_id"], index
