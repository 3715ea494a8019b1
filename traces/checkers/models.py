"""What objects do when nobody is concurrent: the sequential models that histories are judged by.

A model is a state to begin with and a step; a few lines make one of your own:

    class Toggle(Model):
        name = "toggle"
        verbs = ("flip", "read")

        def initial(self) -> bool:
            return False

        def step(self, state: bool, operation: Operation) -> bool | Refusal:
            if operation.f == "flip":
                return not state
            return answer(state, operation)

States and the values of operations are hashable and never changed in place. Values are equal only
if a client could mean the same (traces/values.py): that `true` is not 1 is no concern of a model
that compares what it was given; one that makes values of its own makes them with `typed`. That is
all a model must say. What it may say besides (`effect`, `can_lead`) makes the search faster and
must be true; `tests/traces/checkers/test_models.py` holds every model here to what it says.

How outcomes are read, by every model unless it says otherwise (`judges`):

    ok             took effect between invocation and completion, and answered `result`
    fail           had no effect: left out. A compare-and-set that failed without an error was
                   compared and found another value [Jepsen's etcd histories, as porcupine reads
                   them]; with an error it is left out like any other.
    indeterminate  takes effect at any time after its invocation, or never. A read of unknown
                   outcome says nothing and is left out.

A part of the history is judged alone: `key` says which. By locality [Herlihy and Wing 1990,
theorem 1] a history is linearizable if and only if each object's part is; models whose operations
on different elements do not meet may cut further (P-compositionality, Horn and Kroening 2015).
"""

from __future__ import annotations

import enum
from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar, Final

import msgspec

from traces.history import FAIL, INDETERMINATE, OK, Operation
from traces.values import Real, typed


class Refusal(enum.Enum):
    """What a step answers instead of a state."""

    REFUSED = "refused"


REFUSED: Final = Refusal.REFUSED
"""The operation cannot have been answered like this in that state."""


class Effect(enum.IntEnum):
    """What is known of an operation in every state; each says all that those below it say."""

    ANY = 0
    """Nothing."""
    TOTAL = 1
    """No state refuses it."""
    OVERWRITE = 2
    """No state refuses it, and the state that it leaves does not depend on the one before."""
    READ = 3
    """It leaves every state as it is, or is refused. (Says nothing of TOTAL.)"""


class Model:
    """A sequential object. Subclasses give `name`, `verbs`, `initial` and `step`."""

    name: ClassVar[str]
    verbs: ClassVar[tuple[str, ...]]
    """The `f` of its operations; any other is an error in the history, not a violation."""

    def initial(self) -> Any:
        raise NotImplementedError

    def step(self, state: Any, operation: Operation) -> Any:
        """The state after `operation` was answered as it was, or REFUSED.

        For an indeterminate operation: the state after it took effect.
        """
        raise NotImplementedError

    def key(self, operation: Operation) -> Hashable:
        """Which part of the history it belongs to; parts do not influence each other."""
        return operation.key

    def judges(self, operation: Operation) -> bool:
        """Whether it says anything: see the module's table of outcomes."""
        if operation.outcome == INDETERMINATE:
            return self.effect(operation) is not Effect.READ
        return operation.outcome == OK

    def effect(self, operation: Operation) -> Effect:
        """What is known of it in every state. Only the search's speed depends on it."""
        return Effect.ANY

    def can_lead(self, state: Any, operation: Operation) -> bool:
        """False if no operations but overwrites lead from `state` to where `operation` is legal."""
        return True

    def narrowed(self, operations: Sequence[Operation]) -> Model:
        """The model for just these operations: states that none can tell apart may be one."""
        return self

    def foreseeing(self, operations: Sequence[Operation]) -> Model:
        """As `narrowed`; may also refuse what, by other operations' answers, cannot have been."""
        return self.narrowed(operations)

    def told_apart(self, operation: Operation) -> Operation:
        """The operation, as far as this model can tell it from others: alike, they step alike."""
        return operation

    def malformed(self, operation: Operation) -> str | None:
        """What is wrong with an operation that the model cannot even try, or None."""
        if operation.f not in self.verbs:
            return f"{operation.f} is no operation of a {self.name}"
        return None


def answer(state: Hashable, operation: Operation) -> Any:
    """The step of a read: the state, if that is what was answered."""
    return state if operation.result == state else REFUSED


class Register(Model):
    """A variable: `read`, `write`. Nil (None) until it is written."""

    name = "register"
    verbs: ClassVar[tuple[str, ...]] = ("read", "write")

    def initial(self) -> Any:
        return None

    def step(self, state: Any, operation: Operation) -> Any:
        return operation.argument if operation.f == "write" else answer(state, operation)

    def effect(self, operation: Operation) -> Effect:
        return Effect.OVERWRITE if operation.f == "write" else Effect.READ

    def narrowed(self, operations: Sequence[Operation]) -> Model:
        return _SeenRegister(self, operations)


