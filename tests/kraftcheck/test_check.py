"""`check` and `convert`: verdict lines, JSON, pages and exit codes, from the command line."""

from __future__ import annotations

import json
import os
import shutil
import sys
import zipfile
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

from kraftcheck import conformance
from kraftcheck.checking import command, judge, traces
from kraftcheck.checking.command import Outcome, Source
from kraftcheck.checking.options import Options
from kraftcheck.cli import cli
from kraftcheck.exits import BAD_INPUT
from kraftcheck.traces.formats import detect
from kraftcheck.traces.jobs.backends import Pool, Spark, Task
from kraftcheck.traces.store import Campaign, begin_trace
from kraftcheck.verbs import histories
from tests.live.samples import stored
from tests.traces.formats import texts as texts
from tla_utils.errors import ToolError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLES = Path(__file__).parents[2] / "traces" / "samples" / "histories"
GOLDEN = Path(__file__).parents[1] / "conformance" / "golden"

HOLDS = texts.REGISTER
VIOLATED = (
    "{:process 0, :type :invoke, :f :write, :value 1}\n"
    "{:process 0, :type :ok, :f :write, :value 1}\n"
    "{:process 1, :type :invoke, :f :read, :value nil}\n"
    "{:process 1, :type :ok, :f :read, :value 2}\n"
)
BROKEN = VIOLATED + "{:process 0, :type"


def check(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["check", "--quiet", *map(str, arguments)])


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def objects(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


# -- Verdicts and exit codes


@pytest.mark.parametrize(
    ("text", "code", "verdict"), [(HOLDS, 0, "holds"), (VIOLATED, 1, "violated")]
)
def test_a_file_gets_a_line(text: str, code: int, verdict: str, tmp_path: Path) -> None:
    path = write(tmp_path, history=text) / "history"
    result = check(path)
    assert result.exit_code == code
    (line,) = result.stdout.splitlines()
    assert line.startswith(verdict) and str(path) in line and "operations" in line


def test_a_violation_says_why(tmp_path: Path) -> None:
    write(tmp_path, history=VIOLATED)
    (found,) = objects(check(tmp_path / "history", "--json"))
    assert found["certificate"]["operations"][-1] == 1
    assert found["certificate"]["sentence"] in check(tmp_path / "history").stdout


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"a": HOLDS}, 0),
        ({"a": HOLDS, "b": VIOLATED}, 1),
        ({"a": BROKEN, "b": VIOLATED, "c": HOLDS}, 3),
        ({"a": HOLDS, "b": ""}, 3),
        ({"a": HOLDS, "readme": "Some prose."}, 0),
        ({"readme": "Some prose."}, 3),
        ({}, 3),
    ],
)
def test_a_folder_has_the_worst_of_its_files(
    files: dict[str, str], code: int, tmp_path: Path
) -> None:
    result = check(write(tmp_path, **files), "--json")
    assert result.exit_code == code
    assert "Traceback" not in result.stderr
    judged = [found for found in objects(result) if found["verdict"] != "bad input"]
    assert len(judged) == sum(text in (HOLDS, VIOLATED) for text in files.values())


UNREAD = """\
{"index":0,"time":1,"process":0,"type":"invoke","f":"send","value":[["send","t-0",1]]}
{"index":1,"time":2,"process":0,"type":"ok","f":"send","value":[["send","t-0",[0,1]]]}
"""


