"""From runs to distinct steps: what a worker makes of one part, and how parts are merged.

For each part three files are left in the output folder: `<stem>.classes.parquet` (the canonical
steps of the part, encoded), `<stem>.keys.parquet` (to which class each recorded step belongs) and
`<stem>.facts.json` (what the checks on runs found, and what the report counts). What goes back to
the driver is one slim row for each class of the part: its key, how often it was taken, and its
first witness. So a class that a thousand parts have is sent a thousand times by its key, and read
once.

The witness of a class is the smallest (run, step) that took it. It does not depend on the order in
which parts are worked on, on how many workers there are, or on which backend they run.

Beside the recorded steps, each node's first row makes a step "Init", which TLC judges too.

Two sums are demanded of every judgement: every step and first row of every run is in one class,
whatever parts there are and whoever merged them; and a class that was not accepted is joined back
to all that took it, from its witness on. Where it is otherwise a stage has lost steps, or filed
them under others. Looked at are counts and witnesses alone, which two stages found each on its own.

Law of this file: `merge` has one result, here and on Spark (tested, byte for byte).
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kraftcheck.reference.protocols import AnyConstants
from kraftcheck.specs import SPECS
from kraftcheck.traces.relation import Rows, grouped
from kraftcheck.traces.schema import PROGRESSED, STATISTICS, STOPPED, PartTables
from kraftcheck.traces.steps.check import Finding, check_runs
from kraftcheck.traces.steps.record import (
    Mask,
    Part,
    constants_text,
    decode_step_constants,
    forget_stored,
    name_of,
)
from kraftcheck.traces.steps.slicing import AsRecorded, Relevance, SlicedStep
from kraftcheck.traces.steps.symmetry import (
    MEMO_LIMIT,
    Canonicaliser,
    CanonicalStep,
    Step,
    make_room,
)
from kraftcheck.traces.steps.translation import INIT
from kraftcheck.traces.store import PartEntry, read_part
from tla_utils.errors import ToolError

RECORDED_LIMIT: Final = 1_000_000
"""Of how many recorded steps a worker knows the class, each in some 150 bytes."""
FIRST_ROW: Final = -1
"""In place of a step's id: the class is that of a node's first row."""

_KEY = pa.binary(16)
_BODY = pa.binary()

SLIM = pa.schema([("key", _BODY), ("count", pa.int64()), ("run", pa.int64()), ("step", pa.int64())])
"""One row for each class and part: how often it was taken there, and by whom first."""

CLASSES = pa.schema(
    [
        ("key", _KEY),
        ("constants", pa.string()),
        ("action", pa.string()),
        ("node", pa.int32()),
        ("before", _BODY),
        ("input", _BODY),
        ("after", _BODY),
        ("sent", pa.list_(_BODY)),
        ("ignored", pa.string()),
    ]
)
"""A canonical step by its key; rows and messages in MessagePack."""

KEYS = pa.schema(
    [
        ("id", pa.int32()),
        ("node", pa.int32()),
        ("row", pa.int32()),
        ("constants", pa.string()),
        ("recorded", _KEY),
        ("key", _KEY),
    ]
)
"""The class of each recorded step (`id`), or of the first row `row` of `node` (id FIRST_ROW).
`recorded` names the step before it was renamed."""


class RunNote(msgspec.Struct, frozen=True):
    """A run worth naming, with a number (steps, virtual us) or with words."""

    run: int
    number: int = 0
    what: str = ""


class BrokenInvariant(msgspec.Struct, frozen=True, order=True):
    run: int
    step: int
    invariant: str
    explanation: str


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a part without judging its steps.

    longest, slowest: the runs with most steps and with most virtual time, at most NAMED_RUNS of
    each.
    """

    first_run: int
    runs: int
    steps: int
    first_rows: int
    judged: int
    """How many of the steps and first rows are in a class, which those without a form are not."""
    handler_calls: int
    actions: dict[str, int]
    ignored: dict[str, int]
    findings: list[Finding]
    invariants: list[BrokenInvariant]
    verdicts: dict[str, int]
    unprogressed: list[RunNote]
    statistics: dict[str, int]
    """Sum over the runs."""
    runs_with: dict[str, int]
    """In how many runs it is not zero."""
    longest: list[RunNote]
    slowest: list[RunNote]
    constants: list[str]


NAMED_RUNS: Final = 10


