"""`drive`: peers are played for a node of somebody else's, and it is steered into what is rare.

The node is the reference's own, with and without bugs, or the voter in Java of the examples.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from examples.foreign.reference_node import answers
from kraftcheck.cli import cli
from kraftcheck.drive import driving
from kraftcheck.drive.peers import Peers, usual
from kraftcheck.exits import BadInput
from kraftcheck.reference.protocols import PROTOCOLS
from kraftcheck.reference.sim.choices import SeededChooser
from kraftcheck.screen import Screen

ROOT = Path(__file__).resolve().parents[2]
FOREIGN = ROOT / "examples/foreign"
QUIET = Screen(quiet=True, results=False)
# Of the quorum since 4.1, and of a partition whose replicas move, nothing is known that their peers
# could be made of.
NAMES = [each.name for each in PROTOCOLS if each.name not in ("quorum41", "moving", "directories")]


@pytest.fixture
def few_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 60, and no stored schedule: what is looked at is what the search leads to, and what is
    made of it."""
    monkeypatch.setattr(driving, "WALKS", 6)
    monkeypatch.setattr(driving, "_follow", lambda *_: None)


def drive(protocol: str, out: Path, *words: str, command: tuple[str, ...] = ()) -> Result:
    node = command or (sys.executable, str(FOREIGN / "reference_node.py"))
    return CliRunner().invoke(cli, ["drive", protocol, *words, "--out", str(out), "--", *node])


class Within:
    """A node in this process."""

    def __init__(self, bug: str | None) -> None:
        self.told = 0
        self._lines: list[str] = []
        self._answers = answers(iter(lambda: self._lines.pop(), None), bug)

    def ask(self, line: str) -> Any:
        self.told += 1
        self._lines.append(line)
        return json.loads(next(self._answers))

    def refused(self, what: str) -> BadInput:
        return BadInput(what)


def driver_of(protocol: str, bug: str | None = None, node: int | None = None) -> Any:
    found = next(each for each in PROTOCOLS if each.name == protocol)
    peers = Peers(usual(found))
    stream = SeededChooser(1).stream("faults")
    driver = driving._Driver(peers, peers.nodes[0] if node is None else node, Within(bug), stream)
    driver.begin()
    return driver


@pytest.mark.slow
@pytest.mark.parametrize("protocol", NAMES)
@pytest.mark.usefixtures("few_walks")
def test_a_correct_node_of_every_protocol_holds(protocol: str, tmp_path: Path) -> None:
    done = drive(protocol, tmp_path / "out", "--search", "60", "--json", "--quiet")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["judged"]["verdict"] == "holds" and found["steps_of_node"] > 20
    assert found["differs"] == [] and found["not_taken"] == []
    assert any(each["asked"] for each in found["judged"]["decisions"])


# The bug, the node that has it, and a search that is long enough to find it.
BUGS = {
    "quorum": ("Z13", 1, 200),
    "partition": ("Z31", 1, 200),
    "transactions": ("Z70", 0, 2000),
    "groups": ("Z94", -2, 200),
    "voters": ("Z110", 1, 200),
    "reassignment": ("Z130", -2, 200),
    "hosting": ("Z139", 1, 200),
}


@pytest.mark.slow
@pytest.mark.parametrize("protocol", BUGS)
def test_a_planted_bug_of_every_protocol_differs(protocol: str) -> None:
    bug, node, search = BUGS[protocol]
    correct, wrong = driver_of(protocol, node=node), driver_of(protocol, bug, node)
    driving._rounds(correct, search, QUIET)
    driving._rounds(wrong, search, QUIET)
    assert not correct.driven.differences
    assert wrong.driven.differences


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "node"),
    [("Z25", 0), ("Z28", 0), ("Z29", 0), ("Z33", 0), ("Z39", 0), ("Z35", -2)],
)
def test_stored_schedules_bring_a_node_to_what_walks_do_not_find(bug: str, node: int) -> None:
    driver = driver_of("partition", bug, node)
    driving._follow(driver, QUIET)
    assert driver.driven.schedules > 5
    assert driver.driven.differences


def test_a_correct_node_follows_the_stored_schedules() -> None:
    driver = driver_of("partition")
    driving._follow(driver, QUIET)
    assert driver.driven.schedules > 5
    assert not driver.driven.differences and not driver.driven.refused


@pytest.mark.slow
def test_seeking_meets_more_than_as_many_steps_by_chance() -> None:
    seeking, chance = driver_of("partition"), driver_of("partition")
    driving._rounds(seeking, 5000, QUIET)
    driving._by_chance(chance, seeking.driven.steps, QUIET)
    assert chance.driven.steps >= seeking.driven.steps
    assert len(seeking.driven.features) > 1.15 * len(chance.driven.features)


