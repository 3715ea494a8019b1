"""Make up histories, each operation answered at once, and measure what judging them costs.

The cost is measured as they grow.

Times are processor times of one run: from operations to columns, from columns to a verdict, and the
whole of `check_history` (the logs by themselves as well). Memory is what the columns and their
judgement take beside the operations.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from benchmarks._measure import apart, peak_memory
from kraftcheck.reference.clients.promises import Configuration
from kraftcheck.traces.checkers.check import check_history
from kraftcheck.traces.history import OK, History, Operation

LENGTHS: Final = (10_000, 100_000, 1_000_000)
Event = tuple[int, str, dict[str, Any]]
"""A process, what it asks, and further fields of the operation."""


class Cost(NamedTuple):
    """Seconds, and KiB that the peak rose by."""

    operations: int
    things: int
    """What a verdict is about."""
    columns: float
    verdict: float
    whole: float
    memory: int


def history_of(events: Iterable[Event]) -> History:
    """They in their order."""
    found: list[Operation] = []
    for process, f, more in events:
        at = len(found)
        times: dict[str, Any] = {"invoked": 2 * at, "completed": 2 * at + 1}
        found.append(
            Operation(index=at, group=at, process=process, f=f, outcome=OK, **times, **more)
        )
    return History(
        source="made",
        format="made",
        time_unit="event",
        operations=tuple(found),
        model="partition-log",
    )


def cost_of(
    history: History,
    configuration: Configuration,
    columns: Callable[[History], Any],
    judged: Callable[[Any], Any],
    things: Callable[[Any], int],
) -> Cost:
    """columns: made of a history. judged: of them. things: how many, of them.

    Raises ValueError: a valid history was not found to be one.
    """
    before, begin = peak_memory(), time.process_time()
    found = columns(history)
    if found is None:
        raise ValueError("nothing to judge")
    between = time.process_time()
    said = judged(found)
    after, memory = time.process_time(), peak_memory()
    if said.anomalies:
        raise ValueError(f"a valid history was refused: {said.anomalies[0]}")
    check_history(history, configuration=configuration)
    whole = time.process_time() - after
    seconds = (between - begin, after - between, whole)
    return Cost(len(history.operations), things(found), *seconds, memory - before)


def tell(title: str, things: str, cost: Callable[[int], Cost], arguments: Sequence[str]) -> None:
    """A line for each length, each measured in a process of its own. things: what they are."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    print(f"operations  {things:>15}   columns   verdict     whole   memory")
    for length in parser.parse_args(arguments).lengths:
        each = apart(cost, length)
        seconds = f"{each.columns:8.2f}s {each.verdict:8.2f}s {each.whole:8.2f}s"
        print(f"{each.operations:10,}  {each.things:15,} {seconds} {each.memory // 1024:5} MB")
