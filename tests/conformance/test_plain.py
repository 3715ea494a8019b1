"""Protocols without a simulation of their own say in Python what their specs say.

Rules are asked on both sides, and properties of states good and bad. What is asked of each stands
in asked_of_groups.py and its like.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.reference.bugs.catalog import replayable
from kraftcheck.reference.kit.log import Entry
from kraftcheck.reference.kit.protocol import HISTORY
from kraftcheck.reference.quorum.voters.types import VotersAt
from kraftcheck.reference.runner.run import simulate_run
from kraftcheck.traces.steps.translation import Abstraction
from tests.conformance import (
    asked_of_classic,
    asked_of_commits,
    asked_of_compaction,
    asked_of_controllers,
    asked_of_groups,
    asked_of_hosting,
    asked_of_reassignment,
    asked_of_sessions,
    asked_of_sharegroup,
    asked_of_shares,
    asked_of_snapshots,
    asked_of_transactions,
    asked_of_voters,
)
from tests.conformance.judged_states import Asked, Plain, Variables, answers
from tests.reference.plain import Rows
from tests.reference.vocabulary import snake
from tla_utils import Record, Value, function

pytestmark = pytest.mark.tlc

EACH = tuple(
    each.PLAIN
    for each in (
        *(asked_of_groups, asked_of_commits, asked_of_classic, asked_of_transactions),
        *(asked_of_voters, asked_of_snapshots, asked_of_reassignment, asked_of_hosting),
        *(asked_of_compaction, asked_of_shares, asked_of_sessions),
        asked_of_sharegroup,
        asked_of_controllers,
    )
)
of_each = pytest.mark.parametrize("of", EACH, ids=lambda of: of.planted.protocol.name)


# -- Properties


def walked(of: Plain) -> Iterator[tuple[Rows, Rows]]:
    """Some steps of runs, with the history in their rows."""
    protocol, constants = of.planted.protocol, of.planted.constants
    assert protocol.world is not None
    options = {name: getattr(constants, name) for name in protocol.world.constants}
    for number in range(12):
        rows = of.planted.first
        for at, step in enumerate(simulate_run(protocol.name, 5, number, None, options).steps):
            after = {**rows, step.node: step.after}
            if protocol.world.history is not None:
                after[HISTORY] = protocol.world.history(constants, rows, after)
            if at % 20 == number:
                yield rows, after
            rows = after


@pytest.mark.slow
@of_each
def test_every_property_says_the_same_in_both(of: Plain, specs_dir: Path) -> None:
    planted = of.planted
    assert planted.protocol.world is not None
    pairs = [(each.before, each.after) for each in planted.plants]
    pairs += [(planted.settled, planted.settled), *walked(of)]
    properties = planted.protocol.world.properties
    asked = Asked(
        {each.name: each.name for each in properties if each.name not in of.steps},
        {name: f"{name}Step" for name in of.steps},
    )
    states = [(of.variables(before), of.variables(after)) for before, after in pairs]
    told = answers(of.module, planted.constants, asked, states, specs_dir, of.beside)
    seen: set[tuple[str, bool]] = set()
    for (before, after), said in zip(pairs, told, strict=True):
        violated = planted.violated(before, after)
        ours = {each.name: each.name not in violated for each in properties}
        assert ours == said
        seen |= set(ours.items())
    assert len(seen) == 2 * len(properties)


# -- Rules


def disagreements(of: Plain, rules: Any, most: int, specs_dir: Path) -> set[str]:
    """The rules that answer otherwise than their operators, somewhere among so many questions."""
    form = Abstraction(rules.constants)
    all_of = list(of.questions())
    first = {rule: arguments for rule, arguments in reversed(all_of)}
    some = [*random.Random(most).sample(all_of, min(most, len(all_of))), *first.items()]
    blank: dict[str, Value] = dict.fromkeys(of.variables(of.planted.first), 0)
    free = next(iter(blank))
    """The variable in which a question stands."""

    def value(given: Any) -> Value:
        match given:
            case (Entry() | VotersAt(), *_):
                return tuple(map(value, given))
            case tuple():
                return frozenset(map(value, given))
            case list():
                return tuple(map(value, given))
            case dict():
                return function((key, value(each)) for key, each in given.items())
            case bool() | int() | str():
                return given
        return form.row(given)

    def state(rule: str, arguments: tuple[Any, ...]) -> Variables:
        said = value(getattr(rules, snake(rule))(*arguments))
        return {**blank, free: Record(rule=rule, given=tuple(map(value, arguments)), said=said)}

    asked = {}
    for rule, arguments in first.items():
        call = ", ".join(f"{free}.given[{at}]" for at in range(1, len(arguments) + 1))
        own = f"{rule}({call})" if arguments else rule
        asked[rule] = f'({free}.rule = "{rule}" => {own} = {free}.said)'
    pairs = [(state(*each), state(*each)) for each in some]
    asking = Asked(asked, {})
    told = answers(of.module, rules.constants, asking, pairs, specs_dir, of.beside)
    return {name for said in told for name, agrees in said.items() if not agrees}


@pytest.mark.parametrize(
    ("of", "constants"),
    [(of, constants) for of in EACH for constants in of.settings],
    ids=lambda each: each.planted.protocol.name if isinstance(each, Plain) else "",
)
@pytest.mark.parametrize("most", [300, pytest.param(10**6, marks=pytest.mark.slow, id="all")])
def test_every_rule_answers_as_its_operator(
    of: Plain, constants: Any, most: int, specs_dir: Path
) -> None:
    """A fault may show in one question alone."""
    [base] = of.planted.protocol.rules
    assert disagreements(of, base(constants), most, specs_dir) == set()


@of_each
def test_every_rule_is_asked(of: Plain) -> None:
    [base] = of.planted.protocol.rules
    rules = {name for name, each in vars(base).items() if callable(each) and name[0] != "_"}
    assert {snake(rule) for rule, _ in of.questions()} == rules


@pytest.mark.slow
@of_each
def test_another_rule_is_told(of: Plain, specs_dir: Path) -> None:
    """What is decided by it is told as well."""
    bug, told = of.replaced
    # It has one: it is replayed.
    rules = replayable(bug).replacement(of.planted.constants)  # type: ignore[misc]
    assert disagreements(of, rules, 900, specs_dir) == told
