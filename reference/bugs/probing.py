"""A probe: how often what a bug replaces was asked, and how often it answered otherwise.

An override that is never consulted, or never answers differently from what it replaces, shows
nothing about the bug: runs without a violation are then no evidence of anything.

Law of this file: a probe changes no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

T = TypeVar("T")


class Consulted:
    """Questions and differing answers, counted by the name of what was replaced."""

    __slots__ = ("asked", "differed")

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}
        self.differed: dict[str, int] = {}

    @property
    def effective(self) -> bool:
        """Whether a replacement ever was called and returned something else than the correct."""
        return any(self.differed.values())


def probed(
    replacement: type[T], names: Iterable[str], correct: object, consulted: Consulted
) -> type[T]:
    """Make a subclass of `replacement` that counts its answers under these names.

    Beside each answer it asks `correct`, which has the same methods without the bug: another
    object, or a class, whose methods are asked of the probed object itself.
    """
    of_itself = isinstance(correct, type)

    def probe(name: str, replaced: Callable[..., Any]) -> Callable[..., Any]:
        consulted.asked.setdefault(name, 0)
        consulted.differed.setdefault(name, 0)

        def ask(self: T, *arguments: Any) -> Any:
            answer = replaced(self, *arguments)
            consulted.asked[name] += 1
            at = (self, *arguments) if of_itself else arguments
            consulted.differed[name] += answer != getattr(correct, name)(*at)
            return answer

        return ask

    own = vars(replacement)
    members = {name: probe(name, own[name]) for name in names if name in own}
    return cast("type[T]", type(f"Probed{replacement.__name__}", (replacement,), members))
