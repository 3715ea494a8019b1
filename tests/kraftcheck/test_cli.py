"""The command line as a whole: help, version, errors; and as a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from kraftcheck import bugs, docs, exits
from kraftcheck.cli import GROUPS, cli
from kraftcheck.reference.bugs.catalog import CATALOG, OF_STORAGE
from kraftcheck.verbs import manual, runs
from tests.tla_utils.toyspecs import write_specs
from tla_utils.errors import ToolError


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def verbs(group: click.Group, *names: str) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from verbs(command, *names, name)
        else:
            yield (*names, name)


VERBS = list(verbs(cli))


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_help_is_a_sentence_and_an_example(verb: tuple[str, ...]) -> None:
    result = run(*verb, "--help")
    text = " ".join(result.stdout.split())
    assert result.exit_code == 0
    assert f" Example: kraftcheck {' '.join(verb)}" in text
    # The first paragraph is the usage, where `PATH...` would look like the end of a sentence.
    sentence = " ".join(result.stdout.split("\n\n")[1].split())
    assert sentence.endswith(".") and sentence.count(". ") == 0


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb_has_json_and_quiet(verb: tuple[str, ...]) -> None:
    text = run(*verb, "--help").stdout
    assert "--json " in text and "--quiet " in text


BEGUN = """
import json, os, sys, time
from kraftcheck.cli import GROUPS, cli
from kraftcheck.screen import Screen

def begun(screen, label, waited_s):
    print(time.process_time() + loaded, label, flush=True)
    os._exit(0)

Screen.at_work = begun
loaded = time.process_time()
for line in json.load(sys.stdin):
    if not (child := os.fork()):
        cli(line)
    os.waitpid(child, 0)
