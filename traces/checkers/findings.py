"""What an anomaly is made of: columns, a row for each time that it happened.

Whoever finds anomalies returns `Finding`s; nobody makes sentences of them before they are shown.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traces.checkers.columns import Ints

NOBODY = -1


class Finding(NamedTuple):
    """All anomalies of one name, in the order of their segments.

    first, second: operations (`Operation.index`, or NOBODY), the victim second. offset, other: two
    offsets that matter, where they are known (or -1). value: the number of a value, or -1.
    """

    name: str
    segment: Ints
    first: Ints
    second: Ints
    offset: Ints
    other: Ints
    value: Ints


def finding(
    name: str,
    segment: Ints,
    second: Ints,
    *,
    first: Ints | None = None,
    offset: Ints | None = None,
    other: Ints | None = None,
    value: Ints | None = None,
) -> Finding:
    """Columns that are left out hold -1; rows are put in the order of segments."""
    none = np.full(len(segment), NOBODY)
    columns = (segment, *(none if c is None else c for c in (first, second, offset, other, value)))
    order = np.argsort(segment, kind="stable")
    return Finding(name, *(column.take(order) for column in columns))
