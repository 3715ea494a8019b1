"""What it costs to judge histories with transactions, as they grow.

Made-up and valid: eight producers whose transactions overlap, each with three records in eight
partitions, every third of which reads what others wrote; every tenth is aborted. Consumers read all
partitions in turn. Times are processor times of one run: from operations to columns, from columns
to a verdict, and the whole of `check_history` (the logs by themselves as well). Memory is what the
columns and their judgement take beside the operations.

    python -m benchmarks.history_transactions [--lengths N ...]
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Final, NamedTuple

from benchmarks._made import Event, history_of
from benchmarks._memory import peak_memory
from reference.clients.promises import Configuration, promised
from traces.checkers.atomicity import judged
from traces.checkers.check import check_history
from traces.checkers.transactions import transactions_of
from traces.history import ABORT, COMMIT, History

LENGTHS: Final = (10_000, 100_000, 1_000_000)
PRODUCERS: Final = 8
PARTITIONS: Final = 8
POLLED: Final = 20
"""Records of a fetch."""
CONFIGURATION: Final = Configuration(transactions=True, isolation="read_committed")


class Cost(NamedTuple):
    """Seconds, and KiB that the peak rose by."""

    operations: int
    transactions: int
    columns: float
    verdict: float
    whole: float
    memory: int


def made(operations: int, seed: int = 1) -> History:
    """About so many operations of a correct cluster."""
    return history_of(_events(operations, random.Random(seed)))


class _Log:
    """A partition: values with their transactions; `stable` is its last stable offset."""

    def __init__(self) -> None:
        self.records: list[tuple[int, int]] = []
        self.stable = 0
        self.places: dict[int, int] = {}

    def fetched(self, reader: int, key: str, fates: dict[int, str]) -> dict[str, Any]:
        while self.stable < len(self.records) and self.records[self.stable][1] in fates:
            self.stable += 1
        begin = self.places.get(reader, 0)
        end = self.places[reader] = min(begin + POLLED, self.stable)
        shown = tuple(
            (offset, self.records[offset][0])
            for offset in range(begin, end)
            if fates[self.records[offset][1]] == COMMIT
        )
        return {"key": key, "argument": begin, "result": shown, "to": end}


def _events(count: int, draw: random.Random) -> Iterator[Event]:
    """(process, verb, fields of the operation), one after the other."""
    logs = {f"t-{at}": _Log() for at in range(PARTITIONS)}
    keys, fates = list(logs), dict[int, str]()
    open_ones: dict[int, int] = {}
    sent = [0] * PRODUCERS
    txn = value = turn = told = 0
    while told < count:
        at, turn, told = turn % PRODUCERS, turn + 1, told + 1
        if at not in open_ones:
            txn, sent[at] = txn + 1, 0
            open_ones[at] = txn
            yield at, "begin", {"txn": txn}
            if txn % 3 == 0:
                told, key = told + 1, draw.choice(keys)
                yield at, "fetch", {**logs[key].fetched(at, key, fates), "txn": txn}
        elif sent[at] < 3:
            value, key, sent[at] = value + 1, draw.choice(keys), sent[at] + 1
            more = {"key": key, "argument": value, "result": len(logs[key].records)}
            logs[key].records.append((value, open_ones[at]))
            yield at, "append", {**more, "txn": open_ones[at]}
        else:
            number = open_ones.pop(at)
            fates[number] = ABORT if number % 10 == 0 else COMMIT
            yield at, "end", {"argument": fates[number], "txn": number}
        if turn % POLLED == 0:
            told, key = told + 1, keys[(turn // POLLED) % PARTITIONS]
            yield PRODUCERS, "fetch", logs[key].fetched(PRODUCERS, key, fates)


def cost(operations: int) -> Cost:
    """Raises ValueError: a valid history was not found to be one."""
    history = made(operations)
    before, begin = peak_memory(), time.process_time()
    found = transactions_of(history)
    if found is None:
        raise ValueError("no transactions")
    between = time.process_time()
    said = judged(found, promised(CONFIGURATION))
    after, memory = time.process_time(), peak_memory()
    if said.anomalies:
        raise ValueError(f"a valid history was refused: {said.anomalies[0]}")
    check_history(history, configuration=CONFIGURATION)
    whole = time.process_time() - after
    seconds = (between - begin, after - between, whole)
    return Cost(len(history.operations), said.transactions, *seconds, memory - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    context = multiprocessing.get_context("spawn")
    print("operations  transactions   columns   verdict     whole   memory")
    for length in parser.parse_args().lengths:
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            each = pool.submit(cost, length).result()
        seconds = f"{each.columns:8.2f}s {each.verdict:8.2f}s {each.whole:8.2f}s"
        print(
            f"{each.operations:10,}  {each.transactions:12,} {seconds} {each.memory // 1024:5} MB"
        )


if __name__ == "__main__":
    main()
