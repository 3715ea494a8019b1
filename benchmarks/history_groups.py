"""What it costs to judge histories of consumer groups, as they grow.

Made-up and valid: eight members of a group share eight partitions; each polls, says what it has
processed and commits in turn, and after every 200 rounds a partition is handed on. What the columns
mean _made.py says.

    python -m benchmarks history_groups [--lengths N ...]
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from benchmarks._made import LENGTHS, Cost, Event, cost_of, history_of, tell
from kraftcheck.reference.clients.promises import Configuration, promised
from kraftcheck.traces.checkers.check import check_log, configuration_in
from kraftcheck.traces.checkers.groups import judged
from kraftcheck.traces.checkers.members import members_of
from kraftcheck.traces.checkers.verdict import HOLDS
from kraftcheck.traces.formats import columns, detect, jsonlines
from kraftcheck.traces.history import History

MEMBERS: Final = 8
PARTITIONS: Final = 8
POLLED: Final = 20
"""Records of a fetch."""
ROUNDS: Final = 200
"""From one hand-over to the next."""
CONFIGURATION: Final = Configuration(consumers="listen", one_client=False, reset="earliest")


def made(operations: int) -> History:
    """About so many operations of a correct group."""
    return history_of(_events(operations))


def _events(count: int) -> Iterator[Event]:
    """(process, verb, fields of the operation), one after the other."""
    keys = [f"t-{at}" for at in range(PARTITIONS)]
    number = {key: at for at, key in enumerate(keys)}
    owner = {key: 1 + at % MEMBERS for at, key in enumerate(keys)}
    ends, places = dict.fromkeys(keys, 0), dict.fromkeys(keys, 0)
    for key, member in owner.items():
        yield member, "partitions-assigned", {"argument": ("g", (key,))}
    told = turn = 0
    while told < count:
        key = keys[turn % PARTITIONS]
        turn += 1
        for _ in range(POLLED):
            value = PARTITIONS * ends[key] + number[key]
            yield 0, "append", {"key": key, "argument": value, "result": ends[key]}
            ends[key] += 1
        begin, end, member = places[key], ends[key], owner[key]
        shown = tuple([(at, PARTITIONS * at + number[key]) for at in range(begin, end)])
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
    return cost_of(
        made(operations),
        CONFIGURATION,
        members_of,
        lambda found: judged(found, promised(CONFIGURATION), reset=CONFIGURATION.reset),
        lambda found: len(found.spans.place),
    )


class FileCost(NamedTuple):
    """Seconds: a file is read as columns, and judged."""

    operations: int
    read: float
    judged: float


def cost_of_file(operations: int, format: str) -> FileCost:
    """Raises ValueError: a valid history was not found to be one."""
    with TemporaryDirectory() as folder:
        path, history = Path(folder) / "history", made(operations)
        if format == columns.NAME:
            path.write_bytes(columns.write(history))
        else:
            path.write_text("".join(jsonlines.write(history)), encoding="utf-8")
        del history
        begin = time.process_time()
        rows = detect.rows_of(path, format)
    between = time.process_time()
    assert rows is not None
    configuration = configuration_in(rows)
    report = check_log(rows, promised(CONFIGURATION), CONFIGURATION)
    after = time.process_time()
    if report.verdict != HOLDS or not configuration.consumers == "listen":
        raise ValueError(f"a valid history was refused: {report}")
    return FileCost(len(rows.operation), between - begin, after - between)


def main(arguments: Sequence[str]) -> None:
    tell(__doc__.split("\n", 1)[0], "had by a member", cost, arguments)
    print("operations of a file            read    judged  operations a second")
    for format, length in product((columns.NAME, jsonlines.NAME), LENGTHS):
        cost_of_file(length, format)  # Compiled, and imported.
        costs = (cost_of_file(length, format) for _ in range(3))
        each = min(costs, key=lambda of: of.read + of.judged)
        rate = each.operations / (each.read + each.judged)
        told = f"{each.operations:10,} {format:>10} {each.read:13.2f}s {each.judged:8.2f}s"
        print(f"{told} {rate:20,.0f}")
