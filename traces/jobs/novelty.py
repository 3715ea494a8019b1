"""What the runs of a part have met that may be new: the answers that guide a campaign.

    class      a canonical step (distinct.py)
    pair       two classes that a node took one after the other
    rule       a named decision and its answer (reference/runner/watching.py)
    sometimes  a named condition that runs should come to (reference/kit/sometimes.py)

The last two have names and are FEATURES as others are (coverage.py); of `sometimes`, and of rules
where all runs are watched, count is in how many runs. All four are in MET, where a thing is a
number of 64 bits: of so many that one is taken for another is as likely as anything.

A condition that raises is told as a feature of kind `raised`, and holds of nothing.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from reference.kit.sometimes import Sometimes
from reference.protocols import parts_of
from traces.jobs.columns import Ints, Part
from traces.jobs.coverage import FEATURES
from traces.jobs.distinct import Classes
from traces.jobs.protocols import decode_step_constants

Things: TypeAlias = npt.NDArray[np.uint64]

CLASS, PAIR, RULE, SOMETIMES, RAISED = "class", "pair", "rule", "sometimes", "raised"
TIERS: Final = (CLASS, PAIR, RULE, SOMETIMES)
"""The kinds of things that count as new."""

MET: Final = pa.schema(
    [
        ("tier", pa.uint8()),
        ("thing", pa.uint64()),
        ("runs", pa.int64()),
        ("first_run", pa.int64()),
    ]
)
"""A thing (its kind as a place in TIERS), in how many runs it was met, and the first of them."""

_MIX: Final = np.uint64(0x9E3779B97F4A7C15)


def conditions_of(scenario: str) -> list[Sometimes]:
    """The conditions that runs of a scenario should come to."""
    return [each for protocol in parts_of(scenario) for each in protocol.sometimes]


def sometimes(part: Part, scenario: str) -> dict[tuple[str, str], Ints]:
    """By kind and name, the runs that came to a condition, by their place in the part; of kind
    `raised` those in which a condition could not be asked."""
    by_type: dict[str, list[Sometimes]] = {}
    for condition in conditions_of(scenario):
        for of in condition.inputs:
            by_type.setdefault(of.__name__, []).append(condition)
    met = np.unique(part.taken)
    taken = met[~part.ill_formed[met]].tolist()
    # As lists: elements of arrays are made anew each time.
    node, before, input, after, code = (
        column.tolist()
        for column in (part.node, part.before, part.input, part.after, part.step_constants)
    )
    ends, sent = part.sent.offsets.tolist(), part.sent.items.tolist()
    rows, inputs, types = part.rows, part.inputs, part.input_types
    constants = {
        number: decode_step_constants(part.constants_texts[number])
        for number in {code[step]: None for step in taken}
    }
    found: dict[tuple[str, str], list[int]] = {}
    for step in taken:
        for condition in by_type.get(types[input[step]], ()):
            messages = tuple([inputs[at] for at in sent[ends[step] : ends[step + 1]]])
            given = (
                *(constants[code[step]], node[step], rows[before[step]], inputs[input[step]]),
                *(rows[after[step]], messages),
            )
            told = _asked(condition, given)
            if told is not None:
                found.setdefault(told, []).append(step)
    return {told: _runs_with(part, steps) for told, steps in sorted(found.items())}


def _asked(condition: Sometimes, given: tuple[Any, ...]) -> tuple[str, str] | None:
    """What is told of a step: that the condition holds of it, or that it raised; else None."""
    try:
        return (SOMETIMES, condition.name) if condition.holds(*given) else None
    except Exception as error:  # What others wrote may raise anything.
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        return RAISED, f"{condition.name}: {type(error).__name__}: {error} ({where})"


def _runs_with(part: Part, steps: Sequence[int]) -> Ints:
    """The places of the runs that took one of these steps."""
    among = np.zeros(len(part.node), dtype=np.bool_)
    among[list(steps)] = True
    return np.unique(part.run_at[among[part.taken]])


def rules(part: Part, decided: Sequence[frozenset[str]]) -> dict[tuple[str, str], Ints]:
    """The same of rules. decided: of each step, which were asked and how they answered."""
    found: dict[str, list[int]] = {}
    for step, told in enumerate(decided):
        for name in told:
            found.setdefault(name, []).append(step)
    return {(RULE, name): _runs_with(part, steps) for name, steps in sorted(found.items())}


def features_of(part: Part, named: Mapping[tuple[str, str], Ints]) -> pa.Table:
    """What has a name, as FEATURES."""
    rows = [
        {"kind": kind, "name": name, "count": len(of), "first_run": int(part.run[of[0]])}
        for (kind, name), of in named.items()
    ]
    return pa.Table.from_pylist(rows, schema=FEATURES)


def met(part: Part, classes: Classes, named: Mapping[tuple[str, str], Ints]) -> pa.Table:
    """MET of a part, by tier and thing."""
    own = classes.numbers()[part.taken]
    order, first = part.by_node
    ordered = own[order]
    pairs = np.zeros_like(ordered)
    pairs[1:] = (ordered[:-1] * _MIX) ^ ordered[1:]
    tiers = {
        CLASS: [(own, part.run_at)],
        PAIR: [(pairs[~first], part.run_at[order][~first])],
        RULE: list(_numbered(named, RULE)),
        SOMETIMES: list(_numbered(named, SOMETIMES)),
    }
    return pa.concat_tables(
        [_counted(part, at, tiers[tier]) for at, tier in enumerate(TIERS)]
    ).combine_chunks()


def _numbered(named: Mapping[tuple[str, str], Ints], of: str) -> Iterator[tuple[Things, Ints]]:
    for (kind, name), runs in named.items():
        if kind == of:
            number = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")
            yield np.full(len(runs), number, dtype=np.uint64), runs


def _counted(part: Part, tier: int, met: Sequence[tuple[Things, Ints]]) -> pa.Table:
    things = np.concatenate([np.zeros(0, dtype=np.uint64), *[of for of, _ in met]])
    runs = np.concatenate([np.zeros(0, dtype=np.int64), *[by for _, by in met]])
    order = np.lexsort((runs, things))
    things, runs = things[order], runs[order]
    new_thing = np.ones(len(things), dtype=np.bool_)
    new_thing[1:] = things[1:] != things[:-1]
    new_run = new_thing.copy()
    new_run[1:] |= runs[1:] != runs[:-1]
    starts = np.flatnonzero(new_thing)
    counts = np.add.reduceat(new_run.astype(np.int64), starts) if len(starts) else starts
    columns = {
        "tier": np.full(len(starts), tier, dtype=np.uint8),
        "thing": things[starts],
        "runs": counts,
        "first_run": part.run[runs[starts]],
    }
    return pa.table(columns, schema=MET)
