"""Groups, joins and sorts of rows: Arrow's tables here, or Spark's frames on executors.

A campaign merges steps and sums up what its runs measured by these alone, wherever the rows are.

Law of this file: the two give equal rows. The order of groups is promised by neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Rows = TypeVar("Rows", pa.Table, "DataFrame")
ROWS = "rows"
"""The column of a group that says how many rows it has."""


def grouped(
    rows: Rows, keys: Sequence[str], *, sums: Sequence[str] = (), first: Sequence[str] = ()
) -> Rows:
    """One row for each group of equal keys, none of which is null.

    Its columns: `keys`; `first`, of the row with the smallest such columns; `sums`, added up; ROWS.
    """
    columns = [*keys, *first, *sums]
    if isinstance(rows, pa.Table):
        return cast("Rows", _grouped_here(rows.select(columns), keys, sums, first))
    # Late, as everywhere: importing Spark takes a second.
    from pyspark.sql import functions as F

    added = [F.sum(name).alias(name) for name in sums]
    # Not any row: dropDuplicates would keep whichever came first.
    witness = [F.min(F.struct(*first)).alias(_FIRST)] if first else []
    asked = rows.dropna(subset=[*keys]).groupBy(*keys)
    found = asked.agg(F.count("*").alias(ROWS), *added, *witness)
    named = [F.col(f"{_FIRST}.{name}").alias(name) for name in first]
    return found.select(*keys, *named, *sums, ROWS)


_FIRST = "first row"


def _grouped_here(
    rows: pa.Table, keys: Sequence[str], sums: Sequence[str], first: Sequence[str]
) -> pa.Table:
    if any(rows[name].null_count for name in keys):
        rows = rows.filter(reduce(pc.and_, [pc.is_valid(rows[name]) for name in keys]))
    ordered = rows.sort_by([(name, "ascending") for name in (*keys, *first)]).combine_chunks()
    begins = np.zeros(len(ordered), dtype=np.bool_)
    begins[:1] = True
    for name in keys:
        begins[1:] |= pc.not_equal(ordered[name][1:], ordered[name][:-1]).to_numpy()
    starts = np.flatnonzero(begins)
    found = ordered.take(pa.array(starts))
    for name in sums:
        values = ordered[name].to_numpy()
        summed = np.add.reduceat(values, starts) if len(starts) else values
        found = found.set_column(found.column_names.index(name), name, pa.array(summed, pa.int64()))
    sizes = np.diff(starts, append=len(ordered))
    return found.append_column(ROWS, pa.array(sizes, pa.int64()))


def joined(rows: Rows, others: Rows, keys: Sequence[str]) -> Rows:
    """Each row with the columns of the other rows that have its keys."""
    if isinstance(rows, pa.Table):
        return cast("Rows", rows.join(others, [*keys], join_type="inner"))
    return rows.join(others, [*keys])


def least(rows: Rows, order: Sequence[str], count: int, having: tuple[str, str]) -> Rows:
    """At most so many rows, the first in this order, whose column has a value."""
    column, value = having
    if isinstance(rows, pa.Table):
        own = rows.filter(pc.equal(rows[column], value))
        return cast("Rows", own.sort_by([(name, "ascending") for name in order]).slice(0, count))
    return rows.filter(rows[column] == value).orderBy(*order).limit(count)
