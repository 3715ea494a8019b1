"""`check`: is each history as consistent as its model or its configuration promises?

Laws of this file:

* Every file is judged, whatever is wrong with another: what cannot be read is one line on stderr.
* Output comes in the order of the files, whoever was done first.
* In a folder, files of no format of ours are passed over, and said to be; a file that was named is
  a history, or an error.
"""

from __future__ import annotations

import os
import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from kraftcheck import artifacts, exits
from kraftcheck.checking.judge import judge_file
from kraftcheck.checking.options import NOT_RECORDED, TOO_LONG, Options, PageWriter
from kraftcheck.checking.recorded import BESIDE, RECORDING
from kraftcheck.given import is_trace
from kraftcheck.osutil.children import WORKERS
from kraftcheck.screen import Meter, Screen, coloured
from kraftcheck.traces.checkers.verdict import INCONCLUSIVE
from kraftcheck.traces.formats import verifiable
from kraftcheck.traces.formats.detect import Unrecognised
from kraftcheck.traces.history import HistoryError
from kraftcheck.traces.report.history_words import duration, ends, printable
from kraftcheck.traces.report.judged import JudgedHistory, Refused

if TYPE_CHECKING:
    import pyarrow as pa

    from kraftcheck.traces.jobs.backends import Backend

SKIPPED_LISTED = 5
RUNS_LISTED = 10
"""Of a trace, so many runs get a line of their own on a terminal."""
ALLOWED_LISTED = 4
"""Of the anomalies that are allowed, so many kinds are named on a terminal."""
SMALL_BYTES = 1 << 20
HERE_S = 1.0
"""Starting processes takes about a second, which few small files are not worth."""
TASKS, SHARE = 64, 32
"""Most tasks of a Spark job, and most files of a task, since a task costs some milliseconds."""
KILLED = "its process died: out of memory, or killed"


class Source(NamedTuple):
    """What is judged as one: a file, or the folder of a trace. `named`: the user named it."""

    path: Path
    is_trace: bool
    named: bool


class Outcome(NamedTuple):
    """What came of a source: judgements (of a trace also those of single runs), or a refusal."""

    judged: tuple[JudgedHistory, ...] = ()
    refused: Refused | None = None
    pages: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def check_with(
    paths: Sequence[Path],
    *,
    html: Path | None,
    screen: Screen,
    master: str | None = None,
    format: str,
    model: str,
    level: str | None,
    budget: float,
    run: int | None,
    failed_cas: str | None,
    initial: str | None,
    **configuration: Any,
) -> int:
    """As `check`, from the options of the command line."""
    if master is not None:
        if html is not None and not master.startswith("local"):
            # The archive that executors import has no templates.
            raise exits.BadInput(
                "--html: a cluster draws no pages; check those files without --master"
            )
        # Executors run in folders of their own.
        paths = [path.absolute() for path in paths]
        html = None if html is None else html.absolute()
    options = Options(format, model, level, budget, run, configuration)
    options = options._replace(failed_cas=failed_cas, initial=initial)
    if html is not None:
        options = options._replace(html=str(html))
    return check(paths, options=options, html=html, master=master, screen=screen)


def check(
    paths: Sequence[Path],
    *,
    options: Options,
    html: Path | None = None,
    processes: int = 0,
    master: str | None = None,
    screen: Screen,
) -> int:
    """Judge histories and print a line for each; the exit code is the worst of them.

    Raises ToolError: Spark cannot be used at this master.
    """
    if html is not None:
        if html.suffix == ".html" and not html.is_dir():
            wanted = (
                f"a folder is wanted, for a page of each history: --html {html.with_suffix('')}"
            )
            raise exits.BadInput(f"--html {html}: {wanted}")
        artifacts.claim(html)
    sources = [source for path in paths for source in sources_of(path)]
    work = partial(_outcome, options=options, html=html)
    codes: list[int] = []
    skipped: list[str] = []
    begin = monotonic()
    quiet = screen if len(sources) > 1 else Screen(quiet=True)
    with quiet.progress("histories", len(sources)) as meter:
        outcomes = (
            _outcomes(work, sources, processes)
            if master is None
            else _on_spark(work, sources, master, meter)
        )
        for done, (source, outcome) in enumerate(outcomes, 1):
            if master is None:
                meter.update(done)
            refused = outcome.refused
            if refused is not None and refused.unrecognised and not source.named:
                skipped.append(str(source.path))
                continue
            codes.append(_show(outcome, screen))
    if skipped:
        screen.note(_skipped(skipped))
    if not codes:
        for path in paths:
            _complain(Refused(file=str(path), line=0, reason="holds no history"), screen)
        return exits.BAD_INPUT
    _conclude(codes, monotonic() - begin, screen)
    return exits.worst(codes)


