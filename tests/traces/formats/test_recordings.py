"""What real recordings do that Jepsen does not: each is read, and said where it matters."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck import check
from kraftcheck.traces.formats import detect
from kraftcheck.traces.history import COMPARED, NOT_COMPARED, History, HistoryError


def read(folder: Path, text: str) -> History:
    path = folder / "history"
    path.write_text(text, encoding="utf-8")
    return detect.read(path)


def test_lines_count_where_times_go_back(tmp_path: Path) -> None:
    """The read began before the write in the clock, and after it in the order of lines."""
    found = read(
        tmp_path,
        "{:process 0, :type :invoke, :f :write, :value 1, :time 90}\n"
        "{:process 0, :type :ok, :f :write, :value 1, :time 100}\n"
        "{:process 1, :type :invoke, :f :read, :value nil, :time 50}\n"
        "{:process 1, :type :ok, :f :read, :value nil, :time 200}\n",
    )
    times = [(each.invoked, each.completed) for each in found.operations]
    assert times == [(90, 100), (101, 200)] and found.time_unit == "ns"
    assert found.note is not None and "times go back in 1 lines" in found.note
    report = check(tmp_path / "history")
    assert report.verdict == "violated"


def test_a_process_that_is_missing_is_each_operations_own(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "{:type :invoke, :f :read, :value nil}\n"
        "{:type :invoke, :f :write, :value 1}\n"
        "{:type :invoke, :f :write, :value 2}\n"
        "{:type :ok, :f :write, :value 2}\n"
        "{:type :ok, :f :read, :value 2}\n",
    )
    outcomes = [(each.f, each.argument, each.result, each.outcome) for each in found.operations]
    assert outcomes == [
        ("read", None, 2, "ok"),
        ("write", 1, None, "indeterminate"),
        ("write", 2, None, "ok"),
    ]
    assert len({each.process for each in found.operations}) == 3


def test_two_open_operations_without_a_process_are_refused(tmp_path: Path) -> None:
    line = "{:type :invoke, :f :read, :value nil}\n"
    with pytest.raises(HistoryError, match="process is missing, and read of lines 1 and 2 are"):
        read(tmp_path, line * 2 + "{:type :ok, :f :read, :value 2}\n")


def test_completions_alone_were_invoked_when_their_process_was_free(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "{:process 0, :type :ok, :value [[:append :x 1]], :time 10}\n"
        "{:process 1, :type :ok, :value [[:r :x [1]]], :time 20}\n"
        "{:process 0, :type :ok, :value [[:r :x [1]]], :time 30}\n",
    )
    assert found.model == "list-append"
    first, second, third = found.operations
    assert first.completed is not None and second.completed is not None
    assert second.invoked < first.completed <= third.invoked


def test_types_in_capitals_and_clients(tmp_path: Path) -> None:
    """As jepsen-in-java writes them."""
    found = read(
        tmp_path,
        '{"client": 3, "type": "INVOKE", "f": "write", "value": 1}\n'
        '{"client": 3, "type": "OK", "f": "write", "value": 1}\n',
    )
    assert [(each.process, each.outcome) for each in found.operations] == [(3, "ok")]


def test_transactions_are_told_by_their_values(tmp_path: Path) -> None:
    """As Jepsen's long-fork has them: the verbs are read and write."""
    found = read(
        tmp_path,
        "{:process 0, :type :invoke, :f :write, :value [[:w 1 1]]}\n"
        "{:process 0, :type :ok, :f :write, :value [[:w 1 1]]}\n"
        "{:process 0, :type :invoke, :f :read, :value [[:r 1 nil] [:r 2 nil]]}\n"
        "{:process 0, :type :ok, :f :read, :value [[:r 1 1] [:r 2 nil]]}\n",
    )
    assert found.model == "register"
    assert [(each.f, each.key, each.group) for each in found.operations] == [
        ("write", "1", 0),
        ("read", "1", 1),
        ("read", "2", 1),
    ]


@pytest.mark.parametrize(
    ("text", "failed_cas", "verdict"),
    [
        (
            "{:process 0, :type :invoke, :f :write, :value 0}\n"
            "{:process 0, :type :ok, :f :write, :value 0}\n"
            "{:process 0, :type :invoke, :f :cas, :value [0 3]}\n"
            "{:process 0, :type :fail, :f :cas, :value [0 3]}\n"
            "{:process 0, :type :invoke, :f :read, :value nil}\n"
            "{:process 0, :type :ok, :f :read, :value 0}\n",
            NOT_COMPARED,
            "holds",
        ),
        (
            "INFO  jepsen.util - 0\t:invoke\t:write\t0\n"
            "INFO  jepsen.util - 0\t:ok\t:write\t0\n"
            "INFO  jepsen.util - 0\t:invoke\t:cas\t[0 3]\n"
            "INFO  jepsen.util - 0\t:fail\t:cas\t[0 3]\n"
            "INFO  jepsen.util - 0\t:invoke\t:read\tnil\n"
            "INFO  jepsen.util - 0\t:ok\t:read\t0\n",
            COMPARED,
            "violated",
        ),
    ],
    ids=["edn", "log"],
)
def test_a_failed_compare_means_what_the_format_means(
    text: str, failed_cas: str, verdict: str, tmp_path: Path
) -> None:
    assert read(tmp_path, text).failed_cas == failed_cas
    assert check(tmp_path / "history").verdict == verdict
    assert check(tmp_path / "history", failed_cas="compared").verdict == "violated"
    assert check(tmp_path / "history", failed_cas="unknown").verdict == "holds"


def test_a_register_may_have_an_initial_value(tmp_path: Path) -> None:
    read(
        tmp_path,
        "{:process 0, :type :invoke, :f :read, :value nil}\n"
        "{:process 0, :type :ok, :f :read, :value 0}\n",
    )
    assert check(tmp_path / "history").verdict == "violated"
    assert check(tmp_path / "history", initial="0").verdict == "holds"


@pytest.mark.parametrize("verb", ["write", "add"])
def test_what_nobody_looked_at_is_unknown(verb: str, tmp_path: Path) -> None:
    read(
        tmp_path,
        f"{{:process 0, :type :invoke, :f :{verb}, :value 1}}\n"
        f"{{:process 0, :type :ok, :f :{verb}, :value 1}}\n",
    )
    report = check(tmp_path / "history")
    assert report.verdict == "unknown" and report.exit_code == 2
