"""Moves that wait, plans, and tapes with fewer of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kraftcheck.exits import BadInput
from kraftcheck.kafka.serve import plans
from kraftcheck.kafka.serve.apis import ERRORS, SERVED, versions
from kraftcheck.kafka.serve.codec import encoded
from kraftcheck.kafka.serve.faults import INVENTED, invented
from kraftcheck.kafka.serve.judging import judged
from kraftcheck.kafka.serve.requests import Request
from kraftcheck.kafka.serve.tape import replayed
from tests.kraftcheck.serve.wire import Wire, answer, batch, frame, producing, with_topic

NONE = ERRORS["NONE"]


@pytest.fixture
def wire() -> Wire:
    return with_topic()


def sent(wire: Wire) -> list[bytes | None]:
    return wire.send(wire.leader(), frame("Produce", 9, producing(batch(b"v"), timeout_ms=1000)))


# --- When


def test_the_nth_request_of_a_kind(wire: Wire) -> None:
    when = {"api": "Produce", "topic": "t", "client": "t", "nth": 3}
    assert wire.do("kill", broker="leader of t-0", when=when) == ""
    for _ in range(2):
        assert wire.produce(batch(b"v"))["error_code"] == NONE
        wire.fetch(0)
    old = wire.leader()
    assert sent(wire) == [None]
    assert old not in wire.core.world.up()
    assert wire.core.faults.moves == []


def test_other_requests_do_not_count(wire: Wire) -> None:
    for when in ({"client": "u"}, {"broker": (wire.leader() + 1) % 3}, {"api": "Metadata"}):
        assert wire.do("reset", cut="before", when=when) == ""
    assert wire.produce(batch(b"v"))["error_code"] == NONE
    assert len(wire.core.faults.moves) == 3


def test_a_time_a_high_watermark_and_a_command(wire: Wire) -> None:
    at = wire.now / 1_000_000 + 3
    wire.do("kill", broker=0, when={"at": at})
    wire.do("kill", broker=1, when={"topic": "t", "watermark": 2})
    wire.do("restart", broker="all", when={"command": "go"})
    wire.wait(2)
    assert wire.core.world.up() == {0, 1, 2}
    wire.wait(2)
    assert wire.core.world.up() == {1, 2}
    wire.wait(6)
    wire.produce(batch(b"v"))
    assert wire.core.world.up() == {1, 2}
    sent(wire)
    assert wire.core.world.up() == {2}
    assert wire.do("fire", name="go") == ""
    assert wire.core.world.up() == {0, 1, 2}
    assert "nothing waits" in wire.do("fire", name="go")


# --- What


@pytest.mark.parametrize(
    ("cut", "left", "end"), [("before", 0, 0), ("after", 0, 1), ("within", 1, 1)]
)
def test_a_connection_ends_before_after_or_within(
    wire: Wire, cut: str, left: int, end: int
) -> None:
    assert wire.do("reset", cut=cut, when={"api": "Produce"}) == ""
    found = sent(wire)
    assert (len(found), found[-1]) == (left + 1, None)
    wire.connect(wire.leader())
    assert wire.offset(-1)["offset"] == end


def test_a_broker_that_stands_still_hears_and_does_nothing(wire: Wire) -> None:
    """Who led is no leader any more when it goes on, and says so to whom it kept waiting."""
    old = wire.leader()
    assert wire.do("pause", broker=old, lasts_ms=1500) == ""
    before = wire.core.world.partition("t", 0)
    assert before is not None
    row = before.row(old)
    assert sent(wire) == []
    assert wire.core.waits(old)
    wire.wait(20)
    assert before.row(old) is row
    assert wire.leader() != old
    assert wire.produce(batch(b"v"))["error_code"] == NONE
    wire.wait(20)
    (told,) = [each.data for each in wire.taped.left() if each.connection == old]
    told = answer("Produce", 9, told)["responses"][0]["partition_responses"][0]
    assert told["error_code"] == ERRORS["NOT_LEADER_OR_FOLLOWER"]
    assert len(before.controller.partition.isr) == 3


def test_a_follower_that_stands_still_leaves_the_isr(wire: Wire) -> None:
    assert wire.do("pause", broker="follower of t-0") == ""
    wire.wait(20)
    partition = wire.core.world.partition("t", 0)
    assert partition is not None
    assert len(partition.controller.partition.isr) == 2
    assert wire.do("resume", broker="follower of t-0") == ""
    wire.wait(5)
    assert len(partition.controller.partition.isr) == 3


def test_metadata_that_is_late(wire: Wire) -> None:
    """Who led acts by what it knows, until it hears."""
    old = wire.leader()
    partition = wire.core.world.partition("t", 0)
    assert partition is not None
    assert wire.do("stale", broker=old) == ""
    assert wire.do("expire", broker=old) == ""
    wire.wait(5)
    assert wire.leader() != old
    assert partition.row(old).role == "Leader"
    assert wire.do("fresh", broker=old) == ""
    wire.wait(1)
    assert partition.row(old).role == "Follower"


def test_a_kill_keeps_some_of_what_was_not_flushed_and_tears_one(wire: Wire) -> None:
    """Of what was not flushed, so many batches stay, and one more cannot be read."""
    old = wire.leader()
    partition = wire.core.world.partition("t", 0)
    assert partition is not None
    wire.wait(60)
    for _ in range(5):
        assert wire.produce(batch(b"v"))["error_code"] == NONE
    wire.wait(60)
    assert partition.row(old).flushed == 0
    assert wire.do("kill", broker=old, lose=True, keep=2, torn=True) == ""
    assert (len(partition.row(old).log), partition.row(old).corrupt) == (3, 2)
    wire.wait(20)
    assert wire.do("restart", broker=old) == ""
    wire.wait(20)
    assert len(partition.row(old).log) == 5
    assert wire.offset(-1)["offset"] == 5


def test_a_kill_that_keeps_what_it_does_not_lose_is_refused(wire: Wire) -> None:
    for said in ({"lose": True, "keep": -1}, {"keep": 1}, {"torn": True}):
        assert "that lose=true loses" in wire.do("kill", broker=0, **said)
        later = {"when": {"api": "Produce"}, **said}
        assert "that lose=true loses" in wire.do("kill", broker=0, **later)
    assert wire.core.world.up() == {0, 1, 2}


def test_a_move_of_all_brokers_that_is_of_one_is_refused(wire: Wire) -> None:
    """Before its time comes, when nobody could be told."""
    assert "no broker 'all'" in wire.do("pause", broker="all", when={"api": "Produce"})
    assert wire.do("restart", broker="all", when={"api": "Produce"}) == ""


def test_what_else_is_done_is_judged_and_replayed(wire: Wire, tmp_path: Path) -> None:
    """A session under each of them keeps every promise, and its tape says the same again."""
    for do in ("pause", "stale"):
        assert wire.do(do, broker="leader of t-0", lasts_ms=300) == ""
        wire.wait(8)
        assert wire.produce(batch(b"v"))["error_code"] == NONE
    wire.do("pause", broker=0)
    wire.do("kill", broker=0)
    wire.do("restart", broker=0)
    wire.do("pause", broker=1)
    found = judged(wire.tape(tmp_path / "tape"))
    assert (found.verdict, found.reasons) == ("holds", [])


def test_a_request_waits_for_a_command(wire: Wire) -> None:
    wire.do("delay", until="go", when={"api": "Produce"})
    assert sent(wire) == []
    wire.wait(60)
    assert (wire.taped.left(), wire.core.waits(wire.leader())) == ([], True)
    assert wire.do("fire", name="go") == ""
    wire.wait(1)
    assert len(wire.taped.left()) == 1
    assert wire.offset(-1)["offset"] == 1
    assert wire.do("fire", name="go") == "nothing waits for 'go'"


def test_a_request_is_late(wire: Wire) -> None:
    wire.do("delay", ms=200, when={"api": "Produce"})
    assert sent(wire) == []
    assert wire.core.waits(wire.leader())
    wire.wait(4)
    assert len(wire.taped.left()) == 1
    assert wire.offset(-1)["offset"] == 1


def test_an_answer_is_invented_and_counted(wire: Wire, tmp_path: Path) -> None:
    when = {"api": "Produce"}
    assert wire.do("answer", error="NOT_ENOUGH_REPLICAS", when=when, times=2) == ""
    for _ in range(2):
        assert wire.produce(batch(b"v"))["error_code"] == ERRORS["NOT_ENOUGH_REPLICAS"]
    assert wire.produce(batch(b"v"))["error_code"] == NONE
    assert wire.offset(-1)["offset"] == 1
    found = judged(wire.tape(tmp_path / "tape"))
    assert (found.verdict, found.invented) == ("holds", 2)


def test_answers_that_are_invented_can_be_written(wire: Wire) -> None:
    slots = [{"index": 0, "partition": 0, "partition_index": 0}]
    for api in SERVED:
        if wire.do("answer", error="INVALID_REQUEST", when={"api": api}) == "":
            version = versions(api).last
            request = Request(0, 0, api, version, 1, "")
            topic = {"topic" if api == "Fetch" else "name": "t"}
            request.body = {"topic_data": [{**topic, "partition_data": slots}]}
            request.body["topics"] = [{**topic, "partitions": slots}]
            request.invented = "INVALID_REQUEST"
            said = invented(request)
            assert encoded(f"{api}Response", version, said)
    assert len(wire.core.faults.moves) > len(INVENTED)


@pytest.mark.parametrize("do", ["kill", "stop"])
def test_what_lasts_for_a_while(wire: Wire, do: str) -> None:
    old = wire.leader()
    assert wire.do(do, broker="leader of t-0", lasts_ms=100) == ""
    wire.wait(1.9)
    assert old not in wire.core.world.up()
    wire.wait(0.2)
    assert wire.core.world.up() == {0, 1, 2}


def test_what_is_cut_off_twice_is_joined_once_and_only_what_was_cut_off(
    wire: Wire, tmp_path: Path
) -> None:
    """Also where a topic is made meanwhile, and where the end comes before the cut's own."""
    for _ in range(2):
        assert wire.do("cut", broker=2) == ""
    wire.create("u")
    wire.wait(12)
    isr = [p.controller.partition.isr for p in wire.core.world.all]
    assert isr == [(0, 1)] * 3
    wire.do("join", broker="all")
    wire.wait(12)
    assert [p.controller.partition.isr for p in wire.core.world.all] == [(0, 1, 2)] * 3
    assert wire.do("cut", broker=1, lasts_ms=300) == ""
    found = judged(wire.tape(tmp_path / "tape"))
    assert (found.verdict, found.reasons) == ("holds", [])


