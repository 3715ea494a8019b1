"""`shrink` of a counterexample of TLC, and of a schedule of moves, as a user sees them.

The files in counterexamples/ are what TLC printed of the models of their names, without what it
says of its run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kraftcheck.cli import cli
from kraftcheck.known_bugs.schedules import FOLDER as SCHEDULES
from kraftcheck.reference.quorum.messages import Crash, ElectionTimeout, Resign
from kraftcheck.reference.steered.scripts import read
from kraftcheck.specs import SPECS
from kraftcheck.traces.counterexamples import following
from kraftcheck.traces.counterexamples.following import follow
from kraftcheck.traces.counterexamples.moves import converted, run
from kraftcheck.traces.counterexamples.search import ANY, AtLeast, Limits, SearchMove
from tla_utils import read_manifest
from tla_utils.config import cfg_text
from tla_utils.output import parse_output

HERE = Path(__file__).parent / "counterexamples"
QUICK = Limits(depth=5, worlds=300, kept=4)
"""Enough for what these counterexamples need, and soon at an end with what there is not."""


def call(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(each) for each in arguments])


def shrunk(name: str, out: Path, *more: object, code: int = 1) -> dict[str, Any]:
    command = ("shrink", HERE / f"{name}.out", "--model", name, "--out", out, "--json", "--quiet")
    result = call(*command, *more)
    assert result.exit_code == code, result.output
    told: dict[str, Any] = json.loads(result.stdout)
    return told


def broken(tmp_path: Path, name: str, old: str, new: str) -> Path:
    """A counterexample with one thing changed where it stands last."""
    before, found, after = (HERE / f"{name}.out").read_text().rpartition(old)
    assert found
    path = tmp_path / f"{name}.out"
    path.write_text(before + new + after)
    return path


@pytest.mark.parametrize(
    ("name", "violates", "most"),
    [
        ("Z01", "VoteOnce", 10),  # Before two leaders come of it, which TLC shows.
        ("Z34", "WeakIsr", 4),  # As StrongIsr, which TLC shows, but looked at first.
        ("Z48", "MonotonicListOffsets", 10),  # Not the preferred replica is elected.
    ],
)
def test_a_counterexample_becomes_a_schedule(
    name: str, violates: str, most: int, tmp_path: Path
) -> None:
    path = tmp_path / "found.moves"
    told = shrunk(name, path)
    assert told["reached"] == told["states"] and told["left_out"] == []
    assert told["violates"] == violates
    assert len(told["shrunk"]) <= most <= told["moves_before"]
    # The bug has to do with it: the correct reference does something else, and goes on.
    assert told["refused"]["lines"] and told["correct_violates"] == ""
    again = call("replay", path)
    assert again.exit_code == 1 and f"!! {violates}" in again.stdout


def test_a_replay_ends_with_who_lacks_what() -> None:
    *_, wrong, rule = call("replay", SCHEDULES / "Z38.moves").stdout.splitlines()
    lacks = "2 is in the ISR and lacks the record at 0, which leader 0 calls committed"
    assert wrong == f"!! StrongIsr: {lacks}"
    assert rule.strip().startswith("Every running member of the controller's ISR has")


def test_the_story_is_told(tmp_path: Path) -> None:
    command = ("shrink", HERE / "Z01.out", "--model", "Z01", "--attempts", 1)
    lines = call(*command, "--out", tmp_path / "a.moves", "--quiet").stdout.splitlines()
    assert lines[1:3] == ["  to state 2 of TLC", "     1 1 ElectionTimeout"]
    assert "    10 3 Restart" in lines
    assert "states  6 of 6 reached" in lines
    assert "moves   11, 0 not possible when replayed" in lines
    assert any(line.startswith("refused") and "correct reference: move" in line for line in lines)


def test_a_goal_is_reached_by_the_correct_reference(tmp_path: Path) -> None:
    """No bug: what TLC was asked for is a truncation."""
    path = tmp_path / "goal.moves"
    told = shrunk("reach-truncation", path, code=0)
    assert told["reached"] == told["states"] == 7 and told["violates"] == ""
    script, _ = read(path.read_text())
    kept, failure = run(script, script.moves)
    assert failure is None and len(kept) == len(script.moves)


# --- Protocols without a simulation of their own


@pytest.mark.parametrize(
    ("name", "violates"),
    [
        ("Z91", "AckIsHeard"),
        ("Z104", "Coordinated"),
        ("Z95", ""),
        ("Z185", "AssignmentIsCommitted"),
    ],
)
def test_a_counterexample_of_groups_becomes_a_schedule(
    name: str, violates: str, tmp_path: Path
) -> None:
    """Names are tried in every order, messages are lost, and a commit follows at once. What Z95
    violates is about messages, which TLC alone sees.
    """
    path = tmp_path / "found.moves"
    told = shrunk(name, path, code=1 if violates else 0)
    assert told["reached"] == told["states"] and told["violates"] == violates
    assert len(told["shrunk"]) <= told["moves_before"] if violates else "shrunk" not in told
    assert call("replay", path).exit_code == (1 if violates else 0)


@pytest.mark.parametrize(
    ("name", "violates"),
    [
        ("Z463", "AnswersFromCommitted"),  # Messages to a controller arrive once and in order.
        ("Z440", "SessionIsOfConnection"),  # In order of a connection only.
        ("Z451", "InitializedIsStored"),  # The model forgets what was heard.
    ],
)
def test_a_model_value_is_the_node_of_its_number(name: str, violates: str, tmp_path: Path) -> None:
    """Models of protocols without a reading of their own, with `c1` or `m1` for node 1."""
    path = tmp_path / "found.moves"
    told = shrunk(name, path)
    assert told["reached"] == told["states"] and told["violates"] == violates
    assert told["refused"]["lines"] and told["correct_violates"] == ""
    assert call("replay", path).exit_code == 1


def test_where_no_move_leads_the_way_ends(tmp_path: Path) -> None:
    path = broken(tmp_path, "Z104", "endOffset |-> 0", "endOffset |-> 5")
    result = call("shrink", path, "--model", "Z104", "--out", tmp_path / "a", "--quiet")
    assert result.exit_code == 2 and not (tmp_path / "a").exists()
    assert "not followed  no move of the reference leads to state 5 of TLC" in result.stdout


# --- What is no counterexample of this reference is not followed


def test_what_the_reference_cannot_do_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A high watermark beyond the end of the log, where TLC showed one at its end."""
    monkeypatch.setattr(following, "PATIENCE", (QUICK,))
    path = broken(tmp_path, "Z34", "highWatermark |-> 1", "highWatermark |-> 2")
    result = call("shrink", path, "--model", "Z34", "--out", tmp_path / "a", "--quiet")
    assert result.exit_code == 2
    assert "states        2 of 3 reached" in result.stdout
    assert "not followed  broker 0, high_watermark: the model comes to 2, the" in result.stdout
    assert not (tmp_path / "a").exists()


