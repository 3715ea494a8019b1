"""Small recorded parts that several tests of jobs ask, simulated once in a process."""

from __future__ import annotations

from functools import cache

import pyarrow as pa

from kraftcheck.reference.runner.run import simulate_part
from kraftcheck.traces.schema import PartTables

RUNS = {"quorum": 6, "partition": 8, "cluster": 3, "transactions": 3, "groups": 3}


@cache
def part(scenario: str) -> PartTables:
    return simulate_part(scenario, 11, 0, RUNS[scenario])


def with_histories(runs: pa.Table, histories: list[list[dict[str, object]]]) -> pa.Table:
    """The table `runs` with other histories."""
    at = runs.schema.get_field_index("history")
    column = pa.array(histories, runs.schema.field(at).type)
    return runs.set_column(at, runs.schema.field(at), column)
