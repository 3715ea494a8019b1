"""What an anomaly is made of: columns, a row for each time that it happened.

Whoever finds anomalies returns `Finding`s; nobody makes sentences of them before they are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from kraftcheck.reference.clients.promises import Level, Promise
from kraftcheck.traces.checkers.columns import Ints
from kraftcheck.traces.checkers.verdict import Anomaly, Certificate

NOBODY = -1
EXAMPLES_MAX: Final = 5
"""Certificates of each anomaly."""


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


class Broken(NamedTuple):
    """An anomaly of what spans partitions: how often it happened, and how each time is certified.

    certify: of a number from 0 to before `times`.
    """

    name: str
    times: int
    certify: Callable[[int], Certificate]

    def certificates(self) -> Iterator[Certificate]:
        """Made as they are asked for."""
        for at in range(self.times):
            yield self.certify(at)


def told(
    found: Broken, meanings: Mapping[str, str], promise: Promise, level: Level | None
) -> Anomaly:
    """It against a promise; or, with a level, only told: a level says nothing between partitions.

    meanings: of each anomaly, in words.
    """
    allowed = level is not None or promise.allows(found.name)
    why = "nothing allows it here"
    if level is not None:
        why = "a level says nothing of it"
    elif allowed:
        why = promise.allowed.get(found.name, promise.because)
    return Anomaly(
        name=found.name,
        count=found.times,
        allowed=allowed,
        reason=f"{meanings[found.name]}; {why}",
        certificates=tuple(islice(found.certificates(), EXAMPLES_MAX)),
    )
