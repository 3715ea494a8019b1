"""Define the sequential objects that histories are judged by (sequential.py).

A partition's log has a module of its own.
"""

from __future__ import annotations

import enum
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import msgspec

from kraftcheck.traces.checkers.sequential import REFUSED, Effect, Model, answer
from kraftcheck.traces.history import COMPARED, FAIL, INDETERMINATE, OK, History, Operation
from kraftcheck.traces.values import Real, typed


class Register(Model):
    """A variable: `read`, `write`. Nil (None) until it is written, or the value that is given.

    compared: whether a compare-and-set that failed without an error was compared, and found another
    value. Otherwise it did not happen, and nobody knows why.
    """

    name = "register"
    verbs: ClassVar[tuple[str, ...]] = ("read", "write")

    def __init__(self, initial: Any = None, *, compared: bool = False) -> None:
        self.first, self.compared = initial, compared

    def initial(self) -> Any:
        return self.first

    def step(self, state: Any, operation: Operation) -> Any:
        return operation.argument if operation.f == "write" else answer(state, operation)

    def effect(self, operation: Operation) -> Effect:
        return Effect.OVERWRITE if operation.f == "write" else Effect.READ

    def narrowed(self, operations: Sequence[Operation]) -> Model:
        return _SeenRegister(self, operations)


class CasRegister(Register):
    """A register with compare-and-set: `cas` of (expected, new)."""

    name = "cas-register"
    verbs = ("read", "write", "cas")

    def step(self, state: Any, operation: Operation) -> Any:
        if operation.f != "cas":
            return super().step(state, operation)
        expected, new = operation.argument
        if operation.outcome == FAIL:
            return state if state != expected else REFUSED
        return new if state == expected else REFUSED

    def judges(self, operation: Operation) -> bool:
        compared = self.compared and operation.f == "cas" and operation.error is None
        return (operation.outcome == FAIL and compared) or super().judges(operation)

    def effect(self, operation: Operation) -> Effect:
        if operation.f == "cas":
            return Effect.READ if operation.outcome == FAIL else Effect.ANY
        return super().effect(operation)

    def malformed(self, operation: Operation) -> str | None:
        if operation.f == "cas":
            pair = operation.argument
            if type(pair) is not tuple or len(pair) != 2:
                return f"cas of {pair!r:.60}, not of (expected, new)"
        return super().malformed(operation)


REGISTERS: Final = (Register, CasRegister)
"""The models that zones may decide (registers.py)."""


class Unseen(enum.Enum):
    """Stands for all the values that no operation answers or asks for; equal to none of them."""

    UNSEEN = "something that nobody saw"

    def __str__(self) -> str:
        return self.value


class _SeenRegister(Model):
    """A register for which all values that are neither read nor compared with are one."""

    def __init__(self, model: Model, operations: Sequence[Operation]) -> None:
        self.model = model
        self.seen = {each.result for each in operations if each.f == "read"}
        self.seen |= {each.argument[0] for each in operations if each.f == "cas"}

    def initial(self) -> Any:
        return self._seen(self.model.initial())

    def step(self, state: Any, operation: Operation) -> Any:
        after = self.model.step(state, operation)
        return after if after is REFUSED else self._seen(after)

    def effect(self, operation: Operation) -> Effect:
        return self.model.effect(operation)

    def _seen(self, value: Any) -> Any:
        return value if value in self.seen else Unseen.UNSEEN


class KeyValue(Model):
    """A map of strings: `get`, `put`, `append` (to the end). A key that was never put is empty.

    A get that found nothing may answer nil or the empty string; the two are one.
    """

    name = "kv"
    verbs = ("get", "put", "append")

    def initial(self) -> str:
        return ""

    def step(self, state: str, operation: Operation) -> Any:
        if operation.f == "put":
            return operation.argument
        if operation.f == "append":
            return state + operation.argument
        return state if (operation.result or "") == state else REFUSED

    def effect(self, operation: Operation) -> Effect:
        if operation.f == "get":
            return Effect.READ
        return Effect.OVERWRITE if operation.f == "put" else Effect.TOTAL

    def can_lead(self, state: str, operation: Operation) -> bool:
        """Appends only lengthen."""
        return operation.f != "get" or (operation.result or "").startswith(state)

    def narrowed(self, operations: Sequence[Operation]) -> Model:
        return _SeenKeyValue(operations)

    def malformed(self, operation: Operation) -> str | None:
        values = (operation.argument, operation.result)
        if not all(value is None or type(value) is str for value in values):
            return f"{operation.f} of {values[0]!r:.60}, answered {values[1]!r:.60}: no strings"
        if operation.f in ("put", "append") and operation.argument is None:
            return f"{operation.f} of nothing"
        return super().malformed(operation)


