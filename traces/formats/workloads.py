"""What a call asks and was told: from a format's `f` and `value` to operations of the contract.

The workloads are told by their verbs, over the whole history:

    read write (cas)           register, cas-register; values [key value] with jepsen.independent
    get put append, with :key  kv
    add read                   counter if what is read are numbers, else set
    enqueue dequeue (drain)    queue
    acquire release            mutex
    txn of [:append k v] [:r k [...]]    list-append
    txn of [:w k v] [:r k v]             register, one for each key
    send poll txn of [:send k v] [:poll] partition-log [jepsen.tests.kafka]

Transactions of logs are one operation, `txn`, as Jepsen has them, or told step by step: `init`,
`begin`, `send`, `poll`, `send-offsets` and `end`, each with its number under the key `txn`. Members
of groups tell what MEMBER_OPERATIONS in traces/history.py are.

A verb outside of these makes a history of no model that we know; it is read all the same, for a
model of the user's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

from traces.formats.events import Call, Recording, word
from traces.formats.keys import MapKey, decided, key_of, plain
from traces.formats.text import INT64, shown
from traces.history import (
    ABORT,
    CALLBACKS,
    CLIENT_OPERATIONS,
    COMMIT,
    INDETERMINATE,
    ISOLATIONS,
    MEMBER_OPERATIONS,
    NOT_COMMITTED,
    OK,
    TRANSACTION_OPERATIONS,
    History,
    HistoryError,
    Operation,
)
from traces.values import Real, edn_text

IGNORED: Final = ("debug-topic-partitions",)
"""Verbs of a log workload that ask nothing of the log."""
ENDS: Final = ("latest", "earliest")
"""Our own verbs, that ask where a log ends and begins."""
_READS: Final = ("read", "get", "r")
_WRITES: Final = ("write", "put", "append", "add", "cas", "enqueue")


class Part(NamedTuple):
    """One operation of a call, without what the call gives all its operations."""

    f: str
    key: str | None
    argument: Any
    result: Any
    end: int | None = None
    to: int | None = None


Reader = Callable[[str, Call], Iterator[Part]]
Positions = dict[str | None, int | None]
"""Offsets by key; None where a consumer stands."""


def history_of(path: str, format: str, recording: Recording) -> History:
    """The history that a recording is.

    Raises HistoryError: a value is of a type that its verb does not take.
    """
    model, reader = _workload(recording.calls)
    operations: list[Operation] = []
    for group, call in enumerate(recording.calls):
        outcome, error, line = call.outcome, call.error, call.invocation.line
        txn, isolation = _transaction(path, call), _isolation(path, call)
        mark = _mark(path, call)
        for part in reader(path, call):
            operations.append(
                Operation(
                    index=len(operations),
                    process=call.process,
                    f=part.f,
                    key=part.key,
                    argument=part.argument,
                    result=part.result,
                    end=part.end,
                    invoked=call.invoked,
                    completed=call.completed,
                    outcome=outcome,
                    group=group,
                    line=line,
                    error=error,
                    txn=txn,
                    to=part.to,
                    isolation=isolation,
                    mark=mark,
                )
            )
    if not operations:
        raise HistoryError(path, 0, "no operation that could be judged")
    if model == "partition-log":
        _decide_keys(path, operations)
        _check_acks(path, operations)
    elif model == "set":
        operations = [_as_set(operation) for operation in operations]
    return History(
        source=path,
        format=format,
        time_unit=recording.time_unit,
        operations=tuple(operations),
        annotations=recording.annotations,
        model=model,
    )


def _decide_keys(path: str, operations: list[Operation]) -> None:
    """Gives operations with a key of a JSON map the key that it is; nobody has seen them yet."""
    undecided = [each for each in operations if type(each.key) is MapKey]
    if not undecided:
        return
    known = {each.key for each in operations if type(each.key) is not MapKey}
    known |= {key for each in operations if each.f in CLIENT_OPERATIONS for key in each.argument}
    known |= {key for each in operations for key, _ in _offsets_in(each)}
    known |= {key for each in operations if each.f in CALLBACKS for key in each.argument[1]}
    found: dict[str, str | None] = {}
    for each in undecided:
        key = each.key
        assert type(key) is MapKey
        if key not in found:
            found[key] = decided(path, each.line, key, known)
        msgspec.structs.force_setattr(each, "key", found[key])


def _as_set(operation: Operation) -> Operation:
    """What was read of a set, in whatever order it was listed."""
    if operation.f == "read" and type(operation.result) is tuple:
        return msgspec.structs.replace(operation, result=frozenset(operation.result))
    return operation


# -- Which workload


_OF_LOGS: Final = frozenset(
    (*CLIENT_OPERATIONS, *TRANSACTION_OPERATIONS, *MEMBER_OPERATIONS, *ENDS, *IGNORED)
)
"""Verbs of a log workload, but for what sends, polls, or does both."""


def _workload(calls: list[Call]) -> tuple[str | None, Reader]:
    verbs = {call.invocation.f for call in calls}
    micro = set(_micro_verbs(calls))
    if micro & {"send", "poll"} or (verbs & {"send", "poll"}):
        return "partition-log", _log_parts
    if verbs & set(TRANSACTION_OPERATIONS) and verbs <= _OF_LOGS:
        return "partition-log", _log_parts  # cut off before anything was sent
    if "txn" in verbs:
        if micro and micro <= {"append", "r"}:
            return "list-append", _transaction_parts
        return ("register" if micro and micro <= {"w", "r"} else None), _transaction_parts
    if verbs & {"get", "put"} or ("append" in verbs and "read" not in verbs):
        return "kv" if verbs <= {"get", "put", "append"} else None, _keyed_parts
    if verbs & {"enqueue", "dequeue", "drain"}:
        known = verbs <= {"enqueue", "dequeue", "drain"}
        return "queue" if known else None, partial(_queue_parts, _enqueued(calls))
    if verbs & {"acquire", "release"}:
        return "mutex" if verbs <= {"acquire", "release"} else None, _keyed_parts
    if "append" in verbs:
        return "list-append" if verbs <= {"append", "read"} else None, _keyed_parts
    independent = _independent(calls)
    reader = _independent_parts if independent else _keyed_parts
    if verbs & {"add", "remove", "contains", "inc", "increment", "dec", "decrement"}:
        return _adder(calls, verbs, independent), reader
    if verbs <= {"read", "write", "cas"}:
        return ("cas-register" if "cas" in verbs else "register"), reader
    return None, reader


def _adder(calls: list[Call], verbs: set[str], independent: bool) -> str | None:
    """Counter or set, by what is read."""
    for call in calls:
        if call.invocation.f == "read" and call.completion and call.outcome == OK:
            value = call.completion.value
            value = value[1] if independent and type(value) is tuple and len(value) == 2 else value
            numeric = type(value) in (int, Real)
            counter = verbs <= {"add", "inc", "increment", "dec", "decrement", "read"}
            if numeric:
                return "counter" if counter else None
            return "set" if verbs <= {"add", "remove", "contains", "read"} else None
    return "set" if verbs <= {"add", "remove", "contains", "read"} else "counter"


def _micro_verbs(calls: list[Call]) -> Iterator[str]:
    for call in calls:
        value = call.invocation.value
        if call.invocation.f in ("txn", "send", "poll") and type(value) is tuple:
            for micro in value:
                if type(micro) is tuple and micro and isinstance(micro[0], str):
                    yield word(micro[0])


def _independent(calls: list[Call]) -> bool:
    """Whether values are [key value], as jepsen.independent makes them.

    Told by the reads: a register's is asked with nothing, one of many with its key and nothing. Our
    own export of registers says so in each operation as well.
    """
    ours = all(call.invocation.f in ("read", "write", "cas") for call in calls)
    if ours and all(_names_its_key(c.invocation.key, c.invocation.value) for c in calls):
        return True
    reads = [call.invocation.value for call in calls if call.invocation.f == "read"]
    return bool(reads) and all(type(v) is tuple and len(v) == 2 and v[1] is None for v in reads)


def _names_its_key(key: Any, value: Any) -> bool:
    return key is not None and type(value) is tuple and len(value) == 2 and value[0] == key


# -- Values


def _asked_and_told(path: str, call: Call) -> tuple[Any, Any]:
    """The values of invocation and completion; of the latter, None unless it is an answer."""
    try:
        asked = plain(call.invocation.value)
        told = plain(call.completion.value) if call.completion else None
    except ValueError as error:
        raise HistoryError(path, call.invocation.line, str(error)) from None
    return asked, told


def _refuse(path: str, call: Call, what: str, *, told: bool = False) -> HistoryError:
    line = call.completion.line if told and call.completion else call.invocation.line
    return HistoryError(path, line, what)


# -- Objects


def _keyed_parts(path: str, call: Call) -> Iterator[Part]:
    asked, told = _asked_and_told(path, call)
    yield _part(path, call, key_of(call.invocation.key), asked, told)


def _independent_parts(path: str, call: Call) -> Iterator[Part]:
    asked, told = _asked_and_told(path, call)
    if type(asked) is not tuple or len(asked) != 2:
        raise _refuse(path, call, f"{call.invocation.f} of {shown(asked)}, not of [key value]")
    key, asked = asked
    if type(told) is tuple and len(told) == 2 and told[0] == key:
        told = told[1]
    elif call.outcome == OK:
        what = f"{call.invocation.f} of key {shown(key)} answered with {shown(told)}"
        raise _refuse(path, call, what, told=True)
    yield _part(path, call, key_of(key), asked, told)


def _part(path: str, call: Call, key: str | None, asked: Any, told: Any) -> Part:
    f = call.invocation.f
    answered = call.outcome == OK
    if f in _READS or f in ("dequeue", "contains"):
        return Part(f, key, asked if f == "contains" else None, told if answered else None)
    if f == "cas" and (type(asked) is not tuple or len(asked) != 2):
        raise _refuse(path, call, f"cas of {shown(asked)}, not of [old new]")
    if answered and f in _WRITES and told is not None and told != asked:
        what = f"{f} of {shown(told)} completes, but line {call.invocation.line} invoked {f} of "
        raise _refuse(path, call, what + shown(asked), told=True)
    # Clients repeat in the completion what they asked for, unless they were told something.
    return Part(f, key, asked, told if answered and told != asked else None)


def _enqueued(calls: list[Call]) -> Counter[str | None]:
    """How many were to be enqueued, by key."""
    return Counter(key_of(c.invocation.key) for c in calls if c.invocation.f == "enqueue")


def _queue_parts(enqueued: Counter[str | None], path: str, call: Call) -> Iterator[Part]:
    asked, told = _asked_and_told(path, call)
    if call.invocation.f != "drain":
        yield _part(path, call, key_of(call.invocation.key), asked, told)
        return
    key = key_of(call.invocation.key)
    # A drain is all the dequeues that it did. One that was not answered did as many as there may
    # have been elements, each or none of them.
    values = told if call.outcome == OK else ()
    if type(values) is not tuple:
        raise _refuse(path, call, f"drain answered with {shown(told)}, not a list", told=True)
    if call.outcome == INDETERMINATE:
        values = (None,) * enqueued[key]
    for value in values:
        yield Part("dequeue", key, None, value)


# -- Transactions of lists and registers

_TXN: Final = {"r": "read", "w": "write", "append": "append"}


def _transaction_parts(path: str, call: Call) -> Iterator[Part]:
    asked, told = _asked_and_told(path, call)
    if type(asked) is not tuple:
        raise _refuse(path, call, f"txn of {shown(asked)}, not a list of operations")
    answered = call.outcome == OK
    if answered and (type(told) is not tuple or len(told) != len(asked)):
        raise _refuse(
            path, call, f"txn of {len(asked)} operations answered {shown(told)}", told=True
        )
    for at, micro in enumerate(asked):
        if type(micro) is not tuple or len(micro) != 3 or not isinstance(micro[0], str):
            raise _refuse(path, call, f"{shown(micro)} is no [f key value]")
        f, key, value = word(micro[0]), micro[1], micro[2]
        if f not in _TXN:
            raise _refuse(path, call, f"{shown(f)} is none of {', '.join(_TXN)}")
        if answered:
            done = told[at]
            if (
                type(done) is not tuple
                or len(done) != 3
                or word(str(done[0])) != f
                or done[1] != key
            ):
                raise _refuse(path, call, f"{shown(micro)} answered {shown(done)}", told=True)
            if f != "r" and done[2] != value:
                raise _refuse(path, call, f"{shown(micro)} answered {shown(done)}", told=True)
        if f == "r":
            yield Part("read", key_of(key), None, told[at][2] if answered else None)
        else:
            yield Part(_TXN[f], key_of(key), value, None)


# -- Partition logs [jepsen.tests.kafka]


def _log_parts(path: str, call: Call) -> Iterator[Part]:
    f = call.invocation.f
    if f in ("send", "poll", "txn"):
        yield from _micro_parts(path, call)
    elif f in CLIENT_OPERATIONS:
        asked, _ = _asked_and_told(path, call)
        keys = asked if type(asked) is tuple else ()
        yield Part(f, None, tuple(key_of(key) for key in keys), _rewound(call))
    elif f in ENDS:
        yield _end_part(path, call)
    elif f in TRANSACTION_OPERATIONS:
        yield _transaction_part(path, call)
    elif f in MEMBER_OPERATIONS:
        yield _member_part(path, call)
    elif f not in IGNORED:
        raise _refuse(path, call, f"{shown(f)} is no operation of a partition's log")


def _rewound(call: Call) -> bool | None:
    """Of an assignment: whether its consumer went back to the beginning."""
    return True if call.invocation.extra.get("seek-to-beginning?") else None


def _transaction(path: str, call: Call) -> int | None:
    """The transaction that an operation is told to be a part of."""
    number = _said(call, "txn")
    if number is not None and not _is_offset(number):
        raise _refuse(path, call, f"txn is {shown(edn_text(number))}, not a number")
    assert number is None or type(number) is int
    return number


def _said(call: Call, name: str) -> Any:
    """What the invocation says under a key, else the completion."""
    for event in (call.invocation, call.completion):
        if event is not None and event.extra.get(name) is not None:
            return event.extra[name]
    return None


def _isolation(path: str, call: Call) -> str | None:
    said = _said(call, "isolation")
    if said is None:
        return None
    isolation = word(said) if isinstance(said, str) else None
    if isolation not in ISOLATIONS:
        raise _refuse(path, call, f"isolation is {shown(said)}, none of {', '.join(ISOLATIONS)}")
    return isolation


def _transaction_part(path: str, call: Call) -> Part:
    f = call.invocation.f
    asked, told = _asked_and_told(path, call)
    if f == "init" and asked is None:
        raise _refuse(path, call, "init without a transactional id")
    if f == "end":
        asked = word(asked) if isinstance(asked, str) else asked
        if asked not in (COMMIT, ABORT):
            raise _refuse(path, call, f"end of {shown(asked)}, not commit or abort")
    if f == "send-offsets":
        return Part(f, None, _group_offsets(path, call, asked), None)
    if f == "committed":
        if type(asked) is not tuple or len(asked) != 2:
            raise _refuse(path, call, f"committed of {shown(asked)}, not of [group nil]")
        answered = call.outcome == OK
        result = _group_offsets(path, call, told, told=True)[1] if answered else None
        return Part(f, None, asked[0], result)
    return Part(f, None, None if f == "begin" else asked, None)


def _member_part(path: str, call: Call) -> Part:
    f = call.invocation.f
    asked, _ = _asked_and_told(path, call)
    if f in ("processed", "commit-offsets"):
        return Part(f, None, _group_offsets(path, call, asked), None)
    if (
        type(asked) is not tuple
        or len(asked) != 2
        or (f != "leave" and type(asked[1]) is not tuple)
    ):
        what = "[group nil]" if f == "leave" else "[group [k ...]]"
        raise _refuse(path, call, f"{f} of {shown(asked)}, not of {what}")
    keys = asked[1] if f != "leave" else ()
    return Part(f, None, (asked[0], tuple(key_of(key) for key in keys)), None)


def _mark(path: str, call: Call) -> str | None:
    """What the log of the group says of a member's operation."""
    said = _said(call, "mark")
    if said is not None and not isinstance(said, str):
        raise _refuse(path, call, f"mark is {shown(said)}, not a string")
    return said


