"""Steps of long sessions, where TLC can judge them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kraftcheck.kafka.serve import windows
from kraftcheck.kafka.serve.judging import conformed
from kraftcheck.kafka.serve.tape import replayed
from kraftcheck.kafka.serve.windows import Move, Windows
from kraftcheck.traces.jobs.allowed import Allowed
from kraftcheck.traces.jobs.backends import Pool
from kraftcheck.traces.jobs.conform import ConformOptions
from kraftcheck.traces.steps.symmetry import Step as Judged
from tests.kraftcheck.serve.test_tape import session
from tests.kraftcheck.serve.wire import Wire, batch

BUGS = (None, "Z31", "Z32", "Z37", "Z45", "Z58", "Z59")


def long(path: Path, batches: int, bug: str | None = None, ends: bool = True) -> Path:
    """Many batches of two producers, one of which numbers them, and one that comes twice."""
    wire = Wire(bug=bug)
    wire.create()
    for at in range(batches):
        wire.produce(batch(b"a", producer=(7, 0, at)))
        wire.produce(batch(b"b"))
    wire.produce(batch(b"a", producer=(7, 0, batches - 1)))
    return wire.tape(path, ends)


def lagging(path: Path, batches: int, bug: str | None = None) -> Path:
    """A replica is away for many batches, and somebody reads the first ones."""
    wire = Wire(bug=bug)
    wire.create()
    (away, _) = [broker for broker in wire.core.setup.brokers if broker != wire.leader()]
    wire.produce(batch(b"a"))
    assert wire.do("kill", broker=away) == ""
    wire.wait(20)
    for _ in range(batches):
        wire.produce(batch(b"b"))
    assert wire.do("restart", broker=away) == ""
    wire.wait(1)
    wire.fetch(0)
    path.write_bytes(wire.sink.getvalue())
    return path


def plain(step: Any) -> Any:
    """With logs of their own."""
    rows = (step.before, step.after)
    if not hasattr(step.before, "log"):
        return step
    before, after = (replace(row, log=tuple(row.log)) for row in rows)
    return step._replace(before=before, after=after)


def played(path: Path, most: int = 10_000) -> Windows:
    found = Windows(most)
    replayed(path, watched=False, observer=found.take)
    return found


def test_a_longer_session_has_few_steps_more(tmp_path: Path) -> None:
    short, other = played(long(tmp_path / "a", 20)), played(long(tmp_path / "b", 120))
    assert short.unjudged == other.unjudged == {}
    assert other.steps > 4 * short.steps
    assert other.distinct < 1.3 * short.distinct


def test_what_is_over_the_bound_is_counted(tmp_path: Path) -> None:
    found = played(long(tmp_path / "tape", 3), most=20)
    (left,) = found.unjudged.values()
    assert found.distinct == 20
    assert 0 < left < found.steps


def test_who_lags_far_behind_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies between it and the log's end is dropped, too."""
    path = lagging(tmp_path / "tape", 150)
    monkeypatch.setattr(windows, "LONGEST", 120)
    (why,) = played(path).unjudged.items()
    # All of them are sent at once.
    assert why == ("a log of more than 120 entries", 3)
    monkeypatch.setattr(windows, "_NEAR", 1 << 20)
    assert sum(played(path).unjudged.values()) > 100


@pytest.mark.parametrize("field", ["offset", "sequence"])
def test_a_step_that_is_moved_wrongly_is_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    """Planted: what is dropped from the log still counts."""
    monkeypatch.setattr(Move, field, lambda _, *said: said[-1] + (said[-1] > 3))
    found = played(long(tmp_path / "tape", 20))
    assert "is no step where the log is cut" in next(iter(found.unjudged))


@pytest.mark.slow
@pytest.mark.tlc
def test_a_long_session_is_judged_to_its_end(tmp_path: Path) -> None:
    path, options = long(tmp_path / "tape", 60), ConformOptions(backend=Pool(1))
    found = conformed(path, tmp_path / "trace", 600, options)
    assert (found.verdict, found.reasons) == ("holds", [])
    assert 0 < found.windows < 600 < found.judged == replayed(path).steps
    found = conformed(path, tmp_path / "trace", 50, options)
    assert found.verdict == "unknown"
    assert "more than 50 distinct steps" in found.reasons[-1]


@pytest.mark.slow
@pytest.mark.tlc
def test_a_bug_that_shows_late_is_found(tmp_path: Path) -> None:
    path = long(tmp_path / "tape", 60, bug="Z58", ends=False)
    found = conformed(path, tmp_path / "trace", 600, ConformOptions(backend=Pool(1)))
    assert found.verdict == "violated"
    assert "HandleProduceRequest of broker" in found.reasons[-1]
    assert "is not allowed by the spec" in found.reasons[-1]


@pytest.mark.slow
@pytest.mark.tlc
def test_verdicts_on_moved_steps_are_those_on_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each distinct step of sessions with a bug and without, judged where it is and moved."""
    monkeypatch.setattr(windows, "_NEAR", 2)
    allowed = Allowed(tmp_path / "verdicts")
    pairs: list[tuple[Any, Any]] = []
    for at, bug in enumerate(BUGS):
        seen = Windows(10_000)

        def take(partition: Any, step: Any, seen: Windows = seen) -> None:
            before = seen.distinct
            seen.take(partition, step)
            if seen.distinct > before:
                pairs.append((partition.constants, seen.latest))

        for path in (
            session(tmp_path / f"session{at}", bug=bug, ends=False),
            long(tmp_path / f"long{at}", 12, bug=bug, ends=False),
            # Of other bugs no producer is answered any more.
            *([lagging(tmp_path / f"lagging{at}", 12, bug)] if bug in (None, "Z58") else []),
        ):
            replayed(path, watched=False, observer=take)
    named: list[tuple[bytes, bytes]] = []
    for constants, (whole, moved, refusal) in pairs:
        one, other = (Judged(refusal.action, *each) for each in (plain(whole), moved))
        names = allowed.name(constants, one), allowed.name(constants, other)
        assert names[0] is not None and names[1] is not None, "both have a form in the spec"
        named.append((names[0], names[1]))
    allowed.ask()
    told = [(allowed.refuses(one), allowed.refuses(other)) for one, other in named]
    assert all(one == other for one, other in told)
    assert sum(one is True for one, _ in told) > 5
    assert sum(one != other for one, other in named) > 100
