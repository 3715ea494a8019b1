"""A composition from outside, what clients of an own protocol are promised, and messages that keep
their order: the lease of the tutorial, with the verbs, and with each planted fault found.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests import commands

ROOT = Path(__file__).resolve().parents[2]
CHAIN = ("simulate", "--scenario", "lease-chain", "--runs", "30", "--out", "runs")
ALONE = ("simulate", "--scenario", "lease", "--runs", "40", "--out", "runs")
CONFORM = ("conform", "runs", "--json")

pytestmark = [pytest.mark.acceptance, pytest.mark.xdist_group("composition")]


@pytest.fixture
def lease(tmp_path: Path) -> Path:
    """The protocol and its composition, where no repository is."""
    return Path(shutil.copytree(ROOT / "examples/lease", tmp_path / "lease"))


def asked(folder: Path, *words: str, code: int = 0) -> str:
    done = commands.run("--protocol", folder, *words, cwd=folder.parent)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + (done.stderr if code == 3 else "")


def changed(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def findings(folder: Path, code: int) -> dict[str, int]:
    """By check, in how many runs it found something."""
    of: dict[str, int] = json.loads(asked(folder, *CONFORM, code=code))["findings"]["by_check"]
    return {check: runs for check, runs in of.items() if runs}


# -- A composition


@pytest.mark.tlc
def test_runs_of_a_composition_conform_and_are_told_by_component(lease: Path) -> None:
    asked(lease, *CHAIN)
    assert findings(lease, 0) == {}
    lines = asked(lease, "replay", "runs", "--run", "2").splitlines()
    assert lines[0].startswith("run 2") and "first: " in lines[0] and "second: " in lines[0]
    assert {line.split()[2] for line in lines if line[:5].strip().isdecimal()} == {"0", "1"}


@pytest.mark.tlc
def test_an_input_of_a_join_that_nothing_leads_to_is_found(lease: Path) -> None:
    asked(lease, *CHAIN)
    changed(lease / "composition.py", "and not outcome.ignored", "and outcome.ignored")
    assert set(findings(lease, 1)) == {"Joined"}


def test_a_property_of_all_components_is_asked(lease: Path) -> None:
    wrong = "c and after"
    changed(lease / "composition.py", wrong, "c and not after")
    said = asked(lease, *CHAIN, code=1)
    assert "SecondAfterFirst was violated" in said


@pytest.mark.tlc
def test_a_bug_of_a_part_is_met_in_the_composition_and_shrinks(lease: Path) -> None:
    asked(lease, *CHAIN, "--bug", "L01", code=1)
    assert "rejected" in asked(lease, "conform", "runs", code=1)
    runs = json.loads(
        asked(lease, "simulate", *CHAIN[1:-1], "more", "--bug", "L01", "--json", code=1)
    )
    assert runs["verdict"] == "violated"
    said = asked(lease, "shrink", "runs", "--run", "1", "--attempts", "40", code=1)
    assert "violates  WrittenRises" in said
    asked(lease, "replay", "runs/run-1.schedule", code=1)


@pytest.mark.tlc
def test_campaign_and_graph_know_a_composition(lease: Path) -> None:
    said = asked(
        lease, "campaign", "run", "--scenario", "lease-chain", "--runs", "20", "--out", "c"
    )
    assert "lease-chain: holds" in said and "0 rejected" in said
    asked(lease, *CHAIN)
    seen = json.loads(asked(lease, "cover", "--campaign", "runs", "--json"))
    assert seen["campaign"]["graphs"][0]["graph"] == "lease"


PLANTED = [
    ('name="lease-chain"', 'name="quorum"', "there is a protocol quorum already"),
    ('to="second"', 'to="third"', "no component ['third']"),
    ("COMPOSITION = Composition(", "OTHER = Composition(", "defines no COMPOSITION"),
    ('{"first": PROTOCOL, "second": PROTOCOL}', '{"first": PROTOCOL}', "two components at least"),
]


@pytest.mark.parametrize(("old", "new", "said"), PLANTED)
def test_what_is_wrong_with_a_composition_is_one_line(
    lease: Path, old: str, new: str, said: str
) -> None:
    changed(lease / "composition.py", old, new)
    told = asked(lease, "bugs", "list", code=3)
    assert said in told and told.count("\n") == 1


def test_a_part_that_is_not_known_is_named(lease: Path) -> None:
    alone = Path(shutil.copytree(lease, lease.parent / "chain"))
    (alone / "protocol.py").unlink()
    changed(alone / "composition.py", "from lease.protocol", "from lease.protocol")
    told = asked(alone, "bugs", "list", code=3)
    assert "its part lease is not known" in told and told.count("\n") == 1


def test_an_option_is_one_of_a_component(lease: Path) -> None:
    asked(lease, *CHAIN, "--option", "first_ticks=3")
    assert "ticks=3" in asked(lease, "replay", "runs", "--run", "0").splitlines()[0]
    told = asked(lease, *CHAIN, "--option", "ticks=3", code=3)
    assert "they begin with first, second and _" in told


# -- What clients are promised


def test_what_clients_saw_is_judged_by_the_model(lease: Path) -> None:
    asked(lease, *ALONE)
    said = asked(lease, "check", "runs")
    assert said.startswith("holds") and "fenced-writes" in said


def test_a_broken_promise_is_told_with_its_operations(lease: Path) -> None:
    asked(lease, *ALONE, "--bug", "L01", "--option", "watched=false")
    said = asked(lease, "check", "runs", code=1)
    assert said.startswith("violated") and "no linearization explains operation" in said
    asked(lease, "check", "runs", "--run", "1", "--html", "pages", code=1)
    assert [*(lease.parent / "pages").glob("*.html")]


@pytest.mark.tlc
def test_a_campaign_judges_what_clients_saw(lease: Path) -> None:
    # Nothing but what clients saw tells it: the properties are not asked.
    changed(lease / "protocol.py", "properties=(\n", "properties=()and(\n")
    run = ("campaign", "run", "--scenario", "lease", "--runs", "40", "--bug", "L01", "--out", "c")
    said = asked(lease, *run, code=1)
    assert "logs broke what was promised" in said


@pytest.mark.tlc
def test_a_composition_judges_what_its_parts_promise(lease: Path) -> None:
    changed(lease / "protocol.py", "properties=(\n", "properties=()and(\n")
    asked(lease, *CHAIN)
    assert "fenced-writes" in asked(lease, "check", "runs")
    asked(lease, *CHAIN[:-1], "bad", "--bug", "L01", "--option", "first_clients=(1,2)", code=3)


def test_nothing_promised_is_no_pass(lease: Path) -> None:
    changed(
        lease / "protocol.py", "        promises=ClientPromise(FencedWrites, client_events),\n", ""
    )
    asked(lease, *ALONE)
    told = asked(lease, "check", "runs", "--quiet", code=3)
    assert "nothing is promised to clients of lease" in told and told.count("\n") == 1


def test_an_operation_that_the_model_does_not_have_is_bad_input(lease: Path) -> None:
    changed(lease / "protocol.py", 'verbs = ("write",)', 'verbs = ("put",)')
    asked(lease, *ALONE)
    assert "write is no operation of a fenced-writes" in asked(lease, "check", "runs", code=3)


# -- Messages in their order


def ordered(folder: Path) -> None:
    changed(
        folder / "protocol.py",
        "        local=local,\n",
        "        local=local,\n        in_order=lambda message: True,\n",
    )


@pytest.mark.tlc
def test_messages_in_order_come_in_order_and_once(lease: Path) -> None:
    ordered(lease)
    asked(lease, *ALONE)
    assert findings(lease, 0) == {}


@pytest.mark.tlc
def test_messages_out_of_their_order_are_found(lease: Path) -> None:
    asked(lease, *ALONE)
    ordered(lease)
    assert set(findings(lease, 1)) == {"InOrder"}
