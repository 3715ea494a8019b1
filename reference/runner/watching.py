"""Named decisions watched while runs are simulated: which were asked, and how they answered.

A decision of a protocol is a method of its rules (`Protocol.rules`). What is told of it is its name
and the answer: yes or no, the name of an error, or just that it was asked.

A rule that a planted bug replaces is not watched: what stands in its place is not the rule.

Law of this file: watching changes no answer, and leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from reference.protocols import parts_of


def rules_of(scenario: str) -> tuple[type[Any], ...]:
    """The classes of a scenario's decisions."""
    return tuple(rules for protocol in parts_of(scenario) for rules in protocol.rules)


def decisions_of(scenario: str) -> list[str]:
    """The names of a scenario's decisions, as what is told of them begins."""
    of = rules_of(scenario)
    return sorted(_named(rules, name) for rules in of for name in _decisions(rules))


@contextmanager
def watched(of: tuple[type[Any], ...], tell: Callable[[str], None]) -> Iterator[None]:
    """Within it, every decision of these rules is told with its answer."""
    decided = [(rules, name, getattr(rules, name)) for rules in of for name in _decisions(rules)]
    own = [name in vars(rules) for rules, name, _ in decided]
    try:
        for rules, name, decide in decided:
            setattr(rules, name, _telling(_named(rules, name), decide, tell))
        yield
    finally:
        for (rules, name, decide), is_own in zip(decided, own, strict=True):
            if is_own:
                setattr(rules, name, decide)
            else:
                delattr(rules, name)


def _telling(
    name: str, decide: Callable[..., Any], tell: Callable[[str], None]
) -> Callable[..., Any]:
    def told(*arguments: Any) -> Any:
        answer = decide(*arguments)
        tell(f"{name}: {_answer(answer)}")
        return answer

    return told


def _answer(answer: Any) -> str:
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return answer if isinstance(answer, str) and answer else "asked"


def _decisions(rules: type[Any]) -> list[str]:
    """Of these rules, and of those that they extend."""
    known = dict.fromkeys(name for each in reversed(rules.__mro__) for name in vars(each))
    return [name for name in known if name[0] != "_" and callable(getattr(rules, name))]


def _named(rules: type[Any], name: str) -> str:
    return f"{rules.__name__.removesuffix('Rules').lower()}.{name}"
