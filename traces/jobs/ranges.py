"""The work on one range of runs of a campaign: simulate it, and put every question to it.

A range is done when its *receipt* is written, which happens last and in one rename. The receipt
names what it was made from (`basis`: the part's own digests, the code and the specs that judge) and
what was made, with digests. A receipt of another basis, or that is damaged, or whose files are not
all as it says, is none: the range is judged again, and simulated again only if its part is missing.

    <stem>.classes, .keys, .facts    the steps of the range (classes.py)
    <stem>.slim                      its distinct steps: key, count, first witness
    <stem>.verdicts, .anomalies      what clients saw (histories.py)
    <stem>.measures                  how the runs went (measures.py)
    <stem>.features                  what they met (coverage.py, novelty.py)
    <stem>.met, .genomes             guided: what may be new, and the choices made (guidance.py)
    <stem>.range.json                the receipt

Law of this file: equal ranges leave equal bytes, whoever works on them, and however often they
were interrupted. Seconds and memory go to the driver, and are in no file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

import tla_utils
from kraftcheck.osutil.files import read_bytes, replace_file, sources
from kraftcheck.reference.protocols import KINDS, sources_of_others
from kraftcheck.reference.runner.run import simulate_genomes
from kraftcheck.reference.sim.choices import run_seed
from kraftcheck.reference.sim.genomes import Choices
from kraftcheck.traces.jobs.coverage import features
from kraftcheck.traces.jobs.guidance import GENOMES, genomes_of, genomes_table
from kraftcheck.traces.jobs.histories import judge_histories
from kraftcheck.traces.jobs.measures import measure
from kraftcheck.traces.jobs.novelty import MET, features_of, met, rules, rules_met, sometimes
from kraftcheck.traces.jobs.simulate import Range, missing_ranges, simulated
from kraftcheck.traces.schema import PartTables, TraceError
from kraftcheck.traces.sealed import Unsealed, digest, sealed, unsealed
from kraftcheck.traces.steps.check import Finding
from kraftcheck.traces.steps.classes import Facts, PartFiles, examined, uncollected
from kraftcheck.traces.steps.record import Part
from kraftcheck.traces.steps.translation import libraries
from kraftcheck.traces.store import (
    Campaign,
    Manifest,
    PartEntry,
    parquet_bytes,
    read_part,
    write_part,
    writing,
)
from tla_utils.errors import ToolError

T = TypeVar("T")

JUDGED: Final = "judged"
"""The folder of receipts, and of what they name, in a trace's own."""
ANSWERS: Final = ("slim", "verdicts", "anomalies", "measures", "features")
"""The tables that a range leaves beside those of its steps."""
SIMULATES: Final = ("reference",)
JUDGES: Final = ("osutil", "traces/checkers", "traces/jobs", "traces/steps")
# The package. In a checkout a link leads here, which must not be resolved.
_ROOT: Final = Path(__file__).absolute().parents[2]
NOTED: Final = 20
"""So many violations are told in a receipt; all are counted."""

PROGRESS: Final = pa.schema(
    [
        ("first_run", pa.int64()),
        ("runs", pa.int64()),
        ("simulate", pa.float64()),
        ("steps", pa.float64()),
        ("histories", pa.float64()),
        ("measures", pa.float64()),
    ]
)
"""A range that was worked on, and the CPU-seconds of each stage."""


class Violation(msgspec.Struct, frozen=True, order=True):
    """A run that broke something: kind is invariant, progress, check or history."""

    run: int
    kind: str
    what: str


class Alarm(msgspec.Struct, frozen=True, kw_only=True):
    """The first violation that any worker found, under this code."""

    code: str
    configuration: str
    violation: Violation


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    basis: str
    first_run: int
    runs: int
    steps: int
    classes: int
    operations: int
    bad_runs: int
    """With any violation."""
    violations: tuple[Violation, ...]
    """The first of them."""
    files: dict[str, str]
    """The digest of each, by its ending."""


