"""Histories as a person writes them: a line an operation, one after the other.

    0 send 7@0          process 0 appended 7 and was told offset 0; without @0, no offset
    1 poll 0:7 1:8      process 1 read these; `from=0`, `to=2` and `end=2` say where it began, where
                        it stood afterwards, and which end it was told
    2 latest 2          also: earliest 0
    1 subscribe, 1 given, 1 revoked, 1 lost, 1 leave, 1 crash
    1 commit 2          for group g; `as=M` marks it, as it does `given`
    3 told 2            what the group has committed; -1: nothing
    1 done 2            the group processed what stands before 2
    0 begin T1, 0 send 7@0 T1, 0 offsets 2 T1, 0 end commit T1

A line that ends with `?` has no known outcome, with `!` it failed. `0> send 7` only begins, and the
next `0< send 7@0` is its end, so that other lines may stand between. `u: 0 send 7@0` is of another
partition than t.
"""

from __future__ import annotations

from typing import Any, Final

from kraftcheck.traces.history import FAIL, INDETERMINATE, OK, History, Operation
from tests.traces.checkers.calls import whole

_VERBS: Final = {
    "send": "append",
    "poll": "fetch",
    "given": "partitions-assigned",
    "revoked": "partitions-revoked",
    "lost": "partitions-lost",
    "commit": "commit-offsets",
    "told": "committed",
    "done": "processed",
    "offsets": "send-offsets",
}
_OUTCOMES: Final = {"?": INDETERMINATE, "!": FAIL}


def made(text: str) -> History:
    """The history that these lines are. Lines may be separated by semicolons."""
    operations: list[Operation] = []
    open_: dict[int, int] = {}
    lines = [each.strip() for each in text.replace("\n", ";").split(";")]
    for time, line in enumerate(filter(None, lines)):
        at, fields = _read(line, time)
        who = fields["process"]
        if at == "<":
            begun = operations[open_.pop(who)]
            fields |= {"invoked": begun.invoked, "index": begun.index, "group": begun.index}
            operations[begun.index] = Operation(**fields)
            continue
        fields |= {"index": len(operations), "group": len(operations)}
        if at == ">":
            open_[who] = len(operations)
            fields |= {"completed": None, "outcome": INDETERMINATE, "result": None, "to": None}
        operations.append(Operation(**fields))
    return whole(operations, source="hand-made")


def _read(line: str, time: int) -> tuple[str, dict[str, Any]]:
    """Whether a line begins (>), ends (<) or is the whole of an operation, and its fields."""
    key, colon, rest = line.partition(": ")
    key, line = (key, rest) if colon else ("t", line)
    outcome = _OUTCOMES.get(line[-1], OK)
    who, verb, *words = line.rstrip("?! ").split()
    named = dict(word.split("=") for word in words if "=" in word)
    txn = next((int(word[1:]) for word in words if word.startswith("T")), None)
    words = [word for word in words if "=" not in word and not word.startswith("T")]
    at = who[-1] if who[-1] in "<>" else ""
    fields: dict[str, Any] = {
        "process": int(who.rstrip("<>")),
        "f": _VERBS.get(verb, verb),
        "invoked": 2 * time,
        "completed": None if outcome == INDETERMINATE else 2 * time + 1,
        "outcome": outcome,
        "txn": txn,
        "mark": named.get("as"),
    }
    return at, fields | _said(verb, key, words, named)


def _said(verb: str, key: str, words: list[str], named: dict[str, str]) -> dict[str, Any]:
    match verb:
        case "send":
            value, _, offset = words[0].partition("@")
            return {"key": key, "argument": int(value), "result": int(offset) if offset else None}
        case "poll":
            pairs = [word.split(":") for word in words]
            records = tuple((int(offset), int(value)) for offset, value in pairs)
            told = {to: named.get(name) for name, to in (("to", "to"), ("end", "end"))}
            told |= {"argument": named.get("from")}
            numbers = {name: None if said is None else int(said) for name, said in told.items()}
            return {"key": key, "result": records, **numbers}
        case "latest" | "earliest":
            return {"key": key, "result": int(words[0])}
        case "given" | "revoked" | "lost":
            return {"argument": ("g", (key,))}
        case "commit" | "done" | "offsets":
            return {"argument": ("g", ((key, int(words[0])),))}
        case "told":
            return {"argument": "g", "result": ((key, int(words[0])),)}
        case "leave":
            return {"argument": ("g", ())}
        case "subscribe":
            return {"argument": (key,)}
        case "end":
            return {"argument": words[0]}
    return {}
