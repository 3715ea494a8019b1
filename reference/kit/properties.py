"""What a protocol promises, declared as functions: each a named property with its sentence.

Law of this file: nothing here knows of a protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from inspect import signature
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")
Check: TypeAlias = Callable[..., str | None]
"""None, or briefly what is wrong."""


class View:
    """How properties see states.

    of: makes a state, a named tuple, of the constants and all rows. fields: those that some
    property looks at.
    """

    def __init__(self, of: Callable[[Any, Any], Any]) -> None:
        self.of = of
        self.fields: dict[str, None] = {}

    def changed(self, old: Any, new: Any) -> tuple[str, ...]:
        """Which of the fields are not what they were."""
        fields = []
        for name in self.fields:
            was, now = getattr(old, name), getattr(new, name)
            if was is not now and was != now:
                fields.append(name)
        return tuple(fields)


class Property(NamedTuple):
    """A named property."""

    name: str
    sentence: str
    check: Check
    """Of the constants and of all rows (by node) before and after a step; what is wrong, in words,
    or None.
    """
    misses: str = ""
    """What is wrong and yet keeps it."""
    view: View | None = None
    """How it sees states, if not as rows."""
    of_states: Check | None = None
    """`check`, of the states before and after, or, if it is no property of_steps, of the one after.
    """
    of_steps: bool = True
    looks_at: tuple[str, ...] = ()
    """The fields of a state that it looks at; none: it may look at all there is."""


class Invariant(NamedTuple):
    """A named property: "state" looks at the state after a step, "step" also at that before it."""

    name: str
    sentence: str
    kind: Literal["state", "step"]
    check: Check
    """Asked with all that properties of the protocol may look at, in the order it is given in."""
    misses: str = ""
    """What is wrong and yet keeps it."""


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
    """Make properties of functions of a state, or of the states before and after a step.

    state_of makes a state, a named tuple, of the constants and of all rows.

    What is made takes a name, the function, and the fields of the state that it looks at beside the
    constants: what holds before a step that changes none of them holds after it (`Due`). No field
    named: it may look at all.
    """
    view = View(state_of)

    def named(name: str, check: Check, *looks_at: str) -> Property:
        of_steps = len(signature(check).parameters) == 2
        view.fields.update(dict.fromkeys(looks_at))

        def checked(constants: Any, before: Any, after: Any) -> str | None:
            old, new = state_of(constants, before), state_of(constants, after)
            return check(old, new) if of_steps else check(new)

        means, misses = sentence_and_misses(check)
        return Property(name, means, checked, misses, view, check, of_steps, looks_at)

    return named


def of_each_broker(
    declared: Sequence[Invariant], brokers: Callable[[Any], Sequence[int]]
) -> tuple[Property, ...]:
    """Make properties of all rows from properties of each broker's row before and after a step.

    What is wrong begins with whose row it is. brokers: of the constants, in the order in which they
    are asked.
    """

    def property_of(each: Invariant) -> Property:
        def checked(constants: Any, before: Any, after: Any) -> str | None:
            for b in brokers(constants):
                if found := each.check(before[b], after[b]):
                    return f"broker {b}: {found}"
            return None

        return Property(each.name, each.sentence, checked, each.misses)

    return tuple([property_of(each) for each in declared])


class Due:
    """A run's properties, asked after each of its steps.

    Only those are asked that the step may break: others look at nothing that it changes. States are
    made once for all of them.
    """

    def __init__(self, properties: Sequence[Property]) -> None:
        self._all = properties
        self._views = [*dict.fromkeys(each.view for each in properties if each.view)]
        self._of: dict[tuple[tuple[str, ...], ...], list[Property]] = {}
        self._rows: Any = None
        self._given: dict[View | None, tuple[Any, ...]] = {}
        """What properties are asked with of the last step, by their view."""

    def wrong(self, constants: Any, before: Any, after: Any) -> Iterator[tuple[Property, str]]:
        """Those that a step violates, in their order, and what is wrong.

        To be asked of one step after the other, of mappings that nobody changes. What is wrong from
        the beginning is wrong after the first.
        """
        for each in self.after(constants, before, after):
            given = self._given[each.view]
            check = each.of_states or each.check
            wrong = check(*given) if each.of_steps else check(given[1])
            if wrong is not None:
                yield each, wrong

    def after(self, constants: Any, before: Any, after: Any) -> Sequence[Property]:
        """Those that are due."""
        begins, goes_on = self._rows is None, before is self._rows
        for view in self._views:
            old = self._given[view][1] if goes_on else view.of(constants, before)
            self._given[view] = old, view.of(constants, after)
        self._given[None] = constants, before, after
        self._rows = after
        return self._all if begins else self._due()

    def _due(self) -> Sequence[Property]:
        changed = tuple([view.changed(*self._given[view]) for view in self._views])
        due = self._of.get(changed)
        if due is None:
            fields = dict(zip(self._views, map(frozenset, changed), strict=True))
            due = self._of[changed] = [
                each
                for each in self._all
                if each.view is None
                or not each.looks_at
                or not fields[each.view].isdisjoint(each.looks_at)
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
