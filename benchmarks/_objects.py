"""Histories of registers and maps of known verdict and any length, for the general search.

Clients take turns at random; each asks, and the object answers at a moment somewhere between
invocation and completion, so that the history is linearizable. The twin that is not has one read
answer, late, a value that was written at the very beginning only.
"""

from __future__ import annotations

import heapq
import random
from typing import Any, Final

import msgspec

from kraftcheck.traces.history import COMPARED, FAIL, INDETERMINATE, OK, History, Operation

UNKNOWN: Final = 0.01
"""Of the writes, so many are of unknown outcome; their client is replaced."""


def history_of(
    model: str, *, operations: int, clients: int, seed: int, keys: int = 1, stale: bool = False
) -> History:
    """A history of `model` (cas-register or kv); `stale`: it does not hold."""
    dice = random.Random(f"{model} {operations} {clients} {keys} {seed}")
    made = _run(model, dice, operations, clients, keys)
    if stale:
        made = _with_stale_read(made)
    return History(
        source=f"{model}, {operations} operations, {clients} clients, {keys} keys",
        format="generated",
        time_unit="event",
        operations=tuple(made),
        model=model,
        failed_cas=COMPARED,
    )


def _run(
    model: str, dice: random.Random, operations: int, clients: int, keys: int
) -> list[Operation]:
    """Moments are floats while they are drawn, and ranks in what is returned."""
    asks = []
    free = [(dice.random(), client) for client in range(clients)]
    heapq.heapify(free)
    for _ in range(operations):
        begin, client = heapq.heappop(free)
        end = begin + dice.expovariate(1.0) + 0.05
        asks.append((dice.uniform(begin, end), begin, end, client))
        heapq.heappush(free, (end + dice.expovariate(10.0), client))
    states: dict[str, Any] = {}
    told = []
    for number, (_, begin, end, client) in enumerate(sorted(asks)):
        key = f"k{dice.randrange(keys)}"
        answer = (_map if model == "kv" else _register)(states, key, dice, number)
        told.append((begin, end, client, key, answer))
    return _ranked(told, dice, clients)


def _ranked(told: list[Any], dice: random.Random, clients: int) -> list[Operation]:
    told.sort(key=lambda each: each[0])
    moments = sorted({moment for each in told for moment in each[:2]})
    rank = {moment: at for at, moment in enumerate(moments)}
    names = list(range(clients))
    operations = []
    for at, (begin, end, client, key, answer) in enumerate(told):
        operation: dict[str, Any] = {"outcome": OK, "completed": rank[end], "key": key} | answer
        process = names[client]
        if operation["f"] not in ("read", "get") and dice.random() < UNKNOWN:
            # The read of a value that was never acknowledged stays in the history.
            if operation["outcome"] == OK:
                operation |= {"outcome": INDETERMINATE, "completed": None, "error": "timeout"}
            names[client] = max(names) + 1
        operations.append(
            Operation(index=at, group=at, process=process, invoked=rank[begin], **operation)
        )
    return operations


def _register(states: dict[str, Any], key: str, dice: random.Random, number: int) -> dict[str, Any]:
    state, value, roll = states.get(key), dice.randrange(5), dice.random()
    if number == 0:
        states[key] = -1
        return {"f": "write", "argument": -1}
    if roll < 1 / 3:
        return {"f": "read", "result": state}
    if roll < 2 / 3:
        states[key] = value
        return {"f": "write", "argument": value}
    expected = dice.randrange(5)
    call = {"f": "cas", "argument": (expected, value)}
    if state != expected:
        return call | {"outcome": FAIL}
    states[key] = value
    return call


def _map(states: dict[str, Any], key: str, dice: random.Random, number: int) -> dict[str, Any]:
    state, roll = states.get(key, ""), dice.random()
    text = f"x {number} y"
    if roll < 0.45:
        return {"f": "get", "result": state}
    if roll < 0.55:
        states[key] = text
        return {"f": "put", "argument": text}
    states[key] = state + text
    return {"f": "append", "argument": text}


def _with_stale_read(operations: list[Operation]) -> list[Operation]:
    """The last answered read, in the last tenth, answers what was there before all writes but one.

    What it answers was overwritten long ago: the register by hundreds of writes, of which nobody
    wrote -1 again; the map's key by a value that no append can take away.
    """
    reads = [
        at
        for at, each in enumerate(operations)
        if each.f in ("read", "get") and each.outcome == OK and each.result not in (None, "", -1)
    ]
    at = reads[-max(1, len(reads) // 20)]
    lie = -1 if operations[at].f == "read" else ""
    changed = msgspec.structs.replace(operations[at], result=lie)
    return [*operations[:at], changed, *operations[at + 1 :]]
