"""Rules of one's own in runs and schedules: what is theirs, and what the correct protocol shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kraftcheck.checking.options import Options
from kraftcheck.exits import BadInput, TimeOver
from kraftcheck.known_bugs import attempts, oracles, own_runs, related, schedules, trying
from kraftcheck.known_bugs.entries import manifest_of
from kraftcheck.known_bugs.own_overlay import read_overlay
from kraftcheck.known_bugs.own_rules import known, read_rules
from kraftcheck.known_bugs.own_runs import OfRuns, Wanted, try_runs
from kraftcheck.known_bugs.related import Known
from kraftcheck.known_bugs.runs import record_numbers
from kraftcheck.known_bugs.trying import concluded
from kraftcheck.known_bugs.witnesses import UNWATCHED, WATCHED, Hunt
from kraftcheck.reference.bugs.catalog import bug
from kraftcheck.specs import SPECS
from tla_utils import read_manifest

CHANGES = Path(__file__).with_name("changes")
EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "try"
RUNS = 2
FOUND = Known(bugs=["Z01"], models=[], runs=["Z01"], schedules=[])


def tried(path: Path, out: Path, runs: int = RUNS) -> OfRuns:
    return try_runs(read_rules(path), Wanted(runs, 1), out)


def rules(folder: Path, head: str, body: str) -> Path:
    path = folder / "mine.py"
    path.write_text(
        "from kraftcheck.reference.quorum.rules import QuorumRules\n\n"
        f"class Mine(QuorumRules):\n    __slots__ = ()\n\n    def {head}:\n        {body}\n",
        "utf-8",
    )
    return path


@pytest.fixture
def one_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in which the change shows takes TLC several starts, and tells the same."""
    few = [each for each in schedules.every("quorum") if each[0] == "Z05.moves"]
    monkeypatch.setattr(schedules, "every", lambda _: few)


@pytest.fixture
def no_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "every", lambda _: [])


# -- What is broken


def test_rules_that_fail_are_blamed_with_their_line(tmp_path: Path) -> None:
    path = rules(tmp_path, "log_ok(self, row, m)", "return row.no_such_field")
    with pytest.raises(BadInput, match=r"mine.py, line 7: a run with it cannot be taken: Attrib"):
        tried(path, tmp_path / "out")


def test_lost_levels_are_told(tmp_path: Path) -> None:
    # Z06's own hunt: run 10 is where its clients see it.
    hunt = Hunt(scenario="quorum", bug="Z06")
    (found,), undecided = oracles.histories(record_numbers(tmp_path, hunt, UNWATCHED, [10]))
    assert found.what.startswith("promised durable-prefix, kept ")
    assert (found.oracle, [*found.said], undecided) == ("histories", [10], "")


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.usefixtures("one_schedule")
def test_where_time_is_short_what_the_schedules_show_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of Z05, whose time ends within the campaign."""

    def late(*_: Any) -> own_runs._Source:
        def recorded(*_: Any) -> Any:
            raise TimeOver

        return own_runs._Source(recorded, recorded, recorded, tmp_path)

    monkeypatch.setattr(own_runs, "_campaign", late)
    path = rules(
        tmp_path, "covers_own_epoch(self, row, offset)", "return offset >= row.epoch_start"
    )
    found = tried(path, tmp_path / "out")
    assert (found.ended, found.runs, found.schedules) == (False, 0, 1)
    assert found.broken and {each.schedule for each in found.broken} == {"Z05.moves"}
    assert "within the campaign" in "".join(found.undecided)
    assert concluded([], found, FOUND).verdict == trying.BROKEN
    bugs = [bug("Z05")]
    assert related.known(bugs, [], manifest_of("quorum"), runs=None, played=1).schedules == ["Z05"]
    assert related.known(bugs, [], manifest_of("quorum"), runs=None, played=0).missed == ["Z05"]


# -- What the correct protocol shows as well


def plant_a_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    """More is promised than the correct protocol keeps: followers serve old records."""
    monkeypatch.setattr(oracles, "Options", lambda **_: Options(level="linearizable"))


def plant_an_invariant(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that no run keeps."""
    read = oracles.run_rows

    def planted(folder: Path, columns: list[str]) -> list[dict[str, Any]]:
        rows = read(folder, columns)
        for row in rows:
            if "violations" in row:
                planted = {"invariant": "Planted", "explanation": "it never holds", "step": 0}
                row["violations"].append(planted)
        return rows

    monkeypatch.setattr(oracles, "run_rows", planted)


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.usefixtures("one_schedule")
def test_what_the_correct_protocol_breaks_too_is_not_the_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant_a_promise(monkeypatch)
    plant_an_invariant(monkeypatch)
    # Clients see something old in runs 2 and 3.
    found = tried(EXAMPLES / "serve_before_flush.py", tmp_path, 4)
    assert found.broken == []
    of = {(each.oracle, each.what, bool(each.schedule)) for each in found.shared}
    assert {("invariants", "Planted", False), ("invariants", "Planted", True)} <= of
    assert any(oracle == "histories" for oracle, *_ in of)
    assert concluded([], found, FOUND).verdict == trying.OTHER_STEPS
    told = [tmp_path / each.told_in for each in found.shared]
    assert told and all(path.exists() for path in told)


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.usefixtures("no_schedule")
def test_what_the_change_breaks_is_its_own_beside_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant_an_invariant(monkeypatch)
    found = tried(EXAMPLES / "count_before_flush.py", tmp_path)
    assert {each.what for each in found.broken} == {"DurableMajority"}
    assert {each.what for each in found.shared} == {"Planted"}
    assert concluded([], found, FOUND).verdict == trying.BROKEN


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.usefixtures("one_schedule")
def test_a_forbidden_step_of_the_correct_protocol_is_not_the_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the kit's own reference had left the spec: what departs is told apart."""
    monkeypatch.setattr(own_runs, "departs", lambda *_: False)
    found = tried(EXAMPLES / "serve_before_flush.py", tmp_path)
    assert found.forbidden == []
    assert {each.what for each in found.shared} == {"HandleFetchRequest"}


