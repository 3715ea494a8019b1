"""A protocol of another shape than the tutorial's, through the verbs, from a folder outside.

Two-phase commit has what the lease server has not: a node that is down at times, a set of nodes and
a function from them in a row, words, a value that is only passed on, a local input with a field,
and a rule that decides between more than two.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import commands

HERE = Path(__file__).resolve().parent

# TLC starts in most of these, and one after another.
tlc = pytest.mark.tlc
pytestmark = [pytest.mark.acceptance, pytest.mark.xdist_group("two-phase")]


@pytest.fixture
def two_phase(tmp_path: Path) -> Path:
    """The protocol, where no repository is."""
    return Path(shutil.copytree(HERE / "two_phase", tmp_path / "two_phase"))


def asked(folder: Path, *arguments: str, code: int = 0) -> str:
    """What the command says, on both streams, of the protocol in this folder."""
    done = commands.run("--protocol", folder, *arguments, cwd=folder.parent)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


@tlc
def test_its_models_have_the_states_that_are_stated(two_phase: Path) -> None:
    assert "2 of 2 models as expected" in asked(two_phase, "spec", "check", "--tier", "small")


@tlc
def test_its_runs_conform_and_take_every_action(two_phase: Path) -> None:
    said = asked(two_phase, "simulate", "--scenario", "two-phase", "--runs", "6", "--out", "runs")
    [following] = re.findall("^next +(kraftcheck .*)", said, re.MULTILINE)
    assert following == "kraftcheck --protocol two_phase conform runs"
    said = asked(two_phase, *following.split()[3:])
    assert "holds" in said and "never " not in said
    told = asked(two_phase, "replay", "runs", "--run", "4")
    assert "Begin value=1  => Prepare 0>1 value=1" in told
    for verb in (("conform",), ("replay", "--run", "0")):
        done = commands.run(*verb, two_phase.parent / "runs")
        assert done.returncode == 3 and "--protocol" in done.stderr, done.stderr


@tlc
def test_its_bug_is_found_by_all_that_should(two_phase: Path) -> None:
    said = asked(two_phase, "bugs", "run", "T01", "--runs", "12", "--out", "bugs")
    assert "3 detections: 3 found" in said


def test_a_run_of_its_bug_is_made_small(two_phase: Path) -> None:
    simulated = ("simulate", "--scenario", "two-phase", "--bug", "T01", "--runs", "11")
    asked(two_phase, *simulated, "--out", "T01", code=1)
    said = asked(two_phase, "shrink", "T01", "--run", "10", "--attempts", "300", code=1)
    assert "now 5" in said
    told = asked(two_phase, "replay", "T01/run-10.schedule", code=1)
    assert "!! DecisionIsKept: Commit was decided, and is Abort now" in told


@tlc
def test_its_graph_is_covered_and_refusals_are_judged(two_phase: Path) -> None:
    """Also of votes that another participant sends: the coordinator has a function by node."""
    assert "3668 edges covered, 0 wrong" in asked(two_phase, "cover")


@tlc
def test_an_implementation_of_its_own_is_judged(two_phase: Path) -> None:
    assert "holds" in asked(two_phase, "conform", "two_phase/steps.jsonl")
    assert "Begin" in json.loads(asked(two_phase, "conform", "--schema"))["$defs"]


def test_hypothesis_makes_its_runs(two_phase: Path) -> None:
    chaos = two_phase / "test_chaos.py"
    chaos.write_text(
        'from kraftcheck.chaos import chaos\n\ntest_two_phase = chaos("two-phase")\n', "utf-8"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", chaos],
        cwd=two_phase.parent,
        env={**os.environ, "KRAFTCHECK_PROTOCOL": str(two_phase)},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


# -- Mistakes of a beginner, and what is said of them

PLANTED = {
    "a field of a row is called otherwise": (
        "TwoPhase.tla",
        "confirmed",
        "confirmers",
        "Coordinator.confirmed: TwoPhase.tla names no field confirmed; did you mean confirmers?",
    ),
    "a constant without values": (
        "protocol.py",
        ', "values": ((1,), (1, 2))}',
        "}",
        "World.constants has no values for 'values'",
    ),
    "values of no constant": (
        "protocol.py",
        '"values": ((1,), (1, 2))',
        '"values": ((1,),), "vaules": ((1,),)',
        "World.constants has values for an unknown field 'vaules'",
    ),
    "values that are no sets": (
        "protocol.py",
        '"values": ((1,), (1, 2))',
        '"values": (1, 2)',
        "World.constants: Expected `array`, got `int` - at `$.values`",
    ),
    "an input of another kind of node": (
        "protocol.py",
        "return (Refuse(),)",
        "return (Stop(),)",
        "World.local has Stop for node 1, which is no local input of the kind participant",
    ),
    "the first row of another kind": (
        "protocol.py",
        "initial=lambda constants: Participant(),",
        "initial=lambda constants: Refuse(),",
        "node 1 begins as a Refuse, not as a Participant",
    ),
    "nodes that cannot be made": (
        "protocol.py",
        "COORDINATOR, *constants.participants)",
        "COORDINATOR, *constants.members)",
        "AttributeError: 'Constants' object has no attribute 'members'",
    ),
    "an input that there is already": (
        "protocol.py",
        "Stop",
        "Crash",
        "protocol two-phase: there is an input Crash already: rename it",
    ),
}


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_mistake_is_told_before_anything_runs(mistake: str, two_phase: Path) -> None:
    file, old, new, told = PLANTED[mistake]
    replaced(two_phase / file, old, new)
    said = asked(two_phase, "bugs", "list", code=3)
    assert told in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("recover(nowhere)", "handling Recover raised NameError: name 'nowhere' is not defined"),
        ("row", "handling Recover raised AttributeError: 'Coordinator' object has no attribute"),
    ],
)
def test_a_handler_that_fails_is_named(made: str, told: str, two_phase: Path) -> None:
    replaced(two_phase / "protocol.py", "return recover(row)", f"return {made}")
    runs = ("simulate", "--scenario", "two-phase", "--runs", "1", "--out", "runs")
    assert told in asked(two_phase, *runs, code=3)


@tlc
def test_what_runs_never_do_and_rows_without_form_are_told(two_phase: Path) -> None:
    """An input that `local` forgets, and a set in which a node stands twice."""
    replaced(two_phase / "protocol.py", ", Stop(), Recover())", ", Stop())")
    old = "tuple(sorted({*row.confirmed, m.source}))"
    replaced(two_phase / "protocol.py", old, "(*row.confirmed, m.source)")
    doubled = ("--option", "doubled=800")
    asked(
        two_phase, "simulate", "--scenario", "two-phase", "--runs", "3", *doubled, "--out", "runs"
    )
    said = asked(two_phase, "conform", "runs", code=1)
    assert (
        re.search("^never .*HandleRecover", said, re.MULTILINE)
        and "found: WellFormed in run " in said
    )
