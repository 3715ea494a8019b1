"""A history as Jepsen's operations: what the writers of EDN and JSON lines have in common.

An operation of a client becomes one invocation and, unless it never came, one completion. Logs go
as `send`, `poll` and `txn` micro-operations, with keys that Jepsen does not know and leaves alone.
Three have a map for every poll: `from`, where it was told to start, `to`, where it stood then, and
`ends`, the visible ends that came with it; `txn`, `isolation` and `mark` are those of the
operation.

At equal times invocations come first, so that nothing is claimed to be ordered that was not; but a
process is never shown to ask before its last answer, even where both have one time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from kraftcheck.traces.formats.edn import Keyword
from kraftcheck.traces.formats.events import FAULT, LEADER_EPOCH
from kraftcheck.traces.formats.keys import key_named
from kraftcheck.traces.history import (
    CALLBACKS,
    CLIENT_OPERATIONS,
    FAIL,
    INDETERMINATE,
    MEMBER_OPERATIONS,
    OK,
    SHARE_OPERATIONS,
    SHARE_POLL,
    TRANSACTION_OPERATIONS,
    History,
    Operation,
)


class Verb(Keyword):
    """A keyword of Jepsen's own, which JSON writes without its colon."""

    __slots__ = ()


_TYPES: Final = {OK: Verb(":ok"), FAIL: Verb(":fail"), INDETERMINATE: Verb(":info")}
_INVOKE: Final = Verb(":invoke")
_INFO: Final = Verb(":info")
_NEMESIS: Final = Verb(":nemesis")
_SEND, _POLL = Verb(":send"), Verb(":poll")
_TXN: Final = {"read": Verb(":r"), "write": Verb(":w"), "append": Verb(":append")}
_NANOSECONDS: Final = {"ns": 1, "us": 1000, "event": None}

# A moment, a rank among what happens in it, and the operation's own fields.
_Told = tuple[int, int, dict[str, Any]]


def operations_of(history: History) -> Iterator[dict[str, Any]]:
    """Jepsen's maps in order, keys without colon, words as keywords."""
    told = sorted([*_clients(history), *_nemesis(history)], key=lambda each: each[:2])
    scale = _NANOSECONDS[history.time_unit]
    for index, (time, _, operation) in enumerate(told):
        timed = {} if scale is None else {"time": time * scale}
        yield {"index": index, **timed, **operation}


def _clients(history: History) -> Iterator[_Told]:
    by_process: dict[int, list[tuple[int, dict[str, Any]]]] = {}
    transactional = _is_transactional(history)
    for _, members in groupby(history.operations, key=lambda each: each.group):
        operations = list(members)
        first = operations[0]
        mine = by_process.setdefault(first.process, [])
        f, asked, told, extra = _values(history, operations, transactional)
        more = {"txn": first.txn, "isolation": first.isolation, "mark": first.mark}
        extra |= {name: said for name, said in more.items() if said is not None}
        head = {"process": first.process, "type": _INVOKE, "f": Verb(f":{f}")}
        mine.append((first.invoked, {**head, "value": asked, **extra}))
        if first.completed is not None:
            said = {} if first.error is None else {"error": first.error}
            head = {**head, "type": _TYPES[first.outcome]}
            mine.append((first.completed, {**head, "value": told, **extra, **said}))
    for events in by_process.values():
        # Callbacks are told within the operation in which they came.
        yield from _ranked(sorted(events, key=lambda each: each[0]))


def _ranked(events: list[tuple[int, dict[str, Any]]]) -> Iterator[_Told]:
    """The events of one process with their ranks at their time: invocations even."""
    last = len(events) * 2 + 2
    for time, group in groupby(events, key=lambda each: each[0]):
        same = [operation for _, operation in group]
        rank = 0 if same[0]["type"] is _INVOKE else 1
        for at, operation in enumerate(same):
            final = at == len(same) - 1 and operation["type"] is not _INVOKE
            yield time, last if final else rank + at, operation


def _nemesis(history: History) -> Iterator[_Told]:
    for number, annotation in enumerate(history.annotations):
        lasting = annotation.kind == "fault" and annotation.until is not None
        name = f"start-fault{number}" if lasting else FAULT
        if annotation.kind != "fault":
            name = LEADER_EPOCH
        head = {"process": _NEMESIS, "type": _INFO, "f": Verb(f":{name}")}
        key = {} if annotation.key is None else {"key": key_named(annotation.key)}
        event = {**head, "value": annotation.label, **key}
        yield from ((annotation.at, -1, event) for _ in range(1 + lasting))
        if lasting and annotation.until is not None:
            stop = {**head, "f": Verb(f":stop-fault{number}"), "value": None}
            yield from ((annotation.until, -1, stop) for _ in range(2))


# -- Values


def _is_transactional(history: History) -> bool:
    verbs = {operation.f for operation in history.operations}
    if history.model == "list-append":
        return True
    groups = [operation.group for operation in history.operations]
    return verbs <= {"read", "write"} and len(set(groups)) < len(groups)