# -- What is to be judged


def sources_of(path: Path) -> Iterator[Source]:
    """A file, a trace, or every file and trace below a folder in the order of their paths."""
    if not path.is_dir():
        yield Source(path, is_trace=False, named=True)
    elif is_trace(path):
        yield Source(path, is_trace=True, named=True)
    elif verifiable.is_test(path):
        yield Source(path, is_trace=False, named=True)
    else:
        yield from _below(path)


def _below(folder: Path) -> Iterator[Source]:
    beside = BESIDE if (folder / RECORDING).is_file() else ()
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        path = folder / entry.name
        if entry.name in beside:
            continue
        if entry.name.startswith(".") or (entry.is_dir() and entry.is_symlink()):
            continue
        if path.suffix == ".html":  # a page, as this and other verbs leave beside histories
            continue
        if not entry.is_dir():
            yield Source(path, is_trace=False, named=False)
        elif is_trace(path):
            yield Source(path, is_trace=True, named=False)
        elif verifiable.is_test(path):
            yield Source(path, is_trace=False, named=False)
        else:
            yield from _below(path)


# -- Judging: here, in processes, or on Spark


def _outcome(source: Source, *, options: Options, html: Path | None) -> Outcome:
    """Judges one source. Whatever happens is an outcome: other sources wait to be judged."""
    writer = PageWriter(html) if html is not None else None
    try:
        if source.is_trace:
            # Late: it imports every protocol, which a file of a history does not need.
            from kraftcheck.checking.traces import judge_trace

            judged, notes = judge_trace(source.path, options, writer)
        elif options.run is not None:
            raise exits.BadInput("it is no trace: it has no runs to choose from")
        else:
            judged, notes = (judge_file(source.path, options, writer),), ()
    except HistoryError as error:
        unrecognised = isinstance(error, Unrecognised)
        return Outcome(
            refused=Refused(
                file=error.path, line=error.line, reason=error.reason, unrecognised=unrecognised
            )
        )
    except exits.BadInput as error:
        file = str(source.path)
        reason = str(error).removeprefix(f"{file}: ")
        return Outcome(refused=Refused(file=file, line=0, reason=reason))
    except OSError as error:
        reason = error.strerror or str(error)
        place = str(error.filename or source.path)
        return Outcome(refused=Refused(file=place, line=0, reason=reason))
    except MemoryError:
        return Outcome((_unknown(source, "out of memory"),))
    except Exception as error:
        if os.environ.get(exits.TRACEBACK_VARIABLE):
            raise
        what = f"a defect of kraftcheck: {type(error).__name__}: {error}"
        return Outcome((_unknown(source, f"{what}; {exits.TRACEBACK_VARIABLE}=1 shows where"),))
    return Outcome(judged, pages=tuple(writer.written) if writer else (), notes=notes)


def _unknown(source: Source, reason: str) -> JudgedHistory:
    reason = " ".join(reason.split())
    return JudgedHistory(
        file=str(source.path), format="", model="", verdict="unknown", reason=reason
    )


def _outcomes(
    work: partial[Outcome], sources: list[Source], processes: int
) -> Iterator[tuple[Source, Outcome]]:
    """Every source with its outcome, in order: here while that is quick, then in processes."""
    size = min(processes or os.cpu_count() or 1, len(sources))
    begin = monotonic()
    while sources and (size <= 1 or (_is_small(sources[0]) and monotonic() - begin < HERE_S)):
        yield sources[0], work(sources[0])
        sources = sources[1:]
    if not sources:
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    done = 0
    try:
        with ProcessPoolExecutor(size, WORKERS, exits.leave_workers_at_once) as pool:
            for source, outcome in zip(sources, pool.map(work, sources), strict=True):
                yield source, outcome
                done += 1
    except BrokenProcessPool:
        # One file was too much for its process: the others have theirs to themselves from here.
        yield from _one_by_one(work, sources[done:])