class _SeenKeyValue(KeyValue):
    """All contents with which no get begins are one, UNSEEN: until a put they stay unseen."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.seen = sorted({each.result or "" for each in operations if each.f == "get"})

    def initial(self) -> Any:
        return self._seen("")

    def step(self, state: str | Unseen, operation: Operation) -> Any:
        if operation.f == "put":
            return self._seen(operation.argument)
        if state is Unseen.UNSEEN:
            return REFUSED if operation.f == "get" else state
        after = super().step(state, operation)
        return self._seen(after) if operation.f == "append" else after

    def _seen(self, state: str) -> str | Unseen:
        at = bisect_left(self.seen, state)
        return state if at < len(self.seen) and self.seen[at].startswith(state) else Unseen.UNSEEN

    def can_lead(self, state: str | Unseen, operation: Operation) -> bool:
        if state is Unseen.UNSEEN:
            return operation.f != "get"
        return super().can_lead(state, operation)


_SUMS: Final = {"add": 1, "inc": 1, "increment": 1, "dec": -1, "decrement": -1}


class Counter(Model):
    """A number from 0: `add` (also inc, increment, dec, decrement; of 1 if of nothing), `read`.

    It computes, so that numbers are compared by what they count: 1.0 is 1.
    """

    name = "counter"
    verbs = ("read", *_SUMS)

    def initial(self) -> int:
        return 0

    def step(self, state: int, operation: Operation) -> Any:
        if operation.f == "read":
            told = operation.result
            return state if (float(told) if type(told) is Real else told) == state else REFUSED
        by = 1 if operation.argument is None else operation.argument
        return state + _SUMS[operation.f] * by

    def effect(self, operation: Operation) -> Effect:
        return Effect.READ if operation.f == "read" else Effect.TOTAL

    def malformed(self, operation: Operation) -> str | None:
        if operation.f in _SUMS and type(operation.argument) not in (int, Real, type(None)):
            return f"{operation.f} of {operation.argument!r:.60}, not of a number"
        return super().malformed(operation)


class SetModel(Model):
    """A set: `add`, `remove` (whether it is there or not), `contains`, `read` of all of it."""

    name = "set"
    verbs = ("add", "remove", "contains", "read")

    def initial(self) -> frozenset[Any]:
        return frozenset()

    def step(self, state: frozenset[Any], operation: Operation) -> Any:
        if operation.f == "add":
            return state | {operation.argument}
        if operation.f == "remove":
            return state - {operation.argument}
        if operation.f == "contains":
            return state if operation.result == typed(operation.argument in state) else REFUSED
        return state if frozenset(operation.result or ()) == state else REFUSED

    def effect(self, operation: Operation) -> Effect:
        return Effect.TOTAL if operation.f in ("add", "remove") else Effect.READ

    def malformed(self, operation: Operation) -> str | None:
        listed = operation.result is None or type(operation.result) in (tuple, frozenset)
        if operation.f == "read" and not listed:
            return f"read of a set answered {operation.result!r:.60}"
        return super().malformed(operation)


class Queue(Model):
    """First in, first out: `enqueue`, `dequeue`; a dequeue that answers nil found it empty.

    A dequeue of unknown outcome took the head, whatever it was.
    """

    name = "queue"
    verbs = ("enqueue", "dequeue")

    def initial(self) -> tuple[Any, ...]:
        return ()

    def step(self, state: tuple[Any, ...], operation: Operation) -> Any:
        if operation.f == "enqueue":
            return (*state, operation.argument)
        if operation.outcome == INDETERMINATE:
            return state[1:]
        if operation.result is None:
            return REFUSED if state else state
        return state[1:] if state and state[0] == operation.result else REFUSED

    def effect(self, operation: Operation) -> Effect:
        if operation.f == "enqueue" or operation.outcome == INDETERMINATE:
            return Effect.TOTAL
        return Effect.READ if operation.result is None else Effect.ANY

    def narrowed(self, operations: Sequence[Operation]) -> Model:
        return _SeenQueue(self, operations)

    def malformed(self, operation: Operation) -> str | None:
        if operation.f == "enqueue" and operation.argument is None:
            return "enqueue of nothing: a dequeue that answers nil found the queue empty"
        return super().malformed(operation)


class _SeenQueue(Model):
    """A queue for which all elements that no dequeue answers are one."""

    def __init__(self, model: Model, operations: Sequence[Operation]) -> None:
        self.model = model
        self.seen = {each.result for each in operations if each.f == "dequeue"}

    def initial(self) -> Any:
        return self.model.initial()

    def told_apart(self, operation: Operation) -> Operation:
        if operation.f == "enqueue" and operation.argument not in self.seen:
            return msgspec.structs.replace(operation, argument=Unseen.UNSEEN)
        return operation

    def step(self, state: Any, operation: Operation) -> Any:
        return self.model.step(state, self.told_apart(operation))

    def effect(self, operation: Operation) -> Effect:
        return self.model.effect(operation)


class UnorderedQueue(Queue):
    """A bag: `dequeue` answers any element [Knossos: unordered-queue].

    The state is the set of all contents that are possible, since a dequeue of unknown outcome took
    an element that nobody can name. (A content: how many of each, as a frozenset of pairs.)
    """

    name = "unordered-queue"

    def initial(self) -> Any:
        return frozenset({frozenset()})

    def step(self, state: Any, operation: Operation) -> Any:
        if operation.f == "enqueue":
            return frozenset(_counted(bag, operation.argument, 1) for bag in state)
        if operation.outcome == INDETERMINATE:
            taken = {_counted(bag, value, -1) for bag in state for value, _ in bag}
            return frozenset(taken | {bag for bag in state if not bag})
        if operation.result is None:
            return frozenset({frozenset()}) if frozenset() in state else REFUSED
        left = {
            _counted(bag, value, -1)
            for bag in state
            for value, _ in bag
            if value == operation.result
        }
        return frozenset(left) if left else REFUSED

    def effect(self, operation: Operation) -> Effect:
        """An answer of nil narrows what is possible, so that it is no READ here."""
        known = super().effect(operation)
        return Effect.ANY if known is Effect.READ else known


def _counted(bag: frozenset[tuple[Any, int]], value: Any, by: int) -> frozenset[tuple[Any, int]]:
    """A bag with `by` more of a value."""
    count = next((n for each, n in bag if each == value), 0)
    rest = bag - {(value, count)}
    return rest | {(value, count + by)} if count + by else rest


class ListAppend(Model):
    """A list: `append` to its end, `read` of all of it [Elle; nil is the empty list]."""

    name = "list-append"
    verbs = ("append", "read")

    def initial(self) -> tuple[Any, ...]:
        return ()

    def step(self, state: tuple[Any, ...], operation: Operation) -> Any:
        if operation.f == "append":
            return (*state, operation.argument)
        return state if (operation.result or ()) == state else REFUSED

    def effect(self, operation: Operation) -> Effect:
        return Effect.READ if operation.f == "read" else Effect.TOTAL

    def can_lead(self, state: tuple[Any, ...], operation: Operation) -> bool:
        if operation.f != "read":
            return True
        result: tuple[Any, ...] = operation.result or ()
        return result[: len(state)] == state

    def narrowed(self, operations: Sequence[Operation]) -> Model:
        return _SeenList(operations)

    def malformed(self, operation: Operation) -> str | None:
        if operation.f == "read" and type(operation.result) not in (tuple, type(None)):
            return f"read of a list answered {operation.result!r:.60}"
        return super().malformed(operation)


class _SeenList(ListAppend):
    """All contents with which no read begins are one, UNSEEN: they stay so."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.longest: list[tuple[Any, ...]] = []
        for result in sorted({e.result or () for e in operations if e.f == "read"}, key=len):
            self.longest = [each for each in self.longest if result[: len(each)] != each]
            self.longest.append(result)

    def step(self, state: tuple[Any, ...] | Unseen, operation: Operation) -> Any:
        if state is Unseen.UNSEEN:
            return REFUSED if operation.f == "read" else state
        after = super().step(state, operation)
        if after is REFUSED or operation.f == "read":
            return after
        known = any(each[: len(after)] == after for each in self.longest)
        return after if known else Unseen.UNSEEN

    def can_lead(self, state: tuple[Any, ...] | Unseen, operation: Operation) -> bool:
        if state is Unseen.UNSEEN:
            return operation.f != "read"
        return super().can_lead(state, operation)


