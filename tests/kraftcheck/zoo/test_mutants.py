"""Mutants are derived from the text, judged by TLC, and stored under what they were derived of."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from kraftcheck.cli import cli
from kraftcheck.exits import BadInput
from kraftcheck.specs import SPECS
from kraftcheck.zoo import mutants as zoo
from kraftcheck.zoo.mutants import CAUGHT, NOT_CAUGHT, OTHER_STEPS, Bench, Mutant, Result
from tla_utils import Manifest, RunOptions, read_manifest


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return read_manifest(SPECS / "models.toml")


def mutant(manifest: Manifest, id: str) -> Mutant:
    module = id.partition(".")[0]
    return next(each for each in zoo.mutants(manifest, module) if each.id == id)


def test_every_decision_with_a_guard_has_mutants(manifest: Manifest) -> None:
    found = [each for module in zoo.MODELS for each in zoo.mutants(manifest, module)]
    assert len(found) == len({each.id for each in found}) >= 90
    assert {"LogOk", "VoteGranted", "IsIsrEligible"} <= {each.operator for each in found}
    dropped = mutant(manifest, "QuorumRules.FollowerGrantsPreVote.1")
    assert dropped.text == "~row.hasFetched"
    told = " ".join(dropped.definition.split())
    assert told == "Mutant_FollowerGrantsPreVote(row, m) == TRUE /\\ LogOk(row, m)"


@pytest.mark.tlc
@pytest.mark.parametrize(
    ("id", "model", "verdict"),
    [
        ("QuorumRules.MayAnnounceLeader.2", "quorum-reduced-crash", CAUGHT),
        ("QuorumRules.VoteRequestError.1", "quorum-one-voter", NOT_CAUGHT),
    ],
)
def test_a_mutant_is_judged(manifest: Manifest, id: str, model: str, verdict: str) -> None:
    found = Bench(manifest, RunOptions()).judge(mutant(manifest, id), [model])
    assert found.verdict == verdict, found
    assert (found.property is not None) == (verdict == CAUGHT)


def test_what_was_changed_since_is_not_judged(manifest: Manifest) -> None:
    one = mutant(manifest, "QuorumRules.LogOk.1")
    known = Result(digest=one.digest, verdict=OTHER_STEPS, text=one.text, model="m")
    assert zoo.current(manifest, {one.id: known})[one.id] == known
    for stale in (
        msgspec.structs.replace(known, digest="0"),
        msgspec.structs.replace(known, text="TRUE"),
    ):
        assert zoo.current(manifest, {one.id: stale})[one.id] is None
    table = zoo.markdown(manifest, {one.id: known})
    assert "1 other steps" in table and "| not judged yet |" in table


def test_the_table_tells_what_is_stored_of_the_specs_as_they_are(manifest: Manifest) -> None:
    results = zoo.load()
    judged = zoo.current(manifest, results)
    for id, _, verdict, by in zoo.rows(manifest, results):
        known = judged[id]
        assert verdict == ("not judged yet" if known is None else known.verdict)
        assert bool(by) == (known is not None and known.model is not None)


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "mutants.json"
    results = {"M.A.1": Result(digest="d", verdict=CAUGHT, text="t", length=4)}
    zoo.store(results, path)
    assert zoo.load(path) == results and zoo.load(tmp_path / "none.json") == {}
    path.write_text("{")
    with pytest.raises(BadInput, match="is damaged"):
        zoo.load(path)


def test_judging_stops_when_it_is_told_to(
    manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = Result(digest="d", verdict=CAUGHT, text="t")
    monkeypatch.setattr(Bench, "judge", lambda *_: done)
    results: dict[str, Result] = {}
    zoo.judge_all(manifest, ["QuorumRules"], RunOptions(), results, lambda *_: len(results) < 3)
    assert len(results) == 3


def test_the_command_lists_them() -> None:
    shown = CliRunner().invoke(cli, ["bugs", "mutants", "--quiet"])
    assert shown.exit_code in (0, 2)
    assert "QuorumRules.LogOk.1" in shown.stdout and "m.lastEpoch = Last" in shown.stdout
