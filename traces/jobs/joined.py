"""Verdicts joined back: every run that took a step which was not accepted, and where.

Only parts that hold such a class are read again; what each recorded step's class is, the first pass
has written beside them (distinct.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kraftcheck.traces.jobs.columns import Ints, Part
from kraftcheck.traces.jobs.distinct import FIRST_ROW, KEYS, PartFiles
from kraftcheck.traces.store import PartEntry, read_part

JOINED = pa.schema(
    [("key", pa.binary()), ("run", pa.int64()), ("step", pa.int64()), ("times", pa.int64())]
)
"""A class that was not accepted and a run that took it: where first, and how often."""


def join_part(
    directory: Path, out: Path, entries: Sequence[PartEntry], keys: Sequence[bytes], number: int
) -> pa.Table:
    """The rows of one part. Runs in a worker."""
    entry = entries[number]
    wanted = pa.array(keys, pa.binary(16))
    of_part = pq.read_table(PartFiles.of(out, entry).keys, schema=KEYS)
    of_part = of_part.filter(pc.is_in(of_part["key"], value_set=wanted))
    if not len(of_part):
        return JOINED.empty_table()
    return join(Part(read_part(directory, entry)), of_part, keys)


def join(part: Part, of_part: pa.Table, keys: Sequence[bytes]) -> pa.Table:
    """Where runs of the part took the classes `keys`; `of_part` says which steps are in them."""
    place = {key: number for number, key in enumerate(keys)}
    of_step = np.full(len(part.node), -1, dtype=np.int64)
    of_first_row: dict[tuple[str, int, int], int] = {}
    for row in of_part.to_pylist():
        if row["id"] == FIRST_ROW:
            of_first_row[row["constants"], row["node"], row["row"]] = place[row["key"]]
        else:
            of_step[row["id"]] = place[row["key"]]
    of_occurrence = of_step[part.taken]
    at = np.flatnonzero(of_occurrence >= 0)
    first_at, first_of = _first_rows(part, of_first_row)
    at, of = np.concatenate([at, first_at]), np.concatenate([of_occurrence[at], first_of])
    return _counted(part, at, of, keys)


def _first_rows(part: Part, wanted: dict[tuple[str, int, int], int]) -> tuple[Ints, Ints]:
    """Occurrences that nodes entered in a first row which was not accepted, and the class."""
    found: list[tuple[int, int]] = []
    if wanted:
        for at in part.begun.tolist():
            step = part.taken[at]
            text = part.constants_texts[part.step_constants[step]]
            number = wanted.get((text, int(part.node[step]), int(part.before[step])))
            if number is not None:
                found.append((at, number))
    pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _counted(part: Part, at: Ints, of: Ints, keys: Sequence[bytes]) -> pa.Table:
    order = np.argsort(at, kind="stable")
    at, of = at[order], of[order]
    pairs, first, times = np.unique(
        part.run_at[at] * len(keys) + of, return_index=True, return_counts=True
    )
    columns = {
        "key": [keys[number] for number in (pairs % len(keys)).tolist()],
        "run": part.run[pairs // len(keys)],
        "step": part.position[at[first]],
        "times": times,
    }
    return pa.table(columns, schema=JOINED)
