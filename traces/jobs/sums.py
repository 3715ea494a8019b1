"""What must add up over the stages of a judgement.

Every step and first row of every run is in one class, whatever parts there are and whoever merged
them; and a class that was not accepted is joined back to all that took it, from its witness on.
Where it is otherwise a stage has lost steps, or filed them under others.

Law of this file: it looks at counts and witnesses alone, which two stages found each on its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from kraftcheck.traces.jobs.distinct import SLIM, Facts, merge
from tla_utils.errors import ToolError


def demand_all_classed(facts: Sequence[Facts], merged: pa.Table) -> None:
    """Raises ToolError unless the merged classes count every step and first row that has a form."""
    taken, counted = sum(fact.judged for fact in facts), pc.sum(merged["count"]).as_py() or 0
    if taken != counted:
        raise ToolError(
            f"runs took {taken} steps and first rows, but distinct ones count {counted}: "
            "the judgement cannot be trusted"
        )


def demand_all_joined(merged: pa.Table, numbers: Sequence[int], joined: pa.Table) -> None:
    """Raises ToolError unless these classes of the merged table are joined to all who took them.

    joined: with the columns JOINED (joined.py).
    """
    columns = [joined["key"], joined["times"], joined["run"], joined["step"]]
    found = merge(pa.table(columns, schema=SLIM))
    wanted = merged.take(pa.array(numbers, pa.int64())).cast(SLIM).sort_by("key")
    if found.equals(wanted.combine_chunks()):
        return
    odd = sorted({*map(_words, found.to_pylist())} ^ {*map(_words, wanted.to_pylist())})
    raise ToolError(
        f"verdicts are not joined to the runs that took the steps ({'; '.join(odd[:2])}): "
        "the judgement cannot be trusted"
    )


def _words(row: dict[str, object]) -> str:
    key = row["key"]
    assert isinstance(key, bytes)
    return f"{key.hex()[:8]}: {row['count']} from run {row['run']}, step {row['step']} on"