class Mutex(Model):
    """A lock that anybody may release: `acquire`, `release` [Knossos: mutex]."""

    name = "mutex"
    verbs = ("acquire", "release")

    def initial(self) -> bool:
        return False

    def step(self, state: bool, operation: Operation) -> Any:
        wanted = operation.f == "acquire"
        return wanted if state != wanted else REFUSED


class MultiRegister(Model):
    """Registers that transactions read and write: `txn` of (f, key, value) [Knossos].

    Linearizability of the whole is strict serializability of its transactions. That takes a search,
    and needs no unique values, as dependency graphs do (isolation/).
    """

    name = "multi-register"
    verbs = ("txn",)

    def __init__(self, initial: Any = None) -> None:
        self.first = initial

    def initial(self) -> frozenset[tuple[Any, Any]]:
        return frozenset()

    def step(self, state: frozenset[tuple[Any, Any]], operation: Operation) -> Any:
        objects = dict(state)
        for f, key, value in operation.argument:
            if f != "read":
                objects[key] = self.written(objects.get(key, self.first), value)
            elif operation.outcome == OK and not self.shows(objects.get(key, self.first), value):
                return REFUSED
        return frozenset(objects.items())

    def written(self, before: Any, value: Any) -> Any:
        return value

    def shows(self, content: Any, answer: Any) -> bool:
        return bool(content == answer)

    def effect(self, operation: Operation) -> Effect:
        read = sum(f == "read" for f, _, _ in operation.argument)
        if read == len(operation.argument):
            return Effect.READ
        return Effect.ANY if read and operation.outcome == OK else Effect.TOTAL


