"""What a call asks and was told: from a format's `f` and `value` to operations of the contract.

The workloads are told by their verbs, over the whole history:

    read write (cas)           register, cas-register; values [key value] with jepsen.independent
    get put append, with :key  kv
    add read                   counter if what is read are numbers, else set
    enqueue dequeue (drain)    queue
    acquire release            mutex
    read transfer              bank; also where reads alone are maps [jepsen.tests.bank]
    read write, reads of sets  comments [jepsen.tests.causal-reverse]; lists, of what was written
    read write, reads answer [key [...]]   sequential [jepsen.cockroach.sequential]
    read-init read write       register that begins with 0 [jepsen.tests.causal]
    generate                   unique-ids
    txn of [:append k v] [:r k [...]]    list-append
    txn of [:w k v] [:r k v]             register, one for each key; also where read and write have
                                         such values [jepsen.tests.long-fork]
    send poll txn of [:send k v] [:poll] partition-log [jepsen.tests.kafka]; also share-poll

Transactions of logs are one operation, `txn`, as Jepsen has them, or told step by step: `init`,
`begin`, `send`, `poll`, `send-offsets` and `end`, each with its number under the key `txn`. Members
of groups tell what MEMBER_OPERATIONS in traces/history.py are.

A verb outside of these makes a history of no model that we know; it is read all the same, for a
model of the user's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from kraftcheck.traces.formats.events import Call, Recording, word
from kraftcheck.traces.formats.keys import MapKey, decided
from kraftcheck.traces.formats.log_parts import (
    OF_LOGS,
    check_acks,
    has_places,
    isolation_of,
    log_parts,
    mark_of,
    offsets_in,
    transaction_of,
)
from kraftcheck.traces.formats.parts import (
    INITIAL,
    MICRO,
    Reader,
    enqueued,
    independent_parts,
    initial_parts,
    is_micro,
    keyed_parts,
    queue_parts,
    transaction_parts,
)
from kraftcheck.traces.history import (
    CALLBACKS,
    CLIENT_OPERATIONS,
    NOT_COMPARED,
    OK,
    SHARE_POLL,
    TRANSACTION_OPERATIONS,
    History,
    HistoryError,
    Operation,
)
from kraftcheck.traces.values import Real


def history_of(
    path: str, format: str, recording: Recording, failed_cas: str = NOT_COMPARED
) -> History:
    """The history that a recording is. failed_cas: see `History`.

    Raises HistoryError: a value is of a type that its verb does not take.
    """
    model, reader = _workload(recording.calls)
    operations: list[Operation] = []
    for group, call in enumerate(recording.calls):
        outcome, error, line = call.outcome, call.error, call.invocation.line
        txn, isolation = transaction_of(path, call), isolation_of(path, call)
        mark = mark_of(path, call)
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
        check_acks(path, operations)
    elif model == "set":
        operations = [_as_set(operation) for operation in operations]
    return History(
        source=path,
        format=format,
        time_unit=recording.time_unit,
        operations=tuple(operations),
        annotations=recording.annotations,
        model=model,
        failed_cas=failed_cas,
        initial=INITIAL if reader is initial_parts else None,
        note=recording.note,
    )


def _decide_keys(path: str, operations: list[Operation]) -> None:
    """Gives operations with a key of a JSON map the key that it is; nobody has seen them yet."""
    undecided = [each for each in operations if type(each.key) is MapKey]
    if not undecided:
        return
    known = {each.key for each in operations if type(each.key) is not MapKey}
    known |= {key for each in operations if each.f in CLIENT_OPERATIONS for key in each.argument}
    known |= {key for each in operations for key, _ in offsets_in(each)}
    known |= {key for each in operations if each.f in CALLBACKS for key in each.argument[1]}
    found: dict[str, str | None] = {}
    for each in undecided:
        key = each.key
        assert type(key) is MapKey
        if key not in found:
            found[key] = decided(path, each.line, key, known)
        msgspec.structs.force_setattr(each, "key", found[key])


def _as_set(operation: Operation) -> Operation:
    """What was read of a set, in whatever order it was listed; not, if it is none."""
    result = operation.result
    if operation.f == "read" and type(result) is tuple and len({*result}) == len(result):
        return msgspec.structs.replace(operation, result=frozenset(operation.result))
    return operation


def _workload(calls: list[Call]) -> tuple[str | None, Reader]:
    verbs = {call.invocation.f for call in calls}
    micro = set(_micro_verbs(calls))
    if micro & {"send", "poll"} or (verbs & {"send", "poll", SHARE_POLL}):
        return "partition-log", partial(log_parts, has_places(calls))
    if verbs & set(TRANSACTION_OPERATIONS) and verbs <= OF_LOGS:
        return "partition-log", partial(log_parts, False)  # cut off before anything was sent
    if "txn" in verbs or (verbs <= {"read", "write"} and all(map(_is_transaction, calls))):
        return _objects(calls), transaction_parts
    if verbs & {"get", "put"} or ("append" in verbs and "read" not in verbs):
        return "kv" if verbs <= {"get", "put", "append"} else None, keyed_parts
    if verbs & {"enqueue", "dequeue", "drain"}:
        known = verbs <= {"enqueue", "dequeue", "drain"}
        return "queue" if known else None, partial(queue_parts, enqueued(calls))
    if verbs & {"acquire", "release"}:
        return "mutex" if verbs <= {"acquire", "release"} else None, keyed_parts
    if "append" in verbs:
        return "list-append" if verbs <= {"append", "read"} else None, keyed_parts
    if verbs == {"generate"}:
        return "unique-ids", keyed_parts
    if "read-init" in verbs and verbs <= {"read-init", "read", "write"}:
        return "register", initial_parts
    independent = _independent(calls)
    reader = independent_parts if independent else keyed_parts
    if verbs <= {"read", "write", "transfer"} and (whole := _of_wholes(calls, verbs, independent)):
        return whole, reader
    if verbs & {"add", "remove", "contains", "inc", "increment", "dec", "decrement"}:
        return _adder(calls, verbs, independent), reader
    if verbs <= {"read", "write", "cas"}:
        return ("cas-register" if "cas" in verbs else "register"), reader
    return None, reader


def _of_wholes(calls: list[Call], verbs: set[str], independent: bool) -> str | None:
    """Whether reads show all accounts, or all that was written, and not a register."""
    reads = [each for each in calls if each.invocation.f == "read" and each.outcome == OK]
    asked = [each.invocation.value for each in reads]
    told = [each.completion.value for each in reads if each.completion is not None]
    if asked and all(map(_answers_subkeys, asked, told)):
        return "sequential"
    written = [each.invocation.value for each in calls if each.invocation.f == "write"]
    if independent:
        told, written = ([_without_key(each) for each in some] for some in (told, written))
    kinds = set(map(type, told))
    if "transfer" in verbs:
        return "bank" if "write" not in verbs else None
    if kinds == {dict} and "write" not in verbs:
        return "bank"
    # A register may hold a set or a list, or a map that is read as one.
    if not {type(each) for each in written} <= {int, str}:
        return None
    known = {(type(each), each) for each in written}
    listed = kinds == {tuple} and all(
        type(each) in (int, str) and (type(each), each) in known
        for answer in told
        for each in answer
    )
    return "comments" if kinds == {frozenset} or listed else None


def _answers_subkeys(asked: Any, told: Any) -> bool:
    """Whether a read of a key was answered with the key and what was found of it."""
    pair = type(told) is tuple and len(told) == 2 and type(told[1]) is tuple
    return pair and asked is not None and told[0] == asked


def _without_key(value: Any) -> Any:
    return value[1] if type(value) is tuple and len(value) == 2 else value


def _adder(calls: list[Call], verbs: set[str], independent: bool) -> str | None:
    """Counter or set, by what is read."""
    for call in calls:
        if call.invocation.f == "read" and call.completion and call.outcome == OK:
            value = call.completion.value
            value = _without_key(value) if independent else value
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


def _is_transaction(call: Call) -> bool:
    """Whether what is asked is a list of reads and writes."""
    value = call.invocation.value
    return (
        type(value) is tuple
        and bool(value)
        and all(type(each) is tuple and len(each) == 3 and is_micro(each[0]) for each in value)
    )


def _objects(calls: list[Call]) -> str | None:
    """What transactions read and write: lists or registers. A read is nil, or a list, of lists."""
    verbs, lists = set[str](), True
    for call in calls:
        for value in (call.invocation.value, call.completion and call.completion.value):
            for micro in value if type(value) is tuple else ():
                if type(micro) is tuple and len(micro) == 3 and is_micro(micro[0]):
                    verbs.add(MICRO[word(micro[0])])
                    is_read = MICRO[word(micro[0])] == "read"
                    lists = lists and (not is_read or type(micro[2]) in (tuple, type(None)))
    if "append" in verbs:
        return None if "write" in verbs else "list-append"
    if "write" in verbs:
        return "register"
    return ("list-append" if lists else "register") if verbs else None


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
