"""The two places where parts are worked on: same rows, and errors that arrive as themselves."""

from __future__ import annotations

import importlib
import os
import re
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING
from zipimport import zipimporter

import pyarrow as pa
import pytest

from kraftcheck.traces.jobs import backends
from kraftcheck.traces.jobs.backends import Backend, Pool, Spark, WorkerDied, own_error
from kraftcheck.traces.jobs.session import spark_session
from kraftcheck.traces.schema import TraceError
from tla_utils.errors import ToolError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema([("item", pa.int64()), ("body", pa.binary())])


def square(item: int) -> pa.Table:
    """As many rows as the item says."""
    return pa.table([[item * item] * item, [bytes([item])] * item], schema=SCHEMA)


def refuse(item: int) -> pa.Table:
    raise TraceError(f"part {item}: damaged, see the words: here")


def complain(item: int) -> pa.Table:
    raise ToolError(f"tool for {item} is missing")


def stumble(item: int) -> pa.Table:
    raise RuntimeError("unforeseen")


def die(item: int) -> pa.Table:
    os._exit(9)


SPARK = pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.xdist_group("spark")])
"""As the tests that say by their arguments that they need a session: there is one for all."""


@pytest.fixture(params=["alone", "pool", SPARK])
def backend(request: pytest.FixtureRequest) -> Backend:
    if request.param == "spark":
        return Spark(request.getfixturevalue("spark"))
    return Pool(1 if request.param == "alone" else 2, here_s=0)


def test_all_rows_of_all_items_come_back(backend: Backend) -> None:
    told: list[int] = []
    found = backend.run(square, 5, SCHEMA, told.append)
    assert found.schema == SCHEMA
    expected = pa.concat_tables([square(item) for item in range(5)])
    assert found.sort_by("item").equals(expected)
    assert told[-1] == 5
    assert told == sorted(told)


def test_quick_work_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is not done in time is left to others."""

    def refused(*words: object) -> None:
        raise ChildProcessError

    monkeypatch.setattr(backends, "ProcessPoolExecutor", refused)
    assert Pool(2, here_s=60).run(square, 3, SCHEMA).num_rows == 0 + 1 + 2
    with pytest.raises(ChildProcessError):
        Pool(2, here_s=0).run(square, 3, SCHEMA)


def test_archives_are_forgotten_but_not_what_is_in_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "code.zip", "w") as archive:
        archive.writestr("packed/__init__.py", "")
        archive.writestr("packed/later.py", "here = 1")
    monkeypatch.syspath_prepend(tmp_path / "code.zip")
    importlib.import_module("packed")
    assert any(isinstance(each, zipimporter) for each in sys.path_importer_cache.values())
    backends.forget_archives()
    assert not any(isinstance(each, zipimporter) for each in sys.path_importer_cache.values())
    assert importlib.import_module("packed.later").here == 1


def test_nothing_to_do_is_an_empty_table(backend: Backend) -> None:
    assert backend.run(square, 0, SCHEMA).equals(SCHEMA.empty_table())


@pytest.mark.parametrize(
    ("task", "error", "words"),
    [
        (refuse, TraceError, r"part \d: damaged, see the words: here"),
        (complain, ToolError, r"tool for \d is missing"),
    ],
)
def test_an_error_of_ours_arrives_as_itself(
    backend: Backend, task: object, error: type[Exception], words: str
) -> None:
    with pytest.raises(error) as caught:
        backend.run(task, 2, SCHEMA)  # type: ignore[arg-type]
    assert re.fullmatch(words, str(caught.value))


def test_an_unforeseen_error_in_spark_is_one_line(spark: SparkSession) -> None:
    with pytest.raises(ToolError) as caught:
        Spark(spark).run(stumble, 1, SCHEMA)
    assert str(caught.value) == "Spark failed: RuntimeError: unforeseen"


def test_a_task_that_spark_gave_up_says_why() -> None:
    said = (
        "An error occurred while calling o64.getResult.\n: org.apache.spark.SparkException: Job"
        " aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, most recent failure:"
        " Lost task 0.3 in stage 0.0 (TID 7) (127.0.0.1 executor 1):"
        " java.lang.RuntimeException: Stream '/files/x.zip' was not found.\n\tat org.apache"
    )
    own = own_error(Exception(said))
    why = "java.lang.RuntimeException: Stream '/files/x.zip' was not found."
    assert str(own) == f"Spark failed: {why}"


@pytest.mark.parametrize(
    "last",
    [
        "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). Consider"
        " setting 'spark.python.worker.faulthandler.enabled'",
        "ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: lost",
    ],
)
def test_workers_of_spark_that_die_are_told_with_what_is_kept(last: str) -> None:
    said = f"Task 0 in stage 0.0 failed 4 times, most recent failure: Lost task 0.3: {last}\n\tat"
    own = own_error(Exception(f"An error occurred.\n: Job aborted: {said}"))
    assert isinstance(own, WorkerDied) and "Consider" not in str(own)
    assert str(own).startswith("a worker process died (out of memory, or killed); finished parts")


def test_a_process_that_dies_is_an_error() -> None:
    with pytest.raises(ToolError, match="worker process died"):
        Pool(2, here_s=0).run(die, 2, SCHEMA)


def test_backends_say_who_they_are(spark: SparkSession) -> None:
    assert (Pool(3).name, Spark(spark).name) == ("pool of 3", "spark on local[2]")
    assert Pool().size == os.cpu_count()


def test_a_session_that_is_there_is_used(spark: SparkSession) -> None:
    assert spark_session() is spark


@pytest.mark.parametrize("home", [None, "nowhere"])
def test_spark_without_java_is_one_line(monkeypatch: pytest.MonkeyPatch, home: str | None) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    if home:
        monkeypatch.setenv("JAVA_HOME", home)
    with pytest.raises(ToolError, match="Spark needs Java 17 or newer"):
        spark_session()
