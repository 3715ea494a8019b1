"""What a call on objects asks and was told: parts of it, each of which is one operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from kraftcheck.traces.formats.events import Call, word
from kraftcheck.traces.formats.keys import key_of, plain
from kraftcheck.traces.formats.text import shown
from kraftcheck.traces.history import INDETERMINATE, OK, HistoryError

_READS: Final = ("read", "read-init", "get", "r")
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


def asked_and_told(path: str, call: Call) -> tuple[Any, Any]:
    """The values of invocation and completion; of the latter, None unless it is an answer."""
    try:
        asked = plain(call.invocation.value)
        told = plain(call.completion.value) if call.completion else None
    except ValueError as error:
        raise HistoryError(path, call.invocation.line, str(error)) from None
    return asked, told


def refuse(path: str, call: Call, what: str, *, told: bool = False) -> HistoryError:
    """What is wrong with a call. told: with its completion."""
    line = call.completion.line if told and call.completion else call.invocation.line
    return HistoryError(path, line, what)


def keyed_parts(path: str, call: Call) -> Iterator[Part]:
    """Of one object, or of the one that the key names."""
    asked, told = asked_and_told(path, call)
    yield _part(path, call, key_of(call.invocation.key), asked, told)


def independent_parts(path: str, call: Call) -> Iterator[Part]:
    """Of values that are [key value]. Raises HistoryError: they are not."""
    asked, told = asked_and_told(path, call)
    if type(asked) is not tuple or len(asked) != 2:
        raise refuse(path, call, f"{call.invocation.f} of {shown(asked)}, not of [key value]")
    key, asked = asked
    if type(told) is tuple and len(told) == 2 and told[0] == key:
        told = told[1]
    elif call.outcome == OK:
        what = f"{call.invocation.f} of key {shown(key)} answered with {shown(told)}"
        raise refuse(path, call, what, told=True)
    yield _part(path, call, key_of(key), asked, told)


INITIAL: Final = 0
"""The value of a register of `initial_parts` that nobody wrote."""


def initial_parts(path: str, call: Call) -> Iterator[Part]:
    """Of registers, one for each key, that `read-init` reads first. Nil is what nobody wrote."""
    for each in independent_parts(path, call):
        if each.f != "write" and call.outcome == OK and each.result is None:
            yield each._replace(f="read", result=INITIAL)
        else:
            yield each if each.f == "write" else each._replace(f="read")


def _part(path: str, call: Call, key: str | None, asked: Any, told: Any) -> Part:
    f = call.invocation.f
    answered = call.outcome == OK
    if f in _READS or f in ("dequeue", "contains"):
        return Part(f, key, asked if f == "contains" else None, told if answered else None)
    if f == "cas" and (type(asked) is not tuple or len(asked) != 2):
        raise refuse(path, call, f"cas of {shown(asked)}, not of [old new]")
    if answered and f in _WRITES and told is not None and told != asked:
        what = f"{f} of {shown(told)} completes, but line {call.invocation.line} invoked {f} of "
        raise refuse(path, call, what + shown(asked), told=True)
    # Clients repeat in the completion what they asked for, unless they were told something.
    return Part(f, key, asked, told if answered and told != asked else None)


def enqueued(calls: list[Call]) -> Counter[str | None]:
    """How many were to be enqueued, by key."""
    return Counter(key_of(c.invocation.key) for c in calls if c.invocation.f == "enqueue")


def queue_parts(enqueued: Counter[str | None], path: str, call: Call) -> Iterator[Part]:
    """enqueued: how many, by key. Raises HistoryError: a drain without a list."""
    asked, told = asked_and_told(path, call)
    if call.invocation.f != "drain":
        yield _part(path, call, key_of(call.invocation.key), asked, told)
        return
    key = key_of(call.invocation.key)
    # A drain is all the dequeues that it did, the last of which found nothing. One that was not
    # answered did as many as there may have been elements, each or none of them.
    values = told if call.outcome == OK else ()
    if type(values) is not tuple:
        raise refuse(path, call, f"drain answered with {shown(told)}, not a list", told=True)
    if call.outcome == INDETERMINATE:
        values = (None,) * enqueued[key]
    elif call.outcome == OK:
        values = (*values, None)
    for value in values:
        yield Part("dequeue", key, None, value)


# -- Transactions of lists and registers

MICRO: Final = {"r": "read", "read": "read", "w": "write", "write": "write", "append": "append"}
"""By the words that a transaction has for them."""


def is_micro(verb: Any) -> bool:
    """Whether it is what a transaction does to a list or a register."""
    return isinstance(verb, str) and word(verb) in MICRO


def transaction_parts(path: str, call: Call) -> Iterator[Part]:
    """Of lists and registers, [f key value]. Raises HistoryError: an operation of another form."""
    asked, told = asked_and_told(path, call)
    if type(asked) is not tuple:
        raise refuse(path, call, f"txn of {shown(asked)}, not a list of operations")
    answered = call.outcome == OK
    if answered and (type(told) is not tuple or len(told) != len(asked)):
        raise refuse(
            path, call, f"txn of {len(asked)} operations answered {shown(told)}", told=True
        )
    for at, micro in enumerate(asked):
        if type(micro) is not tuple or len(micro) != 3 or not isinstance(micro[0], str):
            raise refuse(path, call, f"{shown(micro)} is no [f key value]")
        f, key, value = word(micro[0]), micro[1], micro[2]
        if f not in MICRO:
            raise refuse(path, call, f"{shown(f)} is none of {', '.join(MICRO)}")
        if answered:
            done = told[at]
            if (
                type(done) is not tuple
                or len(done) != 3
                or word(str(done[0])) != f
                or done[1] != key
            ):
                raise refuse(path, call, f"{shown(micro)} answered {shown(done)}", told=True)
            if MICRO[f] != "read" and done[2] != value:
                raise refuse(path, call, f"{shown(micro)} answered {shown(done)}", told=True)
        if MICRO[f] == "read":
            yield Part("read", key_of(key), None, told[at][2] if answered else None)
        else:
            yield Part(MICRO[f], key_of(key), value, None)
