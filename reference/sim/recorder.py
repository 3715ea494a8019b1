"""What runs leave behind: the steps they took, stored once per part, and what is known of each run.

Law of this file: it observes and never steers. Ids are given in order of first appearance within
the part, and a step's rows and inputs get theirs when the step gets its own; so they depend on the
runs of the part alone, not on what the memo knew before.

L7: at the end of a run the number of recorded steps must be the number of handler calls that the
scheduler counted; at the end of a part, or of a run that is alone, every row and input that it
names is encoded again and must be what it was.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from kraftcheck.reference.sim.interning import KnownInput, KnownRow
from kraftcheck.reference.sim.operations import Operation
from kraftcheck.reference.sim.options import options_json
from kraftcheck.traces import schema
from kraftcheck.traces.schema import PartTables


class Violation(NamedTuple):
    invariant: str
    step: int
    explanation: str


class Batch(NamedTuple):
    """What a controller of a cluster decided, as far as one partition goes (schema.BATCH)."""

    value: int
    component: int
    input: int
    records: int | None


class RunResult(NamedTuple):
    """What is known of a run when it is over, besides its steps."""

    run: int
    seed: int
    constants: msgspec.Struct
    options: Any
    handler_calls: int
    verdict: str
    violations: Sequence[Violation]
    history: Sequence[Operation]
    statistics: dict[str, int]


class Machine(Protocol):
    @property
    def constants(self) -> Any: ...


class State(Protocol):
    @property
    def machine(self) -> Machine: ...
    @property
    def node(self) -> int: ...
    @property
    def known(self) -> KnownRow: ...
    @property
    def row(self) -> Any: ...


class Step(Protocol):
    """A step of whatever protocol, as its memo keeps it."""

    number: int
    owner: object
    decided: frozenset[str]

    @property
    def before(self) -> State: ...
    @property
    def input(self) -> KnownInput: ...
    @property
    def after(self) -> State: ...
    @property
    def sent(self) -> tuple[tuple[int, KnownInput], ...]: ...
    @property
    def ignored(self) -> str: ...


class Recorder:
    """The recording of one part."""

    def __init__(self, first_run: int) -> None:
        self.first_run = first_run
        self.token = object()
        """Marks what has an id in this part. What is marked outlives the part, so it must not hold
        the recording itself."""
        self.steps = schema.Lists("i")
        self.times = schema.Lists("q")
        self.components = schema.Lists("i")
        """Whose step it is, in runs of several components."""
        self.distinct: list[Step] = []
        self.results: list[RunResult] = []
        self._batches: list[Batch] = []
        """Of the run that is being recorded."""
        self._batches_of: list[list[Batch]] = []
        self._rows: list[KnownRow] = []
        self._inputs: list[KnownInput] = []
        # By step id, for counting: whether it changed a row or sent something; was ignored.
        self._changing: list[bool] = []
        self._ignored: list[bool] = []

    def enter(self, step: Step) -> None:
        """Gives a step its id in this part, and its rows and inputs theirs."""
        assert step.owner is not self.token, "entered once"
        step.owner = self.token
        step.number = len(self.distinct)
        self.distinct.append(step)
        self._changing.append(step.after is not step.before or step.sent != ())
        self._ignored.append(step.ignored != "")
        self._number(self._rows, step.before.known, step.after.known)
        self._number(self._inputs, step.input, *[message for _, message in step.sent])

    def _number(self, listed: list[Any], *values: Any) -> None:
        """Gives each value that has no id in this part the next one."""
        token = self.token
        for known in values:
            if known.owner is not token:
                known.owner = token
                known.number = len(listed)
                listed.append(known)

    def decided(self, value: int, steps: Mapping[int, Step], log: int) -> None:
        """Note that a decision was appended to the quorum's log as `value`.

        By partition, the step that it is to be. log: the address to which it writes.
        """
        for partition, step in steps.items():
            written = [message for to, message in step.sent if to == log][:1]
            self._number(self._inputs, *written, step.input)
            records = written[0].number if written else None
            self._batches.append(Batch(value, 1 + partition, step.input.number, records))

    def close_run(self, result: RunResult) -> None:
        """The run is over: its steps are those recorded since the last one was."""
        steps = self.steps.items[self.steps.close() :]
        self.times.close()
        self.components.close()
        assert len(steps) == result.handler_calls, (
            f"run {result.run}: {len(steps)} steps recorded, {result.handler_calls} handlers called"
        )
        for field in schema.STATISTICS:
            result.statistics.setdefault(field.name, 0)
        result.statistics["ignored"] = sum(map(self._ignored.__getitem__, steps))
        result.statistics["changing_or_sending"] = sum(map(self._changing.__getitem__, steps))
        self.results.append(result)
        self._batches_of.append(self._batches)
        self._batches = []

    def tables(self) -> PartTables:
        """The part. Raises AssertionError where a value is no longer what was recorded (L7)."""
        self.demand_unchanged()
        columns = {
            "runs": self._run_columns(),
            "steps": self._step_columns(),
            "rows": _contents(self._rows),
            "inputs": _contents(self._inputs) | {"type": [i.kind for i in self._inputs]},
        }
        lengths = {
            "runs": len(self.results),
            "steps": len(self.distinct),
            "rows": len(self._rows),
            "inputs": len(self._inputs),
        }
        tables = {}
        for name, length in lengths.items():
            columns[name]["part"] = array("q", [self.first_run]) * length
            tables[name] = schema.table(name, columns[name])
        known: dict[str, Sequence[Any]] = {"rows": self._rows, "inputs": self._inputs}
        return PartTables(self.first_run, len(self.results), tables, known)

    def demand_unchanged(self) -> None:
        """Raises AssertionError where a value is no longer what was recorded (L7)."""
        for row in self._rows:
            assert row.is_unchanged(), f"a handler changed a row, {type(row.row).__name__}"
        for known in self._inputs:
            assert known.is_unchanged(), f"a handler changed an input, {known.kind}"

    def _run_columns(self) -> dict[str, Any]:
        results = self.results
        return {
            "run": array("q", [r.run for r in results]),
            "seed": array("q", [r.seed for r in results]),
            "constants": [constants_json(r.constants) for r in results],
            "options": [options_json(r.options) for r in results],
            "steps": self.steps,
            "times": self.times,
            "components": self.components,
            "handler_calls": array("q", [r.handler_calls for r in results]),
            "verdict": [r.verdict for r in results],
            "violations": schema.Structs(schema.VIOLATION, [r.violations for r in results]),
            "history": schema.Structs(
                schema.OPERATION, [[op.fields() for op in r.history] for r in results]
            ),
            "batches": schema.Structs(schema.BATCH, self._batches_of),
            "statistics": [r.statistics for r in results],
        }

    def _step_columns(self) -> dict[str, Any]:
        distinct = self.distinct
        sent = [message.number for step in distinct for _, message in step.sent]
        counts = Counter(self.steps.items)
        constants = {
            machine: constants_json(machine.constants)
            for machine in {step.before.machine: None for step in distinct}
        }
        return {
            "id": array("i", range(len(distinct))),
            "constants": [constants[step.before.machine] for step in distinct],
            "node": array("i", [step.before.node for step in distinct]),
            "action": [f"Handle{step.input.kind}" for step in distinct],
            "before": array("i", [step.before.known.number for step in distinct]),
            "input": array("i", [step.input.number for step in distinct]),
            "after": array("i", [step.after.known.number for step in distinct]),
            "sent": schema.Lists("i", sent, [len(step.sent) for step in distinct]),
            "ignored": [step.ignored for step in distinct],
            "count": array("q", [counts[at] for at in range(len(distinct))]),
        }


def _contents(known: Sequence[KnownRow] | Sequence[KnownInput]) -> dict[str, Any]:
    for value in known:
        value.name = value.name or schema.digest(value.body)
    return {
        "id": array("i", range(len(known))),
        "digest": [value.name for value in known],
        "body": [value.body for value in known],
    }


def constants_json(constants: msgspec.Struct) -> str:
    """The constants as they are stored with runs and steps: JSON with sorted keys (L8)."""
    return msgspec.json.encode(constants, order="sorted").decode()
