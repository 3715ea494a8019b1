"""Three simple invariants of client histories, each written twice: in columns and in SQL.

They are weaker than what the checkers of histories find, and so simple that two people would write
them alike; what they are for is to hold two ways of reading recorded histories against each other.
The columns are read by our own code, as the checkers read them; the SQL is Spark's, with
higher-order functions on the nested rows, and shares nothing with it (compared in
tests/traces/jobs/test_on_spark.py).

    AckedOnce        no two acknowledged appends to a log have one offset
    ReadWasWritten   every value that was read was appended to that log, or is the log's own
    EndAfterRead     a fetch tells an end that is not before what it returned

AckedOnce is promised only where nothing may be lost: a log that was cut gives an offset twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kraftcheck.traces.steps.record import Ints, ints, lists

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

INVARIANTS: Final = ("AckedOnce", "ReadWasWritten", "EndAfterRead")
BROKEN: Final = pa.schema([("run", pa.int64()), ("invariant", pa.string())])
"""A run in which an invariant does not hold."""

CONTROL: Final = 0
"""The value of a record that the log itself wrote."""
MISSING: Final = -1


def broken(runs: pa.Table) -> pa.Table:
    """BROKEN of some rows of table `runs`, by run and invariant; in columns."""
    lengths, history = lists(runs["history"])
    numbers = ints(runs["run"])
    operations = _Operations(np.repeat(np.arange(len(lengths)), lengths), history)
    found = {
        "AckedOnce": operations.acked_twice(),
        "ReadWasWritten": operations.read_unwritten(),
        "EndAfterRead": operations.read_beyond(),
    }
    rows = [
        {"run": int(numbers[at]), "invariant": name}
        for name, places in found.items()
        for at in np.unique(places).tolist()
    ]
    table = pa.Table.from_pylist(rows, schema=BROKEN)
    return table.sort_by([("run", "ascending"), ("invariant", "ascending")])


class _Operations:
    """Operations one behind the other. run_at: of each, the place of its run."""

    def __init__(self, run_at: Ints, history: pa.Array) -> None:
        self.run_at = run_at
        self.log = run_at << 8 | ints(history.field("partition"))
        op, outcome = history.field("op"), history.field("outcome")
        done = _is(outcome, "ok")
        self.append, self.acked = _is(op, "append"), _is(op, "append") & done
        self.read = _is(op, "fetch") & done
        self.offset = ints(history.field("offset").fill_null(MISSING))
        self.end = ints(history.field("end").fill_null(MISSING))
        self.lengths, values = lists(history.field("values"))
        self.values = ints(values)

    def acked_twice(self) -> Ints:
        """The runs, by their place."""
        known = self.acked & (self.offset != MISSING)
        pairs = np.stack([self.log[known], self.offset[known]], axis=1)
        _, first, times = np.unique(pairs, axis=0, return_index=True, return_counts=True)
        found: Ints = self.run_at[known][first[times > 1]]
        return found

    def read_unwritten(self) -> Ints:
        of = np.repeat(np.arange(len(self.lengths)), self.lengths)
        values = (self.log[of] << 32) + self.values
        written = values[self.append[of]]
        asked = self.read[of] & (self.values != CONTROL)
        strange = asked & ~np.isin(values, written)
        found: Ints = self.run_at[of[strange]]
        return found

    def read_beyond(self) -> Ints:
        beyond = self.read & (self.end != MISSING) & (self.offset + self.lengths > self.end)
        found: Ints = self.run_at[beyond]
        return found


def _is(column: pa.Array, word: str) -> Any:
    return pc.equal(column, word).to_numpy(zero_copy_only=False)


# --- In SQL ---

_ACKED = "filter(history, o -> o.op = 'append' AND o.outcome = 'ok' AND o.offset IS NOT NULL)"
_WRITTEN = (
    "flatten(transform(filter(history, o -> o.op = 'append'), "
    "o -> transform(o.`values`, v -> struct(o.`partition` AS log, v AS value))))"
)
_READ = (
    "flatten(transform(filter(history, o -> o.op = 'fetch' AND o.outcome = 'ok'), "
    "o -> transform(o.`values`, v -> struct(o.`partition` AS log, v AS value))))"
)
CONDITIONS: Final = {
    "AckedOnce": (
        f"size({_ACKED}) > size(array_distinct(transform({_ACKED}, "
        "o -> struct(o.`partition`, o.offset))))"
    ),
    "ReadWasWritten": (f"exists(array_except({_READ}, {_WRITTEN}), p -> p.value <> {CONTROL})"),
    "EndAfterRead": (
        "exists(history, o -> o.op = 'fetch' AND o.outcome = 'ok' AND o.`end` IS NOT NULL "
        "AND o.offset + size(o.`values`) > o.`end`)"
    ),
}
"""Of each invariant, the condition under which a row of table `runs` breaks it."""


def broken_in_sql(runs: DataFrame) -> DataFrame:
    """BROKEN of a frame with the columns `run` and `history` of table `runs`; in no order."""
    from pyspark.sql import functions as F

    names = [F.when(F.expr(condition), F.lit(name)) for name, condition in CONDITIONS.items()]
    found = runs.select("run", F.explode(F.array_compact(F.array(*names))).alias("invariant"))
    return found
