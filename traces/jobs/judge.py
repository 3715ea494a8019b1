"""The verdict of TLC on every class of steps, and why it rejected those that it did.

Classes are read part by part, each from the part where its witness is, and handed to TLC in blocks
of one set of constants (L8), as many at a time as there are processors: memory holds a few blocks,
whatever the length of the campaign. Small blocks of one kind of node go to TLC together.

A rejected class is explained by its *witness as it was recorded*, and not by the canonical step
that was judged: the explanation then speaks of the nodes and values of a run that can be replayed.
It is a check of L9 as well. If the spec allowed what the witness did while its canonical form was
rejected, the explanation would say so in as many words.

Law of this file: every class has exactly one verdict, or it is a ToolError; unknown is a verdict.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reference.kit.protocol import NodeKind
from reference.protocols import kind_named, kind_of
from specs import SPECS
from tla_utils import CheckOptions, StepFrame, StepReport, StepTable, Value, check_steps, diagnose
from tla_utils.errors import ToolError
from tla_utils.steps import Progress
from traces.jobs.abstraction import Abstraction
from traces.jobs.backends import Spark
from traces.jobs.canaries import planted, without_canaries
from traces.jobs.canonical import Step
from traces.jobs.columns import Part
from traces.jobs.distinct import CLASSES, PartFiles
from traces.jobs.handed import ON_DRIVER, reports_of
from traces.jobs.protocols import decode_step_constants, decoder_of, decoder_of_inputs
from traces.jobs.relevance import action_of
from traces.jobs.step_frames import INIT, Under, as_it_is, shared_frame
from traces.store import PartEntry, read_part

CHUNK: Final = 50_000
"""Classes for one JVM. Its start costs as much as judging 10,000 of them, and its memory grows with
them: 10,000 took 1.2 CPU-seconds, and 50,000 4.2 on a busier machine."""

TOGETHER: Final = 10_000
"""Classes of several blocks that go into one JVM: more of them would rather have two."""

WAITING: Final = 400_000
"""Classes that wait for others of their bench, each in some 1,300 bytes."""

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

    verdicts: one code for each row of the merged table. reasons, kinds: for those not accepted, why
    and (bench, action). jvms: how often TLC ran; cpu_seconds of all of them together.
    """

    verdicts: npt.NDArray[np.int8]
    reasons: dict[int, str] = field(default_factory=dict)
    kinds: dict[int, tuple[Bench, str]] = field(default_factory=dict)
    jvms: int = 0
    cpu_seconds: float = 0.0
    peak_rss_mb: float = 0.0

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
    keep: Callable[[Bench, pa.Table], None] | None = None,
    under: Under = as_it_is,
    workers: Spark | None = None,
) -> Judgement:
    """Judges every class of the merged table, and writes all with their verdicts to `into`.

    under: what to make of the specs first. workers: who judges where there is more than for one
    machine; they see the folder of `into`, and `specs`. progress is told how many classes have been
    judged; keep is given each batch as it is, with the columns JUDGED, before the next one is
    waited for. Raises ToolError as `check_steps` does, and when a class has no content in any part.
    """
    judgement = Judgement(np.full(len(merged), UNJUDGED, dtype=np.int8))
    done = 0
    with pq.ParquetWriter(into, JUDGED, compression="zstd") as writer:
        groups = together(blocks(files, merged, options.chunk), min(options.chunk, TOGETHER))
        if workers is not None and len(merged) > ON_DRIVER:
            folder = into.with_name(f"{into.name}.groups")
            reports = _reports_of_workers(groups, folder, workers, options, specs, under)
        else:
            reports = _reports(groups, options, specs, under)
        for group, report in reports:
            for bench, judged in _enter(judgement, group, report):
                writer.write_table(judged)
                if keep:
                    keep(bench, judged)
                done += len(judged)
            if progress:
                progress(done)
    lost = judgement.numbers(UNJUDGED)
    if lost:
        raise ToolError(f"{len(lost)} classes of steps have their witness in a run of no part")
    return judgement


