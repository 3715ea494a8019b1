"""The verdict of TLC on every class of steps.

Classes are read part by part, each from the part of its witness. TLC receives them in groups of one
kind of node, in the order of their constants (L8), with one group for each processor at a time. So
memory holds only a few groups, for a campaign of any length. If there are more than ON_DRIVER
steps, the workers of a cluster do this work. Each group is then written next to the trace, and a
worker returns TLC's report on it. A worker needs Java, as Spark does, and TLC's jar, which is in
its Python packages. It reads the modules of the specs from a folder that all workers share.

Tables, a generated module, TLC and the parser of its report lie between a recorded step and its
verdict. A defect in any of them could check one step in place of another, and nobody would notice,
because most steps are allowed. So every batch has *canaries*: steps that no specification allows.
If TLC accepts a canary, the batch has no verdict. A canary is a copy of the step before it with one
error. The errors take turns: a reason that no spec has, a number that no row has, a sent message
that equals the input. If a defect replaces a canary by a neighbouring step, TLC accepts the canary.
The distance of canaries is SPACING, a prime. So a defect in every k-th step also affects a canary,
if k is no multiple of SPACING and the batch has k * SPACING steps. The position of the first canary
depends on the steps, so it differs between batches. The last position is always a canary.

Laws of this file: every class gets exactly one verdict (*unknown* is one), otherwise ToolError is
raised. A batch with canaries gives the same verdicts as one without, or none. The driver and a
worker judge a group in the same way.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct
from msgspec.structs import asdict

from kraftcheck.reference.kit.protocol import NodeKind
from kraftcheck.reference.protocols import kind_named, kind_of, peers_of
from kraftcheck.specs import SPECS
from kraftcheck.traces.jobs.backends import Backend, Pool, Spark
from kraftcheck.traces.schema import ipc_bytes
from kraftcheck.traces.steps.classes import CLASSES, PartFiles
from kraftcheck.traces.steps.record import (
    decode_step_constants,
    decoder_of,
    decoder_of_inputs,
    types_of_inputs,
)
from kraftcheck.traces.steps.slicing import action_of
from kraftcheck.traces.steps.translation import (
    INIT_BYTES,
    Abstraction,
    Under,
    as_it_is,
    shape_of_inputs,
    shape_of_row,
    shared_frame,
)
from tla_utils import (
    CheckOptions,
    EncodedSteps,
    Record,
    StepFrame,
    StepReport,
    StepTable,
    Value,
    check_steps,
    function,
)
from tla_utils.errors import ToolError
from tla_utils.steps import Progress
from tla_utils.stepvalues import Scalar, SetOf, Shape, array
from tla_utils.values import Function

# --- Canaries ---

SPACING: Final = 47
"""Distance of canaries. With 47 they detect a defect in every 1,000th step of a full batch
(CHUNK), and add about 2 % to the steps."""
REASON: Final = "Canary"
NUMBER: Final = -77
"""A number that no handler writes into a row."""

_encode = msgspec.msgpack.Encoder().encode
_Step = TypeVar("_Step")


class Planted(NamedTuple):
    """Steps and canaries with the columns CLASSES (classes.py), and a mask of the canaries."""

    steps: pa.Table
    canary: npt.NDArray[np.bool_]


def canaries_of(steps: int) -> int:
    """Return the largest number of canaries for this number of steps."""
    return steps // (SPACING - 1) + 2


def wrong_number(row: Any) -> Any | None:
    """Return the row with NUMBER in place of its first number; None: it has no number."""
    fields = dict(row) if isinstance(row, Record) else asdict(row)
    for wrong in (_as_number, _within):
        for name, value in fields.items():
            if (changed := wrong(value)) is not None:
                return type(row)(**{**fields, name: changed})
    return None


def _as_number(value: Any) -> int | None:
    return NUMBER if type(value) is int else None


def _within(value: Any) -> Any | None:
    """Return a tuple or function of entries with a wrong number in its first entry."""
    if isinstance(value, tuple) and value:
        changed = _in_entry(value[0])
        return None if changed is None else (changed, *value[1:])
    if isinstance(value, Function):
        (node, entry), *others = value.items()
        changed = _in_entry(entry)
        return None if changed is None else function([(node, changed), *others])
    return None


def _in_entry(entry: Any) -> Any | None:
    return wrong_number(entry) if isinstance(entry, Struct | Record) else None


def planted(steps: pa.Table, kind: NodeKind) -> Planted:
    """Insert canaries into steps of nodes of this kind."""

    def numbered(row: bytes) -> bytes | None:
        wrong = wrong_number(decoder_of(kind.row)(row))
        return None if wrong is None else _encode(wrong)

    first = int.from_bytes(steps["key"][0].as_py()[:8], "big") % (SPACING - 1)
    copied, order = _places(len(steps), first)
    rows = steps.take(pa.array(copied)).to_pylist()
    wrong = [spoiled(row, turn, numbered) for turn, row in enumerate(rows, start=first)]
    canaries = pa.Table.from_pylist(wrong, schema=steps.schema)
    table = pa.concat_tables([steps, canaries]).take(pa.array(order))
    return Planted(table, order >= len(steps))


def planted_among(
    steps: Sequence[_Step], spoil: Callable[[_Step, int], _Step]
) -> tuple[list[_Step], npt.NDArray[np.bool_]]:
    """Insert canaries into steps in any form.

    Args:
        steps: distinct steps. TLC checks equal steps once, which would move the canaries together.
        spoil: returns a copy of a step with the error of this turn (`spoiled`).

    Returns:
        The steps with canaries, and a mask of the canaries.
    """
    first = len(steps) % (SPACING - 1)
    copied, order = _places(len(steps), first)
    wrong = [spoil(steps[at], turn) for turn, at in enumerate(copied.tolist(), start=first)]
    whole = [*steps, *wrong]
    return [whole[at] for at in order.tolist()], order >= len(steps)


def _places(count: int, first: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the steps that are followed by a canary, and the order of steps and canaries.

    Canaries are numbered from `count`.
    """
    followed = np.arange(count) % (SPACING - 1) == first
    followed[-1] = True
    copied = np.flatnonzero(followed)
    return copied, np.insert(np.arange(count), copied + 1, count + np.arange(len(copied)))


