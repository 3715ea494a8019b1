"""A tape is a complete recording, and what is judged by it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from kraftcheck import exits
from kraftcheck.kafka.serve import command as serving, metadata
from kraftcheck.kafka.serve.core import Core, Effect
from kraftcheck.kafka.serve.judging import conformed, judged, recorded
from kraftcheck.kafka.serve.partition import LivePartition
from kraftcheck.kafka.serve.tape import replayed
from kraftcheck.kafka.serve.unremembered import known
from kraftcheck.reference.partition.messages import ProduceRequest
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.screen import Screen
from kraftcheck.traces.jobs.backends import Pool
from kraftcheck.traces.jobs.conform import ConformOptions
from tests.kraftcheck.serve.wire import Wire, batch, plant, with_topic


def session(path: Path, bug: str | None = None, ends: bool = True) -> Path:
    """Topics, records, a leader that is killed and comes back, a moved leader; as a tape."""
    wire = Wire(bug=bug)
    wire.create(min_insync_replicas="2")
    for _ in range(3):
        wire.produce(batch(b"a", b"b"))
    old = wire.leader()
    wire.do("kill", broker=old)
    wire.wait(6)
    wire.produce(batch(b"c"))
    wire.fetch(0)
    wire.do("restart", broker=old)
    wire.wait(10)
    wire.do("move", topic="t", partition=0)
    wire.wait(6)
    for broker in range(3):
        wire.taped.arrive("closed", wire.now, broker)
        wire.connect(broker)
    for _ in range(2):
        wire.produce(batch(b"d", producer=(7, 0, 0)))
    wire.offset(-1)
    return wire.tape(path, ends)


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return session(tmp_path_factory.mktemp("tape") / "tape-1")


def test_a_tape_played_again_gives_the_same_answers(tape: Path) -> None:
    said = judged(tape)
    assert (said.verdict, said.reasons) == ("holds", [])
    assert said.answers == 12
    assert said.command == f"kraftcheck serve --replay {tape}"


def test_a_tape_is_the_same_bytes_again(tape: Path, tmp_path: Path) -> None:
    assert session(tmp_path / "again").read_bytes() == tape.read_bytes()


def test_steps_are_the_same_with_a_memory_of_them_and_without(tape: Path) -> None:
    one, other = replayed(tape, watched=False), replayed(tape, watched=True, recorded=True)
    assert one.steps == other.steps
    for a, b in zip(one.core.world.all, other.core.world.all, strict=True):
        assert [a.row(n) for n in a.brokers] == [b.row(n) for n in b.brokers]
        assert a.controller == b.controller


def test_an_answer_that_does_not_follow_from_the_tape_is_seen(
    tape: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted nondeterminism: something counts across clusters."""
    calls, path = iter(range(1000)), tape.with_name("planted")

    def wrong(right: Any, *of: Any) -> Any:
        return right(*of) | {"leader_epoch": next(calls)}

    plant(monkeypatch, metadata.Metadata, "_partition", wrong)
    wire = with_topic()
    wire.ask(0, "Metadata", 9, topics=[{"name": "t"}])
    said = judged(wire.tape(path))
    assert said.verdict == "violated"
    assert "gives another answer" in said.reasons[0]


def test_a_step_that_is_another_while_clients_are_served_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody looks at those steps: here a leader appends a batch of producer 7 twice."""

    def wrong(right: Any, self: LivePartition, node: int, input: KnownInput) -> Any:
        if isinstance(input.value, ProduceRequest) and input.value.producer == 7:
            plain = replace(input.value, producer=-1, producer_epoch=-1, sequence=-1, client=1)
            right(self, node, known(plain))
        return right(self, node, input)

    with monkeypatch.context() as planted:
        plant(planted, LivePartition, "take", wrong)
        path = session(tmp_path / "tape")
    assert "gives another answer" in judged(path).reasons[0]


def test_an_answer_that_is_missing_is_seen(tape: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kraftcheck.kafka.serve.core.Core._answer", lambda *_: None)
    assert "gives another answer" in judged(tape).reasons[0]


def test_an_answer_too_many_is_seen(tape: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    def wrong(right: Any, self: Core) -> None:
        right(self)
        self.effects.append(Effect(1, b"more"))

    plant(monkeypatch, Core, "hang_up", wrong)
    assert "was none and is" in judged(tape).reasons[0]


def test_a_bug_in_the_cluster_is_found(tmp_path: Path) -> None:
    said = judged(session(tmp_path / "tape", bug="Z58"))
    assert said.verdict == "violated"
    assert "is violated in t-0" in said.reasons[0]


def test_a_tape_without_its_end_is_not_judged_to_hold(tmp_path: Path) -> None:
    path = session(tmp_path / "tape", ends=False)
    assert judged(path).verdict == "unknown"
    path.write_bytes(path.read_bytes()[:-3])
    assert judged(path).verdict == "unknown"


def test_a_bound_of_steps_is_kept_and_said(tape: Path, tmp_path: Path) -> None:
    taken, is_all = recorded(tape, tmp_path / "trace", 100)
    assert 100 <= taken < replayed(tape).steps
    assert not is_all


@pytest.mark.tlc
def test_tlc_judges_what_clients_did(tape: Path, tmp_path: Path) -> None:
    found = conformed(tape, tmp_path / "trace", 10_000, ConformOptions(backend=Pool(1)))
    assert (found.verdict, found.reasons) == ("holds", [])
    assert found.judged == replayed(tape).steps


@pytest.mark.slow
@pytest.mark.tlc
def test_tlc_rejects_the_steps_of_a_bug(tmp_path: Path) -> None:
    path = session(tmp_path / "tape", bug="Z58")
    found = conformed(path, tmp_path / "trace", 10_000, ConformOptions(backend=Pool(1)))
    assert found.verdict == "violated"
    assert "is not allowed by the spec" in found.reasons[0]


def test_who_interrupts_the_judging_is_told_the_tape(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command that served would serve anew."""

    def interrupted(*_: object) -> None:
        raise exits.Interrupted(exits.INTERRUPTED)

    monkeypatch.setattr(serving, "conformed", interrupted)
    found: Any = SimpleNamespace(tape="runs/tape-1", steps=1)
    with pytest.raises(exits.Interrupted) as stop:
        serving._tell(found, Path("runs"), 10, Screen(quiet=True))
    said = "the tape is kept, and this judges it: kraftcheck serve --replay runs/tape-1"
    assert stop.value.__notes__ == [said]
