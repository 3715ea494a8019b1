"""A recorded part, to be altered as a defective recorder or implementation would leave it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import pyarrow as pa

from kraftcheck.traces.schema import STOPPED, PartTables, digest
from kraftcheck.traces.steps.check import check_runs
from kraftcheck.traces.steps.record import Part

_encode = msgspec.msgpack.Encoder().encode


class Altered:
    """The tables of a part as lists of rows, and what they hold as values.

    What counts them is made anew when it is a part again: the counts of steps, and of calls.
    """

    def __init__(self, recorded: PartTables) -> None:
        self._recorded = recorded
        whole = Part(recorded)
        self.values: list[Any] = list(whole.rows)
        self.received: list[Any] = list(whole.inputs)
        self.tables: dict[str, list[dict[str, Any]]] = {
            name: table.to_pylist() for name, table in recorded.tables.items()
        }

    @property
    def runs(self) -> list[dict[str, Any]]:
        return self.tables["runs"]

    @property
    def steps(self) -> list[dict[str, Any]]:
        return self.tables["steps"]

    def taken(self, run: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
        """The steps of a run, each with its place there."""
        for place, step in enumerate(self.runs[run]["steps"]):
            yield place, self.steps[step]

    def row(self, value: Any) -> int:
        """The id of a row that holds this."""
        return self._id("rows", self.values, value, {})

    def input(self, value: Any) -> int:
        """The id of an input or a message that is this."""
        return self._id("inputs", self.received, value, {"type": type(value).__name__})

    def change(self, place: int, run: int = 0, **fields: Any) -> None:
        """The step at this place of a run has other fields; in other places it stays."""
        steps = self.runs[run]["steps"]
        steps[place] = self._step({**self.steps[steps[place]], **fields})

    def insert(self, place: int, step: dict[str, Any], run: int = 0, **fields: Any) -> None:
        """A step more, like `step` but for the fields; its time and component are those of the
        step that was at this place, or of the last one."""
        row = self.runs[run]
        for name in ("times", "components"):
            if row[name]:
                row[name].insert(place, row[name][min(place, len(row[name]) - 1)])
        row["steps"].insert(place, self._step({**step, **fields}))

    def cut(self, place: int, run: int = 0) -> None:
        """The run ends before this place, as if it had been stopped."""
        for name in ("steps", "times", "components"):
            del self.runs[run][name][place:]
        self.runs[run]["verdict"] = STOPPED

    def part(self, **forged: Any) -> PartTables:
        """forged: columns of the first run that are not made anew."""
        times = Counter(step for run in self.runs for step in run["steps"])
        for run in self.runs:
            run["handler_calls"] = len(run["steps"])
        self.runs[0].update(forged)
        for number, step in enumerate(self.steps):
            step["count"] = times[number]
        schemas = {name: table.schema for name, table in self._recorded.tables.items()}
        tables = {
            name: pa.Table.from_pylist(rows, schema=schemas[name])
            for name, rows in self.tables.items()
        }
        return self._recorded._replace(tables=tables)

    def found(self, **forged: Any) -> dict[str, str]:
        """The checks that report the part, and what they say of the first run that is wrong."""
        told: dict[str, str] = {}
        for finding in check_runs(Part(self.part(**forged))):
            told.setdefault(finding.check, finding.explanation)
        return told

    def _id(self, table: str, known: list[Any], value: Any, more: dict[str, Any]) -> int:
        if value in known:
            return known.index(value)
        body = _encode(value)
        rows = self.tables[table]
        rows.append({**rows[0], "id": len(rows), "body": body, "digest": digest(body), **more})
        known.append(value)
        return len(known) - 1

    def _step(self, fields: dict[str, Any]) -> int:
        self.steps.append({**fields, "id": len(self.steps)})
        return len(self.steps) - 1
