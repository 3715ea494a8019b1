"""Say what a call on partitions' logs asks and was told [jepsen.tests.kafka].

Calls are those of producers, consumers, transactions and members of groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from kraftcheck.traces.formats.events import Call, word
from kraftcheck.traces.formats.keys import key_of, plain
from kraftcheck.traces.formats.parts import Part, asked_and_told, refuse
from kraftcheck.traces.formats.text import INT64, shown
from kraftcheck.traces.history import (
    ABORT,
    ACKNOWLEDGEMENTS,
    CLIENT_OPERATIONS,
    COMMIT,
    ISOLATIONS,
    MEMBER_OPERATIONS,
    NOT_COMMITTED,
    OK,
    SHARE_OPERATIONS,
    SHARE_POLL,
    TRANSACTION_OPERATIONS,
    HistoryError,
    Operation,
)
from kraftcheck.traces.values import edn_text

IGNORED: Final = ("debug-topic-partitions",)
"""Verbs of a log workload that ask nothing of the log."""
ENDS: Final = ("latest", "earliest")
"""Our own verbs, that ask where a log ends and begins."""
OF_LOGS: Final = frozenset(
    (
        *(*CLIENT_OPERATIONS, *TRANSACTION_OPERATIONS, *MEMBER_OPERATIONS, *SHARE_OPERATIONS),
        *(*ENDS, *IGNORED),
    )
)
"""Verbs of a log workload, but for what sends, polls, or does both."""
Positions = dict[str | None, int | None]
"""Offsets by key; None where a consumer stands."""


def log_parts(placed: bool, path: str, call: Call) -> Iterator[Part]:
    """placed: see `has_places`. Raises HistoryError: a verb, or a value, that no log knows."""
    f = call.invocation.f
    if f in ("send", "poll", "txn"):
        yield from _micro_parts(path, call, placed)
    elif f in CLIENT_OPERATIONS:
        asked, _ = asked_and_told(path, call)
        keys = asked if type(asked) is tuple else ()
        yield Part(f, None, tuple(key_of(key) for key in keys), _rewound(call))
    elif f in ENDS:
        yield _end_part(path, call)
    elif f in TRANSACTION_OPERATIONS:
        yield _transaction_part(path, call)
    elif f in MEMBER_OPERATIONS:
        yield _member_part(path, call)
    elif f in SHARE_OPERATIONS:
        yield from _delivered(path, call) if f == SHARE_POLL else _acknowledged(path, call)
    elif f not in IGNORED:
        raise refuse(path, call, f"{shown(f)} is no operation of a partition's log")


def has_places(calls: Iterable[Call]) -> bool:
    """Say whether clients send with the place for the offset already there.

    `[:send k [nil v]]` is then answered `[:send k [3 v]]`. Otherwise a list that begins with nil is
    a value.
    """
    for call in calls:
        if call.outcome != OK or call.completion is None:
            continue
        pair = call.invocation.value, call.completion.value
        if type(pair[0]) is not tuple or type(pair[1]) is not tuple:
            continue
        for before, after in zip(*pair, strict=False):
            if type(before) is tuple and type(after) is tuple and len(before) == len(after) == 3:
                asked, told = before[2], after[2]
                both = type(asked) is tuple and type(told) is tuple and len(asked) == len(told) == 2
                if both and asked[0] is None and _is_offset(told[0]) and told[1] == asked[1]:
                    return True
    return False


def _rewound(call: Call) -> bool | None:
    """Of an assignment: whether its consumer went back to the beginning."""
    return True if call.invocation.extra.get("seek-to-beginning?") else None


def transaction_of(path: str, call: Call) -> int | None:
    """The transaction that an operation is told to be a part of."""
    number = _said(call, "txn")
    if number is not None and not _is_offset(number):
        raise refuse(path, call, f"txn is {shown(edn_text(number))}, not a number")
    assert number is None or type(number) is int
    return number


def _said(call: Call, name: str) -> Any:
    """What the invocation says under a key, else the completion."""
    for event in (call.invocation, call.completion):
        if event is not None and event.extra.get(name) is not None:
            return event.extra[name]
    return None


def isolation_of(path: str, call: Call) -> str | None:
    """Of a fetch: what it reads, where it was told."""
    said = _said(call, "isolation")
    if said is None:
        return None
    isolation = word(said) if isinstance(said, str) else None
    if isolation not in ISOLATIONS:
        raise refuse(path, call, f"isolation is {shown(said)}, none of {', '.join(ISOLATIONS)}")
    return isolation


def _transaction_part(path: str, call: Call) -> Part:
    f = call.invocation.f
    asked, told = asked_and_told(path, call)
    if f == "init" and asked is None:
        raise refuse(path, call, "init without a transactional id")
    if f == "end":
        asked = word(asked) if isinstance(asked, str) else asked
        if asked not in (COMMIT, ABORT):
            raise refuse(path, call, f"end of {shown(asked)}, not commit or abort")
    if f == "send-offsets":
        return Part(f, None, _group_offsets(path, call, asked), None)
    if f == "committed":
        if type(asked) is not tuple or len(asked) != 2:
            raise refuse(path, call, f"committed of {shown(asked)}, not of [group nil]")
        answered = call.outcome == OK
        result = _group_offsets(path, call, told, told=True)[1] if answered else None
        return Part(f, None, asked[0], result)
    return Part(f, None, None if f == "begin" else asked, None)


def _member_part(path: str, call: Call) -> Part:
    f = call.invocation.f
    asked, _ = asked_and_told(path, call)
    if f in ("processed", "commit-offsets"):
        return Part(f, None, _group_offsets(path, call, asked), None)
    if (
        type(asked) is not tuple
        or len(asked) != 2
        or (f != "leave" and type(asked[1]) is not tuple)
    ):
        what = "[group nil]" if f == "leave" else "[group [k ...]]"
        raise refuse(path, call, f"{f} of {shown(asked)}, not of {what}")
    keys = asked[1] if f != "leave" else ()
    return Part(f, None, (asked[0], tuple(key_of(key) for key in keys)), None)


def _delivered(path: str, call: Call) -> Iterator[Part]:
    """Read `[group nil]`, completed with `[group {k [[offset v count] ...]}]`.

    The count may be left out.
    """
    asked = call.invocation.value
    if type(asked) is not tuple or len(asked) != 2:
        raise refuse(path, call, f"{SHARE_POLL} of {shown(asked)}, not of [group nil]")
    group = _checked(path, call, asked[0])
    told = call.completion.value if call.completion and call.outcome == OK else (asked[0], None)
    if type(told) is not tuple or len(told) != 2 or not isinstance(told[1], dict | None):
        what = f"{SHARE_POLL} answered {shown(told)}, not [group map]"
        raise refuse(path, call, what, told=True)
    for key, records in (told[1] or {None: ()}).items():
        found = []
        for each in records if type(records) is tuple else (records,):
            if type(each) is not tuple or len(each) not in (2, 3) or not _is_offset(each[0]):
                raise refuse(path, call, f"{shown(each)} is no [offset value count]", told=True)
            count = each[2] if len(each) == 3 else None
            if count is not None and (not _is_offset(count) or count < 1):
                what = f"delivery count of offset {each[0]} is {shown(count)}, not 1 or more"
                raise refuse(path, call, what, told=True)
            found.append((each[0], _checked(path, call, each[1]), count))
        result = tuple(found) if call.outcome == OK else None
        yield Part(SHARE_POLL, key_of(key), group, result)


def _acknowledged(path: str, call: Call) -> Iterator[Part]:
    """`[group [[k offset type] ...]]`: a part for each key."""
    asked, _ = asked_and_told(path, call)
    rows = asked[1] if type(asked) is tuple and len(asked) == 2 else None
    found: dict[str | None, list[tuple[int, str]]] = {}
    for each in rows if type(rows) is tuple and rows else (rows,):
        if type(each) is not tuple or len(each) != 3 or not _is_offset(each[1]):
            what = f"{shown(asked)}, not of [group [[key offset type] ...]]"
            raise refuse(path, call, f"{call.invocation.f} of {what}")
        kind = word(each[2]) if isinstance(each[2], str) else each[2]
        if kind not in ACKNOWLEDGEMENTS:
            there = ", ".join(ACKNOWLEDGEMENTS)
            raise refuse(path, call, f"acknowledgement {shown(each[2])} is none of {there}")
        found.setdefault(key_of(each[0]), []).append((each[1], kind))
    for key, records in found.items():
        yield Part(call.invocation.f, key, (asked[0], tuple(records)), None)


def mark_of(path: str, call: Call) -> str | None:
    """What the log of the group says of a member's operation, or who the producer is."""
    said = _said(call, "mark")
    if said is not None and not isinstance(said, str):
        raise refuse(path, call, f"mark is {shown(said)}, not a string")
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
        raise refuse(path, call, what, told=told)
    return value[0], tuple((key_of(key), offset) for key, offset in pairs)


