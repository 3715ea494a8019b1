"""Histories from Parquet to verdicts and anomalies: operations a second, one process against two.

The stage of a campaign that judges what clients saw, from end to end: read the columns of table
`runs`, find each run's promise, judge, make the rows of both answers. Parts are the histories of a
simulated campaign as they are (a dozen operations each). For longer histories, made-up logs of 5
clients (benchmarks/_log_synthetic.py) replace them. A part has PART_OPERATIONS operations, or as
many as were recorded. Processes are warm.

    python -m benchmarks.history_stage [LENGTH ...]      default 100 1000 10000
"""

from __future__ import annotations

import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks._log_synthetic import logs
from kraftcheck.reference.runner.run import simulate_part
from kraftcheck.traces.checkers.columns import UNKNOWN, LogBatch
from kraftcheck.traces.jobs.histories import READS, judge_histories
from kraftcheck.traces.schema import SCHEMAS

LENGTHS = (100, 1000, 10_000)
CLIENTS = 5
PART_OPERATIONS = 500_000
PARTS = 16
RECORDED_RUNS = 1000
OPTIONS = {"acks": "all", "unclean": False, "idempotence": True, "partitions": 1}
"""What promises the strongest level, so that everything is looked for."""
WORDS = ["history.list.element.op", "history.list.element.outcome"]
FIELDS = SCHEMAS["runs"].field("history").type.value_type


def as_history(batch: LogBatch) -> pa.Array:
    """The column `history` of table `runs`, of appends and fetches of one record at most."""
    appends, reads = batch.appends, batch.reads
    segment = np.concatenate((appends.segment, reads.segment))
    order = np.lexsort((np.concatenate((appends.operation, reads.operation)), segment))
    count = np.concatenate((np.ones(len(appends.value), np.int64), np.diff(reads.splits)))
    begin = np.cumsum(count) - count
    # 0 stands for a record of the log's own.
    told = np.concatenate((appends.value, reads.values)) + 1
    lengths = count[order]
    ends = np.concatenate(([0], np.cumsum(lengths)))
    places = np.repeat(begin[order] - ends[:-1], lengths) + np.arange(ends[-1])
    offset = np.concatenate((appends.offset, reads.start))[order]
    end = np.concatenate((np.full(len(appends.value), UNKNOWN), reads.end))[order]
    rows = len(order)
    columns = {
        "process": np.concatenate((appends.process, reads.process))[order],
        "partition": np.zeros(rows, np.int32),
        "op": np.where(order < len(appends.value), "append", "fetch"),
        "node": np.ones(rows, np.int32),
        "offset": pa.array(offset, mask=offset == UNKNOWN),
        "values": pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), told[places]),
        "end": pa.array(end, mask=end == UNKNOWN),
        "invoked": np.concatenate((appends.invoked, reads.invoked))[order],
        "completed": np.concatenate((appends.completed, reads.completed))[order],
        "outcome": np.full(rows, "ok"),
    }
    items = pa.StructArray.from_arrays(
        [pa.array(columns[field.name]).cast(field.type) for field in FIELDS], fields=list(FIELDS)
    )
    splits = np.concatenate(([0], np.cumsum(batch.operations))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(splits), items)


def made_up(recorded: pa.Table, length: int) -> pa.Table:
    """Runs with the options and statistics of one that was recorded, and histories of a length."""
    runs = max(1, PART_OPERATIONS // length)
    one = recorded.slice(0, 1).take(pa.array(np.zeros(runs, np.int64)))
    history = as_history(logs(runs, length, CLIENTS, ends=True, seed=length))
    table = one.set_column(one.column_names.index("history"), "history", history)
    return table.set_column(0, "run", pa.array(np.arange(runs)))


def judged(path: str) -> int:
    """The stage: how many operations were judged."""
    table = pq.read_table(path, columns=list(READS), use_threads=False, read_dictionary=WORDS)
    found = judge_histories("partition", table)
    assert "unknown" not in found.verdicts["verdict"].to_pylist()
    return int(sum(found.verdicts["operations"].to_pylist()))


def measure(name: str, table: pa.Table, folder: Path) -> None:
    path = folder / "runs.parquet"
    pq.write_table(table, path, compression="zstd")
    rates = []
    for processes in (1, 2):
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            list(pool.map(judged, [str(path)] * 2 * processes))
            started = time.monotonic()
            operations = sum(pool.map(judged, [str(path)] * PARTS))
            rates.append(operations / (time.monotonic() - started))
    print(
        f"{name}: {len(table):,} logs a part, {operations // PARTS:,} operations, "
        f"{path.stat().st_size * PARTS / operations:,.1f} bytes each on disk: "
        f"{rates[0] / 1e6:,.2f} M operations/s in one process, {rates[1] / 1e6:,.2f} M in two "
        f"({rates[1] / rates[0]:.2f} times)",
        flush=True,
    )


def main(arguments: list[str] | None = None) -> None:
    recorded = simulate_part("partition", 1, 0, RECORDED_RUNS, options=OPTIONS).tables["runs"]
    recorded = recorded.select(list(READS))
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder:
        measure("as recorded", recorded, Path(folder))
        for length in [int(word) for word in arguments or ()] or LENGTHS:
            measure(f"{length:,} operations a log", made_up(recorded, length), Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
