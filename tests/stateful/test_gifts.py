"""What a failure leaves behind works: the file, its commands, and what is refused in one line."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from time import monotonic

import pytest
from hypothesis import Phase, core, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from kraftcheck import exits, schedules
from kraftcheck.exits import BadInput
from kraftcheck.reference.runner.scripted import replay
from kraftcheck.reference.steered.failures import Failure, StepRejected
from kraftcheck.reference.steered.scripts import Script, read, write
from kraftcheck.screen import Screen
from kraftcheck.traces.jobs.steered import broken_promise
from tests.stateful import coverage, gifts, reached, searching
from tests.stateful.machine import QuorumMachine
from tests.stateful.test_corpus import MOVES
from tests.stateful.test_quorum_machine import BUDGET, SEED, buggy

CLUSTER = next(path for path in MOVES if path.name.startswith("cluster-Z41"))


def test_a_failure_is_kept_shortened_and_replays(tmp_path: Path) -> None:
    attributes = {"decisions": buggy("Z16"), "bug": "Z16", "keeps": tmp_path}
    machine = seed(SEED)(type("QuorumMachine", (QuorumMachine,), attributes))
    with pytest.raises(Failure) as found:
        run_state_machine_as_test(machine, settings=settings(BUDGET, phases=[Phase.generate]))
    (path,) = tmp_path.glob("*.moves")
    before, _ = read(path.read_text(encoding="utf-8"))
    assert before.violates == found.value.name
    gifts.shorten(found.value)
    after, _ = read(path.read_text(encoding="utf-8"))
    assert 0 < len(after.moves) < len(before.moves)
    replayed = replay(after, broken_promise)
    assert replayed.failure is not None
    assert replayed.failure.name == found.value.name
    notes = "\n".join(found.value.__notes__)
    assert f"kraftcheck replay {path}" in notes
    assert "of these moves are enough" in notes


@pytest.mark.slow
def test_a_step_that_tlc_refuses_is_a_failure_like_any_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Planted: a bug that breaks nothing within so few rules, and whose steps are none of the spec
    (Z12: followers always refuse a pre-vote).
    """
    monkeypatch.setattr(searching, "KEPT", tmp_path)
    short = settings(BUDGET, max_examples=20, stateful_step_count=10)
    monkeypatch.setattr(searching, "settings", lambda *_, **__: short)
    monkeypatch.setattr(reached, "counts", {})
    attributes = {"decisions": buggy("Z12"), "bug": "Z12"}
    with pytest.raises(StepRejected) as found:
        searching.search(type("QuorumMachine", (QuorumMachine,), attributes))
    assert found.value.name == "rejected step: HandleVoteRequest"
    (path,) = tmp_path.glob("*.moves")
    notes = "\n".join(found.value.__notes__)
    assert f"kraftcheck replay {path}" in notes and "of these moves are enough" in notes
    kept, _ = read(path.read_text(encoding="utf-8"))
    assert kept.violates == found.value.name and len(kept.moves) < len(found.value.moves)
    assert reached.of("quorum")["finished"] == 0


def test_what_is_written_is_read_back() -> None:
    script = Script(machine="quorum", moves=("a", "b c"), bug="Z01", options={"voters": [1]})
    assert read(write(script)) == (script, [7, 8])


def head(changed: str = "", to: str = "") -> str:
    return CLUSTER.read_text(encoding="utf-8").replace(changed, to, 1) if changed else ""