def spoiled(
    step: Mapping[str, Any], turn: int, numbered: Callable[[Any], Any] = wrong_number
) -> dict[str, Any]:
    """Return a copy of a step with one error: in turn in its reason, row after or sent messages.

    Args:
        step: the step.
        turn: the number of the canary, which selects the error.
        numbered: returns a row with a wrong number in it; None: that row has no number.
    """
    sent, input = step["sent"], step["input"]
    if turn % 3 == 1 and (after := numbered(step["after"])) is not None:
        return {**step, "after": after}
    if turn % 3 == 2 and input and input not in sent:
        return {**step, "sent": type(sent)([*sent, input])}
    return {**step, "ignored": REASON}


def without_canaries(report: StepReport, canary: npt.NDArray[np.bool_]) -> StepReport:
    """Return the report on the steps without the canaries.

    Raises:
        ToolError: a canary was accepted, or the number of verdicts is not that of the steps.
    """
    if len(report.verdicts) != len(canary):
        raise ToolError(
            f"TLC gave {len(report.verdicts)} verdicts on {len(canary)} steps with their canaries: "
            "they cannot be trusted"
        )
    lived = sum(report.verdicts[at].verdict == "accepted" for at in np.flatnonzero(canary))
    if lived:
        raise ToolError(
            f"TLC accepted {lived} of {canary.sum()} canaries, steps that no specification allows: "
            f"its verdicts on the {(~canary).sum()} steps around them cannot be trusted"
        )
    return dataclasses.replace(
        report, verdicts=[report.verdicts[at] for at in np.flatnonzero(~canary)]
    )


# --- TLC where the workers are ---