def _is_small(source: Source) -> bool:
    """Whether it cannot take this process with it."""
    try:
        return not source.is_trace and source.path.stat().st_size < SMALL_BYTES
    except OSError:
        return True


def _one_by_one(work: partial[Outcome], sources: list[Source]) -> Iterator[tuple[Source, Outcome]]:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    for source in sources:
        try:
            with ProcessPoolExecutor(1, WORKERS, exits.leave_workers_at_once) as pool:
                yield source, pool.submit(work, source).result()
        except BrokenProcessPool:
            yield source, Outcome((_unknown(source, KILLED),))


def _on_spark(
    work: partial[Outcome], sources: list[Source], master: str, meter: Meter
) -> Iterator[tuple[Source, Outcome]]:
    """Every source with its outcome, in order, each judged by a task of Spark.

    A job judges so many as give each task some, and the driver has the outcomes of one job at a
    time. The executors read the files, and write the pages, under the paths of this machine.

    Raises ToolError: Spark cannot go on; how many were judged before.
    """
    if not sources:
        return
    # Late: few ask for Spark.
    from kraftcheck.conformance import backend_of
    from tla_utils.errors import ToolError

    done = 0
    with backend_of("spark", master, 0) as place:
        try:
            while done < len(sources):
                job = sources[done : done + TASKS * SHARE]
                told = partial(_told, meter, done, len(job))
                yield from zip(job, _judged_by(place, work, job, told), strict=True)
                done += len(job)
        except ToolError as error:
            said = f"{done:,} of {len(sources):,} histories were judged, and are told above"
            raise ToolError(f"{error}; {said}") from None


