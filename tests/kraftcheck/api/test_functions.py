"""The Python API: what a user calls, and that it is the command line's."""

from __future__ import annotations

import doctest
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

import kraftcheck
from kraftcheck import api
from kraftcheck.api import events, report
from kraftcheck.cli import cli

SAMPLES = Path(__file__).resolve().parents[3] / "traces" / "samples" / "histories"
KV, LOG = SAMPLES / "kv.jsonl", SAMPLES / "log.edn"


def kv_events() -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in KV.read_bytes().splitlines()]


# -- The command line and the functions


VERBS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "check": (kraftcheck.check, ("check",)),
    "conform": (kraftcheck.conform, ("conform",)),
    "disk": (kraftcheck.disk, ("disk",)),
    "simulate": (kraftcheck.simulate, ("simulate",)),
    "model": (kraftcheck.model, ("spec", "check")),
    "campaign": (kraftcheck.campaign, ("campaign", "run")),
}
SCREEN = {"as_json", "quiet", "screen"}
OTHERWISE = {
    **{"conform": {"as": "profile"}, "model": {"model": "names"}},
    "check": {"consistency": "level"},
}
"""Options that cannot have the same name: `as` is a word of Python, and names are given first. Or
that have two: transactions call a level by its usual name."""


def option_name(option: click.Option) -> str:
    names = [each.removeprefix("--").replace("-", "_") for each in option.opts]
    return str(option.name) if option.name in names else max(names, key=len)


@pytest.mark.parametrize("name", VERBS)
def test_names_and_defaults_are_those_of_the_command_line(name: str) -> None:
    function, words = VERBS[name]
    command: Any = cli
    for word in words:
        command = command.commands[word]
    parameters = inspect.signature(function).parameters
    names = OTHERWISE.get(name, {})
    options = {
        names.get(option_name(each), option_name(each)): each
        for each in command.params
        if isinstance(each, click.Option) and each.expose_value
    }
    wanted = set(options) - {"json", "quiet", "junit", "github"}
    positional = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    named = {each for each, told in parameters.items() if told.kind not in positional}
    assert named - {"screen"} == wanted - ({*names.values()} & {"names"})
    context = click.Context(command)
    for each in named - {"screen"}:
        option = options[each]
        default: Any = () if option.multiple else option.get_default(context)
        if not isinstance(default, str | float | int | tuple):
            default = None  # What click says for no default, in some versions.
        if each == "specs":
            continue  # A path that depends on --protocol.
        told = parameters[each].default
        required = told is inspect.Parameter.empty
        assert required == option.required
        assert required or told == default, each


def test_the_command_line_calls_the_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    for name in VERBS:

        def own(*_: Any, name: str = name, **__: Any) -> report.Report:
            called.append(name)
            return report.Report(name, 2, ())

        monkeypatch.setattr(api, name, own)
    lines = (
        ["check", str(KV)],
        ["conform", str(KV)],
        ["disk", "."],
        ["simulate", "--runs", "1", "--out", "x"],
        ["spec", "check"],
        ["campaign", "run", "--out", "x"],
    )
    for line in lines:
        assert CliRunner().invoke(cli, line).exit_code == 2
    assert called == list(VERBS)


def test_the_documents_are_those_of_json() -> None:
    printed = json.loads(CliRunner().invoke(cli, ["check", str(KV), "--json"]).stdout)
    found = json.loads(msgspec.json.encode(kraftcheck.check(KV).to_dict()))
    printed.pop("seconds"), found.pop("seconds")
    assert found == printed


# -- Reports


def test_a_history_is_judged_in_two_lines() -> None:
    found = kraftcheck.check(KV)
    assert found.verdict == "violated" and not found.holds and found.exit_code == 1
    assert len(found.evidence) == 1 and "no linearization explains" in found.evidence[0]


def test_anomalies_say_whether_they_are_allowed() -> None:
    found = kraftcheck.check(LOG, faults="clean")
    names = {each.name: each.allowed for each in found.anomalies}
    assert names == {"inconsistent-offsets": False, "future-read": False}
    page = found._repr_html_()
    assert "violated" in page and "<td>inconsistent-offsets</td><td>1</td><td>no</td>" in page


def test_a_page_escapes_what_a_history_says() -> None:
    anomaly = {"name": "<b>", "count": 1, "allowed": False, "reason": ""}
    history = {"verdict": "violated", "reason": "<script>", "anomalies": [anomaly]}
    found = report.Report("check", 1, (history,))
    assert "<script>" not in found._repr_html_() and "<td><b></td>" not in found._repr_html_()


def test_a_report_is_neither_true_nor_false() -> None:
    with pytest.raises(TypeError, match=r"report\.holds"):
        assert kraftcheck.check(KV)


def test_unknown_does_not_hold() -> None:
    assert not report.Report("check", 2, ()).holds