ON_DRIVER: Final = 400_000
"""The driver judges up to this number of distinct steps itself, in half a minute on two
processors. The cost of handing them to workers was not measured."""
AHEAD: Final = 4
"""Groups on disk for each running task, so that a worker that finishes early finds the next
group."""
REPORTS: Final = pa.schema([("group", pa.int32()), ("report", pa.binary())])
SPECS_OF_WORKERS: Final = ".specs"

_OnGroup: TypeAlias = Callable[[str, pa.Table], StepReport]
"""TLC's report on steps of one kind of node, by its name."""


def specs_for(backend: Backend, specs: Path, folder: Path) -> Path:
    """Return a folder of the specs that workers can read.

    For a remote cluster the specs are copied into `folder`, which all workers share.
    """
    if not (isinstance(backend, Spark) and backend.is_remote):
        return specs.absolute()
    copied = folder.absolute() / SPECS_OF_WORKERS
    shutil.rmtree(copied, ignore_errors=True)
    for module in sorted(specs.rglob("*.tla")):
        place = copied / module.relative_to(specs)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(module, place)
    return copied


def reports_of(
    groups: Iterator[tuple[str, pa.Table]], folder: Path, backend: Spark, judged: _OnGroup
) -> Iterator[StepReport]:
    """Yield TLC's report on each group, in order, reading only a few groups ahead.

    Args:
        groups: pairs of a kind of node and steps with the columns CLASSES.
        folder: a folder that workers can read; it is created and removed.
        backend: the cluster.
        judged: the function that a worker calls. It must be picklable; its errors are raised here.
    """
    folder = folder.absolute()
    try:
        while wave := list(islice(groups, AHEAD * backend.slots)):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            for number, (_, steps) in enumerate(wave):
                pq.write_table(steps.select(CLASSES.names), _file(folder, number))
            kinds = tuple(kind for kind, _ in wave)
            task = partial(_reported, folder, kinds, judged)
            rows = backend.run(task, len(wave), REPORTS).sort_by("group")
            for report in rows["report"].to_pylist():
                yield msgspec.msgpack.decode(report, type=StepReport)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _reported(folder: Path, kinds: tuple[str, ...], judged: _OnGroup, number: int) -> pa.Table:
    """Judge one group in a worker."""
    steps = pq.read_table(_file(folder, number), schema=CLASSES)
    report = judged(kinds[number], steps)
    columns = {"group": [number], "report": [msgspec.msgpack.encode(report)]}
    return pa.table(columns, schema=REPORTS)


def _file(folder: Path, number: int) -> Path:
    return folder / f"{number:05}.parquet"


# --- The judgement ---

CHUNK: Final = 50_000
"""Classes for one JVM. Its start costs as much as 10,000 classes, and its memory grows with
their number. 10,000 took 1.2 CPU seconds, 50,000 took 4.2 on a busier machine."""

FEW: Final = 20_000
"""Fewer classes than this are not worth a second JVM: it takes 0.7 CPU seconds to start and to
compile, and 0.04 ms for a step."""

ON_DRIVER_OF_MANY: Final = 10_000
"""The driver of a remote cluster judges up to this number of classes itself."""

HERE: Final = 200_000
"""This process encodes up to this number of classes itself, at 0.01 ms each; starting other
processes would take longer."""

ROW_GROUP: Final = 10_000
"""Rows of a row group of the file of judged steps."""

WAITING: Final = 200_000
"""Classes held in memory until others of their kind and constants are read, 1,300 bytes each."""

NONE_SENT: Final = array([])

ACCEPTED, REJECTED, UNKNOWN, UNJUDGED = 0, 1, 2, 3
_CODES: Final = {"accepted": ACCEPTED, "rejected": REJECTED, "unknown": UNKNOWN}

JUDGED = pa.schema(
    [
        *CLASSES,
        ("count", pa.int64()),
        ("run", pa.int64()),
        ("step", pa.int64()),
        ("verdict", pa.string()),
        ("reason", pa.string()),
    ]
)
"""A class with its count, its witness, TLC's verdict, and why it is not accepted."""


