"""What a protocol promises, declared as functions: each a named property with its sentence.

Law of this file: nothing here knows of a protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")
Check: TypeAlias = Callable[..., str | None]
"""None, or briefly what is wrong."""


class Property(NamedTuple):
    """A named property. check: of the constants and of all rows (by node) before and after a step;
    what is wrong, in words, or None. misses: what is wrong and yet keeps it. looks_at: the parts of
    a state that it looks at, and changed: which of them a step has changed; None: it may look at
    all there is.
    """

    name: str
    sentence: str
    check: Check
    misses: str = ""
    looks_at: tuple[str, ...] = ()
    changed: Callable[[Any, Any, Any], frozenset[str]] | None = None


class Invariant(NamedTuple):
    """A named property: "state" looks at the state after a step, "step" also at that before it.

    check: asked with all that properties of the protocol may look at, in the order it is given in.
    misses: what is wrong and yet keeps it.
    """

    name: str
    sentence: str
    kind: Literal["state", "step"]
    check: Check
    misses: str = ""


def asked_with(function: Callable[..., T], given: Sequence[str]) -> Callable[..., T]:
    """The function, to be asked with all of `given`, of which its parameters are some.

    Raises ValueError: it has another parameter.
    """
    code = function.__code__
    places = [given.index(each) for each in code.co_varnames[: code.co_argcount]]

    @wraps(function)
    def ask(*all_given: Any) -> T:
        return function(*[all_given[place] for place in places])

    return ask


def name_and_sentence(function: Callable[..., Any]) -> tuple[str, str]:
    """Its name in camel case, and its docstring in one line."""
    name = "".join(word.capitalize() for word in function.__name__.split("_"))
    return name, sentence_and_misses(function)[0]


def sentence_and_misses(function: Callable[..., Any]) -> tuple[str, str]:
    """A property's docstring: what it means, and what it would miss, each in one line."""
    means, _, misses = " ".join((function.__doc__ or "").split()).partition(" Misses: ")
    return means, misses


def of_state(state_of: Callable[[Any, Any], Any]) -> Callable[..., Property]:
    """Makes properties of functions of a state, or of the states before and after a step, where
    state_of makes a state, a named tuple, of the constants and of all rows.

    What is made takes a name, the function, and the fields of the state that it looks at beside the
    constants: what holds before a step that changes none of them holds after it (`Due`). No field
    named: it may look at all.
    """
    # All properties are asked of one step after the other, so the states after the last two are
    # kept; by content, since whoever asks may change a mapping of rows.
    kept: list[tuple[Any, Any, Any]] = []
    looked_at: dict[str, None] = {}

    def known(constants: Any, rows: Any) -> Any:
        for of_constants, of_rows, state in kept:
            if of_constants is constants and of_rows == rows:
                return state
        return None

    def new_state(constants: Any, after: Any) -> Any:
        new = known(constants, after)
        if new is None:
            new = state_of(constants, after)
            kept[:] = (constants, dict(after), new), *kept[:1]
        return new

    def old_state(constants: Any, before: Any) -> Any:
        old = known(constants, before)
        return state_of(constants, before) if old is None else old

    def changed(constants: Any, before: Any, after: Any) -> frozenset[str]:
        fields = []
        new, old = new_state(constants, after), old_state(constants, before)
        for name in looked_at:
            was, now = getattr(old, name), getattr(new, name)
            if was is not now and was != now:
                fields.append(name)
        return frozenset(fields)

    def named(name: str, check: Check, *looks_at: str) -> Property:
        of_steps = len(signature(check).parameters) == 2
        looked_at.update(dict.fromkeys(looks_at))

        def asked(constants: Any, before: Any, after: Any) -> str | None:
            new = new_state(constants, after)
            return check(old_state(constants, before), new) if of_steps else check(new)

        means, misses = sentence_and_misses(check)
        return Property(name, means, asked, misses, looks_at, changed if looks_at else None)

    return named


class Due:
    """Of a run's properties those that a step may break: others look at nothing that it changes."""

    def __init__(self, properties: Sequence[Property]) -> None:
        self._all = properties
        self._changed = dict.fromkeys(each.changed for each in properties if each.changed)
        self._of: dict[tuple[frozenset[str], ...], list[Property]] = {}
        self._begun = False

    def after(self, constants: Any, before: Any, after: Any) -> Sequence[Property]:
        """Asked with what a property is asked with, of one step after the other. What is wrong from
        the beginning is wrong after the first.
        """
        if not self._changed or not self._begun:
            self._begun = True
            return self._all
        told = tuple([changed(constants, before, after) for changed in self._changed])
        due = self._of.get(told)
        if due is None:
            fields = dict(zip(self._changed, told, strict=True))
            due = self._of[told] = [
                each
                for each in self._all
                if each.changed is None or not fields[each.changed].isdisjoint(each.looks_at)
            ]
        return due


class Declared:
    """The invariants of a protocol, in the order of their declaration.

    given: the names of what a check is asked with. A function that is declared has those of them as
    parameters that it looks at.
    """

    def __init__(self, *given: str) -> None:
        self.all: list[Invariant] = []
        self._given = given

    def __call__(self, kind: Literal["state", "step"]) -> Callable[[Check], Check]:
        """Declares a function as an invariant: its name in camel case, its docstring as sentence.

        Raises ValueError: it has a parameter that no check is given.
        """

        def declare(function: Check) -> Check:
            check = asked_with(function, self._given)
            name, sentence = name_and_sentence(function)
            misses = sentence_and_misses(function)[1]
            self.all.append(Invariant(name, sentence, kind, check, misses))
            return check

        return declare
