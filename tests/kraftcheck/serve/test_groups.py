"""Groups of both protocols, without sockets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kraftcheck.kafka.serve import members
from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.codec import Message
from kraftcheck.kafka.serve.judging import judged
from kraftcheck.reference.groups.messages import GroupRecord, MemberRecord
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import Constants
from tests.kraftcheck.serve.wire import Wire, answer, frame, with_topic

NONE = ERRORS["NONE"]


@pytest.fixture
def wire() -> Wire:
    return with_topic(partitions=4)


class Classic:
    """A member, on a connection of its own to the coordinator."""

    def __init__(self, wire: Wire, connection: int, **more: Any) -> None:
        self.wire, self.connection, self.more = wire, connection, more
        self.broker = coordinator(wire)
        wire.taped.arrive("opened", wire.now, connection, b"%d" % self.broker)
        self.id, self.generation = "", -1

    def send(self, api: str, version: int, **body: Any) -> None:
        data = frame(api, version, body)
        self.wire.taped.arrive("frame", self.wire.now, self.connection, data)

    def join(self, version: int = 5, metadata: bytes = b"m") -> None:
        self.send(
            "JoinGroup",
            version,
            group_id="g",
            session_timeout_ms=1000,
            rebalance_timeout_ms=2000,
            member_id=self.id,
            protocol_type="consumer",
            protocols=[{"name": "range", "metadata": metadata}],
            **self.more,
        )

    def sync(self, given: dict[str, bytes]) -> None:
        assignments = [{"member_id": id, "assignment": each} for id, each in given.items()]
        self.send(
            "SyncGroup",
            3,
            group_id="g",
            generation_id=self.generation,
            member_id=self.id,
            assignments=assignments,
            **self.more,
        )

    def beat(self) -> None:
        said = {"group_id": "g", "generation_id": self.generation, "member_id": self.id}
        self.send("Heartbeat", 3, **said, **self.more)

    def joined(self, told: dict[int, bytes | None], version: int = 5) -> Message:
        said = answer("JoinGroup", version, told[self.connection])
        self.id, self.generation = said["member_id"], said["generation_id"]
        return said


def coordinator(wire: Wire) -> int:
    for broker in range(3):
        if broker in wire.core.world.up():
            said = wire.ask(broker, "FindCoordinator", 3, key="g", key_type=0)
            node: int = said["node_id"]
            return node
    raise AssertionError("nobody is up")


def left(wire: Wire, seconds: float = 0.5) -> dict[int, bytes | None]:
    """What leaves meanwhile, by connection."""
    wire.wait(seconds)
    return {e.connection: e.data for e in wire.taped.left()}


def together(wire: Wire) -> tuple[Classic, Classic]:
    """Two members in a generation, each with an assignment."""
    one, other = Classic(wire, 21), Classic(wire, 22)
    for each in (one, other):
        each.join()
        assert each.joined(left(wire))["error_code"] == ERRORS["MEMBER_ID_REQUIRED"]
    one.join()
    other.join()
    told = left(wire)
    leader, second = one.joined(told), other.joined(told)
    assert (leader["leader"], second["leader"]) == (one.id, one.id)
    assert [m["member_id"] for m in leader["members"]] == [one.id, other.id]
    assert second["members"] == []
    other.sync({})
    assert left(wire) == {}
    one.sync({one.id: b"1", other.id: b"2"})
    told = left(wire)
    for each, given in ((one, b"1"), (other, b"2")):
        assert answer("SyncGroup", 3, told[each.connection])["assignment"] == given
    return one, other


def test_members_of_the_classic_protocol_join_and_are_assigned(wire: Wire) -> None:
    one, other = together(wire)
    assert (one.generation, other.generation) == (1, 1)
    for each in (one, other):
        each.beat()
        assert answer("Heartbeat", 3, left(wire)[each.connection])["error_code"] == NONE
    said = wire.ask(one.broker, "DescribeGroups", 4, groups=["g"])["groups"][0]
    assert (said["group_state"], len(said["members"])) == ("Stable", 2)
    other.send("LeaveGroup", 3, group_id="g", members=[{"member_id": other.id}])
    told = answer("LeaveGroup", 3, left(wire)[22])
    assert told["members"][0]["error_code"] == NONE
    one.beat()
    said = answer("Heartbeat", 3, left(wire)[21])
    assert said["error_code"] == ERRORS["REBALANCE_IN_PROGRESS"]
    one.join()
    assert len(one.joined(left(wire))["members"]) == 1
    assert one.generation == 2


def test_a_member_that_is_silent_is_none_any_more(wire: Wire) -> None:
    one, other = together(wire)
    for _ in range(4):
        one.beat()
        left(wire, 0.4 * 20)
    said = wire.ask(one.broker, "DescribeGroups", 4, groups=["g"])["groups"][0]
    assert [m["member_id"] for m in said["members"]] == [one.id]
    other.beat()
    assert answer("Heartbeat", 3, left(wire)[22])["error_code"] == ERRORS["UNKNOWN_MEMBER_ID"]


@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        ({"generation": 7}, "ILLEGAL_GENERATION"),
        ({"id": "x"}, "UNKNOWN_MEMBER_ID"),
        ({"more": {"group_instance_id": "i"}}, "UNKNOWN_MEMBER_ID"),
    ],
)
def test_who_is_no_member_of_a_generation_is_refused(
    wire: Wire, spoil: dict[str, Any], error: str
) -> None:
    one, _ = together(wire)
    vars(one).update(spoil)
    one.beat()
    assert answer("Heartbeat", 3, left(wire)[21])["error_code"] == ERRORS[error]
    one.sync({})
    assert answer("SyncGroup", 3, left(wire)[21])["error_code"] == ERRORS[error]


def test_what_a_group_cannot_have_is_refused(wire: Wire) -> None:
    together(wire)
    third = Classic(wire, 23)
    third.id = "unknown"
    third.join()
    assert third.joined(left(wire))["error_code"] == ERRORS["UNKNOWN_MEMBER_ID"]
    for more, error in (
        ({"session_timeout_ms": 1}, "INVALID_SESSION_TIMEOUT"),
        ({"protocol_type": "connect"}, "INCONSISTENT_GROUP_PROTOCOL"),
        ({"protocols": []}, "INCONSISTENT_GROUP_PROTOCOL"),
        ({"group_id": ""}, "INVALID_GROUP_ID"),
    ):
        body = {
            **{"group_id": "g", "session_timeout_ms": 1000, "rebalance_timeout_ms": 1},
            **{"member_id": "", "protocol_type": "consumer"},
            "protocols": [{"name": "range", "metadata": b""}],
        }
        said = wire.ask(third.broker, "JoinGroup", 5, **(body | more))
        assert said["error_code"] == ERRORS[error]


def test_a_static_member_comes_back_to_what_it_had(wire: Wire) -> None:
    """KIP-345: no rebalance, and the old id is fenced."""
    member = Classic(wire, 21, group_instance_id="i")
    member.join()
    assert member.joined(left(wire))["error_code"] == NONE
    member.sync({member.id: b"1"})
    left(wire)
    again = Classic(wire, 22, group_instance_id="i")
    again.join()
    assert again.joined(left(wire))["generation_id"] == 1
    again.sync({})
    assert answer("SyncGroup", 3, left(wire)[22])["assignment"] == b"1"
    member.beat()
    assert answer("Heartbeat", 3, left(wire)[21])["error_code"] == ERRORS["FENCED_INSTANCE_ID"]


def test_a_generation_outlives_its_coordinator(wire: Wire) -> None:
    one, _ = together(wire)
    wire.do("kill", broker=one.broker)
    left(wire, 6)
    later = Classic(wire, 31)
    assert later.broker != one.broker
    later.id, later.generation = one.id, one.generation
    later.beat()
    assert answer("Heartbeat", 3, left(wire)[31])["error_code"] == NONE


def test_who_waits_for_a_rebalance_is_told_when_its_coordinator_was_replaced(wire: Wire) -> None:
    one, other = together(wire)
    one.join(metadata=b"new")
    assert left(wire) == {}
    wire.do("cut", broker=one.broker)
    # It leads on until it hears that another one does.
    assert left(wire, 15) == {}
    wire.do("join", broker=one.broker)
    told = left(wire, 5)
    assert one.joined(told)["error_code"] == ERRORS["NOT_COORDINATOR"]
    assert other.connection not in told


def test_members_commit_and_others_do_not(wire: Wire) -> None:
    one, _ = together(wire)
    offsets = [{"partition_index": 0, "committed_offset": 3, "committed_metadata": ""}]
    topics = [{"name": "t", "partitions": offsets}]
    for id, generation, error in (
        (one.id, 1, "NONE"),
        (one.id, 2, "ILLEGAL_GENERATION"),
        ("x", 1, "UNKNOWN_MEMBER_ID"),
        ("", -1, "UNKNOWN_MEMBER_ID"),
    ):
        said = {"generation_id_or_member_epoch": generation, "member_id": id, "topics": topics}
        told = wire.ask(one.broker, "OffsetCommit", 7, group_id="g", **said)
        assert told["topics"][0]["partitions"][0]["error_code"] == ERRORS[error]


def test_groups_are_listed_and_deleted_when_they_are_empty(wire: Wire) -> None:
    one, other = together(wire)
    said = wire.ask(one.broker, "ListGroups", 5)["groups"]
    assert [(g["group_id"], g["group_type"], g["group_state"]) for g in said] == [
        ("g", "classic", "Stable")
    ]
    assert wire.ask(one.broker, "ListGroups", 5, types_filter=["consumer"])["groups"] == []
    asked = {"groups_names": ["g", "h"]}
    codes = [e["error_code"] for e in wire.ask(one.broker, "DeleteGroups", 2, **asked)["results"]]
    assert codes == [ERRORS["NON_EMPTY_GROUP"], ERRORS["GROUP_ID_NOT_FOUND"]]
    for each in (one, other):
        each.send("LeaveGroup", 3, group_id="g", members=[{"member_id": each.id}])
        left(wire)
    codes = [e["error_code"] for e in wire.ask(one.broker, "DeleteGroups", 2, **asked)["results"]]
    assert codes == [NONE, ERRORS["GROUP_ID_NOT_FOUND"]]


# --- The consumer protocol


def beat(wire: Wire, id: str, epoch: int, owned: list[int] | None = None, **more: Any) -> Message:
    """owned: of t."""
    topic = wire.core.world.topics["t"].id
    has = None if owned is None else [{"topic_id": topic, "partitions": owned}] if owned else []
    body = {"group_id": "g", "member_id": id, "member_epoch": epoch, "topic_partitions": has}
    if epoch == 0:
        body |= {"rebalance_timeout_ms": 1000, "subscribed_topic_names": ["t"]}
    return wire.ask(coordinator(wire), "ConsumerGroupHeartbeat", 1, **(body | more))


def partitions(said: Message) -> list[int] | None:
    if said["assignment"] is None:
        return None
    return [p for topic in said["assignment"]["topic_partitions"] for p in topic["partitions"]]


def test_members_of_the_consumer_protocol_are_assigned_what_others_gave_up(wire: Wire) -> None:
    one = beat(wire, "a", 0, [])
    assert (one["error_code"], partitions(one)) == (NONE, [0, 1, 2, 3])
    other = beat(wire, "b", 0, [])
    assert partitions(other) == []
    one = beat(wire, "a", one["member_epoch"], [0, 1, 2, 3])
    kept = partitions(one)
    assert kept is not None
    assert len(kept) == 2
    assert partitions(beat(wire, "b", other["member_epoch"])) is None
    one = beat(wire, "a", one["member_epoch"], kept)
    other = beat(wire, "b", other["member_epoch"])
    assert sorted([*kept, *(partitions(other) or [])]) == [0, 1, 2, 3]
    assert one["member_epoch"] == other["member_epoch"]
    said = wire.ask(coordinator(wire), "ConsumerGroupDescribe", 1, group_ids=["g"])["groups"][0]
    assert (said["group_state"], len(said["members"])) == ("Stable", 2)


def test_a_member_is_fenced_and_leaves(wire: Wire) -> None:
    epoch = beat(wire, "a", 0, [])["member_epoch"]
    assert beat(wire, "a", epoch + 1)["error_code"] == ERRORS["FENCED_MEMBER_EPOCH"]
    assert beat(wire, "x", 3)["error_code"] == ERRORS["UNKNOWN_MEMBER_ID"]
    assert beat(wire, "a", -1)["member_epoch"] == -1
    assert beat(wire, "a", epoch)["error_code"] == ERRORS["UNKNOWN_MEMBER_ID"]
    assert beat(wire, "b", 0, [1])["error_code"] == ERRORS["INVALID_REQUEST"]
    assert beat(wire, "b", -3)["error_code"] == ERRORS["INVALID_REQUEST"]
    wrong = beat(wire, "b", 0, [], server_assignor="mine")
    assert wrong["error_code"] == ERRORS["UNSUPPORTED_ASSIGNOR"]
    wrong = beat(wire, "b", 0, [], subscribed_topic_regex="(")
    assert wrong["error_code"] == ERRORS["INVALID_REGULAR_EXPRESSION"]


def test_a_topic_that_is_made_is_assigned_without_being_asked_for(wire: Wire) -> None:
    said = beat(wire, "a", 0, [], subscribed_topic_names=None, subscribed_topic_regex="t|u.*")
    assert len(partitions(said) or []) == 4
    wire.create("u1", partitions=2)
    said = beat(wire, "a", said["member_epoch"])
    assert len(partitions(said) or []) == 6
    assert wire.ask(0, "DeleteTopics", 4, topic_names=["u1"], timeout_ms=1000)
    said = beat(wire, "a", said["member_epoch"], [0, 1, 2, 3])
    assert len(partitions(said) or []) == 4


def test_a_static_member_may_leave_for_a_while(wire: Wire) -> None:
    said = beat(wire, "a", 0, [], instance_id="i")
    assert beat(wire, "b", 0, [], instance_id="i")["error_code"] == ERRORS["UNRELEASED_INSTANCE_ID"]
    assert beat(wire, "a", -2, instance_id="i")["member_epoch"] == -2
    again = beat(wire, "b", 0, [], instance_id="i")
    assert partitions(again) == partitions(said)
    old = beat(wire, "a", said["member_epoch"], instance_id="i")
    assert old["error_code"] == ERRORS["FENCED_INSTANCE_ID"]


def test_a_group_outlives_its_coordinator(wire: Wire) -> None:
    said, old = beat(wire, "a", 0, []), coordinator(wire)
    wire.do("kill", broker=old)
    wire.wait(6)
    again = beat(wire, "a", said["member_epoch"], [0, 1, 2, 3])
    assert (again["error_code"], again["member_epoch"]) == (NONE, said["member_epoch"])
    told = wire.ask(coordinator(wire), "ConsumerGroupDescribe", 1, group_ids=["g"])["groups"][0]
    assert [m["member_id"] for m in told["members"]] == ["a"]


def test_a_member_that_does_not_revoke_in_time_is_removed(wire: Wire) -> None:
    one = beat(wire, "a", 0, [])
    beat(wire, "b", 0, [])
    beat(wire, "a", one["member_epoch"], [0, 1, 2, 3])
    wire.wait(1.1 * 20)
    gone = beat(wire, "a", one["member_epoch"], [0, 1, 2, 3])
    assert gone["error_code"] == ERRORS["UNKNOWN_MEMBER_ID"]


def test_commits_of_another_epoch_are_refused(wire: Wire) -> None:
    epoch = beat(wire, "a", 0, [])["member_epoch"]
    offsets = [{"partition_index": 0, "committed_offset": 3, "committed_metadata": ""}]
    topics = [{"name": "t", "partitions": offsets}]
    broker = coordinator(wire)
    for id, said, error in (
        ("a", epoch, "NONE"),
        ("a", epoch + 1, "STALE_MEMBER_EPOCH"),
        ("x", epoch, "UNKNOWN_MEMBER_ID"),
    ):
        body = {"generation_id_or_member_epoch": said, "member_id": id, "topics": topics}
        told = wire.ask(broker, "OffsetCommit", 9, group_id="g", **body)
        assert told["topics"][0]["partitions"][0]["error_code"] == ERRORS[error]
    asked = {"group_id": "g", "member_id": "a", "topics": None}
    for said, error in ((epoch, "NONE"), (epoch + 1, "STALE_MEMBER_EPOCH")):
        group = asked | {"member_epoch": said}
        (found,) = wire.ask(broker, "OffsetFetch", 9, groups=[group])["groups"]
        assert found["error_code"] == ERRORS[error]


def test_the_assignor_gives_a_target_of_the_reference(wire: Wire) -> None:
    """Any subscriptions: of its subscribers, none has two more than another."""
    for seed in range(60):
        constants = Constants(
            members=(1, 2, 3), partitions=(1, 2, 3, 4, 5), max_coordinators=1, max_correlation=1
        )
        rules = GroupRules(constants)
        wants = [tuple(p for p in range(1, 6) if (seed * 7 + p * n) % 3) for n in (1, 2, 5)]
        of = [MemberRecord("Stable", 1, 0, w, w[: seed % 3], (), ()) for w in wants]
        group = GroupRecord(2, 1, tuple(of), ())
        wanted = tuple(sorted({p for w in wants for p in w}))
        owner = members._Handlers(rules).assigned(group, wanted)
        assert set(owner) == set(wanted)
        assert rules.is_target(group, owner)


def test_a_coordinator_that_gives_away_what_is_held_is_found(
    wire: Wire, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The tape is judged by what the reference's groups promise."""
    monkeypatch.setattr(GroupRules, "is_free", lambda *_: True)
    beat(wire, "a", 0, [])
    beat(wire, "b", 0, [])
    said = judged(wire.tape(tmp_path / "tape"))
    assert said.verdict == "violated"
    assert "is violated in group g" in said.reasons[0]


def test_a_tape_of_groups_is_played_again(wire: Wire, tmp_path: Path) -> None:
    together(wire)
    said = beat(wire, "a", 0, [], group_id="h")
    beat(wire, "b", 0, [], group_id="h")
    beat(wire, "a", said["member_epoch"], [0, 1, 2, 3], group_id="h")
    found = judged(wire.tape(tmp_path / "tape"))
    assert (found.verdict, found.reasons) == ("holds", [])
