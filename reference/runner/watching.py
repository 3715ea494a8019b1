"""Named decisions watched while runs are simulated: which were asked, and how they answered.

A decision of a protocol is a method of its rules (`Protocol.rules`). What is told of it is its name
and the answer: yes or no, the name of an error, or just that it was asked.

A rule that a planted bug replaces is not watched: what stands in its place is not the rule.

Law of this file: watching changes no answer, and leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kraftcheck.reference.runner.scenarios import protocols_under


def rules_of(scenario: str, options: Mapping[str, Any]) -> tuple[type[Any], ...]:
    """The classes of a scenario's decisions. options: that are requested of its runs."""
    under = protocols_under(scenario, options)
    return tuple(rules for protocol in under for rules in protocol.rules)


def decisions_of(scenario: str, options: Mapping[str, Any]) -> list[str]:
    """The names of a scenario's decisions, as what is told of them begins."""
    return sorted(_named(*each) for each in _decisions(rules_of(scenario, options)))


@contextmanager
def watched(of: tuple[type[Any], ...], tell: Callable[[str], None]) -> Iterator[None]:
    """Within it, every decision of these rules is told with its answer."""
    before = [(rules, name, vars(rules)[name]) for rules, name in _decisions(of)]
    try:
        for rules, name, decide in before:
            setattr(rules, name, _telling(_named(rules, name), decide, tell))
        yield
    finally:
        for rules, name, decide in before:
            setattr(rules, name, decide)


def _telling(
    name: str, decide: Callable[..., Any], tell: Callable[[str], None]
) -> Callable[..., Any]:
    def watched(*arguments: Any) -> Any:
        answer = decide(*arguments)
        tell(f"{name}: {_answer(answer)}")
        return answer

    return watched


def _answer(answer: Any) -> str:
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return answer if isinstance(answer, str) and answer else "asked"


def _decisions(of: tuple[type[Any], ...]) -> list[tuple[type[Any], str]]:
    """Each with the class that makes it: rules that extend others leave some to them."""
    found = []
    for rules in of:
        made: dict[str, type[Any]] = {}
        for each in rules.__mro__:
            for name, value in vars(each).items():
                if callable(value) and not name.startswith("_"):
                    made.setdefault(name, each)
        found += [(each, name) for name, each in made.items()]
    return list(dict.fromkeys(found))


def _named(rules: type[Any], name: str) -> str:
    return f"{rules.__name__.removesuffix('Rules').lower()}.{name}"
