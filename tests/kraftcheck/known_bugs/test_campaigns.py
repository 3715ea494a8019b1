"""Campaigns: what one finds, that work goes on where it stopped, what is stored of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from kraftcheck.cli import cli
from kraftcheck.exits import BadInput
from kraftcheck.known_bugs import campaigns, figures, violations
from kraftcheck.known_bugs.campaigns import Asked, gathered, measure, merged, pieces, search
from kraftcheck.known_bugs.figures import Figure, Measured
from kraftcheck.known_bugs.hunting import hunt_down
from kraftcheck.known_bugs.oracles import Oracle
from kraftcheck.known_bugs.witnesses import Hunt, Witness, stored as stored_runs
from kraftcheck.reference.bugs.catalog import bug as known_bug
from tla_utils import Manifest, RunOptions, ToolError, read_manifest

Z06 = [known_bug("Z06")]
INVARIANTS: tuple[Oracle, ...] = ("invariants",)


def asked(out: Path, count: int = 3, limit: int = 12) -> Asked:
    return Asked(oracles=INVARIANTS, campaigns=count, limit=limit, out=out)


def nobody(*_: object) -> None:
    """Hears of each campaign, and says nothing."""


def test_a_campaign_counts_its_runs_from_one(tmp_path: Path) -> None:
    assert measure(Z06, asked(tmp_path), nobody)
    figure = gathered(Z06, asked(tmp_path))["Z06"]["invariants"]
    # Of seed 1 it is run 4 that is stored as a witness.
    assert figure.runs[0] == 5 and len(figure.runs) == 3 and figure.limit == 12


def test_what_is_not_found_is_censored(tmp_path: Path) -> None:
    measure(Z06, asked(tmp_path, 1, 3), nobody)
    assert gathered(Z06, asked(tmp_path, 1, 3)) == {
        "Z06": {"invariants": Figure(limit=3, runs=[None])}
    }


def test_work_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measure(Z06, asked(tmp_path, 2), nobody)
    hunted: list[int] = []

    def counted(hunt: Hunt, wanted: list[str], limit: int) -> dict[str, Witness]:
        hunted.append(hunt.seed)
        return hunt_down(hunt, wanted, limit)

    monkeypatch.setattr(campaigns, "hunt_down", counted)
    measure(Z06, asked(tmp_path, 3), nobody)
    assert hunted == [3]
    late = Asked(oracles=INVARIANTS, campaigns=4, limit=12, seconds=-1.0, out=tmp_path)
    assert not measure(Z06, late, nobody) and hunted == [3]
    assert len(gathered(Z06, late)["Z06"]["invariants"].runs) == 3


def test_controls_and_unexpected_oracles_have_no_campaigns(tmp_path: Path) -> None:
    assert not [*pieces([known_bug("Z54")], asked(tmp_path))]
    assert not [*pieces([known_bug("Z10")], asked(tmp_path))]


def test_a_damaged_file_is_bad_input(tmp_path: Path) -> None:
    (piece,) = pieces(Z06, asked(tmp_path, 1))
    path = campaigns.path_of(piece, asked(tmp_path, 1))
    path.parent.mkdir(parents=True)
    path.write_text("[")
    with pytest.raises(BadInput, match=r"json: damaged, .*: remove it"):
        measure(Z06, asked(tmp_path, 1), nobody)


def test_fewer_campaigns_do_not_replace_more() -> None:
    old = Measured(figures={"Z06": {"steps": Figure(limit=9, runs=[1, 2, 3])}})
    fresh = {"Z06": {"steps": Figure(limit=5, runs=[1]), "invariants": Figure(limit=5, runs=[4])}}
    found = merged(old, fresh)
    assert found.figures["Z06"]["steps"].limit == 9
    assert found.figures["Z06"]["invariants"].runs == [4]
    assert "cores" in found.machine and len(found.date) == len("2026-01-31")


def disagreeing(measured: Measured, runs: Mapping[str, Mapping[str, Witness]]) -> list[str]:
    """Stored runs that are not the first of their campaign."""
    found = []
    for bug, of_bug in runs.items():
        for oracle, witness in of_bug.items():
            figure = measured.figures.get(bug, {}).get(oracle)
            elsewhere = witness.schedule or witness.options
            if figure is None or elsewhere or witness.seed > len(figure.runs):
                continue
            first = figure.runs[witness.seed - 1]
            if (figure.limit < witness.run + 1) if first is None else (first == witness.run + 1):
                continue
            found.append(f"{bug} {oracle}")
    return found


def test_stored_figures_agree_with_stored_runs() -> None:
    # Hunts found the runs one at a time, campaigns side by side.
    assert disagreeing(figures.load(), stored_runs()) == []
    later = {"Z06": {"invariants": Witness(seed=1, run=5)}}
    assert disagreeing(figures.load(), later) == ["Z06 invariants"]
    missed = Measured(figures={"Z06": {"invariants": Figure(limit=9, runs=[None])}})
    assert disagreeing(missed, later) == ["Z06 invariants"]
    assert disagreeing(missed, {"Z06": {"invariants": Witness(seed=1, run=9)}}) == []


def test_the_command_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures.load, "__defaults__", (tmp_path / "none.json",))
    short = ["bugs", "campaigns", "Z06", "--oracle", "invariants", "--runs", "12"]
    rest = ["--campaigns", "2", "--out", str(tmp_path / "out"), "--quiet"]
    shown = CliRunner().invoke(cli, [*short, *rest, "--minutes", "0"])
    assert shown.exit_code == 2 and "0 of 2 campaigns are done" in shown.stdout
    shown = CliRunner().invoke(cli, [*short, *rest])
    assert shown.exit_code == 0 and "2 of 2 campaigns are done" in shown.stdout
    written = json.loads((tmp_path / "out" / "measured.json").read_text("utf-8"))
    assert written["figures"]["Z06"]["invariants"]["runs"][0] == 5


def test_tlc_searches_what_is_not_stored_of_these_specs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = """[{}]
module = "M"
specification = "Spec"
tier = "bugs"
claim = "c"
violates = {{ property = "P", length = 3 }}
bug = "Z06"
"""
    path = tmp_path / "models.toml"
    path.write_text("\n".join(table.format(name) for name in ("one", "two", "three")))
    manifest = read_manifest(path)
    (tmp_path / "bugs" / "found").mkdir(parents=True)
    of = violations.digest_of(manifest, manifest.models["two"])
    for name, found_in in (("two", of), ("three", "an older spec")):
        known = violations.Counterexample(
            model=name,
            property="P",
            length=3,
            distinct=9,
            seconds=1,
            told=[],
            at=1,
            prefix={},
            of=found_in,
        )
        stored = violations.path_of(manifest, manifest.models[name])
        stored.write_bytes(msgspec.json.encode(known))

    def no_time(_: Manifest, model: object, *rest: object) -> None:
        raise ToolError("no time")

    monkeypatch.setattr(violations, "search", no_time)
    heard: list[tuple[str, str]] = []
    assert not search(Z06, manifest, RunOptions(), 1.0, lambda *said: heard.append(said))
    assert heard == [("one", "no time"), ("three", "no time")]
