"""The verdict of TLC on every class of steps.

Classes are read part by part, each from the part where its witness is, and handed to TLC in groups
of one kind of node, in the order of their constants (L8), as many at a time as there are
processors: memory holds a few groups, whatever the length of the campaign. However many workers
there are, the driver judges no more at a time; so where a cluster has met more steps than a driver
judges while workers wait (ON_DRIVER), each group that one JVM would take is written beside the
trace, and a worker answers with TLC's report on it. A worker needs a Java, as Spark does, and TLC's
jar, which its Python packages bring; the modules of the specs come to it as the trace does, in a
folder that all of them see.

Between a recorded step and its verdict stand tables, a generated module, TLC, and the reading of
its report. A fault in any of them that judges a step as another one would go unseen, for most steps
are allowed. So every batch has *canaries*, steps that no specification allows, and no verdict is
believed where one of them was accepted. A canary is a copy of the step before it in which one thing
is wrong, in turn the reason (of no spec), the row after (a number that nothing has) and what was
sent (its own input as well). A batch that reads a canary, or a part of it, as the step before or
behind it accepts the canary. They stand SPACING apart, a prime: a fault in every k-th step of a
batch befalls one of them, wherever it begins, if k is no multiple of SPACING and the batch has
k * SPACING steps. Where the first one stands depends on the steps, so that other batches have
others. The last place is always one.

Laws of this file: every class has exactly one verdict, or it is a ToolError; unknown is a verdict.
Verdicts on steps are those of the batch without canaries, or there are none. A group is judged in
the same way wherever that is.
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
"""The fewer steps between canaries, the more faults they meet, and the more there is to judge: with
47, a fault in every 1,000th step of a full batch (CHUNK), for about 2 % more steps."""
REASON: Final = "Canary"
NUMBER: Final = -77
"""What no handler puts into a row."""

_encode = msgspec.msgpack.Encoder().encode
_Step = TypeVar("_Step")


class Planted(NamedTuple):
    """Steps with the columns CLASSES (classes.py), canaries among them; and which those are."""

    steps: pa.Table
    canary: npt.NDArray[np.bool_]


def canaries_of(steps: int) -> int:
    """How many canaries stand among so many steps, at most."""
    return steps // (SPACING - 1) + 2


def wrong_number(row: Any) -> Any:
    """Give the row with NUMBER for its first number.

    The row is a struct or a record of the spec; the number is its own, or one of what it holds.
    """
    fields = dict(row) if isinstance(row, Record) else asdict(row)
    for wrong in (_as_number, _within):
        for name, value in fields.items():
            if (changed := wrong(value)) is not None:
                return type(row)(**{**fields, name: changed})
    raise AssertionError(f"a {type(row).__name__} has no number")


def _as_number(value: Any) -> int | None:
    return NUMBER if type(value) is int else None


def _within(value: Any) -> Any | None:
    """Of entries by node: the first of them is wrong."""
    if isinstance(value, tuple) and value and isinstance(value[0], Struct | Record):
        return (wrong_number(value[0]), *value[1:])
    if isinstance(value, Function):
        (node, entry), *others = value.items()
        return function([(node, wrong_number(entry)), *others])
    return None


def planted(steps: pa.Table, kind: NodeKind) -> Planted:
    """The steps, all of nodes of this kind, with canaries among them."""

    def numbered(row: bytes) -> bytes:
        return _encode(wrong_number(decoder_of(kind.row)(row)))

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
    """Steps in any form with canaries among them, and which those are.

    steps: all different, since TLC is asked once about those that are equal: the canaries would no
    longer stand apart.
    spoil: a copy of a step, with that wrong whose turn it is (`spoiled`).
    """
    first = len(steps) % (SPACING - 1)
    copied, order = _places(len(steps), first)
    wrong = [spoil(steps[at], turn) for turn, at in enumerate(copied.tolist(), start=first)]
    whole = [*steps, *wrong]
    return [whole[at] for at in order.tolist()], order >= len(steps)


def _places(count: int, first: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Give the steps that a canary follows, and the order of all.

    The canaries' numbers are those from `count`.
    """
    followed = np.arange(count) % (SPACING - 1) == first
    followed[-1] = True
    copied = np.flatnonzero(followed)
    return copied, np.insert(np.arange(count), copied + 1, count + np.arange(len(copied)))


def spoiled(
    step: Mapping[str, Any], turn: int, numbered: Callable[[Any], Any] = wrong_number
) -> dict[str, Any]:
    """A copy of a step with one thing wrong: its reason, row after, or what was sent, in turn.

    numbered: the row with a wrong number in it.
    """
    sent, input = step["sent"], step["input"]
    if turn % 3 == 1:
        return {**step, "after": numbered(step["after"])}
    if turn % 3 == 2 and input and input not in sent:
        return {**step, "sent": type(sent)([*sent, input])}
    return {**step, "ignored": REASON}


def without_canaries(report: StepReport, canary: npt.NDArray[np.bool_]) -> StepReport:
    """The report on the steps alone.

    Raises ToolError: a canary was accepted, or there is not a verdict for each step.
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
"""So many distinct steps are judged on the driver: half a minute of two processors. What it takes
to hand them over was not measured."""
AHEAD: Final = 4
"""Groups for each task that workers run at a time: they are on disk at once, and a worker that is
ready early takes another."""
REPORTS: Final = pa.schema([("group", pa.int32()), ("report", pa.binary())])
SPECS_OF_WORKERS: Final = ".specs"

_OnGroup: TypeAlias = Callable[[str, pa.Table], StepReport]
"""TLC's report on steps of one kind of node, by its name."""


