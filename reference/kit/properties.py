"""What a protocol promises, declared as functions: each a named property with its sentence.

Law of this file: nothing here knows of a protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")
Check: TypeAlias = Callable[..., str | None]
"""None, or briefly what is wrong."""


class Property(NamedTuple):
    """A named property. check: of the constants and of all rows (by node) before and after a step;
    what is wrong, in words, or None. misses: what is wrong and yet keeps it.
    """

    name: str
    sentence: str
    check: Check
    misses: str = ""


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
    state_of makes a state of the constants and of all rows.

    What is made takes a name, the function, and the fields of the state that it looks at beside the
    constants. While these are what they were when a function of a state held last, it is not asked
    again, nor is one of two states of a step that changes none of them. No field named: all are
    asked each time.
    """
    # All properties are asked of one step after the other, so the states after the last two are
    # kept; by content, since whoever asks may change a mapping of rows.
    kept: list[tuple[Any, Any, Any]] = []

    def known(constants: Any, rows: Any) -> Any:
        for of_constants, of_rows, state in kept:
            if of_constants is constants and of_rows == rows:
                return state
        return None

    def named(name: str, check: Check, *looks_at: str) -> Property:
        of_steps = len(signature(check).parameters) == 2
        # A tuple also where there is one field: what is the same object is not compared further.
        part = attrgetter("constants", *looks_at) if looks_at else None
        held: list[Any] = []
        """What it looked at."""

        def asked(constants: Any, before: Any, after: Any) -> str | None:
            new = known(constants, after)
            if new is None:
                new = state_of(constants, after)
                kept[:] = (constants, dict(after), new), *kept[:1]
            if part is not None and not of_steps:
                seen = part(new)
                if held and held[0] == seen:
                    return None
                wrong = check(new)
                held[:] = [] if wrong else [seen]
                return wrong
            if not of_steps:
                return check(new)
            old = known(constants, before)
            if old is None:
                old = state_of(constants, before)
            if part is not None and part(old) == part(new):
                return None
            return check(old, new)

        means, misses = sentence_and_misses(check)
        return Property(name, means, asked, misses)

    return named


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
