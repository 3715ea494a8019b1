"""What the clients of a steered run saw, held against what they were promised.

The steered runs themselves are in reference/sim/steered, which knows no checkers.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from reference.core.promises import promised
from reference.sim.operations import Operation
from reference.sim.partition.options import configuration_of
from reference.sim.steered.partition import Steering
from traces import schema
from traces.checkers import log
from traces.checkers.levels import levels_of
from traces.checkers.recorded import from_arrow


def broken_promise(partitions: Sequence[Steering]) -> str:
    """Empty if what clients saw of each partition is as consistent as promised, or what is missing.

    Each partition is held against its own faults (docs/consistency.md).
    """
    for number, partition in enumerate(partitions):
        configuration = configuration_of(partition.options)
        promise = promised(configuration, partition.losses.envelope())
        found = levels_of(_judge(partition.close_history()))
        if not promise.nothing and found.exact[0] and found.held[0] < promise.level:
            of = f" of partition {number}" if len(partitions) > 1 else ""
            return f"clients{of} were promised {promise.level.name}, and shown less"
    return ""


def _judge(history: Sequence[Operation]) -> log.Judgement:
    kind = schema.SCHEMAS["runs"].field("history").type
    names = [field.name for field in schema.OPERATION]
    rows = [dict(zip(names, each.fields(), strict=True)) for each in history]
    return log.judge(from_arrow(pa.array([rows], kind)), at_least_once=False, gaps=False)