def specs_for(backend: Backend, specs: Path, folder: Path) -> Path:
    """Give the specs where workers find them.

    They stay where they are, or are copied into a folder that a cluster shares with the driver.
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
    """TLC's report on each group, in their order; few groups are ahead of what was asked for.

    groups: the kind of node, and steps with the columns CLASSES. folder: one that workers see; it
    is made, and removed. judged: what a worker calls; it must be picklable, and its errors come
    back.
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
    """In a worker."""
    steps = pq.read_table(_file(folder, number), schema=CLASSES)
    report = judged(kinds[number], steps)
    columns = {"group": [number], "report": [msgspec.msgpack.encode(report)]}
    return pa.table(columns, schema=REPORTS)


def _file(folder: Path, number: int) -> Path:
    return folder / f"{number:05}.parquet"


# --- The judgement ---

CHUNK: Final = 50_000
"""Classes for one JVM. Its start costs as much as judging 10,000 of them, and its memory grows with
them: 10,000 took 1.2 CPU-seconds, and 50,000 4.2 on a busier machine."""

FEW: Final = 20_000
"""Classes that are not worth a second JVM, if one stands idle: it takes 0.7 CPU-seconds to start
and to compile, and 0.04 ms for a step."""

ON_DRIVER_OF_MANY: Final = 10_000
"""So many classes are judged on the driver where executors are on other machines and would wait."""

HERE: Final = 200_000
"""So many classes are encoded in this process: at 0.01 ms each that takes as long as it takes
processes to begin."""

ROW_GROUP: Final = 10_000
"""Rows that a reader of judged steps takes at a time."""

WAITING: Final = 200_000
"""Classes that wait for others of their kind and constants, each in some 1,300 bytes."""

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
    """Where steps are judged: in the frame of a kind of node, under constants as text (L8)."""

    kind: str
    text: str


@dataclass
class Judgement:
    """TLC's verdicts on the merged classes, and what they cost.

    reasons, kinds: for those not accepted, why and (bench, action).
    """

    verdicts: npt.NDArray[np.int8]
    """One code for each row of the merged table."""
    reasons: dict[int, str] = field(default_factory=dict)
    kinds: dict[int, tuple[Bench, str]] = field(default_factory=dict)
    jvms: int = 0
    """How often TLC ran; cpu_seconds of all of them together."""
    cpu_seconds: float = 0.0
    peak_rss_mb: float = 0.0
    as_text: str = ""
    """Why TLC was given text in place of values, or ""."""

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
    """Judges every class of the merged table, and writes all with their verdicts to `into`.

    under: what to make of the specs first. workers: who judges where this process alone would have
    too much to do (HERE, ON_DRIVER); those on other machines see the folder of `into`, and `specs`.
    progress is told how many classes have been judged; keep is given each group's kind of node, and
    its classes with the columns JUDGED, before the next one is waited for. Raises ToolError as
    `check_steps` does, and when a class has no content in any part.
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
    """Of a group: each JVM that runs at a time has two, if these are not FEW and not too many."""
    return min(options.chunk, max(FEW, steps // (2 * slots)))


@contextmanager
def _written(path: Path) -> Iterator[Callable[[pa.Table], None]]:
    """Write judged steps in groups of ROW_GROUP rows, however many are judged together.

    The bytes of the file depend on neither processors nor executors.
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
    """All classes, in groups of at most `size`; the order depends on the trace alone."""
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
    """Classes by bench in groups of at most `size`, as few constants in each as may be."""
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
    """As many JVMs at a time as the options allow, and few groups ahead of them.

    A process makes the tables for one JVM. Threads, which have one processor for that, do for so
    few `steps` that processes would hardly have begun (HERE).
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
    """On steps as another process sends them: it would send a slice of a table with all of it."""
    return report_of(kind, pa.ipc.open_stream(steps).read_all(), options, specs, under)


def report_of(
    kind: str,
    steps: pa.Table,
    options: CheckOptions,
    specs: Path = SPECS,
    under: Under = as_it_is,
) -> StepReport:
    """TLC's report on steps with the columns CLASSES, of a kind of node by its name, in one JVM.

    There were canaries among them. Raises ToolError as `report_among` does.
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
    """TLC's report on steps, of which some are canaries: they are left out but for what they cost.

    Raises ToolError as `check_steps` does, where a canary was accepted, and where TLC warns.
    """
    report = check_steps(frame, table, options, progress)
    if report.warnings:
        raise ToolError(f"TLC may have ignored what it was told: {report.warnings[0]}")
    return without_canaries(report, canary)


def _enter(judgement: Judgement, group: Group, report: StepReport) -> pa.Table:
    """Enters the verdicts of a group; its classes with them, with the columns JUDGED."""
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
    """The classes of `wanted`, all of which the part holds, with what was merged of them."""
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
    """The steps of a block in the bytes of the trace, with the shapes of what these stand for.

    texts: the constants that its steps were taken under, each once; the column `given` numbers
    them.
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
    """Make the table of a block's steps as values of the spec.

    Each distinct part is converted once. It is for a TLC that does not take encoded ones.

    texts: as of `encoded_steps`.
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
