"""Recordings made by hand: steps as values, turned into a trace of the contract.

The simulator is not involved. What is tested with these is the judgement, so a recording must be
able to hold what no simulator would record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from kraftcheck.reference.kit.messages import encode
from kraftcheck.reference.quorum.handlers import QuorumHandlers, action_of
from kraftcheck.reference.quorum.messages import Input, Message
from kraftcheck.reference.quorum.types import Constants, Row
from kraftcheck.traces.schema import PROGRESSED, STATISTICS, PartTables, digest, table
from kraftcheck.traces.steps.symmetry import Step
from kraftcheck.traces.store import Campaign, begin_trace, write_part
from tests.reference.quorum.walks import walk


def steps_of_walk(
    constants: Constants, seed: int, steps: int, rows: Mapping[int, Row] | None = None
) -> list[Step]:
    """A run of the reference: a random walk, see tests/reference/quorum/walks.py."""
    return [
        Step(
            action_of(taken.input),
            taken.node,
            taken.before[taken.node],
            taken.input,
            taken.after[taken.node],
            taken.outcome.sent,
            taken.outcome.ignored,
        )
        for taken in walk(QuorumHandlers(constants), seed, steps, rows)
    ]


@dataclass(frozen=True)
class RecordedRun:
    """One run. handler_calls: as the scheduler counted them, by default the truth.
    foreign: steps (by number) that are recorded under other constants than the run's."""

    constants: Constants
    steps: Sequence[Step]
    handler_calls: int | None = None
    violations: Sequence[Mapping[str, Any]] = ()
    verdict: str = PROGRESSED
    foreign: Mapping[int, Constants] | None = None


class _Ids:
    """Dense ids in order of first appearance."""

    def __init__(self) -> None:
        self.of: dict[Any, int] = {}

    def __call__(self, item: Any) -> int:
        return self.of.setdefault(item, len(self.of))


def text_of(constants: Constants) -> str:
    return msgspec.json.encode(msgspec.to_builtins(constants), order="sorted").decode()


def part_of(runs: Sequence[RecordedRun], first_run: int = 0) -> PartTables:
    """The runs as one part of a trace."""
    rows, inputs, steps = _Ids(), _Ids(), _Ids()
    counts: dict[int, int] = {}
    taken: list[list[int]] = []
    for run in runs:
        ids = []
        for number, step in enumerate(run.steps):
            under = (run.foreign or {}).get(number, run.constants)
            assert step.input is not None, "an Init step is not recorded"
            key = (
                text_of(under),
                step.node,
                step.action,
                rows(msgspec.msgpack.encode(step.before)),
                inputs(_named(step.input)),
                rows(msgspec.msgpack.encode(step.after)),
                tuple([inputs(_named(message)) for message in step.sent]),
                step.ignored,
            )
            ids.append(steps(key))
            counts[ids[-1]] = counts.get(ids[-1], 0) + 1
        taken.append(ids)
    part = [first_run]
    tables = {
        "runs": _runs_table(runs, taken, first_run),
        "steps": _steps_table(list(steps.of), [counts[i] for i in range(len(steps.of))], first_run),
        "rows": _bodies("rows", part * len(rows.of), list(rows.of)),
        "inputs": _bodies(
            "inputs", part * len(inputs.of), [b for _, b in inputs.of], [t for t, _ in inputs.of]
        ),
    }
    return PartTables(first_run, len(runs), tables)


def _named(item: Input | Message) -> tuple[str, bytes]:
    return type(item).__name__, encode(item)


def _runs_table(
    runs: Sequence[RecordedRun], taken: Sequence[Sequence[int]], first_run: int
) -> pa.Table:
    count = len(runs)
    return table(
        "runs",
        {
            "part": [first_run] * count,
            "run": list(range(first_run, first_run + count)),
            "seed": [0] * count,
            "constants": [text_of(run.constants) for run in runs],
            "options": ["{}"] * count,
            "steps": [list(ids) for ids in taken],
            "times": [list(range(len(ids))) for ids in taken],
            "components": [[]] * count,
            "handler_calls": [
                len(run.steps) if run.handler_calls is None else run.handler_calls for run in runs
            ],
            "verdict": [run.verdict for run in runs],
            "violations": [list(run.violations) for run in runs],
            "history": [[]] * count,
            "batches": [[]] * count,
            "statistics": [{field.name: 0 for field in STATISTICS}] * count,
        },
    )


def _steps_table(keys: Sequence[tuple[Any, ...]], counts: Sequence[int], part: int) -> pa.Table:
    names = ("constants", "node", "action", "before", "input", "after", "sent", "ignored")
    columns: dict[str, Any] = {
        name: [key[place] for key in keys] for place, name in enumerate(names)
    }
    columns["sent"] = [list(sent) for sent in columns["sent"]]
    columns |= {"part": [part] * len(keys), "id": list(range(len(keys))), "count": list(counts)}
    return table("steps", columns)


def _bodies(
    name: str, part: list[int], bodies: list[bytes], types: list[str] | None = None
) -> pa.Table:
    columns: dict[str, Any] = {
        "part": part,
        "id": list(range(len(bodies))),
        "digest": [digest(body) for body in bodies],
        "body": bodies,
    }
    return table(name, columns if types is None else {**columns, "type": types})


def write_trace(directory: Path, parts: Iterable[PartTables], runs: int | None = None) -> None:
    """A trace of these parts; `runs` as asked for, by default as many as there are."""
    parts = list(parts)
    asked = sum(part.runs for part in parts) if runs is None else runs
    begin_trace(directory, Campaign(scenario="by hand", seed=0, runs=asked))
    for part in parts:
        write_part(directory, part)