@pytest.mark.parametrize(
    ("complete", "code", "said"),
    [
        (None, 2, "1 acknowledged record was never read: say whether consumers read to the end"),
        (False, 0, "unseen 1, consumers stopped before the end, and this verdict covers only what"),
        (True, 1, "1 was acknowledged at offset 0, and nobody ever read it"),
    ],
)
def test_what_nobody_read_is_lost_only_where_all_was_read_in_the_end(
    complete: bool | None, code: int, said: str, tmp_path: Path
) -> None:
    """A recording that was interrupted does not say that it was allowed to lose something."""
    (tmp_path / "history.jsonl").write_text(UNREAD, "utf-8")
    configuration = {"acks": "all", "replication_factor": 3, "min_insync_replicas": 2}
    beside = {"configuration": configuration, "complete": complete}
    (tmp_path / "recording.json").write_text(json.dumps(beside), "utf-8")
    done = check(tmp_path / "history.jsonl", "--faults", "clean")
    assert done.exit_code == code and said in done.stdout and "allowed" not in done.stdout
    if complete is not None:
        (tmp_path / "recording.json").unlink()
        option = "--complete" if complete else "--no-complete"
        done = check(tmp_path / "history.jsonl", "--faults", "clean", option)
        assert done.exit_code == code and said in done.stdout and "allowed" not in done.stdout


def test_unknown_is_no_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unforeseen error with one file is said, and the others are judged."""
    judge_file = judge.judge_file

    def fails(path: Path, *rest: Any) -> Any:
        if path.name == "a":
            raise ZeroDivisionError("planted")
        return judge_file(path, *rest)

    monkeypatch.setattr(command, "judge_file", fails)
    result = check(write(tmp_path, a=HOLDS, b=HOLDS), "--json")
    verdicts = [found["verdict"] for found in objects(result)]
    assert (result.exit_code, verdicts) == (2, ["unknown", "holds"])
    assert "a defect of kraftcheck: ZeroDivisionError: planted" in result.stdout
    write(tmp_path, c=VIOLATED)
    assert check(tmp_path).exit_code == 1


def test_without_times_it_is_said_that_what_takes_too_long_is_not_asked(tmp_path: Path) -> None:
    with zipfile.ZipFile(stored("z213")) as archive:
        archive.extractall(tmp_path)
    place = tmp_path / "history.jsonl"
    assert check(place).exit_code == 1
    lines = [json.loads(line) for line in place.read_text("utf-8").splitlines()]
    for line in lines:
        del line["time"]
    place.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    done = check(place)
    said = "what takes too long: not asked: the history has no times"
    assert done.exit_code == 0 and said in done.stdout


def test_json_is_an_object_a_line(tmp_path: Path) -> None:
    write(tmp_path, a=HOLDS, b=VIOLATED, c=BROKEN)
    result = check(tmp_path, "--json")
    found = objects(result)
    assert [Path(each["file"]).name for each in found] == ["a", "b", "c"]
    for each in found:
        assert {"file", "model", "verdict", "level", "certificate", "seconds"} <= set(each)
    assert [each["verdict"] for each in found] == ["holds", "violated", "bad input"]
    assert [each["model"] for each in found] == ["cas-register", "register", None]


def test_bad_input_is_one_line_with_its_place(tmp_path: Path) -> None:
    path = write(tmp_path, c=BROKEN) / "c"
    result = check(path)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == f"kraftcheck: {path}:5: breaks off: {{ is never closed\n"


def test_what_is_no_history_is_passed_over_in_a_folder_only(tmp_path: Path) -> None:
    write(tmp_path, a=HOLDS, readme="Some prose.", **{"page.html": "<p>"})
    result = CliRunner().invoke(cli, ["check", str(tmp_path)])
    assert f"no histories, passed over: {tmp_path / 'readme'}" in result.stderr
    assert "page.html" not in result.stderr, "pages lie beside histories"
    named = check(tmp_path / "readme", tmp_path / "a")
    assert named.exit_code == 3 and "in none of the formats" in named.stderr
    assert "holds" in named.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere"], "nowhere: No such file or directory"),
        (["--model", "tree", "a"], "no model 'tree'; there are register, "),
        (["--model", "os:nothing", "a"], "no model 'os:nothing'"),
        (["--level", "sequential", "a"], "is of partition logs"),
        (["--format", "yaml", "a"], "Invalid value for '--format'"),
        (["--budget", "0", "a"], "Invalid value for '--budget'"),
        ([], "Missing argument 'PATH...'"),
    ],
)
def test_bad_usage_is_one_line(
    arguments: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write(tmp_path, a=HOLDS))
    result = check(*arguments)
    assert result.exit_code == 3 and complaint in result.stderr
    assert result.stderr.count("\n") == 1 and "Traceback" not in result.stderr


OWN_MODEL = """
from kraftcheck.traces.checkers.sequential import Model, answer

