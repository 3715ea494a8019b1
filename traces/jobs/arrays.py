"""A part's steps as flat arrays, without decoding anything: what cheap questions are asked of.

An occurrence is one step of one run; those of a run stand in the order of its steps. `Part` of
columns.py knows more and costs more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]


def ints(column: Any) -> Ints:
    return np.asarray(column.to_numpy(), dtype=np.int64)


def whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The column in one piece."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if not column.num_chunks:
        return pa.array([], column.type)
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def lists(column: pa.ChunkedArray | pa.Array) -> tuple[Ints, pa.Array]:
    """How long each list is, and the items of all of them one behind the other."""
    array = whole(column)
    offsets = np.asarray(array.offsets.to_numpy(), dtype=np.int64)
    return np.diff(offsets), array.flatten()


@dataclass(frozen=True)
class Occurrences:
    """Per occurrence: the step's id, the place of its run in the part, when it was (virtual us).

    component: whose step it is, in a run of several components (traces/schema.py).
    """

    step: Ints
    run_at: Ints
    time: Ints
    component: Ints
    components: int

    @classmethod
    def of(cls, runs: pa.Table) -> Occurrences:
        """From the table `runs` of a part."""
        lengths, steps = lists(runs["steps"])
        named, items = lists(runs["components"])
        component = np.zeros(len(steps), dtype=np.int64)
        component[np.repeat(named > 0, lengths)] = ints(items)
        run_at = np.repeat(np.arange(len(lengths)), lengths)
        time = ints(lists(runs["times"])[1])
        count = int(component.max(initial=0)) + 1
        return cls(ints(steps), run_at, time, component, count)

    @cached_property
    def thread(self) -> Ints:
        """Run and component as one number."""
        return self.run_at * self.components + self.component

    @cached_property
    def by_thread(self) -> Ints:
        """The occurrences ordered by thread; within one, in the order of time."""
        return np.argsort(self.thread, kind="stable")


def tally(tables: Mapping[str, pa.Table]) -> tuple[Ints, Ints]:
    """Of each step of a part: how often it was taken, and the first occurrence; -1 if never."""
    taken = ints(lists(tables["runs"]["steps"])[1])
    steps = tables["steps"].num_rows
    first = np.full(steps, -1, dtype=np.int64)
    found, at = np.unique(taken, return_index=True)
    first[found] = at
    return np.bincount(taken, minlength=steps), first
