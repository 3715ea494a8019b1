"""`simulate`, `conform` and `replay`, on a few runs: exit codes, summaries, what is refused."""

from __future__ import annotations

import errno
import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from kraftcheck import artifacts, conformance, replay
from kraftcheck.cli import cli
from kraftcheck.conformance import fixed_options
from kraftcheck.exits import BadInput
from kraftcheck.traces.sealed import sealed, unsealed
from kraftcheck.traces.steps.record import Part
from kraftcheck.traces.store import read_manifest, read_part
from tla_utils.errors import ToolError

# One recorded campaign serves all tests of this file.
pytestmark = pytest.mark.xdist_group("campaign")

RUNS = 3


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def simulate(out: Path, *more: object, runs: int = RUNS) -> Result:
    return run("simulate", "--runs", runs, "--out", out, "--quiet", *more)


def summary(folder: Path) -> dict[str, Any]:
    found = json.loads((folder / "summary.json").read_text())
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign with a bug that every voter has from its first vote on."""
    folder = tmp_path_factory.mktemp("campaign") / "Z01"
    assert simulate(folder, "--bug", "z01").exit_code in (0, 1)
    return folder


@pytest.fixture
def trace(recorded: Path, tmp_path: Path) -> Path:
    """The campaign in a folder of its own."""
    folder: Path = shutil.copytree(recorded, tmp_path / "trace")
    return folder


def test_runs_are_recorded_and_summed_up(recorded: Path) -> None:
    found = summary(recorded)
    assert found["runs"] == RUNS and found["steps"] > 20 * RUNS
    assert found["seeds"] == {"quorum": 1} and found["versions"]["kraftcheck"]
    part = found["parts"]["simulate"]
    assert (part["runs"], part["bug"]) == (RUNS, "Z01")
    assert set(found["invariant_violations"]) == {"runs", "by_name"}


def test_what_is_recorded_is_not_recorded_again(trace: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in trace.glob("part-*")}
    assert simulate(trace, "--bug", "Z01", "--json").exit_code in (0, 1)
    assert before == {path: path.stat().st_mtime_ns for path in trace.glob("part-*")}


def test_options_are_fixed_and_kept_in_the_manifest(tmp_path: Path) -> None:
    fixed = ["--option", "voters=1", "--option", "start=tie"]
    assert simulate(tmp_path / "new", *fixed).exit_code == 0
    campaign = read_manifest(tmp_path / "new").campaign
    assert campaign.options == {"voters": 1, "start": "tie"}
    # The same campaign is one with the same options.
    result = simulate(tmp_path / "new", "--option", "voters=3")
    assert result.exit_code == 3 and "another campaign" in result.stderr


def test_an_option_may_be_a_word_that_looks_like_a_number() -> None:
    words = ["acks=0", "unclean=true", "loss=2", "topics=2"]
    assert fixed_options("partition", words[:3]) == {"acks": "0", "unclean": True, "loss": 2}
    assert fixed_options("cluster", words[3:]) == {"topics": 2}
    with pytest.raises(BadInput, match="option refused"):
        fixed_options("partition", ["acks=7"])


def test_json_is_alone_on_stdout(tmp_path: Path) -> None:
    result = simulate(tmp_path / "a", "--json", "--seed", 7, runs=1)
    assert json.loads(result.stdout)["runs"] == 1 and result.stderr == ""


def test_a_violated_invariant_is_violated(
    trace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = artifacts.Part("simulate", "violated", 1.0, ["planted"], {"runs": 1, "steps": 2})
    monkeypatch.setattr(conformance, "recorded", lambda *_: found)
    result = simulate(trace, "--bug", "Z01")
    assert result.exit_code == 1
    assert "verdict   violated\n" in result.stdout and " planted\n" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--runs", "0"], "0 is not in the range 1<=x<=1000000000"),
        (["--runs", "many"], "'many' is no whole number"),
        (["--scenario", "quorun"], "no scenario 'quorun'; did you mean quorum?"),
        (["--bug", "Z1"], "no bug 'Z1' of the quorum; did you mean Z01"),
        (["--bug", "Z21"], "Z21 cannot be simulated: it only delays an election"),
        (["--backend", "pool", "--master", "local[2]"], "--master is an address of Spark"),
        (["--backend", "cluster"], "'cluster' is not one of"),
        (["--out", "/dev/null/deep"], "/dev/null/deep: Not a directory"),
        (["--option", "loss"], "--option loss: write NAME=VALUE"),
        (["--option", "los=1"], "no option 'los'; did you mean loss?"),
        (["--option", "hosting=true"], "of a scenario of their own, --scenario hosting"),
        (["--option", "state_machines=true"], "ask for those as well"),
        (["--bug", "Z110"], "scenario quorum never uses the rules of Z110; try --scenario voters"),
        (["--option", "loss=1001"], "loss is 1001, not from 0 to 1000"),
        (["--option", "loss=much"], "loss: expected int, got str"),
    ],
)
def test_bad_input_leaves_nothing(tmp_path: Path, arguments: list[str], complaint: str) -> None:
    result = simulate(tmp_path / "new", *arguments)
    assert result.exit_code == 3 and complaint in result.stderr and result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert not list((tmp_path / "new").glob("*"))


def test_runs_of_another_version_are_not_added_to(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = summary(trace)
    monkeypatch.setattr(conformance, "code_digest", lambda: "of tomorrow")
    result = simulate(trace, "--bug", "Z01")
    assert result.exit_code == 3 and "by another version of the reference" in result.stderr
    assert summary(trace) == before
    assert simulate(tmp_path / "new", runs=1).exit_code == 0
    assert summary(tmp_path / "new")["versions"][conformance.CODE] == "of tomorrow"


def test_another_campaign_is_refused(trace: Path) -> None:
    result = simulate(trace, "--bug", "Z01", "--seed", 2)
    assert result.exit_code == 3 and "holds another campaign: seed 1 and not 2" in result.stderr


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    result = simulate(tmp_path)
    assert result.exit_code == 3 and "thesis.tex, which is not ours" in result.stderr


@pytest.mark.slow
@pytest.mark.tlc
def test_a_bug_is_found_by_the_steps_it_takes(trace: Path) -> None:
    artifacts.merge(trace, artifacts.Part("spec", "holds", 1.0))
    result = run("conform", trace, "--quiet")
    assert result.exit_code == 1, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "verdict   violated" and lines[1] == f"runs      {RUNS}"
    assert any(line.startswith("rejected at after.") for line in lines)
    assert f"    kraftcheck replay {trace} --run 0" in lines
    assert "    after.quorumState.voted: recorded -1, spec allows {" in result.stdout

    found = summary(trace)
    assert set(found["parts"]) == {"simulate", "spec", "conform"}
    assert found["parts"]["conform"]["verdict"] == found["verdict"] == "violated"
    assert found["rejected_steps"] > 0 and found["rejections"]
    first = found["rejections"][0]
    told = run("replay", trace, "--run", first["run"])
    assert told.exit_code == 0
    lines = told.stdout.splitlines()
    at = next(n for n, line in enumerate(lines) if line[:5].strip() == str(first["step"]))
    assert lines[at + 1 : at + 3] == [
        "      !! not allowed by the spec",
        f"         {first['differences'][0]}",
    ]
    assert found["seconds"]["spec"] == 1.0 and found["seconds"]["judge"] > 0


@pytest.mark.tlc
def test_runs_of_the_correct_reference_conform(tmp_path: Path) -> None:
    assert simulate(tmp_path / "runs", runs=2).exit_code == 0
    result = run("conform", tmp_path / "runs", "--quiet", "--json")
    assert result.exit_code == 0, result.stdout
    assert json.loads(result.stdout)["verdict"] == "holds"


def test_a_trace_cut_short_is_refused_and_loses_nothing(trace: Path) -> None:
    before = summary(trace)
    steps = next(trace.glob("part-*.steps.parquet"))
    steps.write_bytes(steps.read_bytes()[:-100])
    result = run("conform", trace, "--quiet")
    assert result.exit_code == 3 and result.stderr.count("\n") == 1
    assert str(steps) in result.stderr and "damaged" in result.stderr
    assert summary(trace) == before


def test_a_failing_job_takes_only_its_own_part_back(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        (trace / "summary.json").unlink()
        raise ToolError("planted")

    artifacts.merge(trace, artifacts.Part("conform", "violated", 1.0))
    monkeypatch.setattr(conformance, "conform_trace", fail)
    result = run("conform", trace, "--quiet")
    assert (result.exit_code, result.stderr) == (3, "kraftcheck: planted\n")
    assert set(summary(trace)["parts"]) <= {"simulate"}


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    for folder, said in (
        (tmp_path, "the folder is not a trace"),
        (tmp_path / "nowhere", "nowhere' does not exist"),
        (Path(__file__), "no steps in lines of JSON"),
    ):
        result = run("conform", folder)
        assert result.exit_code == 3 and said in result.stderr
    assert list(tmp_path.iterdir()) == []
    assert run("conform").exit_code == 3


def test_a_folder_of_campaigns_is_told_as_that(tmp_path: Path) -> None:
    for name in ("quorum", "partition"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").touch()
    result = run("replay", tmp_path, "--run", 3)
    assert result.exit_code == 3
    assert "its runs lie in folders of it: partition, quorum" in result.stderr


# -- replay


def test_a_run_is_told_as_it_was_recorded(recorded: Path) -> None:
    result = run("replay", recorded, "--run", 1)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("run 1 seed ") and "\nstep    index of" in result.stdout
    told = json.loads(run("replay", recorded, "--run", 1, "--json").stdout)
    assert told["as_recorded"] and told["steps"][0]["action"].startswith("Handle")
    steps = sum(line[:5].strip().isdigit() for line in result.stdout.splitlines()[:-1])
    assert steps == len(told["steps"])


def test_each_step_is_told_as_it_was_recorded(recorded: Path) -> None:
    told = json.loads(run("replay", recorded, "--run", 1, "--json").stdout)["steps"]
    part = Part(read_part(recorded, replay.part_of(read_manifest(recorded), 1, recorded)))
    steps = [part.step(int(taken)) for taken in part.steps_of_run[1 - part.first_run]]
    assert len(told) == len(steps) and any(step.before != step.after for step in steps)
    for number, (said, step) in enumerate(zip(told, steps, strict=True)):
        assert said["step"] == number
        names = ("node", "action", "input", "after", "sent", "ignored")
        assert [said[name] for name in names] == [
            json.loads(msgspec.json.encode(getattr(step, name))) for name in names
        ]


def test_a_run_that_was_recorded_otherwise_is_unknown(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trace says that it has the bug; another version of the bug takes other steps."""
    manifest = trace / "manifest.json"
    said = unsealed(manifest.read_bytes())
    manifest.write_bytes(sealed(said.replace(b'"bug": "Z01"', b'"bug": "Z02"')))
    result = run("replay", trace, "--run", 0)
    assert result.exit_code == 2
    assert result.stdout.startswith("!! from step ")


