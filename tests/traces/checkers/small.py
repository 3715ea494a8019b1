"""Small histories of logs that try the checkers: made by one that was asked for real, then damaged.

Purely random answers are refused for the first reason that comes; here every operation first gets a
moment at which it takes effect, and an interval around it, so that the history is linearizable.
Then up to two things are changed. Each kind is rich in what others are poor in. Other objects have
theirs in made_objects.py.

One seed is one history, everywhere and always.
"""

from __future__ import annotations

import random
from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.traces.history import FAIL, INDETERMINATE, OK, History, Operation
from tests.traces.checkers.calls import whole

KEY: Final = "log-0"
LOG_KINDS: Final = (
    *("plain", "holes", "duplicates", "unknown", "fetches", "ends"),
    "positions",
)


def log_history(seed: int, operations_max: int = 8) -> tuple[str, History]:
    """The kind, and the history of a partition's log of 1 to `operations_max` operations."""
    dice = random.Random(f"log {seed}")
    kind = LOG_KINDS[seed % len(LOG_KINDS)]
    maker = _LogMaker(dice, kind)
    calls = [maker.call(number) for number in range(dice.randint(1, operations_max))]
    # A hole: the record is there, and of its append no answer came.
    calls = [_unknown(call, dice) if dice.random() < maker.unknown else call for call in calls]
    for _ in range(dice.choice((0, 0, 1, 1, 2))):
        calls = _damaged_log(calls, dice)
    return kind, _history(calls, kind)


class _LogMaker:
    """A log, and clients that ask it one after the other."""

    def __init__(self, dice: random.Random, kind: str) -> None:
        self.dice, self.kind = dice, kind
        self.values: list[int] = []
        self.start = 0
        self.unknown = {"holes": 0.5, "unknown": 0.35, "duplicates": 0.2}.get(kind, 0.1)
        self.appends = {"holes": 0.65, "fetches": 0.45}.get(kind, 0.55)

    def call(self, number: int) -> dict[str, Any]:
        dice = self.dice
        moment = 10 * number + 5
        length = dice.choice((2, 6, 14, 30))
        call: dict[str, Any] = {
            "invoked": moment - dice.randint(1, length),
            "completed": moment + dice.randint(1, length),
            "outcome": OK,
        }
        roll = dice.random()
        if roll < self.appends:
            return call | self._append(number)
        if self.kind == "ends" and roll < 0.9:
            f = dice.choice(("latest", "latest", "earliest"))
            if f == "earliest":
                self.start = dice.randint(self.start, min(len(self.values), self.start + 1))
            return call | {"f": f, "result": len(self.values) if f == "latest" else self.start}
        return call | self._fetch()

    def _append(self, number: int) -> dict[str, Any]:
        value = 100 + number
        if self.kind == "duplicates" and self.values and self.dice.random() < 0.3:
            value = self.dice.choice(self.values)
        if self.kind == "unknown" and self.dice.random() < 0.2:
            # Sent and lost; whoever sent it cannot know.
            return {"f": "append", "argument": value, "outcome": INDETERMINATE}
        self.values.append(value)
        if self.kind == "duplicates" and self.dice.random() < 0.2:
            # A retry of a record that had arrived.
            self.values.append(value)
        return {"f": "append", "argument": value, "result": len(self.values) - 1}

    def _fetch(self) -> dict[str, Any]:
        end = len(self.values)
        at = self.dice.randint(min(self.start, end), end)
        most = self.dice.choice((1, 1, 2, 4))
        found = tuple(enumerate(self.values))[at : min(at + most, end)]
        told = (
            end if self.dice.random() < (0.4 if self.kind in ("ends", "fetches") else 0.1) else None
        )
        if self.kind != "positions":
            asked = None if found and self.dice.random() < 0.2 else at
            return {"f": "fetch", "argument": asked, "result": found, "end": told}
        asked = None if self.dice.random() < 0.5 else at
        stood = at + len(found) if self.dice.random() < 0.8 else None
        return {"f": "fetch", "argument": asked, "result": found, "end": told, "to": stood}


def _unknown(call: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """An append whose answer did not come, or came without the offset."""
    if call["f"] != "append":
        return call
    if dice.random() < 0.25:
        return call | {"result": None}
    return call | {"result": None, "outcome": INDETERMINATE}


def _damaged_log(calls: list[dict[str, Any]], dice: random.Random) -> list[dict[str, Any]]:
    """One thing changed; at times nothing that matters."""
    at = dice.randrange(len(calls))
    call = dict(calls[at])
    roll = dice.randrange(7)
    if roll == 0:
        shift = dice.choice((-40, -20, -10, 10, 20, 40))
        call |= {"invoked": call["invoked"] + shift, "completed": call["completed"] + shift}
    elif roll == 1 and call["f"] == "append":
        call |= {"result": dice.randrange(len(calls) + 1)}
    elif roll == 2 and call["f"] == "append":
        call |= {"outcome": FAIL, "result": None}
    elif roll == 3 and len(calls) > 1:
        return calls[:at] + calls[at + 1 :]
    elif roll == 4:
        acked = [i for i, each in enumerate(calls) if each["f"] == "append" and each.get("result")]
        if len(acked) > 1:
            one, two = dice.sample(acked, 2)
            calls = list(calls)
            swapped = calls[two]["result"], calls[one]["result"]
            calls[one] = calls[one] | {"result": swapped[0]}
            calls[two] = calls[two] | {"result": swapped[1]}
        return calls
    elif call["f"] in ("latest", "earliest"):
        call |= {"result": max(0, call["result"] + dice.choice((-1, 1)))}
    elif call["f"] == "fetch":
        call |= _damaged_fetch(call, dice, 100 + dice.randrange(len(calls)))
    return [*calls[:at], call, *calls[at + 1 :]]


def _damaged_fetch(call: dict[str, Any], dice: random.Random, value: int) -> dict[str, Any]:
    records = list(call["result"])
    if call.get("to") is not None and dice.random() < 0.5:
        return {"to": max(0, call["to"] + dice.choice((-1, 1, 1, 2)))}
    roll = dice.randrange(4)
    if roll == 0 or not records:
        return {"end": dice.randrange(4)} if roll == 1 else {"result": ()}
    where = dice.randrange(len(records))
    offset, was = records[where]
    if roll == 1:
        records[where] = (offset, value)
    elif roll == 2:
        records[where] = (offset + dice.choice((1, 2)), was)
    else:
        del records[where]
    return {"result": tuple(records)}


def _history(calls: list[dict[str, Any]], kind: str) -> History:
    """The calls as operations, each of a process of its own, in order of invocation."""
    least = min(call["invoked"] for call in calls)
    calls = sorted(calls, key=lambda call: (call["invoked"], call["completed"]))
    operations = [
        replace(
            Operation(index=at, process=at, group=at, key=KEY, **call),
            invoked=call["invoked"] - least,
            completed=call["completed"] - least,
        )
        for at, call in enumerate(calls)
    ]
    return whole(operations, source=kind)