_Block: TypeAlias = tuple[Bench, pa.Table]
"""Classes to be judged together, with their number in the merged table, count and witness."""


def blocks(files: Sequence[PartFiles], merged: pa.Table, size: int) -> Iterator[_Block]:
    """All classes, in blocks of at most `size`; the order depends on the trace alone.

    Where many benches have a few classes each, the largest of what waits go before they are full.
    """
    numbered = merged.append_column("number", pa.array(np.arange(len(merged))))
    runs = merged["run"].to_numpy()
    by_run = np.argsort(runs, kind="stable")
    ordered = runs[by_run]
    kept: dict[Bench, pa.Table] = {}
    for part in files:
        begin, end = np.searchsorted(ordered, [part.first_run, part.first_run + part.runs])
        classes = _classes_of(part, numbered.take(pa.array(np.sort(by_run[begin:end]))))
        for bench, more in _by_bench(classes):
            waiting = pa.concat_tables([kept[bench], more]) if bench in kept else more
            while len(waiting) >= size:
                yield bench, waiting.slice(0, size)
                waiting = waiting.slice(size)
            kept[bench] = waiting
        if sum(map(len, kept.values())) > WAITING:
            for bench in _largest(kept, WAITING // 2):
                yield bench, kept.pop(bench)
    for bench in sorted(kept):
        if len(kept[bench]):
            yield bench, kept[bench]


def _largest(kept: Mapping[Bench, pa.Table], most: int) -> list[Bench]:
    """Those without which at most so many classes are left."""
    found, left = [], sum(map(len, kept.values()))
    for bench in sorted(kept, key=lambda bench: (-len(kept[bench]), bench)):
        if left <= most:
            break
        found.append(bench)
        left -= len(kept[bench])
    return found


def _by_bench(classes: pa.Table) -> Iterator[_Block]:
    """The classes by where they are judged, in the order in which each bench first appears."""
    texts, nodes = classes["constants"].to_pylist(), classes["node"].to_pylist()
    decoded = {text: decode_step_constants(text) for text in dict.fromkeys(texts)}
    rows: dict[Bench, list[int]] = {}
    for number, (text, node) in enumerate(zip(texts, nodes, strict=True)):
        bench = Bench(kind_of(decoded[text], node).name, text)
        rows.setdefault(bench, []).append(number)
    for bench, numbers in rows.items():
        yield bench, classes.take(pa.array(numbers))


def together(blocks: Iterable[_Block], size: int) -> Iterator[list[_Block]]:
    """Neighbours of one kind of node, at most `size` classes of them."""
    group: list[_Block] = []
    for bench, block in blocks:
        fits = sum(len(each) for _, each in group) + len(block) <= size
        if group and not (fits and group[0][0].kind == bench.kind):
            yield group
            group = []
        group.append((bench, block))
    if group:
        yield group


_Reports: TypeAlias = Iterator[tuple[list[_Block], StepReport]]
"""Groups of blocks in their order, each with TLC's report on it."""


def _reports_of_workers(
    groups: Iterator[list[_Block]],
    folder: Path,
    workers: Spark,
    options: CheckOptions,
    specs: Path,
    under: Under,
) -> _Reports:
    given: deque[list[_Block]] = deque()

    def asked() -> Iterator[tuple[str, pa.Table]]:
        for group in groups:
            given.append(group)
            yield group[0][0].kind, _as_one(group)

    judged = partial(report_of, options=options, specs=specs, under=under)
    for report in reports_of(asked(), folder, workers, judged):
        yield given.popleft(), report


def _reports(
    groups: Iterator[list[_Block]], options: CheckOptions, specs: Path, under: Under
) -> _Reports:
    """As many JVMs at a time as the options allow, and few groups ahead of them."""
    parallel = options.parallel or os.cpu_count() or 1
    waiting: deque[tuple[list[_Block], Future[StepReport]]] = deque()
    with ThreadPoolExecutor(parallel) as pool:
        try:
            for group in groups:
                waiting.append((group, pool.submit(report_on, group, options, specs, under)))
                if len(waiting) > parallel:
                    group, future = waiting.popleft()
                    yield group, future.result()
            while waiting:
                group, future = waiting.popleft()
                yield group, future.result()
        finally:
            for _, future in waiting:
                future.cancel()


def report_on(
    blocks: Sequence[_Block], options: CheckOptions, specs: Path = SPECS, under: Under = as_it_is
) -> StepReport:
    """TLC's report on blocks of steps of one kind of node, with the columns CLASSES, in one JVM.

    There were canaries among them. Raises ToolError as `report_among` does.
    """
    return report_of(kind_named(blocks[0][0].kind), _as_one(blocks), options, specs, under)


def _as_one(blocks: Sequence[_Block]) -> pa.Table:
    return pa.concat_tables([block.select(CLASSES.names) for _, block in blocks])


def report_of(
    kind: NodeKind, steps: pa.Table, options: CheckOptions, specs: Path, under: Under
) -> StepReport:
    """TLC's report on steps with the columns CLASSES. Raises ToolError as `report_among` does."""
    texts = list(dict.fromkeys(steps["constants"].to_pylist()))
    asked, canary = planted(steps, kind)
    whole = replace(options, parallel=1, chunk=len(asked))
    frame = shared_frame(kind, [decode_step_constants(text) for text in texts], specs)
    return report_among(under(frame), step_table(asked, texts, kind), canary, whole)


def report_among(
    frame: StepFrame,
    table: StepTable,
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


def _enter(
    judgement: Judgement, group: Sequence[_Block], report: StepReport
) -> Iterator[tuple[Bench, pa.Table]]:
    """Enters the verdicts of a group; each of its blocks with them."""
    judgement.jvms += report.runs
    judgement.cpu_seconds += report.cpu_seconds
    judgement.peak_rss_mb = max(judgement.peak_rss_mb, report.peak_rss_mb)
    ends = list(accumulate(len(block) for _, block in group))
    for (bench, block), end in zip(group, ends, strict=True):
        verdicts = report.verdicts[end - len(block) : end]
        numbers, actions = block["number"].to_pylist(), block["action"].to_pylist()
        for number, action, verdict in zip(numbers, actions, verdicts, strict=True):
            judgement.verdicts[number] = _CODES[verdict.verdict]
            if verdict.verdict != "accepted":
                judgement.reasons[number] = verdict.reason
                judgement.kinds[number] = (bench, action_of(action))
        judged = block.drop_columns(["number"])
        for name in ("verdict", "reason"):
            column = pa.array([getattr(verdict, name) for verdict in verdicts])
            judged = judged.append_column(name, column)
        yield bench, judged.cast(JUDGED)


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


def step_table(block: pa.Table, texts: Sequence[str], kind: NodeKind) -> StepTable:
    """The steps of a block as values of the spec, each distinct part converted once.

    texts: the constants that its steps were taken under, each once; the column `given` numbers
    them.
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
    for name in ("action", "node", "before", "input", "after", "sent", "ignored"):
        items = block[name].to_pylist()
        if name == "sent":
            items = [tuple(bodies) for bodies in items]
        if name in made:
            items = list(zip(under, items, strict=True))
        places = {item: place for place, item in enumerate(dict.fromkeys(items))}
        index[name] = [places[item] for item in items]
        values[name] = [made[name](*item) if name in made else item for item in places]
    return StepTable(values, index)


# --- Explaining ---


class Explanation(msgspec.Struct, frozen=True):
    """Why a class was rejected, told of its witness.

    node: who took the step in the witness. outcomes: how many outcomes the spec allows instead.
    differences: one line for each place in which the recorded outcome differs from the nearest.
    """

    node: int
    outcomes: int
    differences: list[str]


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


def as_columns(form: Abstraction, step: Step) -> dict[str, Value]:
    """A step as the frame's record."""
    return {
        "action": step.action,
        "node": step.node,
        "before": form.row(step.before),
        "input": form.input(step.input),
        "after": form.row(step.after),
        "sent": form.sent(step.sent),
        "ignored": step.ignored,
    }


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