class PartFiles(NamedTuple):
    """The runs of a part, and where what is known of them lies."""

    out: Path
    stem: str
    first_run: int
    runs: int

    @classmethod
    def from_entry(cls, out: Path, entry: PartEntry) -> PartFiles:
        return cls(out, entry.stem, entry.first_run, entry.runs)

    @property
    def classes(self) -> Path:
        return self.out / f"{self.stem}.classes.parquet"

    @property
    def keys(self) -> Path:
        return self.out / f"{self.stem}.keys.parquet"

    @property
    def facts(self) -> Path:
        return self.out / f"{self.stem}.facts.json"


# --- In a worker ---


def examine_part(
    directory: Path,
    out: Path,
    entries: Sequence[PartEntry],
    specs: Path,
    number: int,
    as_recorded: bool = False,
) -> pa.Table:
    """Checks the runs of a part and finds its classes; the slim rows, and the three files.

    as_recorded: nothing is taken from steps, since other operators stand in the place of the
    spec's. Raises TraceError for a part that cannot be read.
    """
    entry = entries[number]
    return examine(
        read_part(directory, entry), PartFiles.from_entry(out, entry), specs, as_recorded
    )


def examine(
    tables: PartTables, files: PartFiles, specs: Path = SPECS, as_recorded: bool = False
) -> pa.Table:
    """The slim rows of a part; its three files are written."""
    return examined(Part(tables), files, specs, as_recorded).slim()


