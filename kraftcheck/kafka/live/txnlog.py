"""The transaction log of a cluster of ours: every broker's replica, and what was cut from it.

Kafka's own DumpLogSegments decodes it, when the cluster is at rest. A coordinator may act on the
end of its log that is not committed, and that end vanishes from the disk when another one leads
(finds/Z71/README.md). So the files are copied as they grow, and what a broker cut off is kept.
kraftcheck/kafka/observed/txnlog.py describes the lines and reads them.
"""

from __future__ import annotations

import json
import re
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.metadata import FILE, dumped

TRANSACTIONS: Final = "transactions.jsonl"
TOPIC: Final = "__transaction_state"
LOOK_S: Final = 0.1
TAIL: Final = 4096
"""Bytes at the end of what is known of a file that are compared with what is there now."""
STATES: Final = (
    "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead",
    "PrepareEpochFence",
)  # fmt: skip
"""By the numbers of org.apache.kafka.coordinator.transaction.TransactionState."""

_BATCH = re.compile(r"baseOffset: .*partitionLeaderEpoch: (\d+) ")
_RECORD = re.compile(r"\| offset: (\d+) CreateTime: (\d+) .*?key: (\{.*\}) payload: (.*)")

Row = dict[str, Any]


class Cut(NamedTuple):
    """What a file of a broker held before it was cut."""

    file: Path
    data: bytes


class Watch:
    """Use as a context: copies the transaction log's files as they grow, until the context ends."""

    def __init__(self, cluster: Cluster) -> None:
        self._directories = [cluster.directory / node.name for node in cluster.state.nodes]
        self._known: dict[Path, bytes] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True)
        self.cut: list[Cut] = []

    def __enter__(self) -> Watch:
        self.look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self.look()

    def _look_on(self) -> None:
        while not self._done.wait(LOOK_S):
            self.look()

    def look(self) -> None:
        for directory in self._directories:
            for file in directory.glob(f"{TOPIC}-*/*.log"):
                with suppress(OSError):  # deleted while it is looked at
                    self._look_at(file)

    def _look_at(self, path: Path) -> None:
        known = self._known.get(path, b"")
        begin = max(0, len(known) - TAIL)
        with open(path, "rb") as file:
            file.seek(begin)
            data = file.read()
            if not data.startswith(known[begin:]):
                self.cut.append(Cut(path, known))
                begin = 0
                file.seek(0)
                data = file.read()
        if len(data) > len(known) - begin or begin == 0:
            self._known[path] = known[:begin] + data


def dump(cluster: Cluster, cut: Iterable[Cut] = ()) -> list[Row]:
    """Each broker's replica of each partition that has anything; ask when the cluster is at rest.

    cut: what Watch kept. Raises ClusterError: Kafka's tool fails.
    """
    brokers = {cluster.directory / node.name: node.number for node in cluster.state.nodes}
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as scratch:
        whose: dict[Path, tuple[int, int, bool]] = {}
        files = []
        for at, each in enumerate(cut):
            directory = Path(scratch) / str(at) / each.file.parent.name
            directory.mkdir(parents=True)
            (directory / each.file.name).write_bytes(each.data)
            whose[directory] = (brokers[each.file.parent.parent], _partition(directory), True)
            files.append(directory / each.file.name)
        for node, number in brokers.items():
            # Not those that are being deleted, -ID-delete, of a replica that was moved away.
            for file in sorted(node.glob(f"{TOPIC}-*[0-9]/*.log")):
                if file.stat().st_size:
                    whose[file.parent] = (number, _partition(file.parent), False)
                    files.append(file)
        if not files:
            return []
        at_ms = time.time_ns() // 1_000_000
        said = dumped(cluster, cluster.state.nodes[0].name, files, "--transaction-log-decoder")
        return _replicas(parse(said), whose, at_ms)


def _partition(directory: Path) -> int:
    return int(directory.name.rpartition("-")[2])


def _replicas(
    found: Mapping[Path, list[Row]], whose: Mapping[Path, tuple[int, int, bool]], at_ms: int
) -> list[Row]:
    lying: dict[tuple[int, int], list[Row]] = defaultdict(list)
    gone: dict[tuple[int, int], dict[tuple[int, int], Row]] = defaultdict(dict)
    for directory, (broker, partition, is_cut) in whose.items():
        for row in found.get(directory, []):
            if is_cut:
                gone[broker, partition][row["offset"], row["epoch"]] = row
            else:
                lying[broker, partition].append(row)
    replicas = []
    for broker, partition in sorted(lying.keys() | gone.keys()):
        rows = lying[broker, partition]
        still = {(row["offset"], row["epoch"]) for row in rows}
        lost = [row for at, row in gone[broker, partition].items() if at not in still]
        head = {"broker": broker, "partition": partition, "time": at_ms}
        replicas.append({**head, "rows": rows, "gone": lost})
    return replicas


def parse(lines: Iterable[str]) -> dict[Path, list[Row]]:
    """What DumpLogSegments printed, by directory. Raises ClusterError: a form that is not known."""
    found: dict[Path, list[Row]] = {}
    rows: list[Row] = []
    epoch = -1
    for line in lines:
        if file := FILE.match(line):
            rows = found.setdefault(Path(file[1]).parent, [])
        elif batch := _BATCH.match(line):
            epoch = int(batch[1])
        elif record := _RECORD.match(line):
            try:
                key = json.loads(record[3])["data"]["transactionalId"]
                head = {"offset": int(record[1]), "epoch": epoch, "time": int(record[2])}
                rows.append({**head, "id": key, **_said(record[4])})
            except (KeyError, ValueError, IndexError, TypeError) as error:
                raise ClusterError(f"{TOPIC}: {line[:200]}: {error}") from None
    return found


def _said(text: str) -> Row:
    """By TransactionLogValue.json of Kafka; nothing of a row that is taken back."""
    if text.startswith("<DELETE>") or text == "null":
        return {}
    value = json.loads(text)["data"]
    topics = value.get("transactionPartitions") or ()
    state = value["transactionStatus"]
    return {
        # Since 4.4 by name.
        "state": state if state in STATES else STATES[state],
        "producer": value["producerId"],
        "producer_epoch": value["producerEpoch"],
        "previous": value.get("previousProducerId", -1),
        "next": value.get("nextProducerId", -1),
        "version": value.get("clientTransactionVersion", 0),
        "timeout_ms": value["transactionTimeoutMs"],
        "partitions": [f"{each['topic']}-{at}" for each in topics for at in each["partitionIds"]],
    }
