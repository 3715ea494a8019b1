"""Objects as slow and as obvious as can be: a second opinion that shares no model and no equality.

All values are texts of EDN here, so that nothing depends on what Python takes for equal. An object
is a function of (state, verb, argument); it answers with every (told, state after) that is possible
there, and with none if it would not answer at all. `twin` makes a model of it for the enumeration
(enumerate.py), whose states are all the states in which the object may be.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, NamedTuple

from kraftcheck.traces.checkers.sequential import REFUSED, Model
from kraftcheck.traces.history import FAIL, INDETERMINATE, OK, Operation
from kraftcheck.traces.values import Real, edn_text

DONE: Final = "done"
"""What is told of an operation that answers nothing."""
UNEQUAL: Final = "unequal"
"""What is told of a compare-and-set that found another value."""
Outcomes = list[tuple[Any, Any]]


def _register(state: str, f: str, argument: Any) -> Outcomes:
    if f == "read":
        return [(state, state)]
    if f == "write":
        return [(DONE, edn_text(argument))]
    old, new = map(edn_text, argument)
    return [(DONE, new)] if old == state else [(UNEQUAL, state)]


def _key_value(state: str, f: str, argument: Any) -> Outcomes:
    if f == "get":
        return [(state, state)]
    return [(DONE, argument if f == "put" else state + argument)]


def _counter(state: Fraction, f: str, argument: Any) -> Outcomes:
    if f == "read":
        return [(state, state)]
    by = Fraction(1 if argument is None else argument)
    return [(DONE, state - by if f.startswith("dec") else state + by)]


def _set(state: frozenset[str], f: str, argument: Any) -> Outcomes:
    if f == "read":
        return [(state, state)]
    element = frozenset({edn_text(argument)})
    if f == "contains":
        return [("true" if element <= state else "false", state)]
    return [(DONE, state | element if f == "add" else state - element)]


def _queue(state: tuple[str, ...], f: str, argument: Any) -> Outcomes:
    if f == "enqueue":
        return [(DONE, (*state, edn_text(argument)))]
    return [(state[0], state[1:])] if state else [("nil", ())]


def _unordered_queue(state: tuple[str, ...], f: str, argument: Any) -> Outcomes:
    if f == "enqueue":
        return [(DONE, tuple(sorted((*state, edn_text(argument)))))]
    left = {each: (*state[:at], *state[at + 1 :]) for at, each in enumerate(state)}
    return list(left.items()) or [("nil", ())]


def _list(state: tuple[str, ...], f: str, argument: Any) -> Outcomes:
    return [(state, state)] if f == "read" else [(DONE, (*state, edn_text(argument)))]


def _mutex(state: bool, f: str, argument: Any) -> Outcomes:
    wanted = f == "acquire"
    return [(DONE, wanted)] if state != wanted else []


class Twin(NamedTuple):
    """An object: what it is at first, what it does, and which verbs change nothing."""

    initial: Any
    outcomes: Callable[[Any, str, Any], Outcomes]
    reads: tuple[str, ...] = ("read",)


TWINS: Final = {
    "register": Twin("nil", _register),
    "cas-register": Twin("nil", _register),
    "kv": Twin("", _key_value, ("get",)),
    "counter": Twin(Fraction(0), _counter),
    "set": Twin(frozenset(), _set, ("read", "contains")),
    "queue": Twin((), _queue, ()),
    "unordered-queue": Twin((), _unordered_queue, ()),
    "list-append": Twin((), _list),
    "mutex": Twin(False, _mutex, ()),
}
"""By the name of the model."""


def told(model: str, operation: Operation) -> Any:
    """What the client was told, as the object would say it."""
    result = operation.result
    if operation.f == "cas":
        return UNEQUAL if operation.outcome == FAIL else DONE
    if operation.f not in (*TWINS[model].reads, "dequeue"):
        return DONE
    if model == "kv":
        return result or ""
    if model == "counter":
        return Fraction(result) if type(result) in (int, Real) else edn_text(result)
    if operation.f == "read" and model in ("set", "list-append"):
        kind = frozenset if model == "set" else tuple
        return kind(map(edn_text, result or ()))
    return edn_text(result)


class _Opinion(Model):
    """States: a frozenset of those in which the object may be."""

    verbs = ()

    def __init__(self, model: str) -> None:
        self.model, self.twin = model, TWINS[model]

    def initial(self) -> Any:
        return frozenset({self.twin.initial})

    def step(self, state: Any, operation: Operation) -> Any:
        said = told(self.model, operation)
        lost = operation.outcome == INDETERMINATE
        found = frozenset(
            after
            for each in state
            for answer, after in self.twin.outcomes(each, operation.f, operation.argument)
            if (lost and answer != UNEQUAL) or (not lost and answer == said)
        )
        return found or REFUSED

    def judges(self, operation: Operation) -> bool:
        if operation.outcome == FAIL:
            return operation.f == "cas" and operation.error is None
        return operation.outcome == OK or operation.f not in self.twin.reads


def twin(model: str) -> Model:
    """The second opinion on a model, for `enumerate.linearization`."""
    return _Opinion(model)
