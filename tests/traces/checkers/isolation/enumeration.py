"""Brute force for transactions: small histories, and every order of their transactions."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import chain, combinations, permutations
from typing import Any

from kraftcheck.traces.checkers.isolation.transactions import Micro, Transaction, transactions_of
from kraftcheck.traces.history import FAIL, INDETERMINATE, OK, History, Operation
from tests.traces.checkers.calls import whole


def drawn(seed: int, model: str, *, repeated: bool = False) -> History:
    """A small history. Transactions read snapshots that may be old, mixed, or of aborted ones.

    repeated: values are not unique.
    """
    stream = random.Random(f"{model} {seed}")
    keys = ("x", "y")[: stream.choice((1, 2, 2))]
    count = stream.randint(1, 4)
    clock = 0
    free = {process: 0 for process in range(stream.choice((1, 2, 3)))}
    plans = []
    for number in range(count):
        process = min(free, key=lambda each: (free[each], stream.random()))
        begin = max(free[process], clock - stream.randint(0, 4)) + 1
        end = begin + stream.randint(0, 6)
        free[process] = end + 1
        clock = max(clock, end)
        outcome = stream.choices((OK, FAIL, INDETERMINATE), (8, 1, 1))[0]
        if outcome == INDETERMINATE:
            del free[process]
            free[100 + number] = end + 1
        plans.append((process, begin, end, outcome))
    plans.sort(key=lambda each: each[1])
    states: dict[str, list[Any]] = {key: [() if model == "list-append" else None] for key in keys}
    operations: list[Operation] = []
    values = 0
    for group, (process, begin, end, outcome) in enumerate(plans):
        snapshot = {
            key: states[key][-1] if stream.random() < 0.75 else stream.choice(states[key])
            for key in keys
        }
        for _ in range(stream.randint(1, 3)):
            key = stream.choice(keys)
            argument = result = None
            if stream.random() < 0.5:
                f = "read"
                value = snapshot[key] if stream.random() < 0.97 else stream.choice(states[key])
                result = value if outcome == OK else None
            else:
                f = "append" if model == "list-append" else "write"
                values += 1
                argument = stream.choice((None, 1, 2)) if repeated else values
                after = (*snapshot[key], argument) if model == "list-append" else argument
                snapshot[key] = after
                states[key].append(snapshot[key])
            operations.append(
                Operation(
                    index=len(operations),
                    process=process,
                    f=f,
                    key=key,
                    argument=argument,
                    result=result,
                    invoked=begin,
                    completed=None if outcome == INDETERMINATE else end,
                    outcome=outcome,
                    group=group,
                )
            )
    return whole(operations, model=model)


def is_serializable(history: History, *, realtime: bool = False, sessions: bool = False) -> bool:
    """Whether some order of the transactions that took effect explains all reads.

    realtime, sessions: whether it keeps the order of real time, and that of each client.
    """
    transactions = transactions_of(history)
    sure = [each for each in transactions if each.outcome == OK]
    perhaps = [each for each in transactions if each.outcome == INDETERMINATE]
    for some in chain.from_iterable(combinations(perhaps, n) for n in range(len(perhaps) + 1)):
        for order in permutations([*sure, *some]):
            if realtime and not _keeps_time(order):
                continue
            if sessions and not _keeps_sessions(order):
                continue
            if _explains(order, history.model == "list-append"):
                return True
    return False


def _keeps_time(order: tuple[Transaction, ...]) -> bool:
    return not any(
        later.completed is not None and later.completed < earlier.invoked
        for at, earlier in enumerate(order)
        for later in order[at + 1 :]
    )


def _keeps_sessions(order: tuple[Transaction, ...]) -> bool:
    return not any(
        later.process == earlier.process and later.number < earlier.number
        for at, earlier in enumerate(order)
        for later in order[at + 1 :]
    )


def _explains(order: tuple[Transaction, ...], lists: bool) -> bool:
    state: dict[str | None, Any] = {}
    empty: Any = () if lists else None
    for micro in _micros(order):
        known = state.get(micro.key, empty)
        if micro.is_read:
            if (micro.value or ()) != known if lists else micro.value != known:
                return False
        else:
            state[micro.key] = (*known, micro.value) if lists else micro.value
    return True


def _micros(order: tuple[Transaction, ...]) -> Iterator[Micro]:
    return chain.from_iterable(each.micros for each in order)
