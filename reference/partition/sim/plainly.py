"""A recorded run of a partition held against every property, promised or not."""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.partition.broker import BrokerHandlers
from kraftcheck.reference.partition.messages import CONTROLLER, MetadataRecords
from kraftcheck.reference.partition.properties import (
    PARTITION_INVARIANTS,
    PartitionHistory,
    PartitionState,
    history_next,
    initial_state,
)
from kraftcheck.reference.partition.rules import PartitionRules


def first_violation(run: Any) -> tuple[int, str, str] | None:
    """Give the first property of a partition that a run breaks, promised or not.

    As (step, property, explanation). It goes the slow way, property by property: not for campaigns.
    """
    constants = run.result.constants
    handlers = BrokerHandlers(constants, PartitionRules(constants))
    state, history = initial_state(constants), PartitionHistory()
    for number, step in enumerate(run.steps):
        before = state
        if step.node == CONTROLLER:
            records = [m.records for m in step.sent if isinstance(m, MetadataRecords)]
            metadata = before.metadata + tuple(record for each in records for record in each)
            state = PartitionState(before.rows, step.after, metadata)
        else:
            rows = {**before.rows, step.node: step.after}
            state = PartitionState(rows, before.controller, before.metadata)
        history = history_next(history, state, step.sent)
        for invariant in PARTITION_INVARIANTS:
            explanation = invariant.check(before, state, history, handlers)
            if explanation is not None:
                return number, invariant.name, explanation
    return None