def _values(
    history: History, operations: list[Operation], transactional: bool
) -> tuple[str, Any, Any, dict[str, Any]]:
    """(f, value of the invocation, value of the completion, further fields)."""
    first = operations[0]
    answered = first.outcome == OK
    if first.f in CLIENT_OPERATIONS:
        keys = tuple(map(key_named, first.argument or ()))
        return first.f, keys, keys, {"seek-to-beginning?": True} if first.result else {}
    if first.f in TRANSACTION_OPERATIONS:
        return first.f, *_transaction_values(first), {}
    if first.f in MEMBER_OPERATIONS:
        asked = _member_value(first)
        return first.f, asked, asked, {}
    if first.f in SHARE_OPERATIONS:
        return first.f, *_share_values(operations), {}
    if history.model == "partition-log":
        return _log_values(operations)
    if transactional:
        micro = [(_TXN[each.f], key_named(each.key), each.argument) for each in operations]
        told = [
            (f, key, each.result if each.f == "read" and answered else value)
            for (f, key, value), each in zip(micro, operations, strict=True)
        ]
        return "txn", tuple(micro), tuple(told), {}
    named = key_named(first.key)
    key = {} if named is None else {"key": named}
    if len(operations) > 1:
        assert first.f == "dequeue", "only queues drain"
        # The last dequeue of a drain finds nothing, which its list does not say.
        told = [each.result for each in operations]
        return "drain", None, tuple(told[:-1] if told[-1] is None else told), key
    asked = first.argument
    told = first.result if first.result is not None and answered else asked
    f = first.f
    if f == "read" and history.model == "sequential" and answered:
        asked = first.result[0]
    elif f == "read" and history.initial is not None:
        f = "read-init"
    registers = history.model in ("register", "cas-register")
    if named is not None and registers and first.f in ("read", "write", "cas"):
        return f, (named, asked), (named, told), key
    return f, asked, told, key


def _transaction_values(operation: Operation) -> tuple[Any, Any]:
    """What a step of a transaction asks, and what it was told."""
    if operation.f == "send-offsets":
        group, offsets = operation.argument
        asked: Any = (group, _named(offsets))
        return asked, asked
    if operation.f == "committed":
        told = (operation.argument, _named(operation.result or ()))
        return (operation.argument, None), told
    return operation.argument, operation.argument


def _member_value(operation: Operation) -> tuple[Any, Any]:
    group, named = operation.argument
    if operation.f in CALLBACKS:
        return group, tuple(map(key_named, named))
    return group, _named(named) if operation.f != "leave" else None


def _share_values(operations: list[Operation]) -> tuple[Any, Any]:
    first = operations[0]
    if first.f == SHARE_POLL:
        told = {key_named(each.key): each.result for each in operations if each.key is not None}
        answered = first.outcome == OK
        return (first.argument, None), (first.argument, told if answered else None)
    rows = ((key_named(each.key), *row) for each in operations for row in each.argument[1])
    asked = (first.argument[0], tuple(rows))
    return asked, asked


def _named(offsets: tuple[tuple[str | None, int], ...]) -> tuple[tuple[Any, int], ...]:
    return tuple((key_named(key), offset) for key, offset in offsets)


def _log_values(operations: list[Operation]) -> tuple[str, Any, Any, dict[str, Any]]:
    first = operations[0]
    if first.f in ("latest", "earliest"):
        key = key_named(first.key)
        return first.f, (key, None), (key, first.result), {}
    asked: list[Any] = []
    told: list[Any] = []
    froms: list[dict[Any, int | None]] = []
    ends: list[dict[Any, int | None]] = []
    tos: list[dict[Any, int | None]] = []
    for members in _micro_operations(operations):
        if members[0].f == "append":
            key, value, offset = members[0].key, members[0].argument, members[0].result
            asked.append((_SEND, key_named(key), value))
            told.append((_SEND, key_named(key), value if offset is None else (offset, value)))
            continue
        asked.append((_POLL,))
        read = {key_named(each.key): each.result for each in members if each.result is not None}
        told.append((_POLL, read) if read or first.outcome == OK else (_POLL,))
        froms.append({key_named(each.key): each.argument for each in members})
        ends.append({key_named(each.key): each.end for each in members if each.end is not None})
        tos.append({key_named(each.key): each.to for each in members if each.to is not None})
    verbs = {each.f for each in operations}
    name = "txn" if len(verbs) > 1 else ("send" if "append" in verbs else "poll")
    fetches = [each for each in operations if each.f == "fetch"]
    extra: dict[str, Any] = {}
    if any(each.argument is not None or each.result is None for each in fetches):
        extra["from"] = tuple(froms)
    if any(ends):
        extra["ends"] = tuple(ends)
    if any(tos):
        extra["to"] = tuple(tos)
    return name, tuple(asked), tuple(told), extra


def _micro_operations(operations: list[Operation]) -> Iterator[list[Operation]]:
    """Each append for itself; fetches together, as long as each is of another key."""
    polled: list[Operation] = []
    for operation in operations:
        if operation.f == "append" or operation.key in {each.key for each in polled}:
            if polled:
                yield polled
            polled = []
        if operation.f == "append":
            yield [operation]
        else:
            polled.append(operation)
    if polled:
        yield polled