@pytest.mark.slow
def test_one_seed_is_one_trace() -> None:
    one, other = driver_of("quorum"), driver_of("quorum")
    for driver in (one, other):
        driving._rounds(driver, 100, QUIET)
    assert one.driven.lines == other.driven.lines and len(one.driven.lines) > 50


@pytest.fixture(scope="module")
def voter(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    if shutil.which("javac") is None:
        pytest.skip("the voter needs a Java compiler")
    place = tmp_path_factory.mktemp("voter")
    built = ["javac", "-d", str(place), str(FOREIGN / "Voter.java")]
    subprocess.run(built, check=True, timeout=120)
    return "java", "-cp", str(place), "Voter"


@pytest.mark.slow
@pytest.mark.usefixtures("few_walks")
def test_a_bug_that_its_own_run_never_meets_is_found(
    voter: tuple[str, ...], tmp_path: Path
) -> None:
    """Its own run prints the same as without it."""
    plain = subprocess.run([*voter, "--rare-bug"], check=True, capture_output=True, timeout=60)
    assert plain.stdout == (FOREIGN / "voter.jsonl").read_bytes()
    command = (*voter, "--driven", "--rare-bug")
    done = drive("quorum", tmp_path / "out", "--search", "500", "--quiet", command=command)
    assert done.exit_code == 1
    assert "sent{}.granted: recorded FALSE, spec allows {TRUE}" in done.stdout
    assert "FollowerGrantsPreVote (Q6, QuorumRules.tla:" in done.stdout
    assert "not taken  ElectionTimeout as Unattached: this voter never stands" in done.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("few_walks")
def test_partial_rows_are_driven_as_well(voter: tuple[str, ...], tmp_path: Path) -> None:
    for options, code in (((), 0), (("--rare-bug",), 1)):
        command = (*voter, "--driven", "--partial", *options)
        out = tmp_path / f"out{code}"
        done = drive("quorum", out, "--search", "500", "--quiet", command=command)
        assert done.exit_code == code, done.output
        assert "chain: partial rows" in done.stdout


HEADER = '{"format": "kraftcheck steps 1", "rows": "full", "constants": %s}'
CONSTANTS = '{"protocol": "quorum", "voters": [1, 2, 3], "fetchMaxRecords": 2}'
OTHERS = '{"protocol": "quorum", "voters": [1, 2], "fetchMaxRecords": 2}'
WRONG = {
    "echo hello; cat": "answer 1: no JSON object: 'hello'",
    "echo '{}'; cat": 'answer 1: no header of a trace: "format" is not',
    "exit 7": "answer 1: the process ended with 7",
    "echo broken >&2; exit 7": "answer 1: the process ended with 7: broken",
    f"echo '{HEADER % OTHERS}'; cat": "its header has other constants than it was told",
    f"echo '{HEADER % CONSTANTS}'; cat": "answer 2: no header of a trace",
}


@pytest.mark.parametrize("script", WRONG)
def test_a_node_that_cannot_be_asked_is_told_in_one_line(script: str, tmp_path: Path) -> None:
    done = drive("quorum", tmp_path / "out", "--quiet", command=("sh", "-c", script))
    assert done.exit_code == 3
    assert WRONG[script] in done.stderr and done.stderr.count("\n") == 1


def test_an_answer_without_a_field_is_told_with_the_field(tmp_path: Path) -> None:
    script = f"read a; echo '{HEADER % CONSTANTS}'; while read a; do case $a in *constants*)" + (
        f""" echo '{HEADER % CONSTANTS}';; *) echo '{{"after": {{"role": "Down"}}}}';; esac; done"""
    )
    done = drive("quorum", tmp_path / "out", "--quiet", command=("sh", "-c", script))
    assert done.exit_code == 3 and "after.epoch: the field is missing" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--node", "9"), "--node 9: there are 1, 2, 3"),
        (("--constants", "nonsense"), "--constants: no JSON"),
        (("--constants", '{"voters": [1]}'), "--constants: constants.fetchMaxRecords: the field"),
        (("--constants", "[1]"), "--constants: an object"),
    ],
)
def test_wrong_options_are_told_in_one_line(
    words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    done = drive("quorum", tmp_path / "out", *words, "--quiet")
    assert done.exit_code == 3 and said in done.stderr


def test_no_such_protocol_or_program(tmp_path: Path) -> None:
    assert "there are quorum, partition" in drive("quorom", tmp_path / "out").stderr
    done = drive("quorum", tmp_path / "out", command=("no-such-program",))
    assert done.exit_code == 3 and "no-such-program: no such program" in done.stderr