class Work(NamedTuple):
    """What ranges there are to work on, and how; the same for every worker."""

    trace: Path
    campaign: Campaign
    ranges: tuple[Range, ...]
    parts: tuple[PartEntry | None, ...]
    """Of each range the part that is recorded already, or None."""
    specs: Path
    code: str
    alarm: Path
    """The file in which the campaign's first violation is told, whoever finds it."""
    stop_at_violation: bool
    """After it, workers begin no other range."""

    @property
    def out(self) -> Path:
        return self.trace / JUDGED

    def between(self, first_run: int, end: int) -> Work:
        """The ranges among these runs."""
        own = [at for at, each in enumerate(self.ranges) if first_run <= each.first_run < end]
        return self._replace(
            ranges=tuple([self.ranges[at] for at in own]),
            parts=tuple([self.parts[at] for at in own]),
        )


# --- What is done ---


@cache
def reference_digest() -> str:
    """sha256 over the source of everything that takes part in a run."""
    return _digest_of(_simulates())


def _simulates() -> list[Path]:
    ours = [path for top in SIMULATES for path in sources(_ROOT / top)]
    return [*ours, *sources_of_others()]


@cache
def code_digest(specs: Path) -> str:
    """sha256 over whatever judges a range: our sources, and the specs that say what a step is."""
    tops = [*(_ROOT / top for top in JUDGES), Path(tla_utils.__file__).parent]
    ours = [path for top in tops for path in top.rglob("*.py")]
    ours += [*_simulates(), *(_ROOT / "traces").glob("*.py")]
    folders = {folder for kind in KINDS for folder in libraries(kind, specs)}
    modules = [path for folder in folders for path in folder.glob("*.tla")]
    return sha256(f"{_digest_of(ours)}{_digest_of(modules)}".encode()).hexdigest()


def _digest_of(paths: Iterable[Path]) -> str:
    found = sha256()
    for path in sorted(paths):
        found.update(f"{path.name}\0".encode() + read_bytes(path))
    return found.hexdigest()


def answer_path(trace: Path, entry: PartEntry, name: str) -> Path:
    return trace / JUDGED / f"{entry.stem}.{name}.parquet"


def receipt_path(trace: Path, entry: PartEntry) -> Path:
    return trace / JUDGED / f"{entry.stem}.range.json"


def read_receipt(trace: Path, entry: PartEntry, code: str, *, files: bool = True) -> Receipt | None:
    """The receipt of a range; None where it has to be worked on (again).

    files: whether what it names is held against its digests, which is needed once in a process.
    """
    receipt = _receipt(trace, entry)
    if receipt is None or receipt.basis != _basis(entry, code):
        return None
    if not files:
        return receipt
    try:
        whole = all(
            digest(read_bytes(trace / JUDGED / f"{entry.stem}.{ending}")) == of
            for ending, of in receipt.files.items()
        )
    except OSError:
        return None
    return receipt if whole else None


def _receipt(trace: Path, entry: PartEntry) -> Receipt | None:
    """What stands in the file, whatever it was made from."""
    try:
        data = unsealed(read_bytes(receipt_path(trace, entry)))
        return msgspec.json.decode(data, type=Receipt)
    except (OSError, Unsealed, msgspec.MsgspecError):
        return None


def read_alarm(path: Path, code: str) -> Alarm | None:
    """The alarm, unless there is none or it was given by other code. Raises TraceError: damaged."""
    try:
        alarm = msgspec.json.decode(unsealed(read_bytes(path)), type=Alarm)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from None
    except (Unsealed, msgspec.MsgspecError) as error:
        raise TraceError(f"{path}: {error}: remove it") from None
    return alarm if alarm.code == code else None


def to_do(
    trace: Path, manifest: Manifest, part_runs: int, code: str
) -> list[tuple[Range, PartEntry | None]]:
    """The ranges without a receipt, by their first run; with their part where it is recorded."""
    found: list[tuple[Range, PartEntry | None]] = [
        (Range(entry.first_run, entry.runs), entry)
        for entry in manifest.parts
        if read_receipt(trace, entry, code) is None
    ]
    found += [(each, None) for each in missing_ranges(manifest, part_runs)]
    return sorted(found, key=lambda each: each[0])