def _group_offsets(path: str, call: Call, value: Any, *, told: bool = False) -> tuple[Any, ...]:
    """`[group [[k offset] ...]]`; who is told may be told that there is none."""
    pairs = value[1] if type(value) is tuple and len(value) == 2 else None
    if type(pairs) is not tuple or not all(
        type(each) is tuple
        and len(each) == 2
        and (_is_offset(each[1]) or (told and each[1] == NOT_COMMITTED))
        for each in pairs
    ):
        what = f"{call.invocation.f} of {shown(value)}, not of [group [[key offset] ...]]"
        raise _refuse(path, call, what, told=told)
    return value[0], tuple((key_of(key), offset) for key, offset in pairs)


def _offsets_in(operation: Operation) -> tuple[tuple[str | None, int], ...]:
    """The offsets of partitions that an operation commits, or is told."""
    if operation.f in ("send-offsets", "processed", "commit-offsets"):
        pairs: tuple[tuple[str | None, int], ...] = operation.argument[1]
        return pairs
    return operation.result or () if operation.f == "committed" else ()


def _end_part(path: str, call: Call) -> Part:
    """Our own export: `[key nil]` asks, `[key end]` answers."""
    asked, told = _asked_and_told(path, call)
    if type(asked) is not tuple or len(asked) != 2:
        raise _refuse(path, call, f"{call.invocation.f} of {shown(asked)}, not of [key nil]")
    end = None
    if call.outcome == OK:
        if type(told) is not tuple or len(told) != 2 or not _is_offset(told[1]):
            raise _refuse(path, call, f"{call.invocation.f} answered {shown(told)}", told=True)
        end = told[1]
    return Part(call.invocation.f, key_of(asked[0]), None, end)


