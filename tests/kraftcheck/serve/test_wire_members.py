"""What coordinators told members of groups: it holds, and planted faults of theirs are seen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.classic import ClassicGroup
from kraftcheck.kafka.serve.judging import judged
from kraftcheck.kafka.serve.tape import replayed
from kraftcheck.kafka.serve.wire_history import WireHistory
from kraftcheck.kafka.serve.wire_judged import findings
from kraftcheck.kafka.serve.wire_members import Members
from kraftcheck.reference.groups.rules import GroupRules
from tests.kraftcheck.serve.test_groups import (
    Classic,
    beat,
    left,
    partitions,
    together,
)
from tests.kraftcheck.serve.wire import Wire, answer, plant, with_topic


def rebalanced(wire: Wire) -> None:
    """A member leaves, the other goes on alone, and asks once more for its first generation."""
    one, other = together(wire)
    other.send("LeaveGroup", 3, group_id="g", members=[{"member_id": other.id}])
    left(wire)
    one.join()
    one.joined(left(wire))
    one.sync({one.id: b"all"})
    left(wire)
    one.generation = 1
    one.beat()
    left(wire)


def comes_back(wire: Wire) -> None:
    """A static member, with another id, to what it had; who has the old id asks on."""
    member = Classic(wire, 21, group_instance_id="i")
    member.join()
    member.joined(left(wire))
    member.sync({member.id: b"1"})
    left(wire)
    again = Classic(wire, 22, group_instance_id="i")
    again.join()
    again.joined(left(wire))
    again.sync({})
    left(wire)
    again.join()
    again.joined(left(wire))
    member.beat()
    left(wire)


def handed_on(wire: Wire) -> None:
    """Partitions go from one to the other, when the one has given them up."""
    one = beat(wire, "a", 0, [])
    other = beat(wire, "b", 0, [])
    one = beat(wire, "a", one["member_epoch"], [0, 1, 2, 3])
    beat(wire, "a", one["member_epoch"], partitions(one))
    beat(wire, "b", other["member_epoch"])


def named(wire: Wire) -> None:
    """By the coordinator, in the answer to its first heartbeat, as version 0 has it."""
    one = beat(wire, "", 0, [])
    beat(wire, one["member_id"], one["member_epoch"], partitions(one))


def seen(path: Path, session: Callable[[Wire], None]) -> tuple[WireHistory, list[tuple[str, str]]]:
    wire = with_topic(partitions=4)
    session(wire)
    wire.tape(path)
    history = WireHistory()
    played = replayed(path, watched=False, witness=history)
    found = [(each.where, each.why) for each in findings(history, [played.core.world.offsets])]
    return history, [each for each in found if each[0].startswith("the members")]


@pytest.mark.parametrize(
    ("session", "told"), [(rebalanced, 6), (comes_back, 5), (handed_on, 5), (named, 2)]
)
def test_what_members_are_told_holds(
    session: Callable[[Wire], None], told: int, tmp_path: Path
) -> None:
    history, found = seen(tmp_path / "tape", session)
    assert found == []
    assert history.members.told == told
    assert judged(tmp_path / "tape").verdict == "holds"


def give_anothers(right: Any, *of: Any) -> Any:
    return right(*of) | {"assignment": b"2"}


def always_well(right: Any, self: ClassicGroup, body: Any, told: Any) -> None:
    told.refuse("NONE")


def two_leaders(right: Any, self: ClassicGroup, member: Any, *more: Any) -> Any:
    return right(self, member, *more) | {"leader": member.id}


def all_are_told(right: Any, self: ClassicGroup, member: Any, *more: Any) -> Any:
    """Who is in the generation, as only the leader should be."""
    members = right(self, self.members[self.leader])["members"]
    return right(self, member, *more) | {"members": members}


def count_down(right: Any, self: ClassicGroup) -> None:
    self.generation -= 2 * self.generation
    right(self)


def give_what_is_held(*_: Any) -> bool:
    return True


ASSIGNED, BEAT = (ClassicGroup, "_assigned"), (ClassicGroup, "heartbeat")
JOINED, COMPLETE = (ClassicGroup, "_joined"), (ClassicGroup, "_complete_join")
FREE = (GroupRules, "is_free")


@pytest.mark.parametrize(
    ("at", "wrong", "session", "why"),
    [
        (ASSIGNED, give_anothers, rebalanced, "was given what nobody sent for it in generation 1"),
        (BEAT, always_well, rebalanced, "Heartbeat of generation 1 was well after there was 2"),
        (ASSIGNED, give_anothers, comes_back, "was given what nobody sent for it in generation 1"),
        (BEAT, always_well, comes_back, "had taken its place"),
        (JOINED, two_leaders, rebalanced, "leader and protocol of generation 1 were"),
        (JOINED, all_are_told, together, "was told who is in generation 1, and"),
        (COMPLETE, count_down, rebalanced, "joined generation 0 after there was 1"),
        (FREE, give_what_is_held, handed_on, "which has it still, was told that all is well"),
    ],
)
def test_planted_faults_are_seen(
    at: tuple[type, str],
    wrong: Callable[..., Any],
    session: Callable[[Wire], None],
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch, *at, wrong)
    ((where, said),) = seen(tmp_path / "tape", lambda wire: _as_far(session, wire))[1]
    assert where == "the members of 'g'"
    assert why in said


def _as_far(session: Callable[[Wire], None], wire: Wire) -> None:
    """A session asserts what it is told; under a fault it goes as far as it goes."""
    try:
        session(wire)
    except AssertionError:
        left(wire)


def test_a_generation_is_of_its_coordinator(tmp_path: Path) -> None:
    """One that is cut off goes on with what it knows, while the next one has another generation."""

    def session(wire: Wire) -> None:
        one, _ = together(wire)
        wire.do("cut", broker=one.broker)
        wire.wait(12)
        new = wire.core.world.offsets.controller.partition.leader
        assert new != one.broker
        again = Classic(wire, 31)
        again.broker = new
        wire.taped.arrive("opened", wire.now, 32, b"%d" % new)
        again.connection = 32
        again.join()
        again.joined(left(wire))
        again.join()
        left(wire, 60)
        one.beat()
        told = left(wire)[one.connection]
        assert answer("Heartbeat", 3, told)["error_code"] in (0, ERRORS["UNKNOWN_MEMBER_ID"])
        wire.do("join", broker=one.broker)

    assert seen(tmp_path / "tape", session)[1] == []


@pytest.mark.parametrize(
    ("tenure", "invoked", "late"), [(1, 11, True), (1, 9, False), (2, 11, False)]
)
def test_who_has_the_old_id_may_have_asked_before(tenure: int, invoked: int, late: bool) -> None:
    """Or asks a coordinator of another tenure, which does not know of the new one."""
    members = Members()
    group = members._group("g")
    group.instances |= {"old": "i", "new": "i"}
    group.places["i"] = ("new", 1, 10)
    asked = {"generation_id": 1, "member_id": "old"}
    said = members._is_well(group, tenure, asked, invoked, "Heartbeat")
    assert ("had taken its place" in said) == late