class MultiList(MultiRegister):
    """Lists that transactions append to and read."""

    name = "multi-list"

    def written(self, before: Any, value: Any) -> Any:
        return (*(before or ()), value)

    def shows(self, content: Any, answer: Any) -> bool:
        return (content or ()) == (answer or ())


def as_transactions(history: History) -> History:
    """The history with one operation, `txn`, for all that a client asked at once."""
    groups: dict[int, list[Operation]] = {}
    for each in history.operations:
        groups.setdefault(each.group, []).append(each)
    replace = msgspec.structs.replace
    whole = tuple(
        replace(
            parts[0],
            f="txn",
            key=None,
            argument=tuple(
                (each.f, each.key, each.result if each.f == "read" else each.argument)
                for each in parts
            ),
            result=None,
        )
        for parts in groups.values()
    )
    return replace(history, operations=whole)


MODELS: Final[dict[str, Callable[[], Model]]] = {
    model.name: model
    for model in (
        *(Register, CasRegister, KeyValue, Counter, SetModel, Queue, UnorderedQueue),
        *(ListAppend, Mutex, MultiRegister, MultiList),
    )
}
"""Every model by name. A model of your own: `MODELS[Toggle.name] = Toggle`, or pass an instance."""


def model_named(name: str) -> Model:
    """Raises KeyError with the names that there are."""
    if name not in MODELS:
        raise KeyError(f"no model {name!r}; there are: {', '.join(MODELS)}")
    return MODELS[name]()


def model_of(history: History, name: str | None = None) -> Model:
    """The model of that name, or of the history's, as its format means it. Raises KeyError."""
    model = model_named(name or history.model or "none")
    if isinstance(model, Register):
        return type(model)(history.initial, compared=history.failed_cas == COMPARED)
    return model
