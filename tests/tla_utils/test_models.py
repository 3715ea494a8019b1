"""TLC on a toy manifest: what matches, and one line for each way not to match."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.tla_utils.toyspecs import CHECKED, HEAD, MANIFEST, add, replacing, write, write_specs
from tla_utils import models
from tla_utils.errors import ToolError
from tla_utils.manifest import Manifest, read_manifest
from tla_utils.models import ModelResult, RunOptions, check_model, check_models

VIOLATED = 'violates = {{ property = "{}", length = {}, control = true }}\n'


def changed(folder: Path, old: str, new: str) -> Manifest:
    assert old in MANIFEST
    path = write_specs(folder)
    path.write_text(MANIFEST.replace(old, new, 1), "utf-8")
    return read_manifest(path)


def added(folder: Path, cfg: str, table: str, *overlays: str) -> ModelResult:
    path = write_specs(folder)
    add(folder, "x", cfg, table, *overlays)
    manifest = read_manifest(path)
    return check_model(manifest, manifest.models["x"])


@pytest.mark.tlc
def test_a_manifest_that_is_true_matches(tmp_path: Path) -> None:
    manifest = read_manifest(write_specs(tmp_path / "specs"))
    ended: list[str] = []
    results = check_models(
        manifest,
        manifest.select(),
        RunOptions(cores=2, keep=tmp_path / "kept"),
        on_result=lambda result: ended.append(result.model.name),
    )
    assert (
        [r.model.name for r in results]
        == ["toy", "two", "t01", "t02"]
        == sorted(ended, key=list(manifest.models).index)
    )
    assert all(r.matches and not r.reason and r.seconds > 0 for r in results)
    found = [(r.verdict, r.property, r.distinct, r.depth, r.length) for r in results]
    assert found[0] == ("holds", None, 4, 4, None)
    assert found[1][:2] == ("violated", "NeverTwo") and found[1][4] == 3
    assert found[2][:2] == ("violated", "AtMostThree") and found[2][4] == 5
    assert found[3] == ("holds", None, 3, 3, None)
    kept = sorted(path.name for path in (tmp_path / "kept").iterdir())
    assert kept == ["t01.out", "t02.out", "toy.out", "two.out"]


@pytest.mark.tlc
@pytest.mark.parametrize(
    ("name", "old", "new", "reason"),
    [
        ("toy", "distinct = 4", "distinct = 5", "distinct is 4, not 5"),
        ("toy", "depth = 4, generated = 5", "depth = 3, generated = 6", "generated is 5, not 6; "),
        ("two", "length = 3", "length = 2", "length is 3, not 2"),
        ("toy", '["AtMostThree"', '["NeverTwo"', "to hold, but NeverTwo is, in 3 states"),
    ],
)
def test_other_numbers_and_verdicts_do_not_match(
    tmp_path: Path, name: str, old: str, new: str, reason: str
) -> None:
    manifest = changed(tmp_path, old, new)
    result = check_model(manifest, manifest.models[name])
    assert not result.matches and not result.refused
    assert reason in result.reason and "\n" not in result.reason


@pytest.mark.tlc
def test_a_violation_that_stays_away_does_not_match(tmp_path: Path) -> None:
    result = added(tmp_path, HEAD + 'invariants = ["Counting"]\n', VIOLATED.format("Counting", 2))
    assert (result.verdict, result.matches) == ("holds", False)
    assert result.reason == "expected Counting to be violated, but the model holds"


@pytest.mark.tlc
def test_another_property_does_not_match(tmp_path: Path) -> None:
    cfg = HEAD + 'invariants = ["NeverTwo", "AtMostThree"]\n'
    result = added(tmp_path, cfg, VIOLATED.format("AtMostThree", 3))
    expected = "expected AtMostThree to be violated, but NeverTwo is, in 3 states"
    assert (result.matches, result.reason) == (False, expected)


@pytest.mark.tlc
def test_several_workers_are_compared_by_verdict_and_states_only(tmp_path: Path) -> None:
    manifest = changed(tmp_path, "depth = 4, generated = 5 }", "depth = 9 }\nworkers = 2")
    assert check_model(manifest, manifest.models["toy"]).matches


@pytest.mark.tlc
def test_an_override_without_effect_is_no_match(tmp_path: Path) -> None:
    """The manifest claims a difference, or else it would be refused before TLC starts."""
    table = 'holds = { distinct = 5, depth = 5 }\nbaseline = "toy"\nbug = "T03"'
    result = added(tmp_path, HEAD + CHECKED + replacing("T03_MayGrow"), table, "T03Same")
    assert result.verdict == "holds" and not result.matches
    assert "counts are those of its baseline toy: the override changes nothing" in result.reason


@pytest.mark.tlc
def test_deadlock_is_looked_for_on_demand(tmp_path: Path) -> None:
    stop = "---- MODULE Stop ----\nEXTENDS MCToy\nStep == n < 2 /\\ n' = n + 1\n====\n"
    write(tmp_path, "models/Stop.tla", stop)
    end = HEAD.replace('specification = "Spec"', 'init = "Init"\nnext = "Step"')
    end += 'invariants = ["Counting"]\n'
    holds = "holds = { distinct = 3, depth = 3 }\n"
    path = write_specs(tmp_path)
    add(tmp_path, "x", end, holds)
    add(tmp_path, "y", end, VIOLATED.format("deadlock", 3) + "deadlock = true\n")
    path.write_text(path.read_text().replace('"MCToy"\noverlays = []', '"Stop"'))
    manifest = read_manifest(path)
    results = check_models(manifest, manifest.select(["x", "y"]))
    assert [(r.verdict, r.property, r.matches) for r in results] == [
        ("holds", None, True),
        ("violated", "deadlock", True),
    ]


@pytest.mark.tlc
def test_a_liveness_property_is_named_if_it_is_the_only_one(tmp_path: Path) -> None:
    cfg = HEAD.replace('"Spec"', '"FairSpec"')
    one, two = 'properties = ["ReachesNine"]\n', 'properties = ["ReachesNine", "ReachesTop"]\n'
    assert added(tmp_path / "1", cfg + one, VIOLATED.format("ReachesNine", 4)).matches
    both = added(tmp_path / "2", cfg + two, VIOLATED.format("ReachesNine", 4))
    assert "does not say which of ReachesNine, ReachesTop" in both.reason and not both.matches


@pytest.mark.tlc
def test_a_model_that_tlc_refuses_leaves_the_others(tmp_path: Path) -> None:
    path = write_specs(tmp_path)
    holds = "holds = { distinct = 4, depth = 4 }\n"
    add(tmp_path, "x", HEAD + 'invariants = ["NoSuch"]\n', holds)
    add(tmp_path, "y", HEAD, holds)
    manifest = read_manifest(path)
    toy, x, y = check_models(manifest, manifest.select(["x", "y", "toy"]), RunOptions(cores=1))
    assert toy.matches and not toy.refused
    assert x.refused and x.verdict == "unknown" and "NoSuch" in x.reason
    assert y.refused and "no invariant and no property" in y.reason
    assert "\n" not in x.reason + y.reason


@pytest.mark.tlc
def test_a_run_out_of_time_is_unknown(tmp_path: Path) -> None:
    manifest = changed(tmp_path, "generated = 5 }", "generated = 5 }\ntimeout_s = 0.1")
    result = check_model(manifest, manifest.models["toy"])
    assert (result.verdict, result.matches, result.refused) == ("unknown", False, False)
    assert "time limit of 0.1 s" in result.reason


def test_no_model_is_no_success(tmp_path: Path) -> None:
    manifest = read_manifest(write_specs(tmp_path))
    with pytest.raises(ToolError, match="there is no model to check"):
        check_models(manifest, [])


def test_a_jar_that_is_none_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TLA2TOOLS_JAR", str(tmp_path / "none.jar"))
    manifest = read_manifest(write_specs(tmp_path))
    with pytest.raises(ToolError, match=r"no file at .*none.jar"):
        check_models(manifest, manifest.select())


@pytest.mark.parametrize(("cores", "at_once"), [(1, 1), (2, 2), (4, 4)])
def test_no_more_workers_run_than_there_are_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: int, at_once: int
) -> None:
    """Three models of one worker and one of three: never more than fit, and all of them run."""
    manifest = changed(tmp_path, ", depth = 4, generated = 5 }", " }\nworkers = 3")
    lock, running, seen = threading.Lock(), [0], [0]

    def pretend(manifest: Manifest, model: Any, options: RunOptions) -> ModelResult:
        with lock:
            running[0] += min(model.workers, cores)
            seen[0] = max(seen[0], running[0])
        threading.Event().wait(0.05)
        with lock:
            running[0] -= min(model.workers, cores)
        return ModelResult(model, "holds")

    monkeypatch.setattr(models, "check_model", pretend)
    results = check_models(manifest, manifest.select(), RunOptions(cores=cores))
    assert [r.model.name for r in results] == list(manifest.models)
    assert seen[0] == at_once