# --- What means nothing


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"do": "fly", "when": {}}, "no command 'fly'"),
        ({"do": "kill", "broker": 9, "when": {}}, "no broker 9"),
        ({"do": "kill", "broker": 1, "last_ms": 9, "when": {}}, "kill: no 'last_ms'; there are"),
        ({"do": "join", "brokers": "all"}, "join: no 'brokers'; there are broker, do,"),
        ({"do": "deny", "kind": "topic", "topic": "t"}, "deny: no 'topic'; there are do, kind,"),
        ({"do": "kill", "broker": "leader of u-0", "when": {}}, "no partition u-0"),
        ({"do": "kill", "broker": 1, "when": {"api": "Send"}}, "no API 'Send' is served"),
        ({"do": "kill", "broker": 1, "when": {"broker": 7}}, "no broker 7"),
        ({"do": "kill", "broker": 1, "when": {"topic": "u"}}, "no partition u-0"),
        ({"do": "kill", "broker": 1, "when": {"watermark": 3}}, "is that of a topic"),
        ({"do": "kill", "broker": 1, "when": {"month": 3}}, "unknown field `month`"),
        ({"do": "kill", "when": {}}, "'broker' is missing"),
        ({"do": "reset", "cut": "now", "when": {}}, "before or after"),
        ({"do": "delay", "ms": 0, "when": {}}, "ms above 0"),
        ({"do": "move", "lasts_ms": 5, "when": {}}, "ends by itself"),
        ({"do": "kill", "broker": 0, "lasts_ms": 0, "when": {}}, "lasts_ms is of"),
        ({"do": "delay", "ms": 5, "when": {"at": 1}}, "is done to requests"),
        ({"do": "answer", "error": "OOPS", "when": {"api": "Fetch"}}, "no error 'OOPS'"),
        ({"do": "answer", "error": "NONE", "when": {"api": "Metadata"}}, "is invented"),
        ({"do": "answer", "error": "NONE", "when": {}}, "no answer of any API is invented"),
    ],
)
def test_moves_that_mean_nothing(wire: Wire, said: dict[str, Any], why: str) -> None:
    assert why in wire.core.command(said)
    assert wire.core.faults.moves == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no \\[\\[move\\]\\]"),
        ("move = 3", "move: a plan has"),
        ("[[topic]]\nname = 't'", "no \\[\\[move\\]\\]"),
        ("[[moves]]", "'moves'"),
        ("[[move", "plan.toml: Expected"),
    ],
)
def test_files_that_are_no_plan(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(text)
    with pytest.raises(BadInput, match=why):
        plans.read(path)


def test_a_plan_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(
        '[[topic]]\nname = "u"\n[[move]]\ndo = "kill"\nbroker = "leader of u-0"\n'
        'when = { api = "Produce", nth = 3 }\n'
    )
    made, move = plans.read(path)
    assert made == {"do": "create", "name": "u"}
    assert move["when"] == {"api": "Produce", "nth": 3}
    wire = Wire()
    assert [wire.core.command(said) for said in (made, move)] == ["", ""]


def test_a_plan_of_a_seed(wire: Wire) -> None:
    drawn = [plans.drawn(seed, 3) for seed in range(30)]
    assert drawn == [plans.drawn(seed, 3) for seed in range(30)]
    kinds = {move["do"] for plan in drawn for move in plan}
    assert kinds == {"reset", "delay", "kill", "cut", "pause", "stale"}
    for plan in drawn:
        assert [wire.core.command(said) for said in plan] == [""] * len(plan)


# --- A tape with fewer moves


def test_a_tape_is_left_with_the_moves_that_it_needs(tmp_path: Path) -> None:
    """Z58: a leader that forgets batches takes one again; only that one is lost is needed."""
    wire = Wire(bug="Z58")
    wire.create()
    wire.do("kill", broker="follower of t-0", when={"api": "Produce", "nth": 2})
    wire.do("delay", ms=1, when={"api": "Produce", "nth": 3})
    wire.do("restart", broker="all", when={"api": "Produce", "nth": 4})
    records = batch(b"v", producer=(7, 0, 0))
    for data in (*[batch(b"w")] * 5, records, records, batch(b"after")):
        wire.produce(data, acks=1)
    path = tmp_path / "tape"
    path.write_bytes(wire.sink.getvalue())
    found = plans.shrunk(path, tmp_path / "small")
    assert (found.promise, found.kept, found.removed) == ("NoDuplicate", [], 3)
    again = replayed(found.tape)
    assert again.difference is None
    assert [v.invariant for p in again.violated for v in p.violations] == ["NoDuplicate"]
    assert found.tape.stat().st_size < path.stat().st_size


def test_a_move_that_is_needed_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A promise that is broken when a broker is killed."""

    def promise(core: Any) -> str:
        return "NobodyDies" if len(core.world.up()) < 3 else ""

    wire = with_topic()
    for nth in (1, 2, 3):
        wire.do("delay", ms=1, when={"api": "Produce", "nth": nth})
    wire.do("kill", broker=1, when={"api": "Produce", "nth": 2})
    for _ in range(4):
        sent(wire)
        wire.wait(1)
    path = tmp_path / "tape"
    path.write_bytes(wire.sink.getvalue())
    monkeypatch.setattr(plans, "_promise", promise)
    found = plans.shrunk(path, tmp_path / "small")
    assert ([each["do"] for each in found.kept], found.removed) == (["kill"], 3)


def test_a_tape_that_breaks_nothing_is_not_made_small(wire: Wire, tmp_path: Path) -> None:
    path = tmp_path / "tape"
    path.write_bytes(wire.sink.getvalue())
    with pytest.raises(BadInput, match="no promise is broken"):
        plans.shrunk(path, tmp_path / "small")
