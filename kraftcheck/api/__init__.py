"""The Python API: verbs of the command line as functions that return a Report.

The command line calls these functions. Arguments have the names and defaults of its options:
`--topic` is `topic`, a flag is a boolean, and an option that may be repeated takes one value or
several. Two names differ: `conform --as` is `profile`, because `as` is a keyword of Python, and
`spec check` is `model`. Bad input raises BadInput; the command line then exits with 3.

    >>> import kraftcheck
    >>> events = [
    ...     {"process": 0, "type": "invoke", "f": "write", "value": 1},
    ...     {"process": 0, "type": "ok", "f": "write", "value": 1},
    ...     {"process": 1, "type": "invoke", "f": "read"},
    ...     {"process": 1, "type": "ok", "f": "read", "value": 2},
    ... ]
    >>> report = kraftcheck.check(events)
    >>> report.verdict
    'violated'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import click
import msgspec

from kraftcheck import exits
from kraftcheck.api.events import SHOWN, Event, PathLike, Table, as_file, is_path
from kraftcheck.api.found import Anomaly
from kraftcheck.api.report import Report, Verdict
from kraftcheck.exits import BadInput
from kraftcheck.screen import Screen

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kraftcheck.traces.jobs.tables import Tables

__all__ = [
    "Anomaly",
    "BadInput",
    "Report",
    "Verdict",
    "campaign",
    "check",
    "conform",
    "disk",
    "model",
    "simulate",
    "tables",
]

Backend: TypeAlias = Literal["auto", "pool", "spark"]
Several: TypeAlias = str | Sequence[str]
SEED: Final = 1


def check(
    history: PathLike | Iterable[Event] | Table,
    *more: PathLike,
    format: str = "auto",
    model: str = "auto",
    level: str | None = None,
    acks: Literal["0", "1", "all"] | None = None,
    idempotent: bool | None = None,
    transactional: bool = False,
    late_requests: bool = False,
    isolation: Literal["read_uncommitted", "read_committed"] | None = None,
    compaction: Literal["none", "keys-unknown", "keyed"] | None = None,
    reads: Literal["leader", "follower", "any"] | None = None,
    faults: Literal["none", "clean", "lossy", "unclean"] | None = None,
    elr: bool | None = None,
    min_insync_replicas: int | None = None,
    complete: bool | None = None,
    budget: float = 60.0,
    failed_cas: Literal["compared", "unknown"] | None = None,
    initial: str | None = None,
    run: int | None = None,
    html: PathLike | None = None,
    master: str | None = None,
    screen: Screen | None = None,
) -> Report:
    """Check client histories against what Kafka guarantees.

    Args:
        history: a file, a folder of files, or a trace; a list of events (dicts with the keys of
            JSON lines); or a table of pandas, Polars, Arrow or Spark with these columns.
        more: further files and folders, checked together.
        faults: the worst effect of the faults in the cluster. A history that contains faults needs
            it.
        complete: whether consumers read every partition to its end. If True, an acknowledged record
            that nobody read is lost; if None, such a record makes the verdict unknown.
        screen: prints results and progress; by default nothing is printed.

    The other arguments are options of `kraftcheck check`; its help describes them.

    Raises:
        BadInput: a history cannot be read, or an option does not fit.

    >>> events = [
    ...     {"process": 0, "type": "invoke", "f": "enqueue", "value": 7},
    ...     {"process": 0, "type": "ok", "f": "enqueue", "value": 7},
    ...     {"process": 0, "type": "invoke", "f": "dequeue"},
    ...     {"process": 0, "type": "ok", "f": "dequeue", "value": 7},
    ... ]
    >>> check(events).holds
    True
    """
    options = {
        **{"format": format, "model": model, "level": level, "budget": budget, "run": run},
        **{"html": None if html is None else Path(html), "acks": acks, "faults": faults},
        **{"idempotent": idempotent, "transactional": transactional, "reads": reads},
        **{"late_requests": late_requests, "isolation": isolation, "compaction": compaction},
        **{"elr": elr, "min_insync_replicas": min_insync_replicas, "complete": complete},
        **{"failed_cas": failed_cas, "initial": initial, "master": master},
    }

    if is_path(history):
        paths = [Path(path) for path in (history, *more)]
        return _checked(paths, options, screen)
    if more:
        raise BadInput("events and paths are judged apart: call check for each")
    with _bad_input(), as_file(history) as path:
        return _of_events(path, options, screen)


def _checked(paths: Sequence[Path], options: Mapping[str, Any], screen: Screen | None) -> Report:
    from kraftcheck.checking import command as work

    def judged(own: Screen) -> int:
        code = work.check_with([_trace(path) for path in paths], screen=own, **options)
        if screen is None and own.refusals:
            raise BadInput("; ".join(own.refusals))
        return code

    return _report("check", screen, judged)


def _of_events(path: Path, options: Mapping[str, Any], screen: Screen | None) -> Report:
    """Check a temporary file, and replace its name in the report."""
    try:
        found = _checked([path], options, screen)
    except BadInput as error:
        raise BadInput(str(error).replace(str(path), SHOWN)) from None
    documents = tuple({**each, "file": SHOWN, "command": ""} for each in found.documents)
    lines = tuple(line.replace(str(path), SHOWN) for line in found.lines)
    return replace(found, documents=documents, lines=lines)


def _trace(path: Path) -> Path:
    """Return the path; for a schedule of moves, the trace of its run."""
    from kraftcheck.given import is_schedule

    if not is_schedule(path):
        return path
    # Late: this imports every protocol.
    from kraftcheck.schedules import trace_of

    return trace_of(path)


def conform(
    path: PathLike,
    *more: PathLike,
    profile: str | None = None,
    html: PathLike | None = None,
    jar: str | None = None,
    java: str | None = None,
    backend: Backend = "auto",
    master: str | None = None,
    screen: Screen | None = None,
) -> Report:
    """Check every step of recorded runs against the specs. This needs Java.

    Args:
        path: the folder of runs, a schedule of moves, a file of another implementation's steps, or
            the recording of a real cluster.
        more: further files of steps.
        screen: prints results and progress; by default nothing is printed.

    The other arguments are options of `kraftcheck conform`; `--as` is `profile`.

    Raises:
        BadInput: a path cannot be read, or there is no Java.
    """
    from kraftcheck import foreign
    from kraftcheck.kafka import recordings

    paths = [Path(each) for each in (path, *more)]
    place: dict[str, Any] = {"jar": jar, "backend": backend, "master": master}

    def judged(own: Screen) -> int:
        _use_java(java)
        if not any(recordings.is_recording(each) for each in paths):
            traces = [each for path in paths for each in foreign.traces_in(path)]
            if traces and all(each.suffix == ".jsonl" for each in traces):
                page = None if html is None else Path(html)
                return foreign.conform(traces, profile=profile, page=page, screen=own, **place)
        if more:
            raise click.UsageError(
                "several paths are for steps of other implementations, .jsonl files"
            )
        if profile is not None or html is not None:
            named = "--as" if profile is not None else "--html"
            raise click.UsageError(f"{named} is for steps of another implementation, a .jsonl file")
        if recordings.is_recording(paths[0]):
            return recordings.conform(paths[0], screen=own, **place)
        from kraftcheck import conformance

        trace = _trace(paths[0])
        if trace.is_file():
            raise BadInput(f"{trace}: no steps in lines of JSON (.jsonl), and no schedule of moves")
        return conformance.conform(trace, screen=own, **place)

    return _report("conform", screen, judged)


def disk(
    folder: PathLike,
    *more: PathLike,
    topic: Several = (),
    html: PathLike | None = None,
    screen: Screen | None = None,
) -> Report:
    """Check the logs on brokers' disks. Nothing is written.

    Args:
        folder: a log directory of a broker, or the directory of one partition.
        more: further directories; replicas of one partition are compared.
        topic: only this topic, or these.
        html: a file for a page that draws the logs.
        screen: prints results and progress; by default nothing is printed.

    Raises:
        BadInput: a folder has no files of Kafka.
    """
    from kraftcheck.kafka import disk_command as work

    folders = [Path(each) for each in (folder, *more)]
    page = None if html is None else Path(html)
    return _report("disk", screen, lambda own: work.run(folders, _several(topic), own, page))


def simulate(
    *,
    runs: int,
    out: PathLike,
    scenario: str | None = None,
    seed: int = SEED,
    bug: str | None = None,
    rules: PathLike | None = None,
    option: Mapping[str, Any] | Several = (),
    java: str | None = None,
    backend: Backend = "auto",
    master: str | None = None,
    screen: Screen | None = None,
) -> Report:
    """Record runs of the reference under faults, for conform and check.

    Args:
        runs: number of runs.
        out: the folder for the runs. Runs that it has already are kept.
        option: fixed values of options that each run would draw: a dict, or `NAME=VALUE`.
        screen: prints results and progress; by default nothing is printed.

    The other arguments are options of `kraftcheck simulate`.

    Raises:
        BadInput: no such scenario, bug or option, or the folder has other files.
    """
    from kraftcheck import conformance as work

    def recorded(own: Screen) -> int:
        _use_java(java)
        return work.simulate(
            Path(out),
            scenario=scenario,
            runs=runs,
            seed=seed,
            bug_id=bug,
            rules=None if rules is None else Path(rules),
            fixed=_assignments(option),
            backend=backend,
            master=master,
            screen=own,
        )

    return _report("simulate", screen, recorded)


def model(
    *names: str,
    tier: Several = (),
    specs: PathLike | None = None,
    out: PathLike | None = None,
    jar: str | None = None,
    java: str | None = None,
    screen: Screen | None = None,
) -> Report:
    """Check TLA+ models with TLC against their expected verdicts: `kraftcheck spec check`.

    Args:
        names: models by name, as `--model`; by default all of the tier.
        tier: a tier of models, or several; by default the small one.
        specs: the folder with models.toml; by default the kit's.
        screen: prints results and progress; by default nothing is printed.

    Raises:
        BadInput: no such model, or there is no Java.
    """
    from kraftcheck import spec_checks as work
    from kraftcheck.specs import SPECS

    def checked(own: Screen) -> int:
        return work.check(
            Path(SPECS if specs is None else specs),
            tiers=_several(tier),
            names=names,
            jar=jar,
            java=java,
            out=None if out is None else Path(out),
            screen=own,
        )

    return _report("spec check", screen, checked)


def campaign(
    file: PathLike | None = None,
    *,
    out: PathLike,
    scenario: str | None = None,
    runs: int | None = None,
    seed: int | None = None,
    bug: str | None = None,
    guided: bool = False,
    coverage: bool = False,
    jar: str | None = None,
    java: str | None = None,
    store: PathLike | None = None,
    fail_fast: bool = False,
    redo: bool = False,
    backend: Backend = "auto",
    master: str | None = None,
    screen: Screen | None = None,
) -> Report:
    """Simulate, check and report; an interrupted call continues. This needs Java.

    Args:
        file: TOML with several configurations; otherwise give `scenario` and `runs`.
        out: the folder for all results, with the page report.html.
        screen: prints results and progress; by default nothing is printed.

    The other arguments are options of `kraftcheck campaign run`.

    Raises:
        BadInput: options exclude each other, or the folder has other files.
    """
    from kraftcheck import campaigns as work

    def ran(own: Screen) -> int:
        _use_java(java)
        where = None if store is None else Path(store)
        return work.run(
            Path(out),
            file=None if file is None else Path(file),
            scenario=scenario,
            bug_id=bug,
            runs=runs,
            seed=seed,
            place=work.Place(backend, master, jar, where, fail_fast, redo),
            guided=guided,
            coverage=coverage,
            screen=own,
        )

    return _report("campaign run", screen, ran)


# -- What all of them share


def _report(verb: str, screen: Screen | None, work: Callable[[Screen], int]) -> Report:
    """Run a verb. Without a screen nothing is printed, and bad input raises BadInput."""
    if screen is not None:
        return Report(verb, work(screen), tuple(screen.documents), tuple(screen.lines))
    silent = Screen(quiet=True, results=False)
    with _bad_input():
        return Report(verb, work(silent), tuple(silent.documents), tuple(silent.lines))


def tables(session: SparkSession, folder: PathLike) -> Tables:
    """The tables of recorded runs as frames of Spark (docs/reference/tables.md).

    Args:
        session: a session of Spark, local or on a cluster that can read the folder.
        folder: the folder of `simulate --out`, or of one configuration of a campaign.

    Raises:
        BadInput: the folder has no recorded runs, or their results are damaged.
    """
    from kraftcheck.traces.jobs import tables as work

    with _bad_input():
        return work.tables(session, Path(folder))


@contextmanager
def _bad_input() -> Iterator[None]:
    try:
        yield
    except click.ClickException as error:
        raise BadInput(error.format_message()) from None
    except BadInput:
        raise
    except Exception as error:
        if (line := exits.bad_input_in(error)) is not None:
            raise BadInput(line) from error
        raise


def _use_java(launcher: str | None) -> None:
    if launcher is not None:
        from kraftcheck.conformance import use_java

        use_java(launcher)


def _several(given: Several) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _assignments(option: Mapping[str, Any] | Several) -> tuple[str, ...]:
    """Return the options as `NAME=VALUE`. Text is not encoded, as on a command line."""
    if not isinstance(option, Mapping):
        return _several(option)
    return tuple(
        f"{name}={value if isinstance(value, str) else msgspec.json.encode(value).decode()}"
        for name, value in option.items()
    )