def test_bad_input_is_an_exception(tmp_path: Path) -> None:
    with pytest.raises(kraftcheck.BadInput, match="nope: No such file"):
        kraftcheck.check(tmp_path / "nope")
    with pytest.raises(kraftcheck.BadInput, match="state their worst effect with --faults"):
        kraftcheck.check(LOG)
    with pytest.raises(kraftcheck.BadInput, match="no scenario 'quorums'"):
        kraftcheck.simulate(scenario="quorums", runs=1, out=tmp_path / "runs")
    with pytest.raises(kraftcheck.BadInput, match="no folder TOPIC-NUMBER"):
        kraftcheck.disk(tmp_path)
    with pytest.raises(kraftcheck.BadInput, match="how many runs"):
        kraftcheck.campaign(scenario="quorum", out=tmp_path / "campaign")


# -- Events in memory


def as_pandas(told: list[dict[str, Any]]) -> object:
    return pd.DataFrame(told)


def as_texts(told: list[dict[str, Any]]) -> object:
    """As the Parquet format has it: values are JSON."""
    rows = [{**each, "value": json.dumps(each["value"]), "key": '"a"'} for each in told]
    return pa.Table.from_pylist(rows)


class Spark:
    """What a DataFrame of Spark has."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def toArrow(self) -> pa.Table:
        return self._table


FORMS: tuple[Callable[[list[dict[str, Any]]], object], ...] = (
    list,
    iter,
    pa.Table.from_pylist,
    pa.RecordBatch.from_pylist,
    as_texts,
    as_pandas,
    lambda told: Spark(pa.Table.from_pylist(told)),
)


@pytest.mark.parametrize("form", FORMS)
def test_events_in_memory_have_the_verdict_of_the_file(
    form: Callable[[list[dict[str, Any]]], object],
) -> None:
    found = kraftcheck.check(form(kv_events()))
    assert found.evidence == kraftcheck.check(KV).evidence
    assert found.to_dict()["file"] == events.SHOWN and "/tmp" not in str(found)


def test_holes_of_a_table_are_nothing() -> None:
    """A column with a hole in it holds floats in pandas."""
    told = [*kv_events(), {"process": None, "type": "info", "f": "kill", "value": "n1"}]
    for number, each in enumerate(told):
        each["time"] = number if number else None
    told[0]["time"] = 0
    frame = pd.DataFrame(told)
    assert frame["process"].dtype == "float64"
    assert kraftcheck.check(frame).to_dict()["processes"] == 3


def test_a_table_of_operations_is_judged_as_columns(tmp_path: Path) -> None:
    text = (
        '{"process":0,"type":"invoke","f":"send","value":[["send","t-0",7]]}\n'
        '{"process":0,"type":"ok","f":"send","value":[["send","t-0",[0,7]]]}\n'
        '{"process":1,"type":"invoke","f":"poll","value":[["poll"]]}\n'
        '{"process":1,"type":"ok","f":"poll","value":[["poll",{"t-0":[[0,7]]}]]}\n'
    )
    (tmp_path / "history.jsonl").write_text(text)
    words = ["convert", str(tmp_path / "history.jsonl"), "--to", "columns", "--out"]
    assert CliRunner().invoke(cli, [*words, str(tmp_path / "columns")]).exit_code == 0
    import pyarrow.parquet as pq

    table = pq.read_table(tmp_path / "columns")
    for each in (table, table.to_pandas()):
        found = kraftcheck.check(each)
        assert found.holds and found.to_dict()["format"] == "columns"


def test_no_recording_beside_events_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "recording.json").write_text("damaged")
    monkeypatch.chdir(tmp_path)
    assert kraftcheck.check(kv_events()).verdict == "violated"


@pytest.mark.parametrize(
    ("history", "said"),
    [
        (7, "a history is a path, events or a table of events, not int"),
        ({"process": 0}, "not dict"),
        ([7], "event 1 is no dict, but int"),
        ([{"process": 0, "type": "invoke", "f": "read", "value": object()}], "event 1: object"),
        ([], "^events: empty"),
        (
            [{"process": n, "type": kind, "f": "read"} for n, kind in enumerate(("invoke", "ok"))],
            "^events:2: ",
        ),
    ],
)
def test_what_is_no_history_is_refused(history: Any, said: str) -> None:
    with pytest.raises(kraftcheck.BadInput, match=said):
        kraftcheck.check(history)


def test_events_and_paths_are_judged_apart() -> None:
    with pytest.raises(kraftcheck.BadInput, match="apart"):
        kraftcheck.check(kv_events(), KV)


# -- Documentation


@pytest.mark.parametrize("module", [kraftcheck, api, report])
def test_examples_in_docstrings(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLES.parents[2])
    found = doctest.testmod(module)
    assert found.attempted and not found.failed


def test_every_function_is_exported_and_documented() -> None:
    assert set(kraftcheck.__all__) == set(api.__all__) <= set(dir(kraftcheck))
    for name in VERBS:
        text = inspect.getdoc(getattr(kraftcheck, name)) or ""
        assert "Args:" in text and "Raises:" in text
    with pytest.raises(AttributeError, match="no attribute 'chek'"):
        kraftcheck.chek  # type: ignore[attr-defined]  # noqa: B018