def offsets_in(operation: Operation) -> tuple[tuple[str | None, int], ...]:
    """The offsets of partitions that an operation commits, or is told."""
    if operation.f in ("send-offsets", "processed", "commit-offsets"):
        pairs: tuple[tuple[str | None, int], ...] = operation.argument[1]
        return pairs
    return operation.result or () if operation.f == "committed" else ()


def _end_part(path: str, call: Call) -> Part:
    """Our own export: `[key nil]` asks, `[key end]` answers."""
    asked, told = asked_and_told(path, call)
    if type(asked) is not tuple or len(asked) != 2:
        raise refuse(path, call, f"{call.invocation.f} of {shown(asked)}, not of [key nil]")
    end = None
    if call.outcome == OK:
        if type(told) is not tuple or len(told) != 2 or not _is_offset(told[1]):
            raise refuse(path, call, f"{call.invocation.f} answered {shown(told)}", told=True)
        end = told[1]
    return Part(call.invocation.f, key_of(asked[0]), None, end)


def _micro_parts(path: str, call: Call, placed: bool) -> Iterator[Part]:
    asked = call.invocation.value
    if type(asked) is not tuple:
        raise refuse(path, call, f"{call.invocation.f} of {shown(asked)}, not a list")
    told = call.completion.value if call.completion else None
    if type(told) is not tuple or len(told) != len(asked):
        if call.outcome == OK:
            what = f"{len(asked)} operations answered {shown(told)}"
            raise refuse(path, call, what, told=True)
        told = asked
    froms = _positions(path, call, "from", asked)
    ends = _positions(path, call, "ends", asked)
    tos = _positions(path, call, "to", asked)
    for before, after in zip(asked, told, strict=True):
        verb = word(before[0]) if type(before) is tuple and before and _is_word(before[0]) else ""
        same = type(after) is tuple and after and _is_word(after[0]) and word(after[0]) == verb
        if not same or verb not in ("send", "poll"):
            what = f"{shown(before)} answered {shown(after)}: no [:send k v] or [:poll]"
            raise refuse(path, call, what)
        if verb == "send":
            yield _append(path, call, before, after, placed)
        else:
            yield from _fetches(path, call, after, next(froms), next(ends), next(tos))


