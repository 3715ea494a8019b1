"""What it costs to judge histories with transactions, as they grow.

Made-up and valid: eight producers whose transactions overlap, each with three records in eight
partitions, every third of which reads what others wrote; every tenth is aborted. Consumers read all
partitions in turn. What the columns mean _made.py says.

    python -m benchmarks history_transactions [--lengths N ...]
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, Final

from benchmarks._made import Cost, Event, cost_of, history_of, tell
from kraftcheck.reference.clients.promises import Configuration, promised
from kraftcheck.traces.checkers.atomicity import judged
from kraftcheck.traces.checkers.transactions import transactions_of
from kraftcheck.traces.history import ABORT, COMMIT, History

PRODUCERS: Final = 8
PARTITIONS: Final = 8
POLLED: Final = 20
"""Records of a fetch."""
CONFIGURATION: Final = Configuration(transactions=True, isolation="read_committed")


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
    return cost_of(
        made(operations),
        CONFIGURATION,
        transactions_of,
        lambda found: judged(found, promised(CONFIGURATION)),
        lambda found: len(found.ends.number),
    )


def main(arguments: Sequence[str]) -> None:
    tell(__doc__.split("\n", 1)[0], "transactions", cost, arguments)