class Bench(NamedTuple):
    """The frame of a kind of node and the constants, as text, under which TLC judges steps (L8)."""

    kind: str
    text: str


@dataclass
class Judgement:
    """TLC's verdicts on the merged classes, and their cost."""

    verdicts: npt.NDArray[np.int8]
    """One code for each row of the merged table."""
    reasons: dict[int, str] = field(default_factory=dict)
    kinds: dict[int, tuple[Bench, str]] = field(default_factory=dict)
    jvms: int = 0
    """Number of runs of TLC."""
    cpu_seconds: float = 0.0
    peak_rss_mb: float = 0.0
    as_text: str = ""
    """Why TLC received the steps as text in place of values, or ""."""

    def numbers(self, code: int) -> list[int]:
        numbers: list[int] = np.flatnonzero(self.verdicts == code).tolist()
        return numbers


def judge(
    files: Sequence[PartFiles],
    merged: pa.Table,
    into: Path,
    options: CheckOptions,
    specs: Path = SPECS,
    progress: Callable[[int], None] | None = None,
    keep: Callable[[str, pa.Table], None] | None = None,
    under: Under = as_it_is,
    workers: Backend | None = None,
) -> Judgement:
    """Judge every class of the merged table, and write all classes with their verdicts.

    Args:
        files: the parts of the trace.
        merged: the distinct classes of all parts.
        into: the file to write, with the columns JUDGED.
        options: how TLC runs.
        specs: the folder of the specs.
        progress: called with the number of classes judged so far.
        keep: called with each group's kind of node and its classes with the columns JUDGED.
        under: a change of the frame, such as an overlay.
        workers: processes or executors for more than HERE or ON_DRIVER classes. Executors on other
            machines must see the folder of `into`, and `specs`.

    Raises:
        ToolError: as for `check_steps`, or a class has no content in any part.
    """
    judgement = Judgement(np.full(len(merged), UNJUDGED, dtype=np.int8))
    done = 0
    on_spark = isinstance(workers, Spark) and len(merged) > _left_to_driver(workers)
    slots = workers.slots if on_spark and isinstance(workers, Spark) else _parallel(options)
    with _written(into) as write:
        groups = groups_of(files, merged, _size(len(merged), options, slots))
        if on_spark:
            assert isinstance(workers, Spark)
            folder = into.with_name(f"{into.name}.groups")
            reports = _reports_of_workers(groups, folder, workers, options, specs, under)
        else:
            reports = _reports(groups, len(merged), workers, options, specs, under)
        for group, report in reports:
            judged = _enter(judgement, group, report)
            write(judged)
            if keep:
                keep(group.kind, judged)
            done += len(judged)
            if progress:
                progress(done)
    lost = judgement.numbers(UNJUDGED)
    if lost:
        raise ToolError(f"{len(lost)} classes of steps have their witness in a run of no part")
    return judgement


class Group(NamedTuple):
    """Classes of one kind of node, by its name, for one JVM.

    Each has its number in the merged table, its count and its witness.
    """

    kind: str
    classes: pa.Table


def _parallel(options: CheckOptions) -> int:
    return options.parallel or os.cpu_count() or 1


def _left_to_driver(workers: Spark) -> int:
    """Classes that the driver judges alone."""
    return ON_DRIVER_OF_MANY if workers.is_remote else ON_DRIVER


