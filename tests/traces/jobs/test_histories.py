"""Levels and anomalies of recorded runs, in columns: the same as one run at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kraftcheck.traces.jobs.histories import ANOMALIES, VERDICTS, judge_histories
from kraftcheck.traces.jobs.promised import promises_of
from kraftcheck.traces.schema import TraceError
from tests.traces.jobs.recorded import part, with_histories


@pytest.mark.parametrize("scenario", ["quorum", "partition", "cluster"])
def test_a_run_is_judged_alike_whatever_stands_beside_it(scenario: str) -> None:
    runs = part(scenario).tables["runs"]
    whole = judge_histories(scenario, runs)
    alone = [judge_histories(scenario, runs.slice(at, 1)) for at in range(runs.num_rows)]
    assert pa.concat_tables([each.verdicts for each in alone]) == whole.verdicts
    assert pa.concat_tables([each.anomalies for each in alone]) == whole.anomalies
    assert whole.verdicts.schema == VERDICTS and whole.anomalies.schema == ANOMALIES
    assert set(whole.verdicts["verdict"].to_pylist()) == {"holds"}
    partitions = {"quorum": 1, "partition": 1, "cluster": 2}[scenario]
    assert set(whole.verdicts["partition"].to_pylist()) == set(range(partitions))


def test_a_lost_record_breaks_a_promise() -> None:
    """The planted fault: consumers read on beyond an acknowledged record without seeing it."""
    runs = part("partition").tables["runs"]
    promises = promises_of("partition", runs)
    histories: list[list[dict[str, Any]]] = runs["history"].to_pylist()
    at, victim = next(
        (at, operation)
        for at, history in enumerate(histories)
        if promises[at].level >= 2
        for read in [{v for o in history if o["op"] == "fetch" for v in o["values"][:-1]}]
        for operation in history
        if operation["op"] == "append" and operation["outcome"] == "ok"
        if operation["values"][0] in read
    )
    for operation in histories[at]:
        if operation["op"] == "fetch":
            operation["values"] = [
                99 if value == victim["values"][0] else value for value in operation["values"]
            ]
    judged = judge_histories("partition", with_histories(runs, histories))
    verdicts = {row["run"]: row["verdict"] for row in judged.verdicts.to_pylist()}
    run = runs["run"][at].as_py()
    assert {key for key, verdict in verdicts.items() if verdict == "violated"} == {run}
    forbidden = {row["name"] for row in judged.anomalies.to_pylist() if row["forbidden"]}
    assert "lost-write" in forbidden


def test_stale_reads_are_measured() -> None:
    judged = judge_histories("quorum", part("quorum").tables["runs"])
    stale = [row for row in judged.verdicts.to_pylist() if row["stale_reads"]]
    assert stale
    assert all(row["worst_lag"] > 0 and row["worst_missed"] > 0 for row in stale)
    assert all(row["stale_reads"] <= row["reads"] <= row["operations"] for row in stale)
    named = [row for row in judged.anomalies.to_pylist() if row["name"] == "stale-read"]
    assert {row["run"] for row in named} == {row["run"] for row in stale}


def test_words_that_are_read_once_each_say_the_same(tmp_path: Path) -> None:
    runs = part("partition").tables["runs"]
    pq.write_table(runs, tmp_path / "runs.parquet")
    words = [f"history.list.element.{name}" for name in ("op", "outcome")]
    read = pq.read_table(tmp_path / "runs.parquet", read_dictionary=words)
    assert "dictionary" in str(read.schema.field("history").type)
    assert judge_histories("partition", read) == judge_histories("partition", runs)


def test_no_runs_have_no_answers() -> None:
    judged = judge_histories("partition", part("partition").tables["runs"].slice(0, 0))
    assert judged.verdicts.num_rows == judged.anomalies.num_rows == 0


def test_a_history_that_is_none_is_refused() -> None:
    runs = part("partition").tables["runs"]
    histories = runs["history"].to_pylist()
    histories[0][0]["op"] = "nonsense"
    with pytest.raises(TraceError, match="'nonsense' is none of append"):
        judge_histories("partition", with_histories(runs, histories))
