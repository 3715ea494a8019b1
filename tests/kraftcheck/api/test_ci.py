"""What a CI server gets: JUnit XML, annotations, summaries; and the action that asks for them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite
from ruamel.yaml import YAML

from kraftcheck import api
from kraftcheck.api import github, junit
from kraftcheck.api.cases import Case, cases
from kraftcheck.api.report import Report
from kraftcheck.cli import cli

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = ROOT / "traces" / "samples" / "histories"
HOLDS, VIOLATED = SAMPLES / "register.edn", SAMPLES / "kv.jsonl"
UNREAD = [
    {"process": 0, "type": "invoke", "f": "send", "value": [["send", "t-0", 1]]},
    {"process": 0, "type": "ok", "f": "send", "value": [["send", "t-0", [0, 1]]]},
    {"process": 1, "type": "invoke", "f": "poll", "value": [["poll"]]},
    {"process": 1, "type": "ok", "f": "poll", "value": [["poll", {}]]},
]
"""Nobody read an acknowledged record: unknown."""
ACTION = ROOT / "action.yml"


def run(*words: str | Path, **environment: str) -> Any:
    return CliRunner().invoke(cli, [str(word) for word in words], env=environment)


def suite_in(place: Path) -> Any:
    [suite] = JUnitXml.fromfile(str(place))
    assert isinstance(suite, TestSuite)
    return suite


def unread(folder: Path) -> Path:
    place = folder / "unread.jsonl"
    place.write_text("".join(json.dumps(each) + "\n" for each in UNREAD))
    return place


# -- JUnit XML


def test_each_history_is_a_test_case(tmp_path: Path) -> None:
    place = tmp_path / "junit.xml"
    named = (HOLDS, VIOLATED, unread(tmp_path), tmp_path / "missing.jsonl")
    done = run("check", *named, "--junit", place)
    assert done.exit_code == 3
    suite = suite_in(place)
    kinds = [type(each.result[0]) if each.result else None for each in suite]
    assert kinds == [None, Failure, Skipped, Error]
    assert (suite.tests, suite.failures, suite.skipped, suite.errors) == (4, 1, 1, 1)
    assert "no linearization explains" in [*suite][1].result[0].message


def test_a_verb_that_gives_up_leaves_an_error(tmp_path: Path) -> None:
    place = tmp_path / "junit.xml"
    assert run("check", HOLDS, "--level", "best", "--junit", place).exit_code == 3
    [case] = suite_in(place)
    assert isinstance(case.result[0], Error)


def test_a_verb_that_is_killed_does_not_leave_an_earlier_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "junit.xml"
    assert run("check", HOLDS, "--junit", place).exit_code == 0
    [case] = suite_in(place)
    assert not case.result

    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "check", killed)
    assert run("check", HOLDS, "--junit", place).exit_code == 130
    [case] = suite_in(place)
    assert "before there was a verdict" in case.result[0].message


def test_a_file_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    done = run("check", HOLDS, "--junit", tmp_path / "no" / "junit.xml")
    assert done.exit_code == 3 and "there is no folder" in done.stderr


def test_what_xml_cannot_have_is_replaced() -> None:
    text = junit.document("check", [Case("a\0b", "violated", ("\x1b[31m\ud800 <&>",))])
    [suite] = JUnitXml.fromstring(text)
    [case] = suite
    assert case.name == "a\ufffdb" and case.result[0].message == "\ufffd[31m\ufffd <&>"


def test_cases_never_say_less_than_the_exit_code() -> None:
    """The planted fault: a document that holds, of a verb that does not."""
    model = {"name": "m", "matches": True, "verdict": "holds", "seconds": 1.0}
    found = cases(Report("spec check", 1, ({"models": [model]},), ("something is wrong",)))
    assert [each.verdict for each in found] == ["holds", "violated"]
    assert found[1].evidence == ("something is wrong",)
    assert [each.verdict for each in cases(Report("cover", 2, ()))] == ["unknown"]


def documents() -> Iterator[tuple[str, dict[str, Any], list[str]]]:
    """Of each verb that has several verdicts: the verb, a document, the verdicts."""
    detection = {"bug": "Z01", "oracle": "tlc", "verdict": "missed", "said": "no"}
    yield (
        "bugs run",
        {"detections": [detection, detection | {"verdict": "found"}]},
        [*("violated", "holds")],
    )
    proof = {"part": "vote", "name": "P", "broken": "", "reason": "time", "seconds": 1.0}
    proofs = [{**proof, "status": each} for each in ("proved", "failed", "unknown")]
    yield "prove", {"obligations": proofs}, ["holds", "violated", "unknown"]
    schedule = {"schedule": "s", "not_followed": "", "violates": "P", "refused": {}}
    schedules = [schedule | {"verdict": "violated"}, schedule | {"not_followed": "no"}]
    yield "witness bugs", {"schedules": schedules}, ["violated", "unknown"]
    damaged = {"invariant": "I", "said": "gap", "file": "0.log"}
    part = {"topic": "t", "partition": 0, "together": [], "replicas": [{"findings": [damaged]}]}
    disk = {"directories": {"d": []}, "partitions": [part, {**part, "replicas": []}]}
    yield "disk", disk, ["violated", "holds"]
    step = {"file": "a.jsonl", "verdict": "violated", "reasons": ["no"]}
    yield "conform", {"traces": [step, step | {"verdict": "holds"}]}, ["violated", "holds"]
    broken = {"run": 3, "kind": "K", "what": "w"}
    several = [{"name": "n", "verdict": "violated", "violations": [broken]}]
    yield "campaign run", {"configurations": several}, ["violated"]


@pytest.mark.parametrize(("verb", "document", "verdicts"), [*documents()])
def test_each_part_of_a_verdict_is_a_case(
    verb: str, document: dict[str, Any], verdicts: list[str]
) -> None:
    found = cases(Report(verb, 1, (document,)))
    assert [each.verdict for each in found] == verdicts
    assert all(each.evidence for each in found if each.verdict != "holds")


NO_VERDICT = {
    *("bugs list", "bugs show", "bugs campaigns", "bugs matrix", "convert", "ctl", "manual"),
    *("explore", "likelihood", "spec explore", "sql"),
    *("interceptor", "record", "spec list", "spec render", "spec export"),
    *("cluster fetch", "cluster up", "cluster down", "cluster status", "cluster start"),
    *("cluster stop", "cluster kill", "cluster pause", "cluster resume"),
    *("cluster partition", "cluster heal"),
}


def commands(group: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield from commands(command, (*words, name))
    else:
        yield " ".join(words), group


def test_every_verb_with_a_verdict_takes_junit() -> None:
    without = {
        name
        for name, each in commands(cli)
        if "junit" not in {option.name for option in each.params}
    }
    assert without == NO_VERDICT


# -- GitHub Actions


def test_annotations_name_file_and_reason(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    done = run(
        *("check", HOLDS, VIOLATED, unread(tmp_path)),
        **{github.ACTIVE: "true", github.SUMMARY: str(summary)},
    )
    [error, warning] = [line for line in done.stderr.splitlines() if line.startswith("::")]
    assert error.startswith(f"::error file={VIOLATED},title=kraftcheck check%3A violated::")
    assert warning.startswith("::warning ") and "::" not in done.stdout
    text = summary.read_text()
    assert text.startswith("### kraftcheck check: 1 holds, 1 violated, 1 unknown\n")
    assert text.count("\n|") == 4


def test_nothing_is_annotated_elsewhere() -> None:
    assert "::error" not in run("check", VIOLATED).output
    assert "::error" in run("check", VIOLATED, "--github").output


def test_text_of_a_history_is_no_command_and_no_markup() -> None:
    wrong = [Case("a|b", "violated", ("x\n::add-mask::1 %0A <img>",), file="a:b,c\n")]
    [line] = github.annotated("check", wrong)
    assert "\n" not in line and "file=a%3Ab%2Cc%0A," in line and "%250A" in line
    table = github.summary("check", wrong)
    assert "a\\|b" in table and "\\<img\\>" in table


def test_many_cases_are_counted() -> None:
    wrong = [Case(str(at), "violated") for at in range(300)]
    assert len([*github.annotated("check", wrong)]) == 10
    assert "and 100 more" in github.summary("check", wrong)


# -- The action


def lint(kind: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{kind}"]
    return subprocess.run([*words, *map(str, paths)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [
        ("github-actions", "action.yml"),
        ("github-workflows", ".github/workflows/*.yml"),
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/[!c]*.yml"),
        ("citation-file-format", "CITATION.cff"),
    ],
)
def test_files_for_servers_pass_a_linter(kind: str, pattern: str, tmp_path: Path) -> None:
    paths = sorted(ROOT.glob(pattern))
    assert paths
    done = lint(kind, *paths)
    assert done.returncode == 0, done.stdout
    planted = tmp_path / paths[0].name
    planted.write_text(paths[0].read_text().replace("name:", "nmae:", 1))
    assert lint(kind, planted).returncode == 1


@pytest.mark.parametrize(("history", "code"), [(HOLDS, 0), (VIOLATED, 1)])
def test_the_step_of_the_action_runs(history: Path, code: int, tmp_path: Path) -> None:
    action = YAML(typ="safe").load(ACTION.read_text())
    [step] = [each for each in action["runs"]["steps"] if each.get("id") == "judge"]
    own = {"VERB": "check", "ARGUMENTS": f"'{history}' --html pages", "JUNIT": "out file.xml"}
    own |= {
        "GITHUB_OUTPUT": "output",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        env={**os.environ, **own, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert (tmp_path / "output").read_text() == f"exit-code={code}\n"
    [case] = suite_in(tmp_path / "out file.xml")
    assert isinstance(case, TestCase) and bool(case.result) == bool(code)


@pytest.mark.parametrize(("history", "code"), [(HOLDS, 0), (VIOLATED, 1)])
def test_the_hook_of_pre_commit_runs(history: Path, code: int, tmp_path: Path) -> None:
    """As pre-commit runs it: the entry, its args, and the files that match."""
    hooks = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())
    [hook] = [each for each in hooks if each["id"] == "kraftcheck-check"]
    changed = tmp_path / f"history{history.suffix}"
    changed.write_bytes(history.read_bytes())
    assert re.search(hook["files"], str(changed))
    _, *words = hook["entry"].split()
    assert run(*words, "--faults", "clean", changed).exit_code == code


def test_the_workflow_calls_the_targets_of_the_ci_script() -> None:
    workflow = YAML(typ="safe").load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    targets = workflow["jobs"]["make"]["strategy"]["matrix"]["target"]
    [made] = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if "make" in line]
    assert made.removeprefix("exec make ").partition(" <")[0].split() == targets
