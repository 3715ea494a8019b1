"""Steps as columns, and as rows of small integers.

A step has one value per column. Recorders hand steps over as mappings or, if they keep each value
once, as a `StepTable`; a `Batch` is what both become: one id per value (see `interning.py`), one
row of ids per step, and every distinct row once.

Law of this file: no verdict is given here, but no step is lost or merged here either. Two steps
share a row exactly when TLA+ holds them to be equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from tla_utils.errors import ToolError
from tla_utils.interning import Interner
from tla_utils.stepmodule import step_definitions
from tla_utils.stepvalues import Plain, Shape, file_of, plain
from tla_utils.values import Value

Step = Mapping[str, Value]
Row = tuple[int, ...]


class StepTable:
    """Steps by column: for each column its distinct values and, per step, an index into them.

    This is the form for recorders that keep each value once. `values[c]` may hold duplicates;
    `index[c]` has one position (from 0) per step and any integer sequence will do.
    Raises ToolError for columns of unequal length or an index outside its values.
    """

    def __init__(
        self, values: Mapping[str, Sequence[Value]], index: Mapping[str, Sequence[int]]
    ) -> None:
        if set(values) != set(index):
            odd = ", ".join(sorted(set(values) ^ set(index)))
            raise ToolError(f"a step table needs values and index for each column, not only: {odd}")
        self.columns = sorted(values)
        self.values = {c: list(values[c]) for c in self.columns}
        self.index = {c: list(index[c]) for c in self.columns}
        lengths = {c: len(self.index[c]) for c in self.columns}
        if len(set(lengths.values())) > 1:
            raise ToolError(f"the columns of a step table differ in length: {lengths}")
        for c in self.columns:
            numbers, limit = self.index[c], len(self.values[c])
            if numbers and not (min(numbers) >= 0 and max(numbers) < limit):
                raise ToolError(f"column {c} of a step table points outside its {limit} values")

    def __len__(self) -> int:
        return len(self.index[self.columns[0]]) if self.columns else 0

    def __getitem__(self, number: int) -> dict[str, Value]:
        """Step `number` (from 0) as a mapping from column to value."""
        return {c: self.values[c][self.index[c][number]] for c in self.columns}

    @classmethod
    def from_steps(cls, steps: Iterable[Step]) -> StepTable:
        """The table of steps given as mappings; all must have the columns of the first one."""
        rows = list(steps)
        columns = sorted(rows[0]) if rows else []
        values: dict[str, list[Value]] = {c: [] for c in columns}
        index: dict[str, list[int]] = {c: [] for c in columns}
        # By identity only: telling equal values apart from same ones is the interner's business.
        known: dict[str, dict[int, int]] = {c: {} for c in columns}
        for number, step in enumerate(rows):
            if len(step) != len(columns) or any(c not in step for c in columns):
                raise ToolError(
                    f"step {number} has the columns {sorted(step)}, but step 0 has {columns}"
                )
            for c in columns:
                value = step[c]
                position = known[c].get(id(value))
                if position is None:
                    position = known[c][id(value)] = len(values[c])
                    values[c].append(value)
                index[c].append(position)
        return cls(values, index)


class Batch:
    """Steps as rows of value ids, the distinct ones in order of first appearance."""

    def __init__(self, table: StepTable) -> None:
        if len(table) == 0:
            raise ToolError("there are no steps to check: an empty recording is no evidence")
        for column in table.columns:
            if not column.isidentifier():
                raise ToolError(f"the column {column!r} cannot name a field of a TLA+ record")
        self.columns = table.columns
        self.interner = Interner()
        ids: list[list[int]] = []
        for column in table.columns:
            known = [self._id(column, value) for value in table.values[column]]
            ids.append([known[i] for i in table.index[column]])
        self.row_of_step: list[Row] = list(zip(*ids, strict=True))
        self.rows: list[Row] = list(dict.fromkeys(self.row_of_step))
        self._encoded: dict[int, bytes] = {}

    @classmethod
    def from_steps(cls, steps: StepTable | EncodedSteps | Iterable[Step]) -> Batch | EncodedBatch:
        """The batch of steps in any of their forms."""
        if isinstance(steps, EncodedSteps):
            return EncodedBatch(steps)
        return cls(steps if isinstance(steps, StepTable) else StepTable.from_steps(steps))

    def _id(self, column: str, value: Value) -> int:
        try:
            return self.interner.id_of(value)
        except (TypeError, ValueError) as error:
            raise ToolError(f"column {column} holds what TLA+ cannot: {error}") from error

    def definitions(self, rows: Sequence[Row]) -> str:
        """These rows as text."""
        return step_definitions(self.interner, self.columns, list(rows))

    def data(self, rows: Sequence[Row]) -> bytes:
        """These rows as the file that the class StepValues reads."""
        known, form = self._encoded, [Plain()] * len(self.columns)
        steps = [
            b"\0" + b"".join([plain(self.interner, number, known) for number in row])
            for row in rows
        ]
        return file_of(self.columns, [form], steps)

    def shape(self, row: Row) -> tuple[object, ...]:
        """Give what rows that fail alike have in common.

        Strings of the step (such as its action), the field names of records, and of everything else
        only what kind of value it is.
        """
        parts: list[object] = []
        for number in row:
            value, node = self.interner.values[number], self.interner.nodes[number]
            parts.append(value if isinstance(value, str) else (node.kind, node.names))
        return tuple(parts)


class EncodedSteps:
    """Steps whose values are encoded already: the quickest form for recorders that keep them so.

    columns: names. forms: shapes of the values of each column (`stepvalues.py`). steps: the number
    of its form, in one byte, and its values in the order of the columns. table: the same steps with
    Python's values, for a TLC that does not take encoded ones.
    Raises ToolError for more than 128 forms.
    """

    def __init__(
        self,
        columns: Sequence[str],
        forms: Sequence[Sequence[Shape]],
        steps: Sequence[bytes],
        table: Callable[[], StepTable],
    ) -> None:
        if len(forms) > 128:
            raise ToolError(f"encoded steps have {len(forms)} forms, and at most 128 are possible")
        self.columns = list(columns)
        self.forms = forms
        self.steps = steps
        self.table = table

    def __len__(self) -> int:
        return len(self.steps)


class EncodedBatch:
    """What `Batch` is, of encoded steps: a row is the bytes of a step."""

    def __init__(self, steps: EncodedSteps) -> None:
        if not steps.steps:
            raise ToolError("there are no steps to check: an empty recording is no evidence")
        self.given = steps
        self.row_of_step: Sequence[bytes] = steps.steps
        self.rows: list[bytes] = list(dict.fromkeys(steps.steps))

    def data(self, rows: Sequence[bytes]) -> bytes:
        """These rows as the file that the class StepValues reads."""
        return file_of(self.given.columns, self.given.forms, rows)

    @cached_property
    def _decoded(self) -> tuple[Batch, dict[bytes, Row]]:
        batch = Batch(self.given.table())
        return batch, dict(zip(self.row_of_step, batch.row_of_step, strict=True))

    def definitions(self, rows: Sequence[bytes]) -> str:
        """These rows as text."""
        batch, row_of = self._decoded
        return batch.definitions([row_of[row] for row in rows])

    def shape(self, row: bytes) -> tuple[object, ...]:
        """As that of `Batch`."""
        batch, row_of = self._decoded
        return batch.shape(row_of[row])