class Toggle(Model):
    name = "toggle"
    verbs = ("flip", "read")

    def initial(self):
        return False

    def step(self, state, operation):
        return not state if operation.f == "flip" else answer(state, operation)

class Broken(Toggle):
    def step(self, state, operation):
        raise KeyError("sold\\nout")
"""
"""Those of traces/checkers/sequential.py, as a user has them beside the histories."""

FLIPPED = """\
{:process 0, :type :invoke, :f :flip, :value nil}
{:process 0, :type :ok, :f :flip, :value nil}
{:process 1, :type :invoke, :f :read, :value nil}
{:process 1, :type :ok, :f :read, :value true}
"""


def test_a_model_of_ones_own_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = FLIPPED.replace("true", "false")
    monkeypatch.chdir(write(tmp_path, right=FLIPPED, wrong=wrong, **{"own_model.py": OWN_MODEL}))
    path = sys.path[:]
    result = check("right", "wrong", "--model", "own_model:Toggle")
    assert result.exit_code == 1, result.stderr
    verdicts = [line.split()[0] for line in result.stdout.splitlines()[:2]]
    assert verdicts == ["holds", "violated"]
    broken = check("right", "--model", "own_model:Broken")
    assert (broken.exit_code, broken.stdout) == (3, "")
    assert broken.stderr.startswith("kraftcheck: right: the model own_model:Broken failed: KeyErr")
    assert broken.stderr.count("\n") == 1 and sys.path == path


def test_a_verb_of_another_model_is_bad_input(tmp_path: Path) -> None:
    result = check(write(tmp_path, a=HOLDS) / "a", "--model", "queue")
    assert result.exit_code == 3 and "of a queue" in result.stderr


def test_names_with_anything_in_them(tmp_path: Path) -> None:
    name = "a <b> \N{SNOWMAN}\n[31m.log"
    result = check(write(tmp_path, **{name: HOLDS}), "--html", tmp_path / "pages")
    assert result.exit_code == 0 and len(result.stdout.splitlines()) == 2


# -- Many files


def test_the_order_is_that_of_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is done first: two processes, of which the first file keeps one busy."""
    monkeypatch.setattr(command, "HERE_S", 0.0)
    slow = "".join(
        f"{{:process {at}, :type :{kind}, :f :write, :value {at}}}\n"
        for kind in ("invoke", "ok")
        for at in range(3000)
    )
    folder = write(tmp_path, a=slow, b=HOLDS, c=VIOLATED, d=HOLDS)
    names = [Path(found["file"]).name for found in objects(check(folder, "--json"))]
    assert names == ["a", "b", "c", "d"]


def test_folders_are_searched_in_the_order_of_their_paths(tmp_path: Path) -> None:
    for folder in ("b", "a/c", ".hidden"):
        (tmp_path / folder).mkdir(parents=True)
        write(tmp_path / folder, x=HOLDS)
    write(tmp_path, c=HOLDS)
    (tmp_path / "loop").symlink_to(tmp_path)
    found = [str(source.path.relative_to(tmp_path)) for source in command.sources_of(tmp_path)]
    assert found == ["a/c/x", "b/x", "c"]


def dies(source: Source) -> Outcome:
    """A worker's task that ends its process for one of the files."""
    if source.path.name == "b":
        os._exit(1)
    return command._outcome(source, options=Options(), html=None)


@pytest.mark.slow
def test_a_worker_that_dies_takes_no_other_file_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "HERE_S", 0.0)
    write(tmp_path, a=HOLDS, b=HOLDS, c=VIOLATED)
    sources = list(command.sources_of(tmp_path))
    dying: Any = dies
    outcomes = [outcome for _, outcome in command._outcomes(dying, sources, 2)]
    assert [outcome.judged[0].verdict for outcome in outcomes] == ["holds", "unknown", "violated"]
    assert outcomes[1].judged[0].reason == "its process died: out of memory, or killed"