@contextmanager
def uncollected() -> Iterator[None]:
    """What is made of a part has no cycles; looking for them took a fifth of the time.

    What is left is remembered for other parts, and nobody looks for garbage in it later either.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.freeze()
            gc.enable()


@uncollected()
def examined(
    part: Part, files: PartFiles, specs: Path = SPECS, as_recorded: bool = False
) -> Classes:
    """The classes of a part; its three files are written."""
    findings = check_runs(part)
    classes = Classes(part, specs, as_recorded)
    files.out.mkdir(parents=True, exist_ok=True)
    pq.write_table(classes.table(), files.classes, compression="zstd")
    pq.write_table(classes.keys_table(), files.keys, compression="zstd")
    files.facts.write_bytes(msgspec.json.encode(facts_of(part, classes, findings)))
    return classes


class _Judge:
    """Gives canonical forms and keys under one set of constants.

    They are made of what steps are judged on, which many recorded steps, of runs with several
    constants, have in common.
    """

    def __init__(self, constants: AnyConstants, as_recorded: bool) -> None:
        self.text = constants_text(constants)
        self._encoded_text = self.text.encode()
        self._canonicaliser = Canonicaliser(constants, renames=not as_recorded)
        self._named: dict[CanonicalStep, _Named] = {}

    def name(self, step: Step) -> _Named:
        form = self._canonicaliser.of_pieces(step)
        known = self._named.get(form)
        if known is None:
            if len(self._named) >= MEMO_LIMIT:
                self._named.clear()
            known = _Named(form.digest(self._encoded_text), form, self.text)
            self._named[form] = known
        return known


class _Named(NamedTuple):
    """A class: its key, its form, and the constants under which it is judged."""

    key: bytes
    form: CanonicalStep
    constants: str


class _Namer:
    """The classes of recorded steps, under one spec.

    It lives as long as the worker, since the parts of a campaign have most steps in common.
    """

    def __init__(self, specs: Path, as_recorded: bool) -> None:
        self._specs = specs
        self._as_recorded = as_recorded
        self._relevance: dict[str, Relevance] = {}
        self._judges: dict[AnyConstants, _Judge] = {}
        self._known: dict[bytes, _Named] = {}

    def name(
        self, recorded: bytes, constants: str, judged: Callable[[Relevance], SlicedStep]
    ) -> _Named:
        """The class of the step of this name, which was recorded under these constants.

        judged: as it is judged.
        """
        known = self._known.get(recorded)
        if known is None:
            if len(self._known) >= RECORDED_LIMIT:
                self._known.clear()
            known = self._known[recorded] = self._found(constants, judged)
        return known

    def _found(self, constants: str, judged_by: Callable[[Relevance], SlicedStep]) -> _Named:
        relevance = self._relevance.get(constants)
        if relevance is None:
            of = AsRecorded if self._as_recorded else Relevance
            relevance = of(decode_step_constants(constants), self._specs)
            self._relevance[constants] = relevance
        judged = judged_by(relevance)
        judge = self._judges.get(judged.constants)
        if judge is None:
            judge = self._judges[judged.constants] = _Judge(judged.constants, self._as_recorded)
        return judge.name(judged.step)


_namers: dict[tuple[Path, bool], _Namer] = {}


def forget() -> None:
    """Frees what this process remembers of classes; the next part finds them anew."""
    _namers.clear()
    make_room(most=0)
    forget_stored()


@dataclass(slots=True)
class _Class:
    """A class of steps of a part: how often it was taken, and the first occurrence."""

    constants: str
    form: CanonicalStep
    count: int = 0
    first: int = -1

    def enter(self, count: int, first: int) -> None:
        self.count += count
        self.first = first if self.first < 0 else min(self.first, first)


class Classes:
    """The classes of a part's steps and first rows, by key.

    Steps that have no form in the spec are left out; `WellFormed` is a finding of its own.
    """

    def __init__(self, part: Part, specs: Path = SPECS, as_recorded: bool = False) -> None:
        make_room()
        self._part = part
        self._namer = _namers.setdefault((specs, as_recorded), _Namer(specs, as_recorded))
        self._classes: dict[bytes, _Class] = {}
        self._keys: list[tuple[int, int, int, str, bytes, bytes]] = []
        self.first_rows = 0
        ill = part.ill_formed
        counts = np.bincount(part.taken, minlength=len(part.node))
        self.steps = int(counts[~ill].sum())
        taken = np.flatnonzero((counts > 0) & ~ill)
        columns = (taken, part.step_constants[taken], counts[taken], part.witness[taken])
        of_steps = zip(*[column.tolist() for column in columns], strict=True)
        for step, code, count, first in of_steps:
            self._enter(code, step).enter(count, first)
        for (code, node, row), (count, at) in _first_rows(part, ill).items():
            self._enter(code, FIRST_ROW, node, row).enter(count, at)
            self.first_rows += count

    def _enter(self, code: int, step: int, node: int = 0, row: int = 0) -> _Class:
        part = self._part
        text = part.constants_texts[code]
        if step == FIRST_ROW:
            recorded = name_of(text, INIT, node, part.stored_rows[row].name)
            first = part.first_step(node, row)
            named = self._namer.name(recorded, text, lambda by: by.judged(first))
        else:
            recorded = part.step_names[step]
            named = self._namer.name(recorded, text, lambda by: self._judged(by, step))
        self._keys.append((step, node, row, text, recorded, named.key))
        known = self._classes.get(named.key)
        if known is None:
            known = self._classes[named.key] = _Class(named.constants, named.form)
        return known

    def _judged(self, relevance: Relevance, number: int) -> SlicedStep:
        part, step = self._part, self._part.step_in_pieces(number)
        _, before, input, *_ = part.parts_of_steps[number]
        label = relevance.label(step.node, step.action, part.rows[before], part.inputs[input])
        return relevance.judged_as(label, step)

    def slim(self) -> pa.Table:
        part, classes = self._part, self._classes.values()
        first = np.array([c.first for c in classes], dtype=np.int64)
        columns = {
            "key": pa.array(list(self._classes), _KEY),
            "count": [c.count for c in classes],
            "run": part.run[part.run_at[first]],
            "step": part.position[first],
        }
        return pa.table(columns, schema=SLIM)

    def numbers(self) -> npt.NDArray[np.uint64]:
        """Of each step 64 bits of its class's key; 0 of one that is in none."""
        found = np.zeros(len(self._part.node), dtype=np.uint64)
        for step, *_, key in self._keys:
            if step != FIRST_ROW:
                found[step] = int.from_bytes(key[:8], "little")
        return found

    def table(self) -> pa.Table:
        rows = [(key, c.constants, *c.form) for key, c in self._classes.items()]
        columns = list(zip(*rows, strict=True)) or [()] * len(CLASSES)
        return pa.table([list(column) for column in columns], schema=CLASSES)

    def keys_table(self) -> pa.Table:
        columns = list(zip(*self._keys, strict=True)) or [()] * len(KEYS)
        return pa.table([list(column) for column in columns], schema=KEYS)