def _size(steps: int, options: CheckOptions, slots: int) -> int:
    """Return the size of a group: two for each running JVM, within FEW and the options' limit."""
    return min(options.chunk, max(FEW, steps // (2 * slots)))


@contextmanager
def _written(path: Path) -> Iterator[Callable[[pa.Table], None]]:
    """Write judged steps in row groups of ROW_GROUP rows.

    So the bytes of the file do not depend on the number of processors or executors.
    """
    waiting: list[pa.Table] = []
    with pq.ParquetWriter(path, JUDGED, compression="zstd") as writer:

        def write(judged: pa.Table) -> None:
            waiting.append(judged)
            if sum(map(len, waiting)) >= ROW_GROUP:
                whole = pa.concat_tables(waiting)
                end = len(whole) - len(whole) % ROW_GROUP
                writer.write_table(whole.slice(0, end).combine_chunks(), ROW_GROUP)
                waiting[:] = [whole.slice(end)]

        yield write
        last = pa.concat_tables([JUDGED.empty_table(), *waiting])
        writer.write_table(last.combine_chunks(), ROW_GROUP)


def groups_of(files: Sequence[PartFiles], merged: pa.Table, size: int) -> Iterator[Group]:
    """Yield all classes in groups of at most `size`, in an order that depends only on the trace."""
    numbered = merged.append_column("number", pa.array(np.arange(len(merged))))
    runs = merged["run"].to_numpy()
    by_run = np.argsort(runs, kind="stable")
    ordered = runs[by_run]
    kept: dict[Bench, list[pa.Table]] = {}
    waiting = 0
    for part in files:
        begin, end = np.searchsorted(ordered, [part.first_run, part.first_run + part.runs])
        classes = _classes_of(part, numbered.take(pa.array(np.sort(by_run[begin:end]))))
        for bench, more in by_bench(classes):
            kept.setdefault(bench, []).append(more)
        waiting += len(classes)
        if waiting > WAITING:
            yield from grouped(kept, size)
            kept, waiting = {}, 0
    yield from grouped(kept, size)


def by_bench(classes: pa.Table) -> Iterator[tuple[Bench, pa.Table]]:
    """The classes of each bench, in the order of benches."""
    texts, nodes = classes["constants"].to_pylist(), classes["node"].to_pylist()
    places = list(zip(texts, nodes, strict=True))
    decoded = {text: decode_step_constants(text) for text in dict.fromkeys(texts)}
    benches = {
        (text, node): Bench(kind_of(decoded[text], node).name, text) for text, node in set(places)
    }
    ranked = sorted(set(benches.values()))
    rank = {bench: at for at, bench in enumerate(ranked)}
    ranks = np.array([rank[benches[place]] for place in places], dtype=np.int64)
    ordered = classes.take(pa.array(np.argsort(ranks, kind="stable")))
    ends = np.cumsum(np.bincount(ranks, minlength=len(ranked))).tolist()
    for bench, begin, end in zip(ranked, [0, *ends], ends, strict=False):
        yield bench, ordered.slice(begin, end - begin)


def grouped(kept: Mapping[Bench, Sequence[pa.Table]], size: int) -> Iterator[Group]:
    """Yield classes in groups of at most `size`, ordered by bench."""
    for kind, benches in groupby(sorted(kept), key=lambda bench: bench.kind):
        whole = pa.concat_tables([classes for bench in benches for classes in kept[bench]])
        for start in range(0, len(whole), size):
            yield Group(kind, whole.slice(start, size))


_Reports: TypeAlias = Iterator[tuple[Group, StepReport]]
"""Groups in their order, each with TLC's report on it."""


def _reports_of_workers(
    groups: Iterator[Group],
    folder: Path,
    workers: Spark,
    options: CheckOptions,
    specs: Path,
    under: Under,
) -> _Reports:
    given: deque[Group] = deque()

    def noted() -> Iterator[tuple[str, pa.Table]]:
        for group in groups:
            given.append(group)
            yield group

    judged = partial(report_of, options=options, specs=specs, under=under)
    for report in reports_of(noted(), folder, workers, judged):
        yield given.popleft(), report


def _reports(
    groups: Iterator[Group],
    steps: int,
    workers: Backend | None,
    options: CheckOptions,
    specs: Path,
    under: Under,
) -> _Reports:
    """Yield the report on each group, with the number of parallel JVMs of the options.

    Each JVM has a process that makes its tables. With at most HERE `steps` threads make them,
    because processes would take longer to start.
    """
    parallel = _parallel(options)
    judged = partial(_report_on_sent, options=options, specs=specs, under=under)
    waiting: deque[tuple[Group, Future[StepReport]]] = deque()
    with _executor(workers, steps, parallel) as pool:
        try:
            for group in groups:
                sent = ipc_bytes(group.classes.select(CLASSES.names))
                waiting.append((group, pool.submit(judged, group.kind, sent)))
                if len(waiting) > parallel:
                    group, future = waiting.popleft()
                    yield group, future.result()
            while waiting:
                group, future = waiting.popleft()
                yield group, future.result()
        finally:
            for _, future in waiting:
                future.cancel()


def _executor(
    workers: Backend | None, steps: int, parallel: int
) -> AbstractContextManager[Executor]:
    if isinstance(workers, Pool) and workers.size > 1 and steps > HERE:
        return workers.started(parallel)
    return ThreadPoolExecutor(parallel)


def _report_on_sent(
    kind: str, steps: bytes, options: CheckOptions, specs: Path, under: Under
) -> StepReport:
    """Judge steps sent as bytes of Arrow, because pickling a slice sends its whole table."""
    return report_of(kind, pa.ipc.open_stream(steps).read_all(), options, specs, under)


def report_of(
    kind: str,
    steps: pa.Table,
    options: CheckOptions,
    specs: Path = SPECS,
    under: Under = as_it_is,
) -> StepReport:
    """Return TLC's report on steps of one kind of node, checked with canaries in one JVM.

    Args:
        kind: the name of the kind of node.
        steps: with the columns CLASSES.
        options: how TLC runs.
        specs: the folder of the specs.
        under: a change of the frame, such as an overlay.

    Raises:
        ToolError: as for `report_among`.
    """
    of = kind_named(kind)
    texts = list(dict.fromkeys(steps["constants"].to_pylist()))
    asked, canary = planted(steps, of)
    whole = replace(options, parallel=1, chunk=len(asked))
    frame = shared_frame(of, [decode_step_constants(text) for text in texts], specs)
    return report_among(under(frame), encoded_steps(asked, texts, of), canary, whole)


def report_among(
    frame: StepFrame,
    table: StepTable | EncodedSteps,
    canary: npt.NDArray[np.bool_],
    options: CheckOptions,
    progress: Callable[[Progress], None] | None = None,
) -> StepReport:
    """Return TLC's report on the steps without the canaries; its costs include them.

    Raises:
        ToolError: as for `check_steps`, or a canary was accepted, or TLC printed a warning.
    """
    report = check_steps(frame, table, options, progress)
    if report.warnings:
        raise ToolError(f"TLC may have ignored what it was told: {report.warnings[0]}")
    return without_canaries(report, canary)


def _enter(judgement: Judgement, group: Group, report: StepReport) -> pa.Table:
    """Enter the verdicts of a group, and return its classes with the columns JUDGED."""
    judgement.jvms += report.runs
    judgement.cpu_seconds += report.cpu_seconds
    judgement.peak_rss_mb = max(judgement.peak_rss_mb, report.peak_rss_mb)
    judgement.as_text = judgement.as_text or report.as_text
    classes = group.classes
    numbers = classes["number"].to_numpy()
    verdicts = [each.verdict for each in report.verdicts]
    judgement.verdicts[numbers] = [_CODES[verdict] for verdict in verdicts]
    for at in [at for at, verdict in enumerate(verdicts) if verdict != "accepted"]:
        number, bench = int(numbers[at]), Bench(group.kind, classes["constants"][at].as_py())
        judgement.reasons[number] = report.verdicts[at].reason
        judgement.kinds[number] = (bench, action_of(classes["action"][at].as_py()))
    judged = classes.drop_columns(["number"]).append_column("verdict", pa.array(verdicts))
    reasons = pa.array([each.reason for each in report.verdicts])
    return judged.append_column("reason", reasons).cast(JUDGED)


def _classes_of(part: PartFiles, wanted: pa.Table) -> pa.Table:
    """Return the classes of `wanted` from their part, with the merged columns."""
    classes = pq.read_table(part.classes, schema=CLASSES)
    places = pc.index_in(wanted["key"], classes["key"].cast(wanted["key"].type))
    if places.null_count:
        raise ToolError(f"{part.classes} does not hold {places.null_count} classes of its part")
    found = classes.take(places)
    for name in ("number", "count", "run", "step"):
        found = found.append_column(name, wanted[name])
    return found


COLUMNS: Final = ("given", "action", "node", "before", "input", "after", "sent", "ignored")


def encoded_steps(block: pa.Table, texts: Sequence[str], kind: NodeKind) -> EncodedSteps:
    """Return the steps of a block as the bytes of the trace, with the shapes of their values.

    Args:
        block: steps with the columns CLASSES.
        texts: the distinct constants of these steps; the column `given` has their numbers.
        kind: the kind of node.
    """
    several = [decode_step_constants(text) for text in texts]
    inputs = types_of_inputs(several[0])
    scalar, forms, form_of = Scalar(), list[tuple[Shape, ...]](), dict[str, int]()
    for text, constants in zip(texts, several, strict=True):
        nodes = peers_of(constants)
        row, taken = shape_of_row(kind.row, nodes), shape_of_inputs(inputs, nodes)
        form = (scalar, scalar, scalar, row, taken, row, SetOf(taken), scalar)
        if form not in forms:
            forms.append(form)
        form_of[text] = forms.index(form)
    given = {text: bytes([form_of[text]]) + _encode(n) for n, text in enumerate(texts, 1)}
    scalars: dict[Any, bytes] = _Encoded()
    columns = [block[name].to_pylist() for name in ("constants", *COLUMNS[1:])]
    steps = [
        b"".join(
            (
                given[text],
                scalars[action],
                scalars[node],
                before,
                input or INIT_BYTES,
                after,
                array([*dict.fromkeys(sent)]) if sent else NONE_SENT,
                scalars[ignored],
            )
        )
        for text, action, node, before, input, after, sent, ignored in zip(*columns, strict=True)
    ]
    return EncodedSteps(COLUMNS, forms, steps, partial(step_table, block, texts, kind))


class _Encoded(dict[Any, bytes]):
    """Numbers and strings, each encoded once."""

    def __missing__(self, value: Any) -> bytes:
        self[value] = encoded = _encode(value)
        return encoded


def step_table(block: pa.Table, texts: Sequence[str], kind: NodeKind) -> StepTable:
    """Return the table of a block's steps as values of the spec, for a TLC that cannot read bytes.

    Each distinct part is converted once. The arguments are those of `encoded_steps`.
    """
    several = [decode_step_constants(text) for text in texts]
    given = {text: number for number, text in enumerate(texts)}
    under = [given[text] for text in block["constants"].to_pylist()]
    forms = [Abstraction(constants) for constants in several]
    decode_row, decode_input = decoder_of(kind.row), decoder_of_inputs(several[0])
    rows: dict[tuple[int, bytes], Value] = {}
    messages: dict[tuple[int, bytes], Value] = {}

    def row(at: int, body: bytes) -> Value:
        if (at, body) not in rows:
            rows[at, body] = forms[at].row(decode_row(body))
        return rows[at, body]

    def taken(at: int, body: bytes) -> Value:
        return forms[at].input(decode_input(body) if body else None)

    def sent(at: int, bodies: tuple[bytes, ...]) -> Value:
        for body in bodies:
            if (at, body) not in messages:
                messages[at, body] = forms[at].input(decode_input(body))
        return frozenset([messages[at, body] for body in bodies])

    made: dict[str, Callable[[int, Any], Value]] = {
        "before": row,
        "input": taken,
        "after": row,
        "sent": sent,
    }
    values: dict[str, list[Value]] = {"given": [number + 1 for number in range(len(texts))]}
    index: dict[str, list[int]] = {"given": under}
    for name in COLUMNS[1:]:
        items = block[name].to_pylist()
        if name == "sent":
            items = [tuple(bodies) for bodies in items]
        if name in made:
            items = list(zip(under, items, strict=True))
        places = {item: place for place, item in enumerate(dict.fromkeys(items))}
        index[name] = [places[item] for item in items]
        values[name] = [made[name](*item) if name in made else item for item in places]
    return StepTable(values, index)
