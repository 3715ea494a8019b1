"""What runs should come to now and then, declared as functions: each a named condition.

An invariant must hold always; a *sometimes* condition must hold once at least, or nobody has tried
what it speaks of. Nothing is wrong with a run that does not reach one. A campaign none of whose
runs does says less than its verdict seems to.

Law of this file: nothing here knows of a protocol.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from kraftcheck.reference.kit.properties import asked_with, name_and_sentence

GIVEN: Final = ("constants", "node", "before", "input", "after", "sent")


class Sometimes(NamedTuple):
    """A condition on single steps."""

    name: str
    sentence: str
    inputs: tuple[type[Any], ...]
    """The types of input whose steps it may hold of."""
    holds: Callable[..., bool]
    """Of what GIVEN names: the constants, the node, the row before, the input, the row after, and
    the messages sent.
    """


class Conditions:
    """The conditions of a protocol, in the order of their declaration."""

    def __init__(self) -> None:
        self.all: list[Sometimes] = []

    def __call__(self, *inputs: type[Any]) -> Callable[[Callable[..., bool]], Callable[..., bool]]:
        """Declare a function as a condition on steps with such an input.

        Its name in camel case names the condition, and its docstring says what it is. Its
        parameters are some of GIVEN.

        Raises ValueError: it has a parameter that no condition is given.
        """

        def declare(function: Callable[..., bool]) -> Callable[..., bool]:
            holds = asked_with(function, GIVEN)
            self.all.append(Sometimes(*name_and_sentence(function), inputs, holds))
            return function

        return declare