def _basis(entry: PartEntry, code: str) -> str:
    return sha256(msgspec.json.encode((entry, code), order="deterministic")).hexdigest()


# --- In a worker ---


def work_on(work: Work, number: int) -> pa.Table:
    """Works on one range; a row of PROGRESS, or none if a violation has stopped the campaign.

    Raises TraceError and ToolError, in one line; what goes wrong in a run names its seed.
    """
    if work.stop_at_violation and read_alarm(work.alarm, work.code):
        return PROGRESS.empty_table()
    (first_run, runs), entry = work.ranges[number], work.parts[number]
    clock = _Clock()
    learned: Learned | None = None
    if work.campaign.guided:
        # Simulated even if it is recorded: a trace does not tell which choices were made.
        tables, learned = _guided(work, first_run, runs)
    elif entry is None:
        alike = partial(simulated, work.campaign)
        tables = _naming(alike, work.campaign, first_run, runs)
    if entry is None:
        entry = write_part(work.trace, tables)
    else:
        tables = read_part(work.trace, entry)
    clock.lap("simulate")
    judge_range(work, entry, tables, clock.lap, learned)
    row = {"first_run": first_run, "runs": runs, **clock.laps}
    return pa.Table.from_pylist([row], schema=PROGRESS)


class _Clock:
    """CPU-seconds of this process, by stage."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._begin = time.process_time()

    def lap(self, stage: str) -> None:
        now = time.process_time()
        self.laps[stage], self._begin = now - self._begin, now


class Learned(NamedTuple):
    """What a guided range knows beside its tables.

    It has the choices of each run, and which rules each distinct step asked, with their answers.
    """

    choices: list[Choices]
    decided: list[frozenset[str]]


def _guided(work: Work, first_run: int, runs: int) -> tuple[PartTables, Learned]:
    campaign = work.campaign
    options = dict(campaign.options) or None
    genomes = genomes_of(work.trace, campaign, first_run, runs)

    def made(first: int, count: int) -> tuple[PartTables, list[Choices], list[frozenset[str]]]:
        own = genomes[first - first_run : first - first_run + count]
        return simulate_genomes(campaign.scenario, campaign.seed, first, own, campaign.bug, options)

    tables, choices, decided = _naming(made, campaign, first_run, runs)
    return tables, Learned(choices, decided)


def _naming(simulated: Callable[[int, int], T], campaign: Campaign, first_run: int, runs: int) -> T:
    """What is simulated, of so many runs; whatever goes wrong in a run names it and its seed."""
    try:
        return simulated(first_run, runs)
    except ValueError as error:
        raise ToolError(str(error)) from None
    except Exception as error:
        for run in range(first_run, first_run + runs):
            try:
                simulated(run, 1)
            except Exception as own:
                raise ToolError(_failure(campaign, run, own)) from error
        raise ToolError(_failure(campaign, first_run, error)) from error


def _failure(campaign: Campaign, run: int, error: Exception) -> str:
    seed = run_seed(campaign.seed, run)
    bug = f", bug {campaign.bug}" if campaign.bug else ""
    return (
        f"run {run} of scenario {campaign.scenario}, seed {campaign.seed}{bug} (its own seed is "
        f"{seed}) failed: {type(error).__name__}: {error}"
    )


def judge_range(
    work: Work,
    entry: PartEntry,
    tables: PartTables,
    lap: Callable[[str], None],
    learned: Learned | None = None,
) -> Receipt:
    """Puts all questions to a recorded range, and writes the answers and its receipt."""
    with writing(work.out):
        receipt = _judged(work, entry, tables, lap, learned)
    return receipt


@uncollected()
def _judged(
    work: Work,
    entry: PartEntry,
    tables: PartTables,
    lap: Callable[[str], None],
    learned: Learned | None,
) -> Receipt:
    files = PartFiles.from_entry(work.out, entry)
    part = Part(tables)
    classes = examined(part, files, work.specs)
    slim = classes.slim()
    facts = msgspec.json.decode(read_bytes(files.facts), type=Facts)
    lap("steps")
    histories = judge_histories(work.campaign.scenario, tables.tables["runs"])
    lap("histories")
    answers = {
        "slim": slim.sort_by("key"),
        "verdicts": histories.verdicts,
        "anomalies": histories.anomalies,
        "measures": measure(tables.tables),
    }
    named = sometimes(part, work.campaign.scenario, work.campaign.options)
    if learned is not None:
        named |= rules(part, learned.decided)
        lengths = part.steps_of_run.lengths.tolist()
        answers["met"] = met(part, learned.decided, named)
        answers["genomes"] = genomes_table(entry.first_run, lengths, learned.choices)
    watched = [] if learned else [rules_met(work.campaign, entry.first_run, entry.runs)]
    answers["features"] = pa.concat_tables(
        [features(tables.tables), features_of(part, named), *watched]
    )
    digests = {
        path.name.removeprefix(f"{entry.stem}."): digest(read_bytes(path))
        for path in (files.classes, files.keys, files.facts)
    }
    for name, table in answers.items():
        data = parquet_bytes(table)
        replace_file(answer_path(work.trace, entry, name), data)
        digests[f"{name}.parquet"] = digest(data)
    violations = violations_of(facts, histories.verdicts)
    receipt = Receipt(
        basis=_basis(entry, work.code),
        first_run=entry.first_run,
        runs=entry.runs,
        steps=facts.steps,
        classes=len(slim),
        operations=sum(histories.verdicts["operations"].to_pylist()),
        bad_runs=len({each.run for each in violations}),
        violations=tuple(violations[:NOTED]),
        files=digests,
    )
    replace_file(receipt_path(work.trace, entry), sealed(msgspec.json.encode(receipt)))
    if violations and not read_alarm(work.alarm, work.code):
        alarm = Alarm(code=work.code, configuration=work.trace.name, violation=violations[0])
        replace_file(work.alarm, sealed(msgspec.json.encode(alarm)))
    lap("measures")
    return receipt


def violations_of(facts: Facts, verdicts: pa.Table) -> list[Violation]:
    """Whatever a range has against its runs, by run; steps that TLC rejects come later."""
    found = [
        Violation(each.run, "invariant", f"{each.invariant}: {each.explanation}")
        for each in facts.invariants
    ]
    found += [Violation(each.run, "progress", each.what) for each in facts.unprogressed]
    found += [Violation(each.run, "check", _finding(each)) for each in facts.findings]
    for row in verdicts.to_pylist():
        if row["verdict"] == "violated":
            what = f"held {row['held']}, promised {row['promised']}"
            if row["promised"] in (row["held"], "nothing"):
                what = f"an anomaly that {row['promised']} excludes"
            found.append(Violation(row["run"], "history", what))
    return sorted(found)


def _finding(each: Finding) -> str:
    return f"{each.check}: {each.explanation}"


def learned(trace: Path, entries: Sequence[PartEntry]) -> tuple[pa.Table, pa.Table]:
    """What a generation's ranges say: MET and GENOMES. Raises TraceError: it cannot be read."""
    met, genomes = (
        pa.concat_tables([read_answer(trace, entry, name, schema) for entry in entries])
        for name, schema in (("met", MET), ("genomes", GENOMES))
    )
    return met, genomes


def read_answer(trace: Path, entry: PartEntry, name: str, schema: pa.Schema) -> pa.Table:
    """Raises TraceError: it cannot be read."""
    return read_rows(answer_path(trace, entry, name), schema)


def read_rows(path: Path, schema: pa.Schema) -> pa.Table:
    """The file of an answer. Raises TraceError: it cannot be read."""
    try:
        return pq.read_table(path, schema=schema)
    except (OSError, pa.ArrowException) as error:
        raise TraceError(f"{path}: {error}; remove it, and its range is judged again") from None