def test_a_reference_without_the_bug_does_not_follow() -> None:
    manifest = read_manifest(SPECS / "models.toml")
    cfg = cfg_text(manifest.models["Z34"].config)
    states = parse_output((HERE / "Z34.out").read_text(), None).counterexample
    assert follow(states, cfg, "Z34").missing == []
    correct = follow(states, cfg, None, patience=[QUICK])
    assert (correct.reached, correct.states) == (2, 3) and correct.missing


def test_what_tlc_does_not_show_may_be_anything() -> None:
    wanted: Any = (1, (ANY, -1))
    least: Any = AtLeast({1})
    for shown, fits in (((1, (2, -1)), True), ((2, (2, -1)), False)):
        assert (shown == wanted) is fits and (shown != wanted) is not fits
    for some, fits in ((frozenset({1, 2}), True), (frozenset({2}), False)):
        assert ((some,) == (least,)) is fits and (some != least) is not fits


def test_moves_that_a_run_does_not_have_are_counted() -> None:
    options = {"voters": [1, 2, 3], "fetch_max_records": 1}
    asked = [
        SearchMove(1, Resign()),
        SearchMove(1, ElectionTimeout(), 2),
        SearchMove(2, Crash(3), 2),
    ]
    found = converted("quorum", options, None, asked)
    assert [line.made for line in found.lines] == [False, True, False]
    assert found.unmade == ["1 Resign", "2 Crash keep=3"]
    assert found.script.moves == ("1 ElectionTimeout",) and found.failure is None


# --- Schedules of moves


def test_a_schedule_of_moves_is_made_smaller(tmp_path: Path) -> None:
    long, short = tmp_path / "long.moves", tmp_path / "short.moves"
    shrunk("Z34", long, "--attempts", 1)
    result = call("shrink", long, "--out", short, "--quiet")
    assert result.exit_code == 1
    scripts = [read(path.read_text())[0] for path in (long, short)]
    assert len(scripts[1].moves) < len(scripts[0].moves)
    assert scripts[1].violates == scripts[0].violates == "WeakIsr"


def test_a_schedule_that_violates_nothing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.moves"
    shrunk("reach-truncation", path, code=0)
    result = call("shrink", path, "--quiet")
    assert result.exit_code == 3
    assert result.stderr.splitlines()[-1].endswith("violate nothing: there is nothing to shrink")


# --- Bad input is one line


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "no.out").write_text("hello\n")
    (tmp_path / "empty.out").write_text((HERE / "Z34.out").read_text()[:120])
    (tmp_path / "binary.out").write_bytes(b"\xff\x00")
    other = tmp_path / "other.out"
    other.write_text((HERE / "Z34.out").read_text().replace("rows", "lines"))
    asked: list[tuple[tuple[object, ...], str]] = [
        ((), "of which model is the counterexample?"),
        ((HERE / "Z34.out",), "of which model is the counterexample?"),
        ((HERE / "Z34.out", "--model", "Z340"), "no model 'Z340'"),
        ((HERE / "Z34.out", "--bug", "Z999"), "no bug 'Z999'"),
        ((tmp_path / "none.out", "--model", "Z34"), "does not exist"),
        ((tmp_path / "none.moves",), "does not exist"),
        ((tmp_path / "no.out", "--model", "Z34"), "not the output of TLC"),
        ((tmp_path / "binary.out", "--model", "Z34"), "not the output of TLC"),
        ((tmp_path / "empty.out", "--model", "Z34"), "no counterexample"),
        (("--bug", "Z306"), "is a bug of storage"),
        (("--bug", "Z110"), "only if the model begins as the reference does"),
        (("--model", "quorum-vote"), "holds: it has no counterexample"),
        ((HERE / "Z01.out", "--model", "Z34"), "which model Z34 does not"),
        ((other, "--model", "Z34"), "of no model of this kit"),
        ((tmp_path,), "which run?"),
    ]
    for arguments, said in asked:
        result = call("shrink", *arguments, "--quiet")
        assert result.exit_code == 3, (arguments, result.output)
        assert said in result.stderr.splitlines()[-1], (arguments, result.stderr)
        assert "Traceback" not in result.output