def _first_rows(part: Part, ill: Mask) -> dict[tuple[int, int, int], tuple[int, int]]:
    """(constants, node, first row) -> in how many runs, and the first occurrence entered in it."""
    begun = part.begun
    steps = part.taken[begun]
    found: dict[tuple[int, int, int], tuple[int, int]] = {}
    for at, step in zip(begun.tolist(), steps, strict=True):
        if not ill[step]:
            key = (int(part.step_constants[step]), int(part.node[step]), int(part.before[step]))
            count, earliest = found.get(key, (0, at))
            found[key] = (count + 1, min(earliest, at))
    return found


def facts_of(part: Part, classes: Classes, findings: list[Finding]) -> Facts:
    runs = part.tables["runs"]
    times = Counter(part.taken.tolist())
    actions: Counter[str] = Counter()
    ignored: Counter[str] = Counter()
    for step, count in sorted(times.items()):
        actions[part.action[step]] += count
        if part.ignored[step]:
            ignored[part.ignored[step]] += count
    statistics: list[dict[str, int]] = runs["statistics"].to_pylist()
    verdicts: list[str] = runs["verdict"].to_pylist()
    numbers: list[int] = part.run.tolist()
    return Facts(
        first_run=part.first_run,
        runs=len(part.run),
        steps=len(part.taken),
        first_rows=classes.first_rows,
        judged=classes.steps + classes.first_rows,
        handler_calls=int(part.handler_calls.sum()),
        actions=dict(sorted(actions.items())),
        ignored=dict(sorted(ignored.items())),
        findings=findings,
        invariants=sorted(
            BrokenInvariant(run, v["step"], v["invariant"], v["explanation"])
            for run, violations in zip(numbers, runs["violations"].to_pylist(), strict=True)
            for v in violations
        ),
        verdicts=dict(sorted(Counter(verdicts).items())),
        unprogressed=[
            RunNote(run, what=verdict)
            for run, verdict in zip(numbers, verdicts, strict=True)
            if verdict not in (PROGRESSED, STOPPED)
        ],
        statistics={f.name: sum(s[f.name] for s in statistics) for f in STATISTICS},
        runs_with={f.name: sum(s[f.name] > 0 for s in statistics) for f in STATISTICS},
        longest=most(map(RunNote, numbers, part.steps_of_run.lengths.tolist())),
        slowest=most(map(RunNote, numbers, [s["duration"] for s in statistics])),
        constants=sorted({part.constants_texts[code] for code in part.run_constants.tolist()}),
    )


def most(notes: Iterable[RunNote]) -> list[RunNote]:
    """The notes with the largest numbers, the earlier run first among equals."""
    return sorted(notes, key=lambda note: (-note.number, note.run))[:NAMED_RUNS]


# --- Merging ---


def merge(slim: Rows) -> Rows:
    """One row for each class: its count over all parts, and its smallest witness."""
    return grouped(slim, ["key"], sums=["count"], first=["run", "step"]).select([*SLIM.names])


# --- Sums ---


def demand_all_classed(facts: Sequence[Facts], merged: pa.Table) -> None:
    """Raises ToolError unless the merged classes count every step and first row that has a form."""
    taken, counted = sum(fact.judged for fact in facts), pc.sum(merged["count"]).as_py() or 0
    if taken != counted:
        raise ToolError(
            f"runs took {taken} steps and first rows, but distinct ones count {counted}: "
            "the judgement cannot be trusted"
        )


def demand_all_joined(merged: pa.Table, numbers: Sequence[int], joined: pa.Table) -> None:
    """Raises ToolError unless these classes of the merged table are joined to all who took them.

    joined: with the columns JOINED (explain.py).
    """
    columns = [joined["key"], joined["times"], joined["run"], joined["step"]]
    found = merge(pa.table(columns, schema=SLIM)).cast(SLIM)
    wanted = merged.take(pa.array(numbers, pa.int64())).cast(SLIM).sort_by("key")
    if found.equals(wanted.combine_chunks()):
        return
    odd = sorted({*map(_words, found.to_pylist())} ^ {*map(_words, wanted.to_pylist())})
    raise ToolError(
        f"verdicts are not joined to the runs that took the steps ({'; '.join(odd[:2])}): "
        "the judgement cannot be trusted"
    )


def _words(row: dict[str, object]) -> str:
    key = row["key"]
    assert isinstance(key, bytes)
    return f"{key.hex()[:8]}: {row['count']} from run {row['run']}, step {row['step']} on"
