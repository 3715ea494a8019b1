"""What an anomaly is made of: columns, a row for each time that it happened.

Whoever finds anomalies returns `Finding`s; nobody makes sentences of them before they are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

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
    offsets that matter, where they are known (or -1).
    """

    name: str
    segment: Ints
    first: Ints
    second: Ints
    offset: Ints
    other: Ints
    value: Ints
    """The number of a value, or -1."""


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


Evidence = tuple[tuple[int, ...], str, str | None]
"""Operations, the victim last; a sentence; the topic-partition, where it is of one."""


class Broken(NamedTuple):
    """An anomaly that spans partitions.

    It has a row for each time that it happened, and what shows that.
    """

    name: str
    rows: Sequence[Any] | Ints
    say: Callable[[Any], Evidence]
    """Of a row, the evidence."""

    @property
    def times(self) -> int:
        return len(self.rows)

    def certificates(self) -> Iterator[Certificate]:
        """Made as they are asked for."""
        for operations, said, key in map(self.say, self.rows):
            numbers = tuple(dict.fromkeys(map(int, operations)))
            yield Certificate(operations=numbers, kind=self.name, sentence=said, key=key)


def gravest_first(found: Iterable[Broken], names: Iterable[str]) -> list[Broken]:
    """What happened at all; names: the gravest first."""
    order = list(names)
    return sorted((each for each in found if each.times), key=lambda each: order.index(each.name))


class Across(NamedTuple):
    """The verdict on what spans the partitions of a history."""

    verdict: str
    anomalies: tuple[Anomaly, ...]
    reason: str | None = None
    """Why it is unknown."""


def anomaly_of(
    found: Broken, meanings: Mapping[str, str], promise: Promise, level: Level | None
) -> Anomaly:
    """Return a finding as an anomaly, allowed or forbidden by a guarantee.

    Args:
        found: the finding.
        meanings: the meaning of each anomaly, in words.
        promise: the guarantee.
        level: if given, the anomaly is reported and not forbidden, because a level does not concern
            several partitions.
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