@pytest.mark.parametrize(
    ("number", "complaint"),
    [(RUNS, f"there is no run {RUNS}; its runs are 0 to {RUNS - 1}"), (-1, "no run -1")],
)
def test_a_run_that_is_not_there_is_refused(recorded: Path, number: int, complaint: str) -> None:
    result = run("replay", recorded, "--run", number)
    assert result.exit_code == 3 and complaint in result.stderr


def test_notes_follow_their_step() -> None:
    lines = ["legend 7", "    7 first", "   17 second", "7 steps"]
    notes = {7: ["bad", "why"], 8: ["never"]}
    assert list(replay.annotated(lines, notes)) == [
        *lines[:2],
        "      !! bad",
        "         why",
        *lines[2:],
    ]


def test_an_explanation_names_the_run_that_it_is_told_of() -> None:
    told: dict[str, Any] = {"run": 0, "step": 4}
    told["differences"] = ["after.role: recorded x, spec allows {y}"]
    own = replay.rejection(told, {"run": 0, "step": 4})
    assert own == ["not allowed by the spec", *told["differences"]]
    other = replay.rejection(told, {"run": 2, "step": 9})
    assert other[0] == "not allowed by the spec, like step 4 of run 0, where"
    assert replay.rejection({}, {"run": 2, "step": 9}) == ["not allowed by the spec", ""]


def test_a_folder_that_cannot_be_written_to_is_refused_before_it_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["simulate", "--scenario", "quorum", "--runs", "1", "--out", str(tmp_path / "t")]
    assert CliRunner().invoke(cli, words).exit_code == 0

    def refused(dir: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(dir / "x"))

    monkeypatch.setattr("kraftcheck.artifacts.tempfile.TemporaryFile", refused)
    monkeypatch.setattr("kraftcheck.conformance.conform_trace", None)
    done = CliRunner().invoke(cli, ["conform", str(tmp_path / "t")])
    assert done.exit_code == 3
    assert f"{tmp_path}/t: Read-only file system: what is found is written there" in done.output
