"""Models written as files: TLC and the form of tlaplus/Examples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kraftcheck.cli import cli
from kraftcheck.specs import SPECS
from tests.tla_utils.toyspecs import HEAD, MANIFEST, add, write_specs
from tla_utils import TlcJob, read_manifest, run_tlc
from tla_utils.config import cfg_text, read_config


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def test_a_rendered_cfg_says_what_the_table_says() -> None:
    """Of every model, and so that its form is the normal one."""
    for model in read_manifest(SPECS / "models.toml").models.values():
        text = cfg_text(model.config)
        assert read_config(text) == model.config, model.name
        assert cfg_text(read_config(text)) == text, model.name
    printed = run("spec", "render", "quorum-vote")
    assert printed.exit_code == 0
    assert printed.stdout.startswith("SPECIFICATION MCSpec\nVIEW AliveView\nSYMMETRY Symmetry\n")
    assert "  Voters = {n1, n2}\n" in printed.stdout


@pytest.mark.slow
@pytest.mark.tlc
def test_a_model_is_written_so_that_tlc_runs_it(tmp_path: Path) -> None:
    """In that folder alone, and with the verdict that the kit expects."""
    place = tmp_path / "out"
    for name, root in (("quorum-one-voter", "MCQuorum"), ("Z06", None)):
        said = run("spec", "render", name, "--out", place / name)
        assert said.exit_code == 0, said.output
        model = read_manifest(SPECS / "models.toml").models[name]
        root = root or f"{model.module}_{model.overlays[0]}"
        assert f"java -cp tla2tools.jar tlc2.TLC -deadlock {root}" in said.stdout
        module, cfg = place / name / f"{root}.tla", place / name / f"{root}.cfg"
        if model.expect == "holds":
            result = run_tlc(TlcJob(module=module, cfg=cfg, deadlock=False))
            assert (result.verdict, result.distinct) == ("holds", model.distinct)
        else:
            assert module.is_file() and read_config(cfg.read_text("utf-8")) == model.config


def test_models_are_exported_with_a_manifest(tmp_path: Path) -> None:
    path = write_specs(tmp_path / "toys")
    like = 'like = "toy"\ninvariants = []\n'
    lasting = 'violates = { property = "ReachesNine", length = 4, control = true }\n'
    add(tmp_path / "toys", "never", f'{like}properties = ["ReachesNine"]\n', lasting)
    steps = 'violates = { property = "Grows", length = 2, control = true }\n'
    add(tmp_path / "toys", "grows", f'{like}properties = ["Grows"]\n', steps)
    stuck = 'violates = { property = "deadlock", length = 2, control = true }\ndeadlock = true\n'
    add(tmp_path / "toys", "stuck", like, stuck)
    assert path.read_text("utf-8").startswith(MANIFEST)
    said = run(
        "spec", "export", "--specs", tmp_path / "toys", "--tier", "all", "--out", tmp_path / "o"
    )
    assert said.exit_code == 0, said.output
    place = tmp_path / "o" / "specifications" / "toys"
    written = json.loads((place / "manifest.json").read_text("utf-8"))
    assert {*written} == {"sources", "authors", "tags", "modules"}
    modules = {Path(each["path"]).stem: each["models"] for each in written["modules"]}
    assert all((tmp_path / "o" / each["path"]).is_file() for each in written["modules"])
    assert modules["ToyRules"] == []
    of_toy = {Path(each["path"]).stem: each for each in modules["MCToy"]}
    assert of_toy["toy"] == {
        "path": "specifications/toys/toy.cfg",
        "runtime": "unknown",
        "mode": "exhaustive search",
        "result": "success",
        "distinctStates": 4,
        "totalStates": 5,
        "stateDepth": 4,
        "workers": 1,
    }
    assert {name: each["result"] for name, each in of_toy.items()} == {
        "toy": "success",
        "two": "safety failure",
        "never": "liveness failure",
        "grows": "safety failure",
        "stuck": "deadlock failure",
    }
    assert [Path(each["path"]).stem for each in modules["MCToy_T01Unbounded"]] == ["t01"]
    assert (place / "toy.cfg").read_text("utf-8") == cfg_text(
        read_manifest(path).models["toy"].config
    )


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("render", "toi"), "no model 'toi' in"),
        (("export", "--model", "toi", "--out", "o"), "no model 'toi' in"),
        (("export", "--tier", "huge", "--out", "o"), "no model of tier 'huge'"),
        (("render", "circle"), "`like` goes round in a circle: circle -> circle"),
    ],
)
def test_what_cannot_be_written_is_told_in_one_line(
    words: tuple[str, ...], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_specs(tmp_path / "toys")
    if words[1] == "circle":
        add(tmp_path / "toys", "circle", 'like = "circle"\n' + HEAD, "")
    said = run("spec", *words, "--specs", "toys")
    assert said.exit_code == 3 and complaint in said.stderr
    assert len(said.stderr.splitlines()) == 1 and not Path("o").exists()


def test_a_layer_is_exported_to_a_folder_of_its_own(tmp_path: Path) -> None:
    """The collection looks for manifests one folder deep."""
    said = run("spec", "export", "--model", "voters-one", "--out", tmp_path / "o")
    assert said.exit_code == 0, said.output
    (manifest,) = tmp_path.glob("o/specifications/*/manifest.json")
    written = json.loads(manifest.read_text("utf-8"))
    assert {Path(each["path"]).parent for each in written["modules"]} == {
        Path("specifications/voters")
    }
