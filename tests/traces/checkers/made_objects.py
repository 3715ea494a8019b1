"""Histories of objects that are valid by construction, under faults; and each with one change.

Clients ask one operation after the other. Each takes effect at a moment between invocation and
completion (of unknown outcome: at any moment from the invocation, or never), and what it is told is
what the object (object_twins.py) answers at that moment. So every history is linearizable: the
order of the moments is a linearization.

Values and keys come from families whose members are easily taken for each other: 1, 1.0, true, "1".
One seed is one history, everywhere and always.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from kraftcheck.traces.formats.edn import Keyword, Symbol
from kraftcheck.traces.history import COMPARED, FAIL, INDETERMINATE, OK, History, Operation
from kraftcheck.traces.values import FALSE, TRUE, Map, Real, edn_text, name
from tests.traces.checkers.calls import whole
from tests.traces.checkers.object_twins import DONE, TWINS, UNEQUAL, Twin

TRANSACTIONS: Final = "register-txn"
"""Registers that are written and read in transactions."""
KINDS: Final = (*TWINS, TRANSACTIONS)


class Faults(NamedTuple):
    """Shares of operations: of unknown outcome, failed, and cut off by a crash of their client."""

    unknown: float = 0.0
    failed: float = 0.0
    crashed: float = 0.0


FAULTS: Final = {
    "none": Faults(),
    "unknown": Faults(unknown=0.3),
    "failed": Faults(failed=0.3),
    "crashes": Faults(crashed=0.3),
    "all": Faults(0.15, 0.15, 0.15),
}
LONG: Final = "k" * 300
FAMILIES: Final = (
    (1, TRUE, Real(1.0), "1"),
    (0, FALSE, None, "", "nil"),
    (Keyword(":a"), "a", ":a", Symbol("a")),
    ((1, (0,)), (TRUE, (0,)), (1, (FALSE,)), ((1,), 0)),
    (frozenset({1}), (1,), Map(frozenset({(1, 1)})), frozenset({TRUE})),
    (f"{LONG}x", f"{LONG}y", (LONG, 1), (LONG, TRUE)),
    (0, 1, 2, 3),
)
NOTHING: Final = "nothing"
"""What is enqueued in place of nil, which is no element."""
MEANING: Final = {edn_text(each): each for family in (*FAMILIES, (NOTHING,)) for each in family}
KEYS: Final = (
    (None,),
    *(
        (name(one), name(other))
        for one, other in (
            (1, "1"),
            (Keyword(":a"), "a"),
            (TRUE, 1),
            ("a", "b"),
            (f"{LONG}x", f"{LONG}y"),
            ((LONG, 1), (LONG, 2)),
        )
    ),
)
TEXTS: Final = ("a", "b", "ab", "", "1")
NUMBERS: Final = (1, 2, 3, Real(0.5), Real(2.0))
DELAYS: Final = (1, 1, 2, 5)
LENGTHS: Final = (1, 3, 8, 20)
LATE: Final = 40
"""How long after its invocation an operation of unknown outcome may still take effect."""
DRAIN: Final = "drain"


class _Ask(NamedTuple):
    """When a client asks, and when that takes effect."""

    moment: int
    number: int
    client: int
    begin: int
    end: int
    fate: str


_UNANSWERED: Final = ("unknown", "crashed")


def model_of(kind: str) -> str:
    return "register" if kind == TRANSACTIONS else kind


def history(kind: str, faults: str, seed: int, operations_max: int) -> History:
    """A history of `kind` (one of KINDS) under `faults` (of FAULTS), valid by construction."""
    dice = random.Random(f"{kind} {faults} {seed}")
    maker = _Maker(kind, dice)
    for ask in _asks(dice, FAULTS[faults], dice.randint(1, operations_max)):
        maker.answer(ask)
    source = f"{kind}, faults {faults}, seed {seed}"
    more = {"time_unit": "ns", "model": model_of(kind), "failed_cas": COMPARED}
    return whole(_named(maker.made), source=source, **more)


def _asks(dice: random.Random, faults: Faults, count: int) -> list[_Ask]:
    """In the order of their moments."""
    free = [0] * dice.randint(1, 5)
    asks = []
    for number in range(count):
        client = dice.randrange(len(free))
        begin = free[client] + dice.choice(DELAYS)
        end = begin + dice.choice(LENGTHS)
        fate = dice.choices(("ok", *Faults._fields), (1 - sum(faults), *faults))[0]
        last = begin + LATE if fate in _UNANSWERED else end
        asks.append(_Ask(dice.randint(begin, last), number, client, begin, end, fate))
        free[client] = end
    return sorted(asks)


class _Maker:
    """The object, or one for each key, and what its clients were told so far."""

    def __init__(self, kind: str, dice: random.Random) -> None:
        self.kind, self.dice = kind, dice
        self.twin: Twin = TWINS[model_of(kind)]
        in_transactions = kind in ("list-append", TRANSACTIONS)
        # In a transaction every operation has a key.
        self.keys = dice.choice(KEYS[1:] if in_transactions else KEYS)
        self.states = dict.fromkeys(self.keys, self.twin.initial)
        self.values: list[Any] = list(dice.choice(FAMILIES))
        # Registers whose writes all differ are judged by another checker.
        self.distinct = dice.random() < 0.4
        self.sizes = (1, 1, 2, 3) if in_transactions else (1,)
        self.meaning = MEANING.copy()
        self.made: list[tuple[_Ask, list[Operation]]] = []

    def answer(self, ask: _Ask) -> None:
        took_effect = ask.fate == "ok" or (ask.fate in _UNANSWERED and self.dice.random() < 0.5)
        operations = []
        for _ in range(self.dice.choice(self.sizes)):
            key = self.dice.choice(self.keys)
            f, argument = self.asked(key)
            for part in self.parts(ask, f, key):
                operations.append(self.part(ask, part, key, argument, took_effect))
        # A client that was refused has one outcome for all that it asked.
        self.made.append((ask, operations))

    def parts(self, ask: _Ask, f: str, key: str | None) -> Sequence[str]:
        """A drain is as many dequeues as there are elements, and one that finds nothing."""
        if f != DRAIN:
            return (f,)
        there = len(self.states[key])
        return ("dequeue",) * (1 + (there if ask.fate != "failed" else 0))

    def part(
        self, ask: _Ask, f: str, key: str | None, argument: Any, took_effect: bool
    ) -> Operation:
        outcomes = self.twin.outcomes(self.states[key], f, argument)
        said = None
        if took_effect and outcomes:
            said, after = self.dice.choice(outcomes)
            self.states[key] = after
        fields: dict[str, Any] = {"outcome": OK, "completed": ask.end}
        if ask.fate in _UNANSWERED:
            fields["outcome"] = INDETERMINATE
            fields["completed"] = ask.end if ask.fate == "unknown" else None
        elif ask.fate == "failed":
            # Of a compare-and-set, no error would say that it was compared.
            errors = ("refused",) if f == "cas" else ("refused", None)
            fields |= {"outcome": FAIL, "error": self.dice.choice(errors)}
        elif said is None or said == UNEQUAL:
            fields["outcome"] = FAIL
        elif said != DONE:
            fields["result"] = self.value(said)
        return Operation(
            index=0,
            group=0,
            process=ask.client,
            f=f,
            key=key,
            argument=argument,
            invoked=ask.begin,
            **fields,
        )

    def asked(self, key: str | None) -> tuple[str, Any]:
        """A verb and its argument."""
        dice, kind, roll = self.dice, model_of(self.kind), self.dice.random()
        if kind == "kv":
            f = "get" if roll < 0.4 else "put" if roll < 0.6 else "append"
            return f, None if f == "get" else dice.choice(TEXTS)
        if kind == "counter":
            if roll < 0.5:
                return "read", None
            if roll < 0.7:
                return dice.choice(("increment", "decrement")), None
            return dice.choice(("add", "inc", "dec")), dice.choice((None, *NUMBERS))
        if kind == "mutex":
            return ("acquire" if roll < 0.5 else "release"), None
        if kind == "list-append":
            return ("read", None) if roll < 0.5 else ("append", self.drawn())
        if kind in ("queue", "unordered-queue"):
            return self.asked_queue(roll)
        if kind == "set":
            f = "read" if roll < 0.4 else dice.choice(("add", "add", "remove", "contains"))
            return f, None if f == "read" else self.drawn()
        if roll < 0.45:
            return "read", None
        if kind == "register" or roll < 0.65:
            return "write", self.drawn()
        there = self.meaning.get(self.states[key])
        return "cas", (there if dice.random() < 0.6 else self.drawn(), self.drawn())

    def asked_queue(self, roll: float) -> tuple[str, Any]:
        if roll < 0.5:
            value = self.drawn()
            return "enqueue", value if value is not None else NOTHING
        # Who drains a bag is told an order that it does not have.
        return (DRAIN if roll > 0.9 and self.kind == "queue" else "dequeue"), None

    def drawn(self) -> Any:
        """A value to be written."""
        if self.distinct:
            value: Any = len(self.meaning) + 100
            self.meaning[edn_text(value)] = value
            return value
        return self.dice.choice(self.values)

    def value(self, said: Any) -> Any:
        """What the object says, as the value that a client is told."""
        kind, dice = self.kind, self.dice
        if kind == "kv":
            return said or dice.choice(("", None))
        if kind == "counter":
            exact = said.denominator == 1 and dice.random() < 0.8
            return int(said) if exact else Real(said)
        if type(said) is frozenset or type(said) is tuple:
            values = [self.meaning[each] for each in sorted(said)] if kind == "set" else None
            if values is None:
                values = [self.meaning[each] for each in said]
            empty = dice.choice((None, ()))
            return (frozenset(values) if kind == "set" else tuple(values)) if said else empty
        return {"true": TRUE, "false": FALSE}[said] if kind == "set" else self.meaning[said]


def _named(made: Sequence[tuple[_Ask, list[Operation]]]) -> tuple[Operation, ...]:
    """In order of invocation. Whoever was not answered goes on as another process."""
    process: dict[int, int] = {}
    fresh = 100
    found: list[Operation] = []
    ordered = sorted(made, key=lambda each: (each[0].begin, each[0].number))
    for group, (ask, operations) in enumerate(ordered):
        client = process.get(ask.client, ask.client)
        found += [
            replace(each, index=len(found) + at, process=client, group=group)
            for at, each in enumerate(operations)
        ]
        if ask.fate in _UNANSWERED:
            process[ask.client], fresh = fresh, fresh + 1
    return tuple(found)


# -- One change

Change = Callable[[random.Random, list[Operation]], list[Operation] | None]


def changed(valid: History) -> tuple[str, History] | None:
    """The history with one change, and which; it may be harmless. None: nothing can be changed."""
    dice = random.Random(f"{valid.source} changed")
    for which in dice.sample(list(CHANGES), len(CHANGES)):
        operations = CHANGES[which](dice, list(valid.operations))
        if operations and tuple(operations) != valid.operations:
            return which, replace(valid, operations=_in_order(operations))
    return None


def _in_order(operations: list[Operation]) -> tuple[Operation, ...]:
    ordered = sorted(operations, key=lambda each: each.invoked)
    return tuple(replace(each, index=at) for at, each in enumerate(ordered))


def _one(
    dice: random.Random, operations: list[Operation], suits: Callable[[Operation], bool]
) -> int | None:
    """The place of an operation that suits."""
    places = [at for at, each in enumerate(operations) if suits(each)]
    return dice.choice(places) if places else None


def _is_read(operation: Operation) -> bool:
    return operation.outcome == OK and operation.f in ("read", "get", "dequeue", "contains")


def _is_write(operation: Operation) -> bool:
    return operation.outcome == OK and not _is_read(operation)


def _twin_of(dice: random.Random, value: Any) -> Any:
    """Another value, most often one that is easily taken for this one."""
    text = edn_text(value)
    families = [each for each in FAMILIES if text in map(edn_text, each)] or [FAMILIES[-1]]
    others = [each for family in families for each in family if edn_text(each) != text]
    return dice.choice(others)


def _other_answer(dice: random.Random, operation: Operation) -> Any:
    result = operation.result
    if operation.f == "get":
        return dice.choice([each for each in (*TEXTS, "aab", "ba") if each != (result or "")])
    if type(result) in (tuple, frozenset) and operation.f == "read" and dice.random() < 0.9:
        elements = sorted(result, key=edn_text) if type(result) is frozenset else list(result)
        at = dice.randrange(len(elements) + 1)
        if at == len(elements) or dice.random() < 0.3:
            elements.insert(at, dice.choice(dice.choice(FAMILIES)))
        elif dice.random() < 0.5:
            del elements[at]
        else:
            elements[at] = _twin_of(dice, elements[at])
        return type(result)(elements)
    return _twin_of(dice, result)


def _answer(dice: random.Random, operations: list[Operation]) -> list[Operation] | None:
    at = _one(dice, operations, _is_read)
    if at is None:
        return None
    result = _other_answer(dice, operations[at])
    operations[at] = replace(operations[at], result=result)
    return operations


def _argument(dice: random.Random, operations: list[Operation]) -> list[Operation] | None:
    at = _one(dice, operations, lambda each: _is_write(each) and each.argument is not None)
    if at is None:
        return None
    value = operations[at].argument
    if operations[at].f == "cas":
        old, new = value
        value = (_twin_of(dice, old), new) if dice.random() < 0.5 else (old, _twin_of(dice, new))
    elif operations[at].f in ("put", "append") and value in TEXTS:
        value = dice.choice(TEXTS)
    elif operations[at].f in ("add", "inc", "dec") and value in NUMBERS:
        value = dice.choice(NUMBERS)
    else:
        value = _twin_of(dice, value)
    operations[at] = replace(operations[at], argument=value)
    return operations


def _dropped(dice: random.Random, operations: list[Operation]) -> list[Operation] | None:
    at = _one(dice, operations, _is_write)
    return None if at is None else operations[:at] + operations[at + 1 :]


def _failed(dice: random.Random, operations: list[Operation]) -> list[Operation] | None:
    at = _one(dice, operations, _is_write)
    if at is None:
        return None
    error = "refused" if operations[at].f != "cas" else dice.choice(("refused", None))
    operations[at] = replace(operations[at], outcome=FAIL, error=error)
    return operations


def _succeeded(dice: random.Random, operations: list[Operation]) -> list[Operation] | None:
    """What failed, or was not answered, was done."""
    at = _one(dice, operations, lambda each: each.outcome != OK and each.f not in ("read", "get"))
    if at is None or operations[at].f in ("dequeue", "contains"):
        return None
    completed = operations[at].completed or operations[at].invoked + 1
    operations[at] = replace(operations[at], outcome=OK, error=None, completed=completed)
    return operations


def _shortened(dice: random.Random, operations: list[Operation]) -> list[Operation] | None:
    """It was all over at once, or began when it was over."""
    at = _one(dice, operations, lambda each: each.outcome == OK)
    if at is None:
        return None
    each = operations[at]
    moment = each.invoked if dice.random() < 0.5 else each.completed
    operations[at] = replace(each, invoked=moment, completed=moment)
    return operations


def _swapped(dice: random.Random, operations: list[Operation]) -> list[Operation] | None:
    """Two clients are told each other's answer."""
    one, other = (_one(dice, operations, _is_read) for _ in range(2))
    if one is None or other is None or operations[one].f != operations[other].f:
        return None
    results = operations[one].result, operations[other].result
    operations[one] = replace(operations[one], result=results[1])
    operations[other] = replace(operations[other], result=results[0])
    return operations


def _moved(dice: random.Random, operations: list[Operation]) -> list[Operation] | None:
    """It was asked of another object."""
    keys = list(dict.fromkeys(each.key for each in operations))
    at = dice.randrange(len(operations))
    operations[at] = replace(operations[at], key=dice.choice(keys))
    return operations


CHANGES: Final[dict[str, Change]] = {
    "answer": _answer,
    "argument": _argument,
    "dropped": _dropped,
    "failed": _failed,
    "succeeded": _succeeded,
    "shortened": _shortened,
    "swapped": _swapped,
    "moved": _moved,
}
