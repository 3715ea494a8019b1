"""What it costs to read and judge a file of a Kafka log, in EDN and in JSON.

Made-up and valid, as Jepsen's Kafka workload writes it: four producers and four consumers of eight
partitions whose keys are numbers; each poll returns what was sent since the last one. Times are
processor times, memory is the peak of the whole process.

    python -m benchmarks history_files [--lengths N ...]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from benchmarks._made import LENGTHS
from benchmarks._measure import apart, peak_memory
from kraftcheck.reference.clients.promises import Configuration, promised
from kraftcheck.traces.checkers.check import check_log
from kraftcheck.traces.checkers.verdict import HOLDS
from kraftcheck.traces.formats import detect, jepsen, jsonlines

PARTITIONS: Final = 8
SENDS: Final = 9
"""Of a partition, before it is polled."""
FORMATS: Final = (jepsen.NAME, jsonlines.NAME)


def lines(operations: int, format: str) -> Iterator[str]:
    """About so many operations, an event a line."""
    edn = format == jepsen.NAME
    send, poll = (":send", ":poll") if edn else ('"send"', '"poll"')
    comma = " " if edn else ","
    at = 0

    def event(process: int, kind: str, f: str, value: str) -> str:
        nonlocal at
        at += 1
        if edn:
            told = f":index {at}, :time {at * 1000}, :type :{kind}, :process {process}, :f {f}"
            return f"{{{told}, :value [[{value}]]}}\n"
        told = f'"index":{at},"time":{at * 1000},"type":"{kind}","process":{process},"f":{f}'
        return f'{{{told},"value":[[{value}]]}}\n'

    ends = [0] * PARTITIONS
    turns = operations // (SENDS + 1)
    for turn in range(turns):
        key = turn % PARTITIONS
        shown = []
        for number in range(SENDS):
            value, process = turn * SENDS + number, (turn + number) % 4
            yield event(process, "invoke", send, comma.join((send, str(key), str(value))))
            record = f"[{ends[key]}{comma}{value}]"
            yield event(process, "ok", send, comma.join((send, str(key), record)))
            shown.append(record)
            ends[key] += 1
        process = 4 + key % 4
        yield event(process, "invoke", poll, poll)
        records = f"[{comma.join(shown)}]"
        answer = f"{{{key} {records}}}" if edn else f'{{"{key}":{records}}}'
        yield event(process, "ok", poll, f"{poll}{comma}{answer}")


class Cost(NamedTuple):
    """Seconds of reading and of judging, and the peak in KiB."""

    operations: int
    read: float
    judged: float
    memory: int


def cost(path: Path) -> Cost:
    """Raises ValueError: a valid history was not found to be one."""
    begin = time.process_time()
    rows = detect.rows_of(path, detect.detect(path))
    between = time.process_time()
    if rows is None:
        raise ValueError("read as operations, not as columns")
    configuration = Configuration(one_client=False)
    report = check_log(rows, promised(configuration), configuration)
    if report.verdict != HOLDS:
        raise ValueError(f"a valid history was refused: {report}")
    after = time.process_time()
    return Cost(len(rows.operation), between - begin, after - between, peak_memory())


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    lengths = parser.parse_args(arguments).lengths
    print("format      operations      file       read     judged    memory")
    for format, length in product(FORMATS, lengths):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "history"
            with path.open("w", encoding="utf-8") as file:
                file.writelines(lines(length, format))
            each = apart(cost, path)
            size = path.stat().st_size >> 20
        told = f"{format:<10} {each.operations:11,} {size:6} MB {each.read:9.2f}s"
        print(f"{told} {each.judged:9.2f}s {each.memory >> 10:6} MB")