@pytest.mark.parametrize(
    ("changed", "to", "said"),
    [
        ("kraftcheck moves 1", "kraftcheck moves 2", "line 1: version 2, this kraftcheck reads 1"),
        ("machine   cluster", "machine   raft", "line 2: there is no machine 'raft'"),
        ("machine   cluster", "machine   quorum", "line 5: options: a quorum has no 'data'"),
        ("bug       Z41", "bug       Z99", "Z99"),
        ('{"data"', '{"dada"', "line 5: options: a cluster has no 'dada'"),
        ("options   {", "options   ", "line 5: options: "),
        ("quorum: 0 -> 1 VoteRequest", "quorum: 0 -> 1 VoteReqest", "line 8: 'quorum: 0 -> 1 Vot"),
    ],
)
def test_what_is_no_schedule_is_refused_in_one_line(
    tmp_path: Path, changed: str, to: str, said: str
) -> None:
    path = tmp_path / "bad.moves"
    path.write_text(head(changed, to), encoding="utf-8")
    with pytest.raises(BadInput) as refused:
        schedules.replay(path, Screen(quiet=True))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_impossible_move_ends_the_command_with_3(tmp_path: Path) -> None:
    path = tmp_path / "bad.moves"
    path.write_text(head("\n\n", "\n\ncrash broker 9\n"), encoding="utf-8")
    main = "from kraftcheck.cli import main; raise SystemExit(main())"
    command = [sys.executable, "-c", main, "replay", "--quiet", str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == exits.BAD_INPUT
    assert ended.stderr.count("\n") == 1
    assert "line 7: 'crash broker 9' is not possible here" in ended.stderr


@pytest.mark.parametrize(
    ("machine", "move"),
    [
        ("reassignment", "-2 Reassign partition=1 target=[9]"),
        ("reassignment", "-2 Reassign partition=1 target=[1,1]"),
        ("reassignment", "-2 Reassign partition=1 target=[]"),
        ("voters", "1 AddVoter voter=9"),
        ("snapshots", "1 CleanSnapshots offset=7"),
    ],
)
def test_what_nobody_can_ask_a_changing_cluster_for(
    machine: str, move: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.moves"
    lines = ["kraftcheck moves 1", f"machine   {machine}", "bug       none", "violates  nothing"]
    path.write_text("\n".join([*lines, "options   {}", "", move, ""]), encoding="utf-8")
    with pytest.raises(BadInput) as refused:
        schedules.replay(path, Screen(quiet=True))
    assert f"line 7: '{move}' is not possible here" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_moves_that_are_left_out_are_counted_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "more.moves"
    path.write_text(head("\n\n", "\n\ncrash broker 9\n"), encoding="utf-8")
    assert schedules.replay(path, Screen(), skip=True) == exits.VIOLATED
    out = capsys.readouterr().out
    assert "crash broker 9  !! left out: not possible" in out
    assert "1 of 19 moves were not possible" in out


def test_a_schedule_that_says_otherwise_than_it_does_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "other.moves"
    path.write_text(head("violates  Leader", "violates  Follower"), encoding="utf-8")
    assert schedules.replay(path, Screen(quiet=True)) == exits.UNKNOWN


def test_a_schedule_becomes_a_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "TRACES", tmp_path)
    folder = schedules.trace_of(CLUSTER)
    assert schedules.trace_of(CLUSTER) == folder, "written anew"
    inside = schedules.schedule_of(folder)
    assert inside is not None
    assert schedules.replay(inside, Screen(quiet=True)) == exits.VIOLATED


def everything() -> dict[str, Counter[str]]:
    """As if three long searches had reached all that there is."""
    counts = {}
    for machine in coverage.MACHINES:
        rules = [f"rule {name}" for name in reached.rules_of(machine)]
        counts[machine.name] = Counter([*rules, *reached.expected()])
        counts[machine.name]["examples"] = counts[machine.name]["finished"] = coverage.ALL
    return counts


def test_a_rule_that_was_never_carried_out_fails_a_long_search() -> None:
    counts = everything()
    assert coverage.missing(counts) == []
    del counts["cluster"]["rule crash"]
    assert coverage.missing(counts) == ["cluster: rule crash was never reached"]
    assert "not reached: cluster: rule crash" in list(coverage.report(counts))
    counts["cluster"]["finished"] = coverage.ENOUGH - 1
    assert coverage.missing(counts) == []


def test_what_no_machine_reached_fails_a_long_search() -> None:
    counts = everything()
    for name in ("quorum", "partition", "changing-cluster"):
        del counts[name]["error FENCED_LEADER_EPOCH"]
    assert coverage.missing(counts) == []
    del counts["cluster"]["error FENCED_LEADER_EPOCH"]
    assert coverage.missing(counts) == ["error FENCED_LEADER_EPOCH was never reached"]
    counts["quorum"]["finished"] = coverage.ALL - 1
    assert coverage.missing(counts) == []


def test_what_is_made_by_hand_is_not_owed() -> None:
    counts = everything()
    for each in counts.values():
        for name in reached.BY_HAND:
            del each[name]
    assert coverage.missing(counts) == []
    assert set(reached.BY_HAND) <= set(coverage.absent(counts)) & set(reached.expected())


@pytest.mark.parametrize("finds", ["", "planted"])
def test_only_a_search_that_ended_without_a_find_owes_anything(
    finds: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Planted: a find with the correct rules. Hypothesis makes it many times more."""
    short = settings(BUDGET, max_examples=5, stateful_step_count=5)
    monkeypatch.setattr(searching, "settings", lambda *_, **__: short)
    monkeypatch.setattr(reached, "counts", {})
    monkeypatch.setattr(gifts, "KEPT", tmp_path)
    machine = type("QuorumMachine", (QuorumMachine,), {"judge": lambda self: finds})
    with pytest.raises(Failure) if finds else nullcontext():
        searching.search(machine)
    counts = reached.of("quorum")
    assert counts["examples"] and counts["finished"] == (0 if finds else counts["examples"])
    assert any("too early to judge: quorum" in line for line in coverage.report(reached.counts))


def test_a_long_search_goes_in_batches_and_names_the_seed_of_a_find(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert list(searching._batches(250)) == [100, 100, 50]
    short = settings(BUDGET, max_examples=5, stateful_step_count=5)
    monkeypatch.setattr(searching, "settings", lambda *_, **__: short)
    monkeypatch.setattr(searching, "MOST", 2)
    monkeypatch.setattr(reached, "counts", {})
    monkeypatch.setattr(gifts, "KEPT", tmp_path)
    monkeypatch.setattr(core, "global_force_seed", 7)
    searching.search(type("QuorumMachine", (QuorumMachine,), {"judge": lambda self: ""}))
    assert reached.of("quorum")["finished"] >= 3
    with pytest.raises(Failure) as caught:
        searching.search(type("QuorumMachine", (QuorumMachine,), {"judge": lambda self: "planted"}))
    assert "seed      7 (batch 0 from --hypothesis-seed=7)" in caught.value.__notes__
    assert core.global_force_seed == 7


def test_what_cannot_be_reached_must_not_be() -> None:
    counts = everything()
    counts["quorum"]["role Halted"] += 1
    assert coverage.missing(counts) == ["role Halted cannot be reached, it is said, and was"]


def test_what_is_expected_or_excused_is_known() -> None:
    """A name that is mistyped would excuse nothing, or never be reached."""
    excused = {*reached.UNREACHABLE, *reached.BY_HAND}
    known = {name.partition(" ")[0] for name in (*reached.expected(), *excused)}
    assert known == {"action", "decision", "error", "role"}
    decisions = {name for name in excused if name.startswith("decision")}
    assert decisions <= {said for rules in reached.DECIDING for said in reached._outcomes(rules)}


def test_another_process_tells_what_it_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reached, "counts", {"quorum": Counter({"rule crash": 2})})
    coverage.heard(coverage.told())
    assert reached.of("quorum")["rule crash"] == 4


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan", "inf"])
def test_minutes_that_are_none_are_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(searching.MINUTES, text)
    with pytest.raises(searching.BadMinutes, match=text):
        searching.minutes()


def test_minutes_bound_the_whole_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """What came before the first search is no time of the searches."""
    monkeypatch.setenv(searching.MINUTES, "1")
    monkeypatch.setattr(searching, "_turns", [])
    monkeypatch.setattr(searching, "BEGUN", monotonic() - 30)
    assert searching.is_corpus_over()
    batches = searching._batches(5000)
    assert next(batches) == searching.FIRST
    (turn,) = searching._turns
    assert turn.until - monotonic() <= searching.SEARCHED * 30 / searching.MACHINES
    assert next(searching._batches(5000, share=0.5)) == searching.FIRST
    turn = searching._turns[1]
    each_of_others = searching.SEARCHED * 30 / (searching.MACHINES - 1)
    assert turn.until - monotonic() <= each_of_others / 2
    assert turn.until < turn.ends <= monotonic() + each_of_others / 2 / searching.SEARCHED
    monkeypatch.setattr(searching, "BEGUN", monotonic() - 61)
    assert list(searching._batches(5000)) == []


def test_tlc_judges_as_many_steps_as_there_is_time_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(searching.MINUTES, "1")
    monkeypatch.setattr(searching, "_asked", [0.001])
    monkeypatch.setattr(searching, "_turns", [])
    monkeypatch.setattr(searching, "BEGUN", monotonic() - 50)
    most = searching._most()
    assert most is not None and 7000 < most <= 8000
    counts = {"quorum": Counter({"examples": 1, searching.UNJUDGED: 9000})}
    said = next(coverage.report(counts))
    assert "9,000 classes of steps NOT judged" in said
    assert "allowed" not in said
    counts["quorum"]["classes"] = 70
    said = next(coverage.report(counts))
    assert "70 classes of steps, all allowed by the spec; 9,000 classes of steps NOT" in said