# -- Where seeds hardly come


@pytest.mark.slow
@pytest.mark.tlc
def test_every_stored_schedule_is_played_whatever_bug_it_was_made_for(tmp_path: Path) -> None:
    """The schedule is of the correct protocol; its name says nothing of the rule."""
    found = tried(CHANGES / "last_leader_first.py", tmp_path)
    (step,) = found.forbidden
    assert (step.what, step.schedule) == ("HandleHeartbeatRequest", "last-leader-came-back.moves")
    assert found.schedules == len(schedules.every("partition"))
    assert (found.differed, found.never) == ({"last_known_leader_electable": 1}, "")
    assert concluded([], found, FOUND).verdict == trying.OTHER_STEPS
    told = (tmp_path / "steps-last-leader-came-back.txt").read_text("utf-8")
    assert "HeartbeatRequest" in told


def test_no_schedule_is_left_out() -> None:
    of = [
        name
        for machine in ("quorum", "partition", "groups", "transactions")
        for name, _ in schedules.every(machine)
    ]
    assert sorted(of) == sorted(path.name for path in schedules.FOLDER.glob("*.moves"))


def test_a_schedule_shows_nothing_of_rules_that_say_the_same() -> None:
    with known(read_rules(CHANGES / "vote_despite_leader.py")) as entry:
        for name, script in schedules.every("quorum"):
            assert not schedules.differs(script, entry.id), name


@pytest.mark.slow
@pytest.mark.tlc
def test_what_no_run_met_is_unknown_and_says_what_would_meet_it(tmp_path: Path) -> None:
    found = tried(CHANGES / "vote_despite_leader.py", tmp_path)
    assert found.never.startswith("vote_granted, asked ")
    assert "it makes a difference to 2 of " in found.never
    assert "such as VoteRequest" in found.never
    assert concluded([], found, FOUND).verdict == trying.UNKNOWN


@pytest.mark.tlc
def test_what_never_answers_otherwise_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "RUNS", 1)
    path = rules(tmp_path, "check_quorum_applies(self)", "return len(self.constants.voters) > 1.5")
    found = tried(path, tmp_path / "out")
    assert found.never.startswith("nobody asked check_quorum_applies in 2 runs and 6 stored")
    assert "it makes no difference to " in found.never
    assert concluded([], found, FOUND).verdict == trying.UNKNOWN


def test_the_control_is_of_the_same_seeds(tmp_path: Path) -> None:
    hunt = Hunt(scenario="quorum", bug="Z06")
    source = own_runs._campaign(hunt, 3, tmp_path)
    rows = oracles.run_rows(source.control(WATCHED, [2]), ["run", "seed"])
    own = oracles.run_rows(source.recorded(WATCHED), ["run", "seed"])
    assert rows == [own[2]]


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.usefixtures("no_schedule")
def test_the_two_sides_of_a_change_are_held_against_each_other(tmp_path: Path) -> None:
    """An overlay that serves nothing, and rules that serve what is not flushed: both are changes of
    one rule, and no detector of either would tell that they are two.
    """
    ours = EXAMPLES / "serve_before_flush.py"
    manifest = read_manifest(SPECS / "models.toml")
    same = read_overlay(EXAMPLES / "ServeBeforeFlush.tla", manifest)
    assert try_runs(read_rules(ours), Wanted(1, 1), tmp_path / "same", same).forbidden
    other = tmp_path / "ServesNothing.tla"
    text = (EXAMPLES / "ServeBeforeFlush.tla").read_text("utf-8")
    text = text.replace("ServeBeforeFlush", "ServesNothing").replace("EndOffset(row.log)", "0")
    other.write_text(text, "utf-8")
    with pytest.raises(BadInput, match=r"ServesNothing\.tla and the rules are two") as told:
        try_runs(read_rules(ours), Wanted(1, 1), tmp_path / "other", read_overlay(other, manifest))
    assert "HandleFetchRequest otherwise than the overlay" in str(told.value)
