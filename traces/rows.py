"""Operations on partitions' logs, and of consumer groups' members, as columns: a row for each, but
of a member's operation one for each topic-partition that it names. What they say is what
history.py says; `history_of` makes operations of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kraftcheck.traces.history import FAIL, LOG_OPERATIONS, OK, Annotation, History, Operation
from kraftcheck.traces.lean import leave_pandas_out

leave_pandas_out()

OFFSETS: Final = ("processed", "commit-offsets")
"""Verbs of members that name an offset with each partition."""
NULL: Final = -1
"""In the place of a word, or of an offset, that is not told."""
NEVER: Final = 1 << 62

Ints = NDArray[np.int64]


class Words(NamedTuple):
    """A column of words: of each row a number (NULL: none), and what they stand for."""

    codes: Ints
    names: tuple[str, ...]

    def are(self, name: str) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self.codes == (
            self.names.index(name) if name in self.names else -2
        )
        return found

    def any_of(self, names: Sequence[str]) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = np.isin(
            self.codes, [self.names.index(name) for name in names if name in self.names]
        )
        return found

    def of(self, row: int) -> str | None:
        code = int(self.codes[row])
        return None if code == NULL else self.names[code]


class Rows(NamedTuple):
    """The file as columns. line: where in it each is. operation: of the client, from 0. completed:
    NEVER where it never was. splits: of the row at `at`, what it returned is `splits[at]` to
    `splits[at + 1]` of offsets and returned; answered: whether it was told any, or none; of an
    assignment: whether its consumer went back to the beginning. value, returned: of one type."""

    source: str
    format: str
    time_unit: str
    annotations: tuple[Annotation, ...]
    line: Ints
    operation: Ints
    process: Ints
    f: Words
    outcome: Words
    invoked: Ints
    completed: Ints
    group: Words
    key: Words
    value: pa.Array
    offset: Ints
    to: Ints
    end: Ints
    isolation: Words
    mark: Words
    error: Words
    answered: NDArray[np.bool_]
    splits: Ints
    offsets: Ints
    returned: pa.Array


def history_of(rows: Rows, chosen: Ints | None = None) -> History:
    """The same as operations. chosen: only those of these rows, in order; no appends or fetches."""
    index = operation_numbers(rows)
    at = range(len(rows.operation)) if chosen is None else chosen.tolist()
    values: tuple[list[Any], list[Any]] = ([], [])
    if chosen is None:
        values = rows.value.to_pylist(), rows.returned.to_pylist()
    operations = []
    for number, of in groupby(at, key=lambda row: int(index[row])):
        [row, *more] = of
        operations.append(_operation(rows, number, [row, *more], values))
    return History(
        source=rows.source,
        format=rows.format,
        time_unit=rows.time_unit,
        operations=tuple(operations),
        annotations=rows.annotations,
        model="partition-log",
    )


def operation_numbers(rows: Rows) -> Ints:
    """Of each row, the number of its operation of the contract."""
    new = np.concatenate(([True], rows.operation[1:] != rows.operation[:-1]))
    return np.cumsum(new | rows.f.any_of(LOG_OPERATIONS)) - 1


def _operation(
    rows: Rows, index: int, of: list[int], values: tuple[list[Any], list[Any]]
) -> Operation:
    row = of[0]
    f = rows.f.of(row)
    assert f is not None
    completed = int(rows.completed[row])
    told: dict[str, Any] = {}
    if f == "append":
        offset = int(rows.offset[row])
        told = {"argument": values[0][row], "key": rows.key.of(row)}
        told["result"] = None if offset == NULL else offset
    elif f == "fetch":
        begin, end = rows.splits[row], rows.splits[row + 1]
        shown = tuple(zip(rows.offsets[begin:end].tolist(), values[1][begin:end], strict=True))
        told = {"key": rows.key.of(row), "result": shown if rows.answered[row] else None}
        for name, column in (("argument", rows.offset), ("to", rows.to), ("end", rows.end)):
            told[name] = None if column[row] == NULL else int(column[row])
    elif f in LOG_OPERATIONS:
        end = int(rows.end[row])
        told = {"key": rows.key.of(row), "result": None if end == NULL else end}
    else:
        keys = tuple([rows.key.of(each) for each in of if rows.key.codes[each] != NULL])
        pairs = tuple([(rows.key.of(each), int(rows.offset[each])) for each in of])
        group_name = rows.group.of(row)
        bare = {"subscribe": keys, "assign": keys, "crash": None, "committed": group_name}
        told["argument"] = bare.get(f, (group_name, pairs if f in OFFSETS else keys))
        if f in ("subscribe", "assign"):
            told["result"] = True if rows.answered[row] else None
        if f == "committed" and rows.outcome.of(row) == OK:
            told["result"] = pairs if keys else ()
    return Operation(
        index=index,
        process=int(rows.process[row]),
        f=f,
        invoked=int(rows.invoked[row]),
        completed=None if completed == NEVER else completed,
        outcome=rows.outcome.of(row) or FAIL,
        group=int(rows.operation[row]),
        line=int(rows.line[row]),
        error=rows.error.of(row),
        isolation=rows.isolation.of(row),
        mark=rows.mark.of(row),
        **told,
    )
