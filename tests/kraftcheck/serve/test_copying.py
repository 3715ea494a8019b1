"""Followers that copy a batch in one go (`LivePartition`), against the steps one by one.

A session under faults is served as the front serves it, where time leaps; its tape is played again
by the machine that takes each step by itself. What brokers, deadlines and agenda are then has to be
the same, and so have the answers.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from kraftcheck.kafka.serve import partition as partitions, tape
from kraftcheck.kafka.serve.core import Core
from kraftcheck.kafka.serve.front import LEAP_US
from kraftcheck.kafka.serve.partition import LivePartition
from kraftcheck.kafka.serve.tape import handled, replayed
from tests.kraftcheck.serve.wire import Wire, batch, frame

CONNECTIONS = 10
"""The number from which a second one to each broker counts."""


class Served(Wire):
    """A client of a cluster whose time leaps as before a front."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self.random = random
        self.core.reach = LEAP_US
        self.create(min_insync_replicas=str(random.choice([1, 2])))
        self.create("u", partitions="2")
        self.connect_all()

    def arrives(self, kind: Any, connection: int, data: bytes) -> None:
        self.now = max(self.now, self.core.world.now)
        self.taped.arrive(kind, self.now, connection, data)
        self.core.leap(self.core.world.now + LEAP_US)
        self.taped.left()

    def passes(self, seconds: float) -> None:
        self.now = max(self.now, self.core.world.now)
        self.wait(seconds)

    def connect_all(self) -> None:
        for broker in self.core.world.up():
            for connection in (broker, CONNECTIONS + broker):
                if connection not in self.core._connections:
                    self.arrives("opened", connection, b"%d" % broker)

    def writes(self) -> None:
        choice = self.random.choice
        records = [batch(*[b"x"] * self.random.randint(1, 3))]
        data = [{"name": "t", "partition_data": [{"index": 0, "records": records[0]}]}]
        if self.random.random() < 0.2:
            both = [{"index": at, "records": batch(b"y")} for at in range(2)]
            data.append({"name": "u", "partition_data": both})
        acks, timeout = choice([-1, -1, -1, -1, 1, 0]), choice([5, 5000])
        body = {"acks": acks, "timeout_ms": timeout, "topic_data": data}
        self.arrives("frame", max(self.leader(), 0), frame("Produce", 9, body))

    def watermark(self) -> int:
        found = self.core.world.partition("t", 0)
        assert found is not None
        return self.core.world.watermark(found)

    def reads(self) -> None:
        """At the end, where it waits."""
        asked = {"partition": 0, "fetch_offset": self.watermark(), "partition_max_bytes": 1 << 20}
        body = {
            "replica_id": -1,
            "max_wait_ms": self.random.choice([0, 20, 500]),
            "min_bytes": 1,
            "topics": [{"topic": "t", "partitions": [asked]}],
        }
        leader = max(self.leader(), 0)
        self.arrives("frame", CONNECTIONS + leader, frame("Fetch", 11, body))

    def suffers(self) -> None:
        """A fault by hand, or one that waits for a batch."""
        choice, broker = self.random.choice, self.random.randrange(3)
        self.now = max(self.now, self.core.world.now)
        if self.random.random() < 0.3:
            wanted = {"topic": "t", "partition": 0}
            wanted["watermark"] = self.watermark() + self.random.randint(1, 4)
            whose = choice(["leader of t-0", "follower of t-0"])
            self.do(choice(["kill", "pause", "cut"]), broker=whose, lasts_ms=200, when=wanted)
            return
        done = choice(["kill", "stop", "restart", "pause", "resume", "resume", "cut", "join"])
        self.do(done, broker=broker)

    def moves(self, count: int) -> None:
        for _ in range(count):
            drawn = self.random.random()
            if drawn < 0.75:
                self.writes()
            elif drawn < 0.83:
                self.reads()
            elif drawn < 0.91:
                self.suffers()
                self.passes(self.random.choice([0, 0.001, 0.5, 4]))
            else:
                self.now = max(self.now, self.core.world.now)
                for broker in range(3):
                    self.do("resume", broker=broker)
                for command in ("join", "restart"):
                    self.do(command, broker="all")
                self.passes(3)
            self.passes(self.random.choice([0, 0, 0, 0.0005, 0.05]))
            self.connect_all()
        self.arrives("tick", 0, b"")


def held(core: Core) -> Any:
    """All that decides what comes next. Of those who wait for an answer there is an event only
    where they were not answered at once; when it comes, it looks for them."""
    agenda = [
        (due, number, kind, node, getattr(what, "value", None) or what.__qualname__)
        for due, number, _, _, kind, node, what in sorted(core.world.agenda, key=lambda e: e[:3])
        if getattr(what, "__qualname__", "") != "Core._expire"
    ]
    brokers = [
        (
            *(each.row(node) for node in each.brokers),
            [[(want.value, due) for want, due in dues.items()] for dues in each.pace._due.values()],
            {node: (at, fetch.value, due) for node, (at, fetch, due) in each.pace._parked.items()},
            (each.controller, each.handler_calls),
        )
        for each in core.world.all
    ]
    return agenda, brokers


def compared(seed: int, path: Path, moves: int = 100) -> str:
    """What is different, in a word: at the end, or before anything that arrives is handled."""
    found: list[Any] = []

    def noted(core: Core, *of: Any) -> str:
        found.append(held(core))
        return handled(core, *of)

    with pytest.MonkeyPatch.context() as watched:
        watched.setattr(tape, "handled", noted)
        served = Served(Random(seed))
        served.moves(moves)
        path.write_bytes(served.sink.getvalue())
        live, found = found, []
        again = replayed(path, watched=True)
    if again.difference is not None:
        return "answers"
    return "" if live == found else "state"


@pytest.mark.parametrize("seed", range(4))
def test_copying_in_one_go_is_what_the_steps_do(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[bool] = []
    right = LivePartition._copies

    def counted(self: LivePartition, *of: Any) -> bool:
        done.append(right(self, *of))
        return done[-1]

    monkeypatch.setattr(LivePartition, "_copies", counted)
    assert compared(seed, tmp_path / "tape") == ""
    assert {*done} == {True, False}


def test_another_time_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "COPIED_US", partitions.COPIED_US + 1000)
    assert compared(0, tmp_path / "tape")


def test_what_happens_meanwhile_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a broker that stands still copies, too."""
    right = LivePartition._copies

    def wrong(self: LivePartition, *of: Any) -> bool:
        paused, self.world.paused = self.world.paused, set()
        done = right(self, *of)
        self.world.paused = paused
        return done

    monkeypatch.setattr(LivePartition, "_copies", wrong)
    assert any(compared(seed, tmp_path / "tape") for seed in range(4))


def test_answers_that_overtake_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: what waited for a broker that stood still is answered as if it came now."""
    right = Core.at_once

    def wrong(self: Core) -> None:
        self._leaps = self.reach
        right(self)

    monkeypatch.setattr(Core, "at_once", wrong)
    assert any(compared(seed, tmp_path / "tape") for seed in range(8))
