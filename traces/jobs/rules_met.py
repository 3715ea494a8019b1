"""Which named decisions the runs came to, and how they were answered.

A decision of a protocol is a method of its rules (`Protocol.rules`). Steps are remembered while
runs are simulated, so most decisions are taken once for many runs; here the first runs of a
campaign are executed once more, each step anew, while every decision is watched. What is asked of
so few runs is which answers were ever given, not how often.

    rule    a decision and its answer: yes or no, the name of an error, or just that it was asked

A rule that a planted bug replaces is not watched: what stands in its place is not the rule.

Law of this file: watching changes no answer, and leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa

from reference.protocols import parts_of
from reference.runner.run import simulate_part
from traces.jobs.coverage import FEATURES
from traces.schema import Campaign

RULE: Final = "rule"
WATCHED_RUNS: Final = 100
"""Of each campaign, so many runs are executed again."""


def rules_of(scenario: str) -> list[str]:
    """The names of a scenario's decisions, as features begin with them."""
    return sorted(_named(rules, name) for rules in _of(scenario) for name in _decisions(rules))


def _of(scenario: str) -> tuple[type[Any], ...]:
    return tuple(rules for protocol in parts_of(scenario) for rules in protocol.rules)


def rules_met(campaign: Campaign, first_run: int, runs: int) -> pa.Table:
    """FEATURES of kind `rule`, of those of the runs that are among the first WATCHED_RUNS; count is
    in how many of them."""
    found: dict[str, list[int]] = {}
    for run in range(first_run, min(first_run + runs, WATCHED_RUNS)):
        met: set[str] = set()
        with watched(_of(campaign.scenario), met.add):
            simulate_part(
                campaign.scenario,
                campaign.seed,
                run,
                1,
                bug=campaign.bug,
                options=dict(campaign.options) or None,
                memo=False,
            )
        for name in met:
            found.setdefault(name, []).append(run)
    rows = [
        {"kind": RULE, "name": name, "count": len(of), "first_run": of[0]}
        for name, of in sorted(found.items())
    ]
    return pa.Table.from_pylist(rows, schema=FEATURES)


@contextmanager
def watched(of: tuple[type[Any], ...], tell: Callable[[str], None]) -> Iterator[None]:
    """Within it, every decision of these rules is told with its answer."""
    before = [(rules, name, vars(rules)[name]) for rules in of for name in _decisions(rules)]
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
    own = vars(rules).items()
    return [name for name, value in own if callable(value) and not name.startswith("_")]


def _named(rules: type[Any], name: str) -> str:
    return f"{rules.__name__.removesuffix('Rules').lower()}.{name}"
