"""`cover` refuses what it cannot use in one line; a planted bug is an exit code."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import CliRunner, Result

from kraftcheck import exits
from kraftcheck.cli import cli
from kraftcheck.cover import Covered
from kraftcheck.traces.cover.driving import Driven
from kraftcheck.traces.cover.matching import Matcher, Mismatch
from kraftcheck.traces.cover.models import Dumped
from kraftcheck.traces.cover.refusals import Refusals
from kraftcheck.traces.jobs.simulate import Range, simulate_range
from kraftcheck.traces.store import Campaign, begin_trace
from tests.reference.bugs.files import rules_file


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["cover", *(str(each) for each in arguments)])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--fill",), "--fill needs --campaign"),
        (("--bug", "Z999"), "no bug 'Z999'"),
        (("--bug", "Z35", "--model", "quorum-handover"), "Z35 is a bug of the partition"),
        (("--bug", "Z13", "--model", "partition-isr"), "Z13 is a bug of the quorum"),
        (("--bug", "Z21"), "Z21 cannot be replayed: only delays an election"),
        (("--bug", "Z40"), "Z40 cannot be replayed: it is a configuration"),
        (("--model", "partition"), "there is no graph 'partition'"),
        (("--tier", "huge"), "no graph is of tier 'huge'"),
        (("--model", "partition-change", "--max-edges", 1000), "160112 edges, more than 1000"),
        (("--pictures", "nowhere/at-all/page.md"), "there is no folder nowhere/at-all"),
        (("--campaign", "nowhere/at-all"), "nowhere/at-all"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(
    arguments: tuple[object, ...], said: str
) -> None:
    result = run(*arguments)
    assert result.exit_code in (2, 3), result.output
    assert said in result.stderr and "Traceback" not in result.output


def test_runs_of_another_protocol_are_refused(tmp_path: Path) -> None:
    campaign = Campaign(scenario="quorum", seed=1, runs=1)
    begin_trace(tmp_path, campaign)
    simulate_range(tmp_path, campaign, [Range(0, 1)], True, 0)
    result = run("--campaign", tmp_path, "--model", "partition-isr")
    assert result.exit_code == 3
    assert "are of scenario quorum: they can see nothing of partition-isr" in result.stderr


@pytest.mark.parametrize(
    ("driven", "mismatches", "differ", "rejected", "unknown", "code"),
    [
        (5, 0, 0, 0, 0, exits.HOLDS),
        (4, 0, 0, 0, 0, exits.UNKNOWN),
        (None, 0, 0, 0, 0, exits.UNKNOWN),
        (5, 0, 0, 0, 1, exits.UNKNOWN),
        (None, 1, 0, 0, 0, exits.VIOLATED),
        (4, 0, 1, 0, 0, exits.VIOLATED),
        (5, 0, 0, 1, 1, exits.VIOLATED),
    ],
)
def test_a_graph_holds_when_every_edge_was_driven_and_nothing_is_wrong(
    driven: int | None, mismatches: int, differ: int, rejected: int, unknown: int, code: int
) -> None:
    mismatch = Mismatch("differs", 0, "HandleFlush", "")
    found: Any = Covered(
        dumped=cast(Dumped, SimpleNamespace(model=SimpleNamespace(edges=5))),
        matcher=cast(Matcher, SimpleNamespace(mismatches=[mismatch] * mismatches)),
        cover=None,
        driven=None if driven is None else Driven(1, 9, driven, [mismatch] * differ, 1.0),
        refusals=Refusals(rejected=["told"] * rejected, unknown=unknown),
        seconds={},
    )
    assert found.code == code
    assert found.wrong == mismatches + differ + rejected


@pytest.mark.tlc
def test_nothing_is_said_of_a_change_that_no_graph_meets(tmp_path: Path) -> None:
    """The graph has no client that asks for offsets."""
    options = ("--model", "partition-isr", "--bug", "Z48", "--mutants", -1, "--out", tmp_path)
    result = run(*options, "--quiet")
    assert result.exit_code == 2, result.output
    never = "nobody asked list_offsets_error: nothing is said of the change"
    assert f"unknown: {never}" in result.stdout
    document = json.loads((tmp_path / "cover.json").read_text("utf-8"))
    assert (document["verdict"], document["never_met"]) == ("unknown", never)


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.parametrize("how", ["bug", "rules"])
def test_a_bug_of_the_partition_is_violated_with_the_way_to_it(how: str, tmp_path: Path) -> None:
    which = ("--bug", "z35") if how == "bug" else ("--rules", rules_file("Z35", tmp_path))
    out = tmp_path / "out"
    options = ("--model", "partition-isr", *which, "--mutants", -1, "--out", out)
    result = run(*options, "--quiet")
    assert result.exit_code == 1, result.output
    assert "not allowed: HandleAlterPartitionRequest" in result.stdout
    assert "reached by: " in result.stdout
    (graph,) = json.loads((out / "cover.json").read_text("utf-8"))["graphs"]
    assert graph["graph"] == "partition-isr" and graph["mismatches"] > 0
