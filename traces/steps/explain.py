"""What is said of classes that were not accepted: why, and which runs took them, where.

A rejected class is explained by its *witness as it was recorded*, and not by the canonical step
that was judged: the explanation then speaks of the nodes and values of a run that can be replayed.
It is a check of L9 as well. If the spec allowed what the witness did while its canonical form was
rejected, the explanation would say so in as many words.

Verdicts are joined back to runs by what the first pass has written beside each part (classes.py);
only parts that hold such a class are read again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kraftcheck.reference.protocols import kind_named
from kraftcheck.specs import SPECS
from kraftcheck.traces.steps.classes import FIRST_ROW, KEYS, PartFiles
from kraftcheck.traces.steps.judge import Judgement
from kraftcheck.traces.steps.record import Ints, Part, decode_step_constants
from kraftcheck.traces.steps.symmetry import Step
from kraftcheck.traces.steps.translation import (
    INIT,
    Abstraction,
    Under,
    as_columns,
    as_it_is,
    shared_frame,
)
from kraftcheck.traces.store import PartEntry, read_part
from tla_utils import CheckOptions, Value, diagnose

# --- Why a class was rejected ---


class Explanation(msgspec.Struct, frozen=True):
    """Why a class was rejected, told of its witness."""

    node: int
    """Who took the step in the witness."""
    outcomes: int
    """How many outcomes the spec allows instead."""
    differences: list[str]
    """One line for each place in which the recorded outcome differs from the nearest."""


def explain(
    directory: Path,
    entries: Sequence[PartEntry],
    judgement: Judgement,
    witnesses: Sequence[tuple[int, int, int]],
    options: CheckOptions,
    specs: Path = SPECS,
    under: Under = as_it_is,
) -> dict[int, Explanation]:
    """For each (number of a rejected class, run, step of its witness) the explanation."""
    steps = _recorded_steps(directory, entries, judgement, witnesses)
    by_kind: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number in steps:
        bench = judgement.kinds[number][0]
        by_kind[bench.kind][bench.text].append(number)
    explained: dict[int, Explanation] = {}
    for kind, by_text in sorted(by_kind.items()):
        several = [decode_step_constants(text) for text in by_text]
        numbers, asked = list[int](), list[dict[str, Value]]()
        for given, (constants, own) in enumerate(zip(several, by_text.values(), strict=True), 1):
            form = Abstraction(constants)
            numbers += own
            asked += ({**as_columns(form, steps[number]), "given": given} for number in own)
        frame = under(shared_frame(kind_named(kind), several, specs))
        told = diagnose(frame, asked, options=options)
        for number, diagnosis in zip(numbers, told, strict=True):
            explained[number] = Explanation(
                steps[number].node, len(diagnosis.outcomes), list(diagnosis.lines)
            )
    return explained


def _recorded_steps(
    directory: Path,
    entries: Sequence[PartEntry],
    judgement: Judgement,
    witnesses: Sequence[tuple[int, int, int]],
) -> dict[int, Step]:
    """The witnesses as they were recorded, by the number of their class."""
    starts = [entry.first_run for entry in entries]
    found: dict[int, Step] = {}
    at, part = -1, None
    for number, run, step in sorted(witnesses, key=lambda w: w[1:]):
        place = bisect_right(starts, run) - 1
        if place != at or part is None:
            at, part = place, Part(read_part(directory, entries[place]))
        taken = int(part.steps_of_run[run - part.first_run][step])
        if judgement.kinds[number][1] == INIT:
            found[number] = part.first_step(int(part.node[taken]), int(part.before[taken]))
        else:
            found[number] = part.step(taken)
    return found


# --- Every run that took a step which was not accepted ---

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
    of_part = pq.read_table(PartFiles.from_entry(out, entry).keys, schema=KEYS)
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