class CasRegister(Register):
    """A register with compare-and-set: `cas` of (expected, new).

    One that failed without an error was compared, and found something else than `expected`.
    """

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
        compared = operation.f == "cas" and operation.error is None
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
    """A bag: `dequeue` answers any element. [Knossos: unordered-queue]

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
    """A list: `append` to its end, `read` of all of it. [Elle; nil is the empty list]"""

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
    """A lock that anybody may release: `acquire`, `release`. [Knossos: mutex]"""

    name = "mutex"
    verbs = ("acquire", "release")

    def initial(self) -> bool:
        return False

    def step(self, state: bool, operation: Operation) -> Any:
        wanted = operation.f == "acquire"
        return wanted if state != wanted else REFUSED


class PartitionLog(Model):
    """A partition's log, as slow and as obvious as can be: every value in the order of its offset.

    The state is (start, values): offsets count from 0 and none is left out, so that an offset below
    a known one belongs to some append. `append` adds at the end and answers where; one that was not
    told its offset may be anywhere, and so may one of unknown outcome (an offset that came without
    an acknowledgement binds nothing). `fetch` from o answers what stands from o on, and nothing
    only if the end is not beyond o; from None it begins anywhere. `end`, where it was told, is the
    end. `latest` is the end; `earliest` the start, which retention moves forward, at any time.

    It is the arbiter for the columnar checker (log.py) on small histories.
    """

    name = "partition-log"
    verbs = ("append", "fetch", "latest", "earliest")

    def initial(self) -> tuple[int, tuple[Any, ...]]:
        return 0, ()

    def step(self, state: tuple[int, tuple[Any, ...]], operation: Operation) -> Any:
        start, values = state
        if operation.f == "append":
            fits = _anywhere(operation) or operation.result == len(values)
            return (start, (*values, operation.argument)) if fits else REFUSED
        if operation.f == "latest":
            return state if operation.result == len(values) else REFUSED
        if operation.f == "earliest":
            moved: int = operation.result
            return (moved, values) if start <= moved <= len(values) else REFUSED
        return state if self._shows(start, values, operation) else REFUSED

    @staticmethod
    def _shows(start: int, values: tuple[Any, ...], fetch: Operation) -> bool:
        if fetch.end is not None and fetch.end != len(values):
            return False
        asked, records = fetch.argument, fetch.result or ()
        first = records[0][0] if records else asked
        if first is None:
            return True
        if not records:
            return bool(first >= len(values))
        if (asked is not None and asked != first) or first < start:
            return False
        shown = tuple((first + at, v) for at, v in enumerate(values[first : first + len(records)]))
        return tuple(map(tuple, records)) == shown

    def effect(self, operation: Operation) -> Effect:
        if operation.f in ("append", "earliest"):
            return Effect.TOTAL if operation.f == "append" and _anywhere(operation) else Effect.ANY
        return Effect.READ

    def judges(self, operation: Operation) -> bool:
        """An `earliest` without an answer says nothing."""
        silent = operation.f == "earliest" and operation.outcome != OK
        return not silent and super().judges(operation)

    def can_lead(self, state: tuple[int, tuple[Any, ...]], operation: Operation) -> bool:
        """A log only grows: what is at an offset stays there."""
        start, values = state
        if operation.f == "append":
            return _anywhere(operation) or operation.result >= len(values)
        if operation.f == "latest":
            return bool(operation.result >= len(values))
        if operation.f == "fetch":
            if operation.end is not None and operation.end < len(values):
                return False
            return all(o >= len(values) or values[o] == v for o, v in operation.result or ())
        return bool(operation.result >= start)

    def foreseeing(self, operations: Sequence[Operation]) -> Model:
        return _KnownLog(operations)


def _anywhere(append: Operation) -> bool:
    """Whether nothing binds an append to an offset."""
    return append.result is None or append.outcome != OK


class _KnownLog(PartitionLog):
    """Refuses an append at an offset at which a fetch or an acknowledgement tells another value.

    A fetch of that offset cannot come before the append, which made it, nor after it.
    """

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.known: dict[int, Any] = {}
        for each in operations:
            if each.f == "append" and not _anywhere(each):
                self.known.setdefault(each.result, each.argument)
            elif each.f == "fetch":
                for offset, value in each.result or ():
                    self.known.setdefault(offset, value)

    def step(self, state: tuple[int, tuple[Any, ...]], operation: Operation) -> Any:
        if operation.f == "append":
            at = len(state[1])
            if at in self.known and self.known[at] != operation.argument:
                return REFUSED
        return super().step(state, operation)

    def effect(self, operation: Operation) -> Effect:
        return Effect.ANY if operation.f == "append" else super().effect(operation)


MODELS: Final[dict[str, Callable[[], Model]]] = {
    model.name: model
    for model in (
        *(Register, CasRegister, KeyValue, Counter, SetModel, Queue, UnorderedQueue),
        *(ListAppend, Mutex, PartitionLog),
    )
}
"""Every model by name. A model of your own: `MODELS[Toggle.name] = Toggle`, or pass an instance."""


def model_named(name: str) -> Model:
    """Raises KeyError with the names that there are."""
    if name not in MODELS:
        raise KeyError(f"no model {name!r}; there are: {', '.join(MODELS)}")
    return MODELS[name]()
