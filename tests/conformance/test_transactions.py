"""Transactions in Python say what their spec says: rules, and properties of states good and bad."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec.structs import replace

from reference.bugs.catalog import replayable
from reference.kit.protocol import HISTORY
from reference.runner.run import simulate_run
from reference.transactions.messages import (
    COORDINATOR,
    AddPartitions,
    EndTxn,
    Produce,
    Verify,
    WriteTxnMarkers,
)
from reference.transactions.properties import PROPERTIES, history_next
from reference.transactions.rules import TransactionRules
from reference.transactions.types import (
    NOTHING_PENDING,
    Constants,
    Coordinator,
    Producer,
    Txn,
)
from tests.conformance.judged_states import Asked, Variables, answers
from tests.reference.quorum.test_vocabulary import snake
from tests.reference.transactions.plants import TWO, Rows, first_rows, plants, settled
from tla_utils import Record, Value, function
from traces.jobs.abstraction import Abstraction

pytestmark = pytest.mark.tlc

MODULE = "TransactionProperties"
STEPS = ("EpochMonotonic", "ZombieFenced")
"""Properties of steps: the spec says them in an action of the name and `Step`."""

# -- Properties


def variables(constants: Constants, rows: Rows) -> Variables:
    """The variables of the spec in this state."""
    form = Abstraction(constants).row
    log, past = rows[COORDINATOR], rows[HISTORY]
    whole: Any = form(log)
    tails = frozenset(tail["records"] for tail in whole["log"]["tails"])
    asked = [EndTxn(1, 0, 1, 0, "Commit", txn) for txn in sorted(past.asked)]
    return {
        "coordinators": whole["coordinators"],
        "leaderEpoch": log.leader_epoch,
        "log": Record({**whole["log"], "tails": tails}),
        "partitions": function((p, form(rows[p])) for p in constants.partitions),
        "leaderless": whole["leaderless"],
        "clients": function((c, form(rows[c])) for c in constants.clients),
        "network": frozenset(form(each) for each in asked),
        "decided": frozenset(
            Record(state=d.state, epoch=d.epoch, partitions=frozenset(d.partitions))
            for d in past.decided
        ),
        "told": frozenset(Record(t._asdict()) for t in past.told),
        "handedOut": past.handed_out,
        "late": frozenset(past.late),
    }


def walked() -> Iterator[tuple[Constants, Rows, Rows]]:
    """Some steps of runs, with the history in their rows."""
    for number in range(12):
        run = simulate_run("transactions", 5, number, None, {"version": 2})
        constants: Any = run.result.constants
        rows = first_rows(constants)
        for at, step in enumerate(run.steps):
            after = {**rows, step.node: step.after}
            after[HISTORY] = history_next(constants, rows, after)
            if at % 20 == number:
                yield constants, rows, after
            rows = after


def test_every_property_says_the_same_in_both(specs_dir: Path) -> None:
    pairs = [(TWO, plant.before, plant.after) for plant in plants()]
    pairs += [(TWO, settled(), settled()), *walked()]
    for _, before, after in pairs[: len(plants())]:
        before[HISTORY] = replace(before[HISTORY], handed_out=after[HISTORY].handed_out)
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

STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")
PENDED = ("None", "PrepareEpochFence", "Ongoing", "CompleteAbort")


def rows_of_coordinators() -> Iterator[Coordinator]:
    for state, pended, partitions in itertools.product(STATES, PENDED, ((), (11,))):
        pending = replace(NOTHING_PENDING, state=pended)
        # Any of STATES.
        yield Coordinator(True, 2, Txn(state, 2, partitions), pending, ())  # type: ignore[arg-type]


def producers() -> Iterator[Producer]:
    for epoch, coordinator, sequence, is_open in itertools.product(
        (-1, 1, 2), (1, 2), (-1, 0, 1), (False, True)
    ):
        yield Producer(epoch, coordinator, sequence, is_open)


def questions() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """(rule, arguments)."""
    yield from (("ActsOnCommittedOnly", ()), ("AnswersWhenDeposed", ()))
    yield from (
        (rule, (epoch,))
        for rule in ("InitialisedEpoch", "FencedEpoch", "EndedEpoch")
        for epoch in (0, 3)
    )
    yield from (("MarkerDestination", (has,)) for has in (False, True))
    adds = [AddPartitions(1, 0, 1, p, e, 0) for p in (11, 12) for e in (1, 2)]
    verifies = [Verify(11, 0, p, e, 0) for p in (11, 12) for e in (1, 2)]
    ends = [EndTxn(1, 0, 1, e, d, 1) for e in (0, 1, 2) for d in ("Commit", "Abort")]
    markers = [
        WriteTxnMarkers(0, 11, 11, e, d, c)
        for e in (1, 2, 3)
        for d in ("Commit", "Abort")
        for c in (1, 2)
    ]
    batches = [Produce(1, 11, 1, 11, e, 1, s) for e in (0, 1, 2, 3) for s in (0, 1, 2)]
    for row in rows_of_coordinators():
        yield from (("InitProducerIdAnswer", (row,)), ("IsEndPending", (row,)))
        yield from (("AddPartitionsAnswer", (row, m)) for m in adds)
        yield from (("VerifyAnswer", (row, m)) for m in verifies)
        for rule in ("EndTxnAnswerV1", "EndTxnAnswerV2", "EndTxnAnswer"):
            yield from ((rule, (row, m)) for m in ends)
        yield from (("IsMarkerReplyCurrent", (row, m)) for m in markers)
    for producer in producers():
        yield from (("IsDuplicateBatch", (producer, m)) for m in batches)
        yield from ((rule, (producer, 1)) for rule in ("IsOngoing", "NeedsVerification"))
        yield from (("BatchError", (producer, m, g)) for m in batches for g in (False, True))
        for rule in ("MarkerEpochOk", "MarkerRepeatOk", "IsCoordinatorFenced", "MarkerError"):
            yield from ((rule, (producer, m)) for m in markers)
    yield from (("MarkerClearsGuard", (guard, m)) for guard in (-1, 1, 2) for m in markers)


def disagreements(rules: TransactionRules, most: int, specs_dir: Path) -> set[str]:
    """The rules that answer otherwise than their operators, somewhere among so many questions."""
    form = Abstraction(rules.constants)
    all_of = list(questions())
    first = {rule: arguments for rule, arguments in reversed(all_of)}
    some = [*random.Random(most).sample(all_of, most), *first.items()]
    blank: dict[str, Value] = dict.fromkeys(variables(TWO, first_rows()), 0)

    def state(rule: str, arguments: tuple[Any, ...]) -> Variables:
        given = tuple([each if isinstance(each, int) else form.row(each) for each in arguments])
        said = getattr(rules, snake(rule))(*arguments)
        return {**blank, "told": Record(rule=rule, given=given, said=said)}

    asked = {}
    for rule, arguments in first.items():
        call = ", ".join(f"told.given[{at}]" for at in range(1, len(arguments) + 1))
        own = f"{rule}({call})" if arguments else rule
        asked[rule] = f'(told.rule = "{rule}" => {own} = told.said)'
    pairs = [(state(*each), state(*each)) for each in some]
    told = answers(MODULE, rules.constants, Asked(asked, {}), pairs, specs_dir)
    return {name for said in told for name, agrees in said.items() if not agrees}


@pytest.mark.parametrize("version", [1, 2])
def test_every_rule_answers_as_its_operator(version: Literal[1, 2], specs_dir: Path) -> None:
    rules = TransactionRules(replace(TWO, version=version))
    assert disagreements(rules, 2500, specs_dir) == set()


def test_another_rule_is_told(specs_dir: Path) -> None:
    """Z73: what is decided by it is told as well."""
    # It has one: it is replayed.
    rules: TransactionRules = replayable("Z73").replacement(TWO)  # type: ignore[misc]
    assert disagreements(rules, 1500, specs_dir) == {"MarkerEpochOk", "MarkerError"}