def _is_word(value: Any) -> bool:
    return isinstance(value, str)


def _is_offset(value: Any) -> bool:
    return type(value) is int and value >= 0 and value in INT64


def _append(
    path: str, call: Call, before: tuple[Any, ...], after: tuple[Any, ...], placed: bool
) -> Part:
    """`[:send k v]`, completed with `[:send k [offset v]]`; the offset may be nil, or not there."""
    if len(before) != 3 or len(after) != 3 or plain(before[1]) != plain(after[1]):
        raise refuse(path, call, f"{shown(before)} answered {shown(after)}", told=True)
    value, said = _checked(path, call, before[2]), _checked(path, call, after[2])
    offset = None
    if placed and type(value) is tuple and len(value) == 2 and value[0] is None:
        said = value[1] if said == value else said
        value = value[1]
    if type(said) is tuple and said != value:
        if len(said) != 2 or not (said[0] is None or _is_offset(said[0])):
            raise refuse(path, call, f"{shown(said)} is no [offset value]", told=True)
        offset, said = said
    if said != value:
        what = f"send of {shown(value)} answered as a send of {shown(said)}"
        raise refuse(path, call, what, told=True)
    return Part("append", key_of(before[1]), value, offset)


def _checked(path: str, call: Call, value: Any) -> Any:
    try:
        return plain(value)
    except ValueError as error:
        raise refuse(path, call, str(error)) from None


def _fetches(
    path: str,
    call: Call,
    poll: tuple[Any, ...],
    froms: Positions,
    ends: Positions,
    tos: Positions,
) -> Iterator[Part]:
    """`[:poll]`, completed with `[:poll {k [[offset v] ...]}]`: a fetch for each key.

    One that is completed as it was asked returned nothing.
    """
    answered = poll[1] if len(poll) == 2 else None
    if len(poll) > 2 or not (answered is None or type(answered) is dict):
        raise refuse(path, call, f"{shown(poll)} is no [:poll map]", told=True)
    results = {key_of(k): _records(path, call, each) for k, each in (answered or {}).items()}
    for key in dict.fromkeys((*froms, *results, *tos)):
        ended = ends.get(key), tos.get(key)
        yield Part("fetch", key, froms.get(key), results.get(key), *ended)


def _records(path: str, call: Call, records: Any) -> tuple[tuple[int, Any], ...]:
    if type(records) is not tuple:
        raise refuse(path, call, f"poll of {shown(records)}, not of a list", told=True)
    found = []
    for record in records:
        if type(record) is not tuple or len(record) != 2 or not _is_offset(record[0]):
            raise refuse(path, call, f"{shown(record)} is no [offset value]", told=True)
        found.append((record[0], _checked(path, call, record[1])))
    return tuple(found)


def _positions(path: str, call: Call, name: str, asked: tuple[Any, ...]) -> Iterator[Positions]:
    """Read from where each poll asked, where the consumer stood then, or the ends it was told.

    This is an addition of ours.
    """
    event = call.completion or call.invocation
    value = event.extra.get(name)
    maps = (*value, *({} for _ in asked)) if type(value) is tuple else None
    if value is None:
        maps = tuple({} for _ in asked)
    for each in maps or (value,):
        if type(each) is not dict or not all(o is None or _is_offset(o) for o in each.values()):
            what = f"{name} is {shown(value)}, not a map of offsets for each poll"
            raise refuse(path, call, what, told=True)
        yield {key_of(key): offset for key, offset in each.items()}


def check_acks(path: str, operations: list[Operation]) -> None:
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