def _micro_parts(path: str, call: Call) -> Iterator[Part]:
    asked = call.invocation.value
    if type(asked) is not tuple:
        raise _refuse(path, call, f"{call.invocation.f} of {shown(asked)}, not a list")
    told = call.completion.value if call.completion else None
    if type(told) is not tuple or len(told) != len(asked):
        if call.outcome == OK:
            what = f"{len(asked)} operations answered {shown(told)}"
            raise _refuse(path, call, what, told=True)
        told = asked
    froms = _positions(path, call, "from", asked)
    ends = _positions(path, call, "ends", asked)
    tos = _positions(path, call, "to", asked)
    for before, after in zip(asked, told, strict=True):
        verb = word(before[0]) if type(before) is tuple and before and _is_word(before[0]) else ""
        same = type(after) is tuple and after and _is_word(after[0]) and word(after[0]) == verb
        if not same or verb not in ("send", "poll"):
            what = f"{shown(before)} answered {shown(after)}: no [:send k v] or [:poll]"
            raise _refuse(path, call, what)
        if verb == "send":
            yield _append(path, call, before, after)
        else:
            yield from _fetches(path, call, after, next(froms), next(ends), next(tos))


def _is_word(value: Any) -> bool:
    return isinstance(value, str)


def _is_offset(value: Any) -> bool:
    return type(value) is int and value >= 0 and value in INT64