def _told(meter: Meter, before: int, histories: int, tasks: int) -> None:
    meter.update(before + histories * tasks // min(histories, TASKS))


def _judged_by(
    place: Backend, work: partial[Outcome], job: list[Source], told: Callable[[int], None]
) -> Iterator[Outcome]:
    """Of a task that Spark gave up because its workers died, each half has a job of its own."""
    # Late: Arrow takes a while to import.
    import pyarrow as pa

    from kraftcheck.traces.jobs.backends import WorkerDied

    schema = pa.schema([("source", pa.int64()), ("outcome", pa.binary())])
    tasks = min(len(job), TASKS)
    task = partial(_judge_share, work, tuple(job), tasks)
    try:
        rows = place.run(task, tasks, schema, told).sort_by("source")
    except WorkerDied:
        if len(job) == 1:
            yield Outcome((_unknown(job[0], KILLED),))
            return
        middle = len(job) // 2
        for half in (job[:middle], job[middle:]):
            yield from _judged_by(place, work, half, lambda _: None)
        return
    for outcome in rows["outcome"]:
        yield pickle.loads(outcome.as_py())


def _judge_share(
    work: partial[Outcome], sources: tuple[Source, ...], tasks: int, number: int
) -> pa.Table:
    """In an executor: judge every `tasks`-th source from `number` on."""
    import pyarrow as pa

    mine = range(number, len(sources), tasks)
    outcomes = [pickle.dumps(work(sources[each])) for each in mine]
    return pa.table(
        {"source": pa.array(mine, pa.int64()), "outcome": pa.array(outcomes, pa.binary())}
    )


# -- What is shown


def _show(outcome: Outcome, screen: Screen) -> int:
    """Prints what came of a source; returns its exit code."""
    for note in outcome.notes:
        screen.note(note)
    if outcome.refused is not None:
        _complain(outcome.refused, screen)
        return exits.BAD_INPUT
    for at, judged in enumerate(outcome.judged):
        if at <= RUNS_LISTED:
            screen.line(_line(judged))
        if screen.json or screen.keeps:
            screen.entry(as_json(judged))
    if len(outcome.judged) > RUNS_LISTED + 1:
        left = len(outcome.judged) - RUNS_LISTED - 1
        screen.line(f"{'':<9}  and {left:,} more runs; --json has them all")
    for page in outcome.pages:
        screen.line(f"{'page':<9}  {printable(page)}")
    return exits.worst(exits.code_of(judged.verdict) for judged in outcome.judged)


def _complain(refused: Refused, screen: Screen) -> None:
    screen.refuse(printable(str(refused)))
    if screen.json or screen.keeps:
        verdict = exits.VERDICTS[exits.BAD_INPUT]
        facts: dict[str, Any] = {
            "file": refused.file,
            "model": None,
            "verdict": verdict,
            "level": None,
        }
        facts |= {"level": None, "certificate": None, "seconds": 0.0, "line": refused.line}
        screen.entry({**facts, "reason": refused.reason})


def _line(judged: JudgedHistory) -> str:
    """A verdict in one line: what, of which model, which file, how much, and why."""
    verdict = coloured(f"{judged.verdict:<9}", judged.verdict)
    what = f"{judged.operations:,} operations, {judged.seconds:.2f} s"
    if judged.transactions:
        what = f"{judged.transactions:,} transactions, {what}"
    if judged.runs is not None:
        what = f"{judged.runs:,} runs, {what}"
    if judged.promised and (judged.transactions or judged.model == "partition-log"):
        what = f"{judged.level or 'no level'}, promised {judged.promised}; {_stale(judged)}{what}"
    why = judged.reason or _in_spite(judged)
    if judged.certificate is not None:
        why = judged.certificate.sentence
        if judged.certificate.key is not None:
            why = f"{ends(judged.certificate.key)}: {why}"
        others = [
            f"{each.name} {each.count:,}"
            for each in judged.anomalies
            if not each.allowed and each.name != judged.certificate.kind
        ]
        why += f"; also not allowed: {', '.join(others)}" if others else ""
    why = "; ".join(each for each in (why, judged.note) if each)
    said = f"{judged.model:<13}  {judged.file}  ({what}){f': {why}' if why else ''}"
    return f"{verdict}  {printable(said)}"


def _in_spite(judged: JudgedHistory) -> str:
    """What happened in a history that holds all the same, and what may have happened."""
    some = [
        (f"{each.name} {each.count:,}", each.reason.partition(INCONCLUSIVE)[2])
        for each in judged.anomalies
        if each.allowed
    ]
    doubts = [f"{INCONCLUSIVE}{what}, {why}" for what, why in some if why]
    if TOO_LONG in judged.configuration:
        doubts.append(f"{TOO_LONG}: {judged.configuration[TOO_LONG]}")
    if NOT_RECORDED in judged.configuration:
        doubts.append(f"{NOT_RECORDED}: {judged.configuration[NOT_RECORDED]}")
    allowed = [what for what, why in some if not why]
    more = f" and {len(allowed) - ALLOWED_LISTED} kinds more" * (len(allowed) > ALLOWED_LISTED)
    said = f"allowed: {', '.join(allowed[:ALLOWED_LISTED])}{more}" if allowed else ""
    because = judged.because if said else ""
    return "; ".join(each for each in (*doubts, said, because) if each)


def _stale(judged: JudgedHistory) -> str:
    """By how much the stalest read was stale: in time, and in records."""
    if not judged.staleness:
        return ""
    delay = max(max(each.delays, default=0) for each in judged.staleness)
    missed = max(max(each.missed, default=0) for each in judged.staleness)
    return f"Δ {duration(delay, judged.unit)}, k {missed:,}; "


def as_json(judged: JudgedHistory) -> dict[str, Any]:
    """The judgement as one object; without witnesses, which are as long as the history."""
    facts: dict[str, Any] = msgspec.to_builtins(judged)
    for found in facts["objects"]:
        del found["witness"]
    for lag in facts["staleness"]:
        for name in ("delays", "missed"):
            lag[f"{name}_max"] = max(lag[name], default=0)
            lag[f"{name}_count"] = len(lag.pop(name))
    return facts


def _skipped(paths: list[str]) -> str:
    listed = printable(", ".join(paths[:SKIPPED_LISTED]))
    more = f" and {len(paths) - SKIPPED_LISTED} more" if len(paths) > SKIPPED_LISTED else ""
    return f"no histories, passed over: {listed}{more}"


def _conclude(codes: list[int], seconds: float, screen: Screen) -> None:
    if len(codes) < 2:
        return
    counts = Counter(codes)
    words = ((0, "hold"), (1, "violated"), (2, "unknown"), (3, "refused"))
    said = ", ".join(f"{counts[code]:,} {word}" for code, word in words if counts[code])
    screen.line(f"{len(codes):,} histories: {said}; {seconds:.1f} s")