# -- Formats, pages, traces


def test_every_format_is_judged(tmp_path: Path) -> None:
    write(tmp_path, **{name: text for name, (text, _, _) in texts.TEXTS.items()})
    found = {Path(each["file"]).name: each for each in objects(check(tmp_path, "--json"))}
    for name, (_, format, model) in texts.TEXTS.items():
        assert (found[name]["format"], found[name]["model"]) == (format, model)
        assert found[name]["verdict"] in ("holds", "violated", "unknown")


def test_the_format_can_be_told(tmp_path: Path) -> None:
    path = write(tmp_path, a=texts.LOG + texts.REGISTER) / "a"
    assert "say which with --format" in check(path).stderr
    assert "INFO is no operation" in check(path, "--format", "jepsen").stderr


def test_formats_are_those_that_are_read() -> None:
    assert set(histories.FORMATS) == {"auto", *detect.READERS}


def test_pages_are_written_for_each_history(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    folder = tmp_path / "histories"
    folder.mkdir()
    write(folder, a=HOLDS, b=VIOLATED)
    result = check(folder, "--html", pages)
    assert result.exit_code == 1
    made = sorted(pages.glob("*.html"))
    assert len(made) == 2 and all(str(page) in result.stdout for page in made)
    assert "VIOLATED" in made[1].read_text("utf-8")
    facts = json.loads(made[1].with_suffix(".json").read_text("utf-8"))
    assert facts["verdict"] == "violated"


def test_a_page_tells_how_to_have_it_again(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    path = write(tmp_path, a=VIOLATED) / "a"
    check(path, "--html", pages, "--model", "cas-register", "--budget", 5)
    (page,) = pages.glob("*.json")
    command = json.loads(page.read_text("utf-8"))["command"]
    typed = f"kraftcheck check {path} --model cas-register --budget 5 --html {pages}"
    assert command == typed


def test_a_page_says_the_time_that_the_terminal_says(tmp_path: Path) -> None:
    path = write(tmp_path, a=VIOLATED) / "a"
    said = json.loads(check(path, "--html", tmp_path / "pages", "--json").stdout)
    (page,) = (tmp_path / "pages").glob("*.json")
    assert json.loads(page.read_text("utf-8"))["seconds"] == said["seconds"] > 0


def test_every_anomaly_that_is_not_allowed_is_named() -> None:
    said = check(SAMPLES / "log.edn", "--faults", "clean").stdout
    assert "has the values 102 and 103; also not allowed: future-read 1" in said


def test_pages_go_into_a_folder_of_ours(tmp_path: Path) -> None:
    result = check(write(tmp_path, a=HOLDS) / "a", "--html", tmp_path)
    assert result.exit_code == 3 and "which is not ours" in result.stderr
    page = tmp_path / "page.html"
    result = check(tmp_path / "a", "--html", page)
    assert result.exit_code == 3 and "a folder is wanted" in result.stderr and not page.exists()


def test_a_trace_is_judged_run_by_run(tmp_path: Path) -> None:
    result = check(GOLDEN, "--json")
    assert result.exit_code == 0
    (found, *_) = objects(result)
    assert found["runs"] == 4 and found["model"] == "partition-log"


def test_runs_without_a_history_are_counted_apart(tmp_path: Path) -> None:
    words = ("simulate", "--scenario", "groups", "--seed", "7", "--runs", "9", "--out")
    assert CliRunner().invoke(cli, [*words, str(tmp_path / "runs"), "--quiet"]).exit_code == 0
    result = CliRunner().invoke(cli, ["check", str(tmp_path / "runs"), "--json"])
    assert result.exit_code == 0
    found = json.loads(result.stdout.splitlines()[0])
    assert found["runs"] == 8 and "1 more run has no history" in found["note"]


def test_runs_of_which_nobody_was_told_are_no_pass() -> None:
    for answered, verdict in ((False, "unknown"), (True, "holds")):
        whole = traces._Whole(runs=1, operations=1, answered=answered)
        assert traces._summary(GOLDEN, whole, [], None).verdict == verdict


def test_runs_that_break_the_level_get_lines_and_pages(tmp_path: Path) -> None:
    """Clients ask any node, so some runs are less than linearizable: by the level, not by luck."""
    pages = tmp_path / "pages"
    result = check(GOLDEN, "--level", "linearizable", "--json", "--html", pages)
    whole, *runs = objects(result)
    assert result.exit_code == 1 and whole["verdict"] == "violated"
    assert whole["reason"].startswith(f"{len(runs)} of 4 runs, the first of them {runs[0]['file']}")
    assert len(list(pages.glob("*.html"))) == len(runs) > 0
    for run in runs:
        alone = check(GOLDEN, "--level", "linearizable", "--run", run["file"][-1], "--json")
        again = objects(alone)[0]
        assert (again["verdict"], again["certificate"]) == ("violated", run["certificate"])


def test_a_weaker_level_is_enough_where_it_is_asked_for(tmp_path: Path) -> None:
    stale = "".join(
        f"{{:process {process}, :type :{kind}, :f {f}, :value {value}}}\n"
        for process, kind, f, value in (
            (0, "invoke", ":send", "[[:send 0 7]]"),
            (0, "ok", ":send", "[[:send 0 [0 7]]]"),
            (1, "invoke", ":poll", "[[:poll]]"),
            (1, "ok", ":poll", "[[:poll {0 []}]], :ends [{0 0}]"),
        )
    )
    path = write(tmp_path, history=stale) / "history"
    (found,) = objects(check(path, "--json"))
    assert (found["verdict"], found["level"]) == ("violated", "bounded-staleness")
    assert found["certificate"]["kind"] == "stale-read"
    assert found["staleness"][0]["missed_max"] == 1
    assert check(path, "--level", "ordered-sequential").exit_code == 0
    assert check(path, "--level", "none").exit_code == 3


def test_a_retry_is_allowed_at_least_once(tmp_path: Path) -> None:
    path = (
        write(
            tmp_path,
            history=(
                "{:process 0, :type :invoke, :f :send, :value [[:send 0 7]]}\n"
                "{:process 0, :type :ok, :f :send, :value [[:send 0 [1 7]]]}\n"
                "{:process 1, :type :invoke, :f :poll, :value [[:poll]]}\n"
                "{:process 1, :type :ok, :f :poll, :value [[:poll {0 [[0 7] [1 7]]}]]}\n"
            ),
        )
        / "history"
    )
    assert objects(check(path, "--json"))[0]["certificate"]["kind"] == "duplicate"
    assert check(path, "--no-idempotent").exit_code == 0
    assert check(path, "--idempotent").exit_code == 1
    old = check(path, "--at-least-once")
    assert old.exit_code == 0
    assert old.stderr == "kraftcheck: --at-least-once is called --no-idempotent now\n"


def test_one_run_of_a_trace(tmp_path: Path) -> None:
    result = check(GOLDEN, "--run", 1, "--html", tmp_path / "pages")
    assert result.exit_code == 0 and f"{GOLDEN}#1" in result.stdout
    (page,) = (tmp_path / "pages").glob("*.html")
    assert "leads" in page.read_text("utf-8")
    assert check(GOLDEN, "--run", 99).exit_code == 3


def test_a_damaged_trace_is_one_line(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN, tmp_path / "trace")
    (part,) = (tmp_path / "trace").glob("part-000000002-*.runs.parquet")
    part.write_bytes(part.read_bytes()[:-9])
    write(tmp_path, a=HOLDS)
    result = check(tmp_path)
    assert result.exit_code == 3 and result.stderr.count("\n") == 1
    assert f"{part}: damaged: sha256 is" in result.stderr
    assert "holds" in result.stdout


# -- The samples


def test_a_history_with_faults_asks_what_they_can_have_done() -> None:
    log = SAMPLES / "log.edn"
    result = check(log)
    assert result.exit_code == 3 and result.stderr.count("\n") == 1
    assert f"{log}: the history contains a fault (" in result.stderr and "--faults" in result.stderr
    for asked in (("--faults", "none"), ("--faults", "clean"), ("--level", "linearizable")):
        assert check(log, *asked).exit_code == 1


def test_the_samples_are_what_they_say() -> None:
    samples = check(SAMPLES, "--faults", "clean", "--json")
    found = {Path(each["file"]).name: each for each in objects(samples)}
    assert {name: each["verdict"] for name, each in found.items()} == {
        "kv.jsonl": "violated",
        "log.edn": "violated",
        "register.edn": "holds",
    }
    assert found["log.edn"]["certificate"]["kind"] == "inconsistent-offsets"


# -- convert


@pytest.mark.parametrize("to", ["jepsen", "jsonlines"])
def test_a_history_is_converted_and_judged_alike(to: str, tmp_path: Path) -> None:
    for name, (text, _, _) in texts.TEXTS.items():
        path = write(tmp_path, history=text) / "history"
        out = tmp_path / "out"
        result = CliRunner().invoke(cli, ["convert", str(path), "--to", to, "--out", str(out)])
        assert (result.exit_code, result.stdout) == (0, f"{out}\n")
        before, after = (objects(check(each, "--json"))[0] for each in (path, out))
        assert (before["verdict"], before["model"]) == (after["verdict"], after["model"]), name


def test_a_trace_is_converted_by_run(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    arguments = ["convert", str(GOLDEN), "--to", "shiviz", "--out", out]
    assert CliRunner().invoke(cli, [*arguments, "--run", "2"]).exit_code == 0
    assert "node-1 {" in Path(out).read_text("utf-8")
    refused = CliRunner().invoke(cli, arguments)
    assert refused.exit_code == 3 and "choose one with --run" in refused.stderr
    nowhere = CliRunner().invoke(cli, [*arguments[:-1], str(tmp_path / "no" / "out"), "--run", "2"])
    assert nowhere.exit_code == 3 and f"{tmp_path / 'no' / 'out'}: No such" in nowhere.stderr


def test_a_run_whose_clients_see_no_log_is_converted_to_no_log(tmp_path: Path) -> None:
    runs, out = str(tmp_path / "runs"), tmp_path / "out"
    simulated = ("simulate", "--scenario", "transactions", "--runs", "1", "--out", runs)
    assert CliRunner().invoke(cli, simulated).exit_code == 0
    words = ("convert", runs, "--run", "0", "--to", "jepsen", "--out", str(out))
    refused = CliRunner().invoke(cli, words)
    assert refused.exit_code == 3 and "clients of transactions see no log" in refused.stderr
    assert not out.exists()


def test_a_run_is_chosen_of_a_trace_alone(tmp_path: Path) -> None:
    refused = check(write(tmp_path, a=HOLDS) / "a", "--run", "3")
    assert refused.exit_code == BAD_INPUT and "no trace" in refused.stderr


def test_writes_that_nobody_reads_are_no_pass(tmp_path: Path) -> None:
    """Whatever they were answered, it contradicts nothing."""
    wrote = "".join(
        f"{{:process 0, :type :{each}, :f :write, :value 1}}\n" for each in ("invoke", "ok")
    )
    for more, code in (("", 2), (wrote.replace("write", "read"), 0)):
        (tmp_path / "history.edn").write_text(wrote + more)
        assert check(tmp_path / "history.edn", "--model", "register").exit_code == code


def test_records_that_nobody_was_told_of_are_no_pass(tmp_path: Path) -> None:
    path = tmp_path / "history.edn"
    path.write_text(
        '{:process 0, :type :invoke, :f :send, :value [[:send "p-0" 41]]}\n'
        '{:process 0, :type :fail, :f :send, :value [[:send "p-0" 41]]}\n'
        '{:process 0, :type :invoke, :f :send, :value [[:send "p-0" 42]]}\n'
    )
    found = check(path)
    assert found.exit_code == 2 and "nothing was looked at" in found.stdout
    with path.open("a") as file:
        file.write(
            "{:process 1, :type :invoke, :f :poll, :value [[:poll]]}\n"
            '{:process 1, :type :ok, :f :poll, :value [[:poll {"p-0" [[0 42]]}]]}\n'
        )
    assert check(path).exit_code == 0


def test_a_trace_without_a_run_is_no_pass(tmp_path: Path) -> None:
    """As a campaign leaves it that kept no run: nothing was looked at."""
    begin_trace(tmp_path / "empty", Campaign(scenario="partition", seed=1, runs=1))
    found = check(tmp_path / "empty")
    assert found.exit_code == BAD_INPUT and "nothing to judge" in found.stderr


# -- On Spark


@pytest.mark.slow
def test_spark_says_of_histories_what_processes_say(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several files share a task, four files a job, and one file is damaged."""
    monkeypatch.setattr(conformance, "backend_of", lambda *_: nullcontext(Spark(spark)))
    monkeypatch.setattr(command, "TASKS", 2)
    monkeypatch.setattr(command, "SHARE", 2)
    write(tmp_path, a=HOLDS, b=BROKEN, c=VIOLATED, d=HOLDS, e=VIOLATED)
    said = []
    for name, place in (("here", ()), ("there", ("--master", "local[2]"))):
        pages = tmp_path / name
        result = check(*[tmp_path / each for each in "abcde"], "--json", "--html", pages, *place)
        assert result.exit_code == BAD_INPUT
        found = [
            {**each, "seconds": 0, "command": str(each.get("command")).replace(name, "")}
            for each in objects(result)
        ]
        written = sorted(each.name for each in pages.iterdir())
        said.append((found, result.stderr.replace(name, ""), written))
    assert said[0] == said[1]
    refused = check(tmp_path / "a", "--html", tmp_path / "p", "--master", "spark://127.0.0.1:1")
    assert refused.exit_code == BAD_INPUT and "a cluster draws no pages" in refused.stderr
    assert [each["verdict"] for each in said[0][0]] == [
        *("holds", "bad input", "violated", "holds", "violated")
    ]


def fatal(source: Source) -> Outcome:
    """Judges a source, and does not outlive one that is called so."""
    if source.path.name == "fatal":
        os._exit(9)
    return command._outcome(source, options=AS_FOUND, html=None)


AS_FOUND = Options("auto", "auto", None, 5.0, None, {})


@pytest.mark.slow
def test_a_file_that_kills_its_worker_on_spark_is_unknown(
    spark: SparkSession, tmp_path: Path
) -> None:
    write(tmp_path, a=HOLDS, fatal=HOLDS, c=VIOLATED)
    job = [Source(tmp_path / name, False, True) for name in ("a", "fatal", "c")]
    judged = command._judged_by(Spark(spark), partial(fatal), job, lambda _: None)
    said = [outcome.judged[0] for outcome in judged]
    assert [each.verdict for each in said] == ["holds", "unknown", "violated"]
    assert said[1].reason == command.KILLED


def test_a_cluster_that_fails_says_how_many_were_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Gone(Pool):
        def run(self, task: Task, items: int, *rest: Any) -> pa.Table:
            if asked:
                raise ToolError("Spark failed: no more")
            asked.append(items)
            return super().run(task, items, *rest)

    asked: list[int] = []
    monkeypatch.setattr(conformance, "backend_of", lambda *_: nullcontext(Gone(1)))
    monkeypatch.setattr(command, "TASKS", 2)
    monkeypatch.setattr(command, "SHARE", 1)
    write(tmp_path, a=HOLDS, b=HOLDS, c=HOLDS)
    result = check(*[tmp_path / each for each in "abc"], "--master", "local[2]")
    assert result.exit_code == BAD_INPUT and result.stdout.count("holds") == 2
    said = "Spark failed: no more; 2 of 3 histories were judged, and are told above"
    assert said in " ".join(result.stderr.split())