"""
"""Every verb up to where it is watched over: from there on it is told to be at work."""

BEGUN_CPU_S = 1.0
"""Processor seconds. 0.16 were measured where compiled modules are kept, 0.3 where not; `witness`,
whose verbs are as many as there are protocols of its kind, takes 0.75 there."""

TAKEN: dict[tuple[str, ...], list[str]] = {("bugs", "show"): ["Z01"]}
"""What a verb takes by position, where that is not a folder or a file."""


def taken(verb: tuple[str, ...], folder: Path) -> list[str]:
    """The verb with all that it demands, as far as its parser can tell."""
    command: click.Command | None = cli
    for name in verb:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), name)
    assert command is not None
    said = [*verb]
    for each in command.params:
        if each.required:
            kind = each.type
            word = kind.choices[0] if isinstance(kind, click.Choice) else str(folder)
            word = "1" if isinstance(kind, click.IntRange) else word
            option = each.opts[:1] if isinstance(each, click.Option) else []
            said += [*option, *TAKEN.get(verb, [word])]
    return said


@pytest.mark.slow
def test_no_verb_works_for_long_before_it_is_watched_over(tmp_path: Path) -> None:
    """From there on nothing is silent for two seconds (test_screen), whatever a verb imports."""
    lines = json.dumps([taken(verb, tmp_path) for verb in VERBS])
    done = subprocess.run(
        [sys.executable, "-c", BEGUN], input=lines, capture_output=True, text=True, timeout=120
    )
    assert done.stderr == ""
    told = [line.split(" ", 1) for line in done.stdout.splitlines()]
    assert [label for _, label in told] == [" ".join(verb) for verb in VERBS]
    assert {label: seconds for seconds, label in told if float(seconds) > BEGUN_CPU_S} == {}


def test_no_verb_is_a_request_for_help() -> None:
    for arguments in ((), ("spec",), ("bugs",)):
        result = run(*arguments)
        assert result.exit_code == 0 and result.stdout.startswith("Usage: kraftcheck")


def test_what_each_verb_does_has_room_in_the_first_help() -> None:
    usage, *told = run("--help").stdout.splitlines()
    assert usage.endswith("...") and not [line for line in told if line.endswith("...")]


def test_the_version() -> None:
    result = run("--version")
    name, number = result.stdout.split()
    assert name == "kraftcheck" and number[0].isdigit()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["spec", "chekc"], "No such command 'chekc'"),
        (["--teir"], "No such option"),
        (["simulate", "--runs", "1.5"], "'1.5' is no whole number"),
        (["try", "--minutes", "long"], "'long' is no number"),
        (["try", "--minutes", "nan"], "'nan' is no number of at most 1,000,000,000"),
        (["try", "--minutes", "inf"], "'inf' is no number of at most"),
        (["replay", "x.moves", "--html", "."], ". is a folder; name a file to write to"),
        (["disk", ".", "--html", "nowhere/x.html"], "there is no folder nowhere"),
        (["bugs", "show"], "Missing argument 'ID'"),
        (["bugs", "show", "Z88"], "no bug 'Z88'; did you mean Z98, Z89, Z87"),
    ],
)
def test_bad_usage_is_one_line(arguments: list[str], complaint: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("kraftcheck: ") and result.stderr.count("\n") == 1
    assert complaint in result.stderr


def test_who_interrupts_any_verb_is_told_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> int:
        raise exits.Interrupted(exits.INTERRUPTED)

    monkeypatch.setattr(bugs, "show_list", interrupted)
    monkeypatch.setattr("sys.argv", ["kraftcheck", "bugs", "list"])
    result = run("bugs", "list")
    said = "kraftcheck: interrupted; this begins anew: kraftcheck bugs list\n"
    assert (result.exit_code, result.stderr) == (130, said)


def test_a_planted_error_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise ToolError("TLC said\nplanted")

    monkeypatch.setattr(bugs, "show_list", fail)
    result = run("bugs", "list")
    assert (result.exit_code, result.stderr) == (3, "kraftcheck: TLC said planted\n")


def test_bugs_are_listed_and_shown() -> None:
    lines = run("bugs", "list").stdout.splitlines()
    known = [bug.id for bug in (*CATALOG, *OF_STORAGE)]
    assert [line.split()[0] for line in lines[1:]] == known
    assert [bug["id"] for bug in json.loads(run("bugs", "list", "--json").stdout)] == known
    shown = run("bugs", "show", "z01").stdout
    assert shown.startswith("Z01  ") and "kraftcheck simulate" in shown and "VoteOnce" in shown
    assert "--bug Z10 --option voters=1 --out" in run("bugs", "show", "Z10").stdout
    assert "out of scope" in run("bugs", "show", "Z21").stdout
    assert "keeps_end_offsets" in run("bugs", "show", "z67").stdout
    assert json.loads(run("bugs", "show", "Z01", "--json").stdout)["properties"][0] == "VoteOnce"


def test_a_shown_bug_says_what_cannot_see_it() -> None:
    alone = run("bugs", "show", "Z36").stdout
    assert "\nby one      it breaks no invariant" in alone and "\nno overlay  in the ref" in alone
    unseen = run("bugs", "show", "Z49").stdout
    assert "\nno run    histories: a replica that was wiped" in unseen and "by one" not in unseen
    assert max(map(len, unseen.partition("The reference")[0].splitlines())) <= 100
    assert [*json.loads(run("bugs", "show", "Z49", "--json").stdout)["no_run"]] == ["histories"]


# -- A process of its own


def process(*arguments: object, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kraftcheck.cli", *map(str, arguments)],
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
    )


LIGHT = re.compile(
    r"kraftcheck(\.(cli|verbs|artifacts|exits|screen|osutil|specs)\b.*|\.traces(\.sealed)?)?"
)
WORK = re.compile(r"(kraftcheck|tla_utils)\b.*")


def loaded_work(statement: str) -> set[str]:
    """What a process has loaded of ours after the statement, but for what every verb needs."""
    done = subprocess.run(
        [sys.executable, "-c", f"{statement}; import sys; print(*sys.modules)"],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    names = done.stdout.split()
    return {name for name in names if WORK.fullmatch(name) and not LIGHT.fullmatch(name)}


def test_what_does_the_work_is_loaded_by_its_verb_alone() -> None:
    """With all of it, Arrow and Z3 among it, `--help` would take ten times as long."""
    assert loaded_work("import kraftcheck.cli") == set()
    assert "kraftcheck.spec_checks" in loaded_work("import kraftcheck.cli, kraftcheck.spec_checks")


SMALL = (
    (
        ("check", "traces/samples/histories/kv.jsonl"),
        ("kraftcheck.reference.protocols", "jinja2", "numpy", "pyarrow", "tla_utils"),
    ),
    (
        ("check", "traces/samples/histories/register.edn"),
        ("kraftcheck.reference.protocols", "pyarrow"),
    ),
    (
        ("check", "traces/samples/histories/log.edn", "--faults", "clean"),
        ("kraftcheck.reference.protocols", "pandas", "pyarrow.parquet", "tla_utils"),
    ),
    (("bugs", "show", "Z13"), ("kraftcheck.reference.runner", "numpy", "pyarrow", "networkx")),
    (("disk", "tests"), ("kraftcheck.reference.protocols", "pyarrow")),
)


@pytest.mark.parametrize(("words", "heavy"), SMALL)
def test_a_verb_that_asks_little_loads_little(
    words: tuple[str, ...], heavy: tuple[str, ...]
) -> None:
    """Each of these costs 0.3 processor seconds at most; with `reference` it was 0.6."""
    statement = f"""