def _append(path: str, call: Call, before: tuple[Any, ...], after: tuple[Any, ...]) -> Part:
    """`[:send k v]`, completed with `[:send k [offset v]]`; the offset may be nil, or not there."""
    if len(before) != 3 or len(after) != 3 or plain(before[1]) != plain(after[1]):
        raise _refuse(path, call, f"{shown(before)} answered {shown(after)}", told=True)
    value, said = _checked(path, call, before[2]), _checked(path, call, after[2])
    offset = None
    if type(said) is tuple and said != value:
        if len(said) != 2 or not (said[0] is None or _is_offset(said[0])):
            raise _refuse(path, call, f"{shown(said)} is no [offset value]", told=True)
        offset, said = said
    if type(value) is tuple and len(value) == 2:
        # Some clients send with the place for the offset already there.
        value = value[1] if value[0] is None else value
    if said != value:
        what = f"send of {shown(value)} answered as a send of {shown(said)}"
        raise _refuse(path, call, what, told=True)
    return Part("append", key_of(before[1]), value, offset)


def _checked(path: str, call: Call, value: Any) -> Any:
    try:
        return plain(value)
    except ValueError as error:
        raise _refuse(path, call, str(error)) from None


def _fetches(
    path: str,
    call: Call,
    poll: tuple[Any, ...],
    froms: Positions,
    ends: Positions,
    tos: Positions,
) -> Iterator[Part]:
    """`[:poll]`, completed with `[:poll {k [[offset v] ...]}]`: a fetch for each key."""
    answered = poll[1] if len(poll) == 2 else None
    if len(poll) > 2 or not (answered is None or type(answered) is dict):
        raise _refuse(path, call, f"{shown(poll)} is no [:poll map]", told=True)
    if answered is None and call.outcome == OK:
        raise _refuse(path, call, "poll without an answer completes as ok", told=True)
    results = {key_of(k): _records(path, call, each) for k, each in (answered or {}).items()}
    for key in dict.fromkeys((*froms, *results, *tos)):
        ended = ends.get(key), tos.get(key)
        yield Part("fetch", key, froms.get(key), results.get(key), *ended)


