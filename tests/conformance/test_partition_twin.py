"""The twin of the partition against its specification: TLC judges steps of random walks.

Both halves of the twin, under several constants. That TLC can say no is shown beside: a step whose
outcome was changed in one field is rejected, whatever the field, and so is a step of a rule that
was replaced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from kraftcheck.reference.partition.messages import CONTROLLER, MetadataRecords
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import (
    NO_PENDING,
    BrokerOutcome,
    BrokerRow,
    PartitionConstants,
)
from kraftcheck.reference.protocols import kind_of
from kraftcheck.traces.steps.translation import step_frame
from tests.conformance.partition_values import PartitionValues
from tests.reference.partition.walks import Moves, PartitionWalk, Step
from tla_utils import CheckOptions, Value, check_steps

pytestmark = pytest.mark.tlc

MAIN = PartitionConstants((2, 1, 3), min_insync_replicas=2)
CONSTANTS = (
    MAIN,
    PartitionConstants((1, 2), 2, elr_enabled=False),
    PartitionConstants((3, 2, 1), 2, elr_enabled=False, unclean_election=True),
    PartitionConstants((4, 2, 7, 1), 3, unclean_election=True, fetch_max_records=3),
)
OPTIONS = CheckOptions(parallel=1)


def walked(
    constants: PartitionConstants, walks: int, length: int, rules: PartitionRules | None = None
) -> Iterator[Step]:
    for seed in range(walks):
        yield from PartitionWalk(constants, seed, rules, Moves(delete=0.1)).steps(length)


def verdicts(constants: PartitionConstants, steps: list[dict[str, Value]]) -> list[int]:
    """The numbers of the steps that TLC does not accept; all are of brokers, or none is."""
    node = steps[0]["node"]
    assert isinstance(node, int)
    report = check_steps(step_frame(kind_of(constants, node), constants), steps, OPTIONS)
    return report.numbers("rejected") + report.numbers("unknown")


@pytest.mark.slow
@pytest.mark.parametrize("constants", CONSTANTS, ids=lambda c: f"{len(c.replicas)}-replicas")
def test_every_step_is_one_of_the_specification(constants: PartitionConstants) -> None:
    values = PartitionValues(constants)
    steps = list(walked(constants, 5, 150))
    for of_controller in (False, True):
        judged = [s for s in steps if (s.node == CONTROLLER) is of_controller]
        listed = [values.step(step) for step in judged]
        rejected = verdicts(constants, listed)
        assert not rejected, judged[rejected[0]]


def test_the_walks_get_somewhere() -> None:
    """Every handler has had an effect, and what is hard to reach was reached."""
    seen: Counter[str] = Counter()
    for step in walked(MAIN, 16, 150):
        if not step.outcome.ignored:
            seen[type(step.input).__name__] += 1
        if step.node != CONTROLLER:
            before, after = step.before.rows[step.node], step.after.rows[step.node]
            seen["shorter"] += len(after.log) < len(before.log)
            seen["refused"] += after.pending.refused and not before.pending.refused
            seen["expanded"] += before.role == "Leader" and len(after.isr) > len(before.isr) > 0
            seen["committed"] += after.role == "Leader" and len(before.parked) > len(after.parked)
            seen["trimmed"] += after.log_start > before.log_start
    expected = {"shorter", "expanded", "committed", "trimmed", "ControlledShutdown"}
    assert not {name for name in expected if not seen[name]}
    assert len([name for name in seen if name[0].isupper()]) >= 27


def changed(step: Step) -> Iterator[tuple[str, Step]]:
    """The step with its outcome changed, in each field of the row once."""
    outcome = step.outcome
    assert isinstance(outcome, BrokerOutcome)
    row = outcome.row
    for name in row.__struct_fields__:
        value = getattr(row, name)
        other: object
        if name in ("status", "role"):
            other = "Down" if name == "status" else "Leader" if value != "Leader" else "None"
        elif isinstance(value, int):
            other = value + 1
        elif name == "remotes":
            other = (replace(value[0], caught_up=not value[0].caught_up), *value[1:])
        elif isinstance(value, tuple):
            other = value[1:] if value else None
        elif name == "image":
            other = replace(value, offset=value.offset + 1)
        elif name == "pending":
            other = replace(NO_PENDING, refused=True) if value == NO_PENDING else NO_PENDING
        else:
            other = None
        if other is not None:
            new_row: BrokerRow = replace(row, **{name: other})
            yield name, step._replace(outcome=replace(outcome, row=new_row))
    if outcome.sent:
        yield "sent", step._replace(outcome=replace(outcome, sent=()))
    yield "ignored", step._replace(outcome=replace(outcome, ignored=outcome.ignored + "?"))


def test_a_change_of_any_field_is_rejected() -> None:
    values = PartitionValues(MAIN)
    planted: list[dict[str, Value]] = []
    fields: list[str] = []
    for step in walked(MAIN, 3, 150):
        if step.node != CONTROLLER:
            for name, other in changed(step):
                if fields.count(name) < 6:
                    planted.append(values.step(other))
                    fields.append(name)
    rejected = verdicts(MAIN, planted)
    assert len(set(fields)) >= 25
    assert len(rejected) == len(planted)


def test_a_lost_reply_of_the_controller_is_rejected() -> None:
    values = PartitionValues(MAIN)
    planted = []
    for step in walked(MAIN, 6, 150):
        if step.node == CONTROLLER and len(step.outcome.sent) > 1:
            kept = tuple(m for m in step.outcome.sent if isinstance(m, MetadataRecords))
            planted.append(values.step(step._replace(outcome=replace(step.outcome, sent=kept))))
    assert len(planted) > 5
    assert len(verdicts(MAIN, planted)) == len(planted)


class EagerShrink(PartitionRules):
    __slots__ = ()

    def maximal_isr(self, row: BrokerRow) -> tuple[int, ...]:
        if row.pending.kind == "Shrink":
            return tuple(member.broker for member in row.pending.isr)
        return super().maximal_isr(row)


@pytest.mark.slow
def test_a_replaced_rule_is_rejected() -> None:
    values = PartitionValues(MAIN)
    steps = [s for s in walked(MAIN, 20, 200, EagerShrink(MAIN)) if s.node != CONTROLLER]
    assert verdicts(MAIN, [values.step(s) for s in steps])
