"""`spec check` and `spec list` on a toy's models: lines, exit codes, specs.json."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kraftcheck.cli import cli
from kraftcheck.spec_checks import first_look
from kraftcheck.specs import SPECS
from tests.tla_utils.toyspecs import HEAD, MANIFEST, add, write, write_specs
from tla_utils import Model, read_manifest

HOLDS = "holds = { distinct = 4, depth = 4 }\n"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def check(specs: Path, *arguments: object) -> Result:
    return run("spec", "check", "--specs", specs, *arguments)


def test_a_first_look_has_all_that_hold_of_what_is_judged_and_two_of_each_other() -> None:
    small = read_manifest(SPECS / "models.toml").select([], ["small"])
    chosen = first_look(small, {"quorum"})

    def of(folder: str, expect: str, models: list[Model]) -> list[str]:
        return [model.name for model in models if model.folder == folder and model.expect == expect]

    profiles = [model for model in small if model.profile]
    left = {name for model in profiles for name in (model.name, model.baseline)}
    assert "kafka-4.0-replicate" in left
    small = [model for model in small if model.name not in left]
    assert of("quorum", "holds", chosen) == of("quorum", "holds", small)
    for folder in {model.folder for model in small}:
        # The quorum since 4.1 has models that hold only.
        assert of(folder, "violated", chosen) == of(folder, "violated", small)[:1]
        if folder != "quorum":
            assert of(folder, "holds", chosen) == of(folder, "holds", small)[:1]
    # What is left out shows little that a model which holds does not: its counts are stated.
    assert all(model.distinct and model.depth for model in chosen if model.expect == "holds")


@pytest.mark.tlc
def test_models_as_expected(tmp_path: Path) -> None:
    write_specs(tmp_path / "specs")
    out = tmp_path / "out"
    result = check(tmp_path / "specs", "--tier", "all", "--out", out)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert " ".join(lines[0].split()) == (
        "model verdict expected property distinct depth seconds result"
    )
    cells = [line.split() for line in lines[1:5]]
    assert [cell[:6] + cell[7:] for cell in cells] == [
        ["toy", "holds", "holds", "-", "4", "4", "ok"],
        ["two", "violated", "violated", "NeverTwo", "3", "3", "ok"],
        ["t01", "violated", "violated", "AtMostThree", "5", "5", "ok"],
        ["t02", "holds", "holds", "-", "3", "3", "ok"],
    ]
    # Aligned: each word of a column begins, or each number ends, in one place.
    assert len({line.index("ok") for line in lines[1:5]}) == 1
    assert lines[5].startswith("4 of 4 models as expected, ")
    # A slow machine has lines before: what ended so far.
    assert result.stderr.splitlines()[-1].startswith("checking models: 4 of 4, ")

    specs = json.loads((out / "specs.json").read_text())["models"]
    two = specs[1]
    assert (two["name"], two["claim"], two["control"]) == ("two", "two is reached", True)
    assert (two["expect"], two["expected"]["length"]) == ("violated", 3)
    assert (two["verdict"], two["property"], two["length"]) == ("violated", "NeverTwo", 3)
    summary = json.loads((out / "summary.json").read_text())
    part = summary["parts"]["spec"]
    assert (part["verdict"], part["reasons"]) == ("holds", [])
    assert (part["models"], part["as_expected"]) == (4, 4)
    assert summary["versions"]["TLC"].startswith("2.0 2020")
    assert sorted(path.name for path in (out / "tlc").iterdir())[0] == "t01.out"


@pytest.mark.tlc
def test_mismatches_are_told_and_counted(tmp_path: Path) -> None:
    path = write_specs(tmp_path)
    path.write_text(
        MANIFEST.replace("distinct = 4", "distinct = 5").replace("length = 3", "length = 4")
    )
    result = check(tmp_path)
    assert result.exit_code == 1
    assert [line.split()[-1] for line in result.stdout.splitlines()[1:3]] == ["MISMATCH"] * 2
    assert result.stdout.splitlines()[3:5] == [
        "MISMATCH toy: distinct is 4, not 5",
        "MISMATCH two: length is 3, not 4",
    ]
    assert "0 of 2 models as expected, 2 MISMATCH, " in result.stdout


@pytest.mark.slow
@pytest.mark.tlc
def test_bad_input_comes_before_violated_before_unknown(tmp_path: Path) -> None:
    """The other models' verdicts are there in any case."""
    path = write_specs(tmp_path)
    text = MANIFEST.replace("distinct = 4", "distinct = 5").replace(
        "length = 3, control = true }", "length = 3, control = true }\ntimeout_s = 0.1"
    )
    path.write_text(text)
    add(tmp_path, "x", HEAD + 'invariants = ["NoSuch"]\n', HOLDS)
    verdicts = {"toy": 1, "two": 2, "x": 3}
    result = check(tmp_path, "--json", "--quiet", "--tier", "all")
    found = {m["name"]: m["result"] for m in json.loads(result.stdout)["models"]}
    assert found == {"toy": "MISMATCH", "two": "unknown", "t01": "ok", "t02": "ok", "x": "REFUSED"}
    assert (result.exit_code, result.stderr) == (3, "")
    result = check(tmp_path, "--quiet", *(f"--model={name}" for name in verdicts if name != "x"))
    assert result.exit_code == 1
    result = check(tmp_path, "--quiet", "--model", "two")
    assert result.exit_code == 2 and "unknown two: stopped after the time limit" in result.stdout