def _records(path: str, call: Call, records: Any) -> tuple[tuple[int, Any], ...]:
    if type(records) is not tuple:
        raise _refuse(path, call, f"poll of {shown(records)}, not of a list", told=True)
    found = []
    for record in records:
        if type(record) is not tuple or len(record) != 2 or not _is_offset(record[0]):
            raise _refuse(path, call, f"{shown(record)} is no [offset value]", told=True)
        found.append((record[0], _checked(path, call, record[1])))
    return tuple(found)


def _positions(path: str, call: Call, name: str, asked: tuple[Any, ...]) -> Iterator[Positions]:
    """Our own addition: for each poll, from where it asked, where the consumer stood then, or the
    ends that it was told."""
    event = call.completion or call.invocation
    value = event.extra.get(name)
    maps = (*value, *({} for _ in asked)) if type(value) is tuple else None
    if value is None:
        maps = tuple({} for _ in asked)
    for each in maps or (value,):
        if type(each) is not dict or not all(o is None or _is_offset(o) for o in each.values()):
            what = f"{name} is {shown(value)}, not a map of offsets for each poll"
            raise _refuse(path, call, what, told=True)
        yield {key_of(key): offset for key, offset in each.items()}


def _check_acks(path: str, operations: list[Operation]) -> None:
    """One record acknowledged twice is a damaged recording, which no verdict should rest on.

    Two *different* values acknowledged at one offset are what clients of a log that lost its tail
    do see; that is the anomaly inconsistent-offsets, and for a checker to find.
    """
    acked: dict[tuple[str | None, int, Any], int] = {}
    for operation in operations:
        if operation.f != "append" or operation.outcome != OK or operation.result is None:
            continue
        place = (operation.key, operation.result, operation.argument)
        first = acked.setdefault(place, operation.line)
        if first != operation.line:
            what = f"value {shown(operation.argument)} is acknowledged at offset "
            what += f"{operation.result} of {operation.key} a second time, first in line {first}"
            raise HistoryError(path, operation.line, what)