import contextlib, io, sys
from kraftcheck.cli import GROUPS, cli
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    cli({[*words]!r})
"""
    done = subprocess.run(
        [sys.executable, "-c", f"{statement}\nprint(*sys.modules)"],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.split())
    assert f"kraftcheck.verbs.{'histories' if words[0] == 'check' else 'bugs'}" in loaded
    assert loaded.isdisjoint(heavy)


def test_help_groups_every_verb_once() -> None:
    text = run("--help").stdout
    for title, verbs in GROUPS.items():
        assert f"\n{title}:\n" in text
        for verb in verbs:
            assert text.count(f"\n  {verb.name} ") == 1
    assert {each.name for verbs in GROUPS.values() for each in verbs} == {*cli.commands}


def test_the_manual_has_the_pages_that_messages_name() -> None:
    listed = run("manual").stdout
    assert re.search(r"(?m)^histories +Client histories$", listed)
    for name in ("histories", "docs/histories.md", "docs/histories.md#models"):
        assert run("manual", name).stdout.startswith("# Client histories\n")
    assert run("manual", "bugs").stdout == run("manual", "docs/reference/bugs.md").stdout != ""
    refused = run("manual", "history")
    assert refused.exit_code == 3
    assert "no page 'history'; there are README, architecture" in refused.stderr


def test_every_page_that_help_and_messages_name_is_there() -> None:
    root = Path(__file__).resolve().parents[2]
    named = {
        name
        for folder in ("kraftcheck", "traces", "reference", "tla_utils")
        for path in (root / folder).rglob("*.py")
        for name in re.findall(r"docs/([a-z/-]+\.md)", path.read_text("utf-8"))
    }
    assert named
    assert [name for name in named if not (manual.PAGES / name).exists()] == []


@pytest.mark.parametrize("language", runs.EMITTERS)
def test_an_emitter_is_printed(language: str) -> None:
    assert "kraftcheck steps 1" in run("conform", "--emitter", language).stdout


def test_the_fields_of_a_node_are_printed_with_meanings() -> None:
    text = run("conform", "--fields", "voter").stdout
    assert re.search(r"voted +number +Voter that got this node's vote", text)
    assert "VoteRequest: Q5. Asks for a standard vote" in text
    refused = run("conform", "--fields", "vote")
    assert refused.exit_code == 3 and "no node 'vote'; there are voter, broker" in refused.stderr


@pytest.mark.tlc
def test_a_model_is_checked(tmp_path: Path) -> None:
    write_specs(tmp_path)
    done = process("spec", "check", "--specs", tmp_path, "--model", "toy", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "holds"


def test_errors_of_a_process(tmp_path: Path) -> None:
    write_specs(tmp_path)
    check = ("spec", "check", "--specs", tmp_path)
    for arguments, env, said in [
        ((*check, "--model", "tyo"), {}, "no model 'tyo'"),
        (check, {"TLA2TOOLS_JAR": "no.jar"}, "no file at no.jar (from TLA2TOOLS_JAR)"),
        (check, {"JAVA_HOME": "/nowhere"}, "JAVA_HOME is /nowhere"),
        (("simulate", "--runs", "1", "--out", tmp_path), {}, "which is not ours"),
    ]:
        done = process(*arguments, "--quiet", **env)
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr.count("\n") == 1 and said in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a file that is always full")
def test_no_space_for_the_result_is_one_line() -> None:
    done = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" -m kraftcheck.cli bugs list --quiet > /dev/full'],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert done.stderr == "kraftcheck: no space left\n"


@pytest.mark.parametrize(
    "words",
    [
        ("simulate", "--scenario", "quorum", "--runs", "1", "--out", "s3a://bucket/runs"),
        ("campaign", "run", "--scenario", "quorum", "--runs", "1", "--out", "hdfs://h/runs"),
        ("disk", "s3://bucket", "--html", "page.html"),
        ("disk", ".", "--html", "file:///page.html"),
    ],
)
def test_folders_of_other_machines_are_refused(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == exits.BAD_INPUT and "only folders of this machine" in done.output
    assert [*tmp_path.iterdir()] == []


def test_the_generator_of_documentation_explains_itself(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert docs.main("--help") == exits.HOLDS
    assert "usage: python -m kraftcheck.docs" in capsys.readouterr().out
    assert docs.main("nothing") == exits.BAD_INPUT
    assert capsys.readouterr().err.startswith("kraftcheck: no part 'nothing'")
    assert docs.main("anomalies") == exits.HOLDS and capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "note"),
    [
        ("cluster up --islands --layout strange", "--islands is called --namespaces now"),
        ("cluster up --layout apart --set nonsense", "apart is called isolated now"),
        ("prove --timeout strange", "--timeout is called --budget now"),
        ("cover --model strange", "--model is called --graph now"),
        ("bugs campaigns --limit strange", "--limit is called --runs now"),
        ("spec explore strange --moves x.moves", "--moves is called --out now"),
        ("witness transactions --set strange --runs x", "--set is called --option now"),
    ],
)
def test_an_old_name_is_taken_and_the_new_one_is_printed(words: str, note: str) -> None:
    result = CliRunner().invoke(cli, words.split())
    assert result.exit_code == exits.BAD_INPUT
    assert result.stderr.splitlines()[0] == f"kraftcheck: {note}"
    assert "No such option" not in result.stderr