def test_the_default_is_the_small_tier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_specs(tmp_path)
    path.write_text(MANIFEST.replace('"small"', '"medium"'))
    result = check(tmp_path)
    assert result.exit_code == 3
    assert "no model of tier 'small'" in result.stderr and "medium, bugs" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--model", "tpy"], "no model 'tpy' in .*; nearest: toy"),
        (["--tier", "huge"], "no model of tier 'huge' in .*; there are: small, bugs"),
        (["--jar", "nowhere.jar"], "no file at nowhere.jar"),
        (["--jar", __file__], "is not a jar"),
        (["--java", "/nowhere/java"], "no Java launcher at /nowhere/java"),
        (["--out", "/dev/null/deep"], "/dev/null/deep: Not a directory"),
        (["--out", str(Path(__file__).parent)], "which is not ours: name a new folder"),
        (["--tier"], "Option '--tier' requires an argument"),
        (["--teir", "small"], "No such option"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, arguments: list[str], complaint: str) -> None:
    write_specs(tmp_path)
    result = check(tmp_path, *arguments)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.count("\n") == 1
    with pytest.raises(AssertionError, match=complaint):
        raise AssertionError(result.stderr)


def test_a_folder_without_a_manifest_and_a_damaged_one(tmp_path: Path) -> None:
    result = check(tmp_path / "nowhere")
    assert result.exit_code == 3 and "models.toml cannot be read: No such file" in result.stderr
    write(tmp_path, "models.toml", MANIFEST + "[more]\n")
    result = check(tmp_path)
    assert result.exit_code == 3 and "model 'more': the key 'module'" in result.stderr


def test_the_list_is_the_manifest(tmp_path: Path) -> None:
    write_specs(tmp_path)
    result = run("spec", "list", "--specs", tmp_path)
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == [
        *["model", "toy", "two", "t01", "t02"]
    ]
    listed = json.loads(run("spec", "list", "--specs", tmp_path, "--json").stdout)
    assert [model["name"] for model in listed] == ["toy", "two", "t01", "t02"]


# More states than can be searched before the interrupt.
ENDLESS = "---- MODULE Endless ----\nEXTENDS Integers\nVARIABLE n\n"
ENDLESS += "Spec == n = 0 /\\ [][n' = n + 1]_n\nInv == n >= 0\n====\n"


def runs_tlc(parent: int) -> bool:
    """Whether a thread of this process has started TLC."""
    for children in Path(f"/proc/{parent}/task").glob("*/children"):
        for child in children.read_text().split():
            with suppress(OSError):  # it has ended since
                if b"tlc2.TLC" in Path(f"/proc/{child}/cmdline").read_bytes():
                    return True
    return False


@pytest.mark.tlc
@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc whether TLC has begun")
def test_an_interrupt_ends_tlc(tmp_path: Path, repo_root: Path) -> None:
    path = write_specs(tmp_path)
    write(tmp_path, "models/Endless.tla", ENDLESS)
    add(tmp_path, "x", 'specification = "Spec"\ninvariants = ["Inv"]\n', HOLDS)
    path.write_text(path.read_text().replace('"MCToy"\noverlays = []', '"Endless"'))
    command = [sys.executable, "-m", "kraftcheck.cli", "spec", "check", "--model", "x"]
    process = subprocess.Popen(
        [*command, "--specs", str(tmp_path)],
        cwd=repo_root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not runs_tlc(process.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    told = said.splitlines()[-1]
    assert told.startswith("kraftcheck: interrupted; this begins anew: kraftcheck spec check")
    assert "Traceback" not in said
