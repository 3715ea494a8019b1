"""Groups in Python say what their spec says: rules, and properties of states good and bad."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reference.bugs.catalog import replayable
from reference.groups.messages import (
    ALL_FIELDS,
    COORDINATOR,
    GroupHeartbeat,
    GroupHeartbeatResponse,
    MemberRecord,
    MemberState,
)
from reference.groups.properties import PROPERTIES
from reference.groups.rules import GroupRules
from reference.groups.types import INITIAL_MEMBER, Constants, GroupMember
from reference.protocols import PROTOCOLS
from reference.runner.run import simulate_run
from tests.conformance.judged_states import Asked, Variables, answers
from tests.reference.groups.plants import (
    GROUP,
    TWO,
    Rows,
    coordinator,
    first_rows,
    plants,
    settled,
)
from tests.reference.quorum.test_vocabulary import snake
from tla_utils import Record, Value, function
from traces.jobs.abstraction import Abstraction

pytestmark = [
    pytest.mark.tlc,
    pytest.mark.skipif(
        all(each.name != "groups" for each in PROTOCOLS),
        reason="groups are not registered: tests/protocols/test_groups.py runs these",
    ),
]

MODULE = "GroupProperties"
STEPS = ("EpochsMonotonic", "Withheld")
"""Properties of steps: the spec says them in an action of the name and `Step`."""

# -- Properties


def variables(constants: Constants, rows: Rows) -> Variables:
    """The variables of the spec in this state."""
    form = Abstraction(constants).row
    return {
        "coordinator": form(rows[COORDINATOR]),
        "clients": function((n, form(rows[n])) for n in constants.members),
        "network": frozenset(),
    }


def walked() -> Iterator[tuple[Constants, Rows, Rows]]:
    """Some steps of runs."""
    for number in range(8):
        run = simulate_run("groups", 5, number, None, {})
        constants: Any = run.result.constants
        rows = first_rows(constants)
        for at, step in enumerate(run.steps):
            after = {**rows, step.node: step.after}
            if at % 20 == number:
                yield constants, rows, after
            rows = after


def test_every_property_says_the_same_in_both(specs_dir: Path) -> None:
    pairs = [(TWO, plant.before, plant.after) for plant in plants()]
    pairs += [(TWO, settled(), settled())]
    pairs += [each for each in walked() if each[0] == TWO]
    states = {each.name: each.name for each in PROPERTIES if each.name not in STEPS}
    asked = Asked(states, {name: f"{name}Step" for name in STEPS})
    told = answers(
        MODULE,
        TWO,
        asked,
        [(variables(of, before), variables(of, after)) for of, before, after in pairs],
        specs_dir,
    )
    seen: set[tuple[str, bool]] = set()
    for (constants, before, after), said in zip(pairs, told, strict=True):
        ours = {each.name: each.check(constants, before, after) is None for each in PROPERTIES}
        assert ours == said
        seen |= set(ours.items())
    assert len(seen) == 2 * len(PROPERTIES)


# -- Rules

SETS = ((), (1,), (2,), (1, 2))


def member_records() -> Iterator[MemberRecord]:
    states: tuple[MemberState, ...] = ("Stable", "Unrevoked")
    for state, epoch, assigned, pending in itertools.product(states, (2, 3), SETS, SETS):
        yield MemberRecord(state, epoch, epoch - 1, (1, 2), (), assigned, pending)


def heartbeats() -> Iterator[GroupHeartbeat]:
    for epoch, given, owned in itertools.product((0, 1, 2, 3), ((), ("Owned",), ALL_FIELDS), SETS):
        if "Owned" in given or not owned:
            yield GroupHeartbeat(1, 0, 1, epoch, given, (), owned)


def clients() -> Iterator[GroupMember]:
    for current, target, awaiting in itertools.product(SETS, SETS, (False, True)):
        yield replace(
            INITIAL_MEMBER,
            current=current,
            target=target,
            reconciling=target[:1],
            owned=current,
            awaiting=awaiting,
            correlation=2,
        )


def questions() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """(rule, arguments)."""
    response = GroupHeartbeatResponse(0, 1, 2, "NONE", 2, True, (1,))
    row = coordinator(GROUP)
    waiting = replace(row, log=replace(row.log, leader=(GROUP,)), waiting=(response,))
    yield from (("WaitsForWritten", (each,)) for each in (row, waiting))
    yield from (("BumpedEpoch", (epoch,)) for epoch in (1, 4))
    beats, records = [*heartbeats()], [*member_records()]
    for member in records:
        for rule in ("AcceptsPreviousEpoch", "MemberEpochError"):
            yield from ((rule, (member, m)) for m in beats)
        for retargeted in (False, True):
            yield from (("RevocationBlocks", (member, m, retargeted)) for m in beats)
        yield "IsRevocationLate", (member,)
        yield from (("IsFree", (replace(GROUP, held=h), member, 1)) for h in SETS)
        yield from (("HeldAfter", (h, member, after)) for h in SETS for after in records[::7])
        yield from (
            ("TellsAssignment", (m, member, after)) for m in beats[::3] for after in records[::9]
        )
        other = replace(member, subscribed=(1,))
        yield from (("ChangesSubscription", (member, each)) for each in (member, other))
    yield from (("HasRevoked", (some, m)) for some in SETS[1:] for m in beats)
    for epoch in (2, 3, 4):
        yield "NeedsTarget", (replace(GROUP, epoch=epoch),)
    for client in clients():
        yield "Report", (client,)
        yield from (("IsAwaited", (client, replace(response, correlation=c))) for c in (1, 2))


def disagreements(rules: GroupRules, most: int, specs_dir: Path) -> set[str]:
    """The rules that answer otherwise than their operators, somewhere among so many questions."""
    form = Abstraction(rules.constants)
    all_of = list(questions())
    first = {rule: arguments for rule, arguments in reversed(all_of)}
    some = [*random.Random(most).sample(all_of, most), *first.items()]
    blank: dict[str, Value] = dict.fromkeys(variables(TWO, first_rows()), 0)

    def value(given: Any) -> Value:
        if isinstance(given, tuple):
            return frozenset(given)
        return given if isinstance(given, int | str) else form.row(given)

    def state(rule: str, arguments: tuple[Any, ...]) -> Variables:
        given = tuple(map(value, arguments))
        said = value(getattr(rules, snake(rule))(*arguments))
        return {**blank, "network": Record(rule=rule, given=given, said=said)}

    asked = {}
    for rule, arguments in first.items():
        call = ", ".join(f"network.given[{at}]" for at in range(1, len(arguments) + 1))
        asked[rule] = f'(network.rule = "{rule}" => {rule}({call}) = network.said)'
    pairs = [(state(*each), state(*each)) for each in some]
    told = answers(MODULE, rules.constants, Asked(asked, {}), pairs, specs_dir)
    return {name for said in told for name, agrees in said.items() if not agrees}


def test_every_rule_answers_as_its_operator(specs_dir: Path) -> None:
    """IsTarget, and what is left when something is over, are seen in runs only."""
    assert disagreements(GroupRules(TWO), 2500, specs_dir) == set()


def test_another_rule_is_told(specs_dir: Path) -> None:
    """Z91."""
    # It has one: it is replayed.
    rules: GroupRules = replayable("Z91").replacement(TWO)  # type: ignore[misc]
    assert disagreements(rules, 1500, specs_dir) == {"RevocationBlocks"}
