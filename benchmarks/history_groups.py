"""What it costs to judge histories of consumer groups, as they grow.

Made-up and valid: eight members of a group share eight partitions; each polls, says what it has
processed and commits in turn, and after every 200 rounds a partition is handed on. Times are
processor times of one run: from operations to columns, from columns to a verdict, and the whole of
`check_history` (the logs by themselves as well). Memory is what the columns and their judgement
take beside the operations.

    python -m benchmarks.history_groups [--lengths N ...]
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Final, NamedTuple

from benchmarks._made import Event, history_of
from benchmarks._memory import peak_memory
from reference.clients.promises import Configuration, promised
from traces.checkers.check import check_history
from traces.checkers.groups import judged
from traces.checkers.members import members_of
from traces.history import History

LENGTHS: Final = (10_000, 100_000, 1_000_000)
MEMBERS: Final = 8
PARTITIONS: Final = 8
POLLED: Final = 20
"""Records of a fetch."""
ROUNDS: Final = 200
"""From one hand-over to the next."""
CONFIGURATION: Final = Configuration(consumers="listen", one_client=False, reset="earliest")


class Cost(NamedTuple):
    """Seconds, and KiB that the peak rose by."""

    operations: int
    spans: int
    columns: float
    verdict: float
    whole: float
    memory: int


def made(operations: int) -> History:
    """About so many operations of a correct group."""
    return history_of(_events(operations))


def _events(count: int) -> Iterator[Event]:
    """(process, verb, fields of the operation), one after the other."""
    keys = [f"t-{at}" for at in range(PARTITIONS)]
    owner = {key: 1 + at % MEMBERS for at, key in enumerate(keys)}
    ends, places = dict.fromkeys(keys, 0), dict.fromkeys(keys, 0)
    for key, member in owner.items():
        yield member, "partitions-assigned", {"argument": ("g", (key,))}
    told = turn = 0
    while told < count:
        key = keys[turn % PARTITIONS]
        turn += 1
        for _ in range(POLLED):
            value = (key, ends[key])
            yield 0, "append", {"key": key, "argument": value, "result": ends[key]}
            ends[key] += 1
        begin, end, member = places[key], ends[key], owner[key]
        shown = tuple((offset, (key, offset)) for offset in range(begin, end))
        yield member, "fetch", {"key": key, "result": shown, "to": end}
        places[key] = end
        progress = {"argument": ("g", ((key, end),))}
        yield member, "processed", progress
        yield member, "commit-offsets", progress
        told += POLLED + 3
        if turn % ROUNDS == 0:
            yield member, "partitions-revoked", {"argument": ("g", (key,))}
            owner[key] = 1 + member % MEMBERS
            yield owner[key], "partitions-assigned", {"argument": ("g", (key,))}
            told += 2


def cost(operations: int) -> Cost:
    """Raises ValueError: a valid history was not found to be one."""
    history = made(operations)
    before, begin = peak_memory(), time.process_time()
    found = members_of(history)
    if found is None:
        raise ValueError("no members")
    between = time.process_time()
    said = judged(found, promised(CONFIGURATION), reset=CONFIGURATION.reset)
    after, memory = time.process_time(), peak_memory()
    if said.anomalies:
        raise ValueError(f"a valid history was refused: {said.anomalies[0]}")
    check_history(history, configuration=CONFIGURATION)
    whole = time.process_time() - after
    seconds = (between - begin, after - between, whole)
    return Cost(len(history.operations), len(found.spans.place), *seconds, memory - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    context = multiprocessing.get_context("spawn")
    print("operations  had by a member   columns   verdict     whole   memory")
    for length in parser.parse_args().lengths:
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            each = pool.submit(cost, length).result()
        seconds = f"{each.columns:8.2f}s {each.verdict:8.2f}s {each.whole:8.2f}s"
        print(f"{each.operations:10,}  {each.spans:15,} {seconds} {each.memory // 1024:5} MB")


if __name__ == "__main__":
    main()
