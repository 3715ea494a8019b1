"""Judge recorded steps against a specification, thousands in one run of TLC.

A step is a record with one field per column (for instance action, node, before, input, after,
sent). A hand-written *frame module* says what the specification thinks of it:

    Allowed(step)    BOOLEAN: is this a step the specification allows?
    Outcomes(step)   the finite set of outcomes it allows, as records that name columns of the step,
                     for instance [after |-> ..., sent |-> ...]; only `diagnosis.py` asks for it

For each chunk of distinct steps a root module `StepBatch` is generated. It extends the frame,
takes the steps from a file of values (`stepvalues.py`), and has one variable `SB_id` with one
initial state per step and no next state; `Allowed(SB_step(SB_id))` is its invariant, and
`-continue` reports every violation. Since `Allowed` is a predicate on a constant, no transition is
needed, and a recorded step that changes nothing is judged like any other.

The alternative, an action property `[][Allowed]_done` over one transition per step, finds the same
steps and costs the same: three runs each of 10,000 steps with two 20-field rows took 2.0 to 2.2
processor seconds as an invariant and 1.8 to 2.0 as a property, with 500 of them rejected 1.9 to 2.0
against 2.1 to 2.3 (before rows were written as letters; 2 cores with other load). But a property
needs a subscript chosen with care, lest recorded stutters pass unchecked; so the invariant won.
Larger chunks cost less per step; smaller ones run in parallel and lose less to a timeout.

Laws of this file, which make "accepted" mean something:

* Only a run of TLC that ended normally judges. Its count of states must be exactly the number of
  steps plus one, every report must name a step, and no step may be named twice.
* Each run carries a canary: `SB_id = 0` always violates the invariant. A run that does not
  report it has shown that it cannot report, and is an error. The invariant's name is that of the
  batch, so the report of another run is none.
* A step whose evaluation fails inside TLC (a missing field, values that cannot be compared) is
  rejected with TLC's words, and the others are judged again without it. One for which Java's stack
  or heap is too small is "unknown": that says nothing of the step. Steps of the same shape are
  put aside for a run of their own, so that the healthy ones are judged next. The number of such
  extra runs is bounded; steps beyond the bound are "unknown", never accepted.
* Equal steps are judged once. Generated modules depend on the steps and their order only.
* A TLC that cannot load the class for values, or a value that the class cannot read, costs a run:
  the steps are then given as text (`stepmodule.py`), and the report says why.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from typing import Any, Literal, TypeAlias

from tla_utils.errors import ToolError
from tla_utils.jar import find_jar, find_java
from tla_utils.output import TlcResult
from tla_utils.runner import ModuleText, TlcJob, run_tlc
from tla_utils.stepmodule import needs_tlc
from tla_utils.steptable import Batch, EncodedBatch, EncodedSteps, Step, StepTable
from tla_utils.stepvalues import FILE, JAR, MODULE, UNDECODED, assumption, module

ROOT_MODULE = "StepBatch"
INVARIANT = "SB_Accepted"
JAVA_LIMITS = ("StackOverflowError", "OutOfMemoryError")
"""Java's words when it is TLC that cannot go on."""
# Most of what a batch allocates is garbage at once: a small young generation is collected in a few
# milliseconds and spares the touching of fresh memory (10,000 steps: 1.2 processor seconds instead
# of 1.3, and 0.13 GB instead of 0.21).
JVM_FLAGS = ("-Xmn32m", "-Xss64m")
NEXT_LINE = ",\n    "

Judgement = Literal["accepted", "rejected", "unknown"]


@dataclass(frozen=True, slots=True)
class StepFrame:
    """The specification's side of a check."""

    module: str
    """Name of the frame module."""
    libraries: Sequence[Path]
    """Folders that hold it and what it extends. It may define any name but those of Integers and
    Sequences, and those that begin with SB_.
    """
    constants: str = ""
    """Cfg text that gives its constants values and makes substitutions; it goes into the cfg as it
    is.
    """
    outcome_columns: Mapping[str, str] = field(default_factory=dict)
    """For fields of an outcome that are called differently from the column they stand for, field ->
    column.
    """
    definitions: str = ""
    """TLA+ text of the root module, for constants that a cfg cannot write (sequences): the cfg then
    substitutes an operator that stands here.
    """
    given: Sequence[Mapping[str, str]] = ()
    """Where steps differ in their constants, name -> TLA+ text for each number (from 1) that the
    column `given` may have: one run of TLC then judges them all. The cfg gives those no value.
    """


@dataclass(frozen=True, slots=True)
class StepVerdict:
    """accepted, rejected or unknown; the reason is "" for an accepted step."""

    verdict: Judgement
    reason: str = ""


ACCEPTED = StepVerdict("accepted")
NOT_ALLOWED = StepVerdict("rejected", "the specification does not allow this step")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a check has come, in chunks and in distinct steps."""

    chunks_done: int
    chunks: int
    steps_done: int
    steps: int


@dataclass(frozen=True, slots=True)
class StepReport:
    """The verdict of every step, in the order given, and what it cost."""

    verdicts: list[StepVerdict]
    distinct: int
    """Steps that differ."""
    runs: int
    """How often TLC was started."""
    seconds: float
    """Wall time."""
    cpu_seconds: float
    """Of the JVMs together."""
    peak_rss_mb: float
    """Of the largest JVM, in MiB."""
    warnings: list[str]
    """What TLC may have ignored in the frame's cfg text."""
    as_text: str = ""
    """Why TLC was given text and no values, or ""."""

    def numbers(self, verdict: Judgement) -> list[int]:
        """The numbers (from 0) of the steps with this verdict."""
        return [i for i, v in enumerate(self.verdicts) if v.verdict == verdict]


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """How to run a check.

    heap_mb, timeout_s: per JVM.
    """

    chunk: int = 10_000
    """Distinct steps per JVM."""
    parallel: int | None = None
    """JVMs at a time, None for one per processor."""
    heap_mb: int = 1024
    timeout_s: float | None = 600.0
    extra_runs: int = 24
    """How many runs of TLC may be spent, in each chunk, on isolating steps that TLC cannot evaluate
    (about a second each).
    """
    keep: Path | None = None
    """A folder for the generated modules and TLC's output, one sub-folder per run."""
    as_text: str = ""
    """Why TLC is given text in any case, or ""."""


DEFAULT_OPTIONS = CheckOptions()


def check_steps(
    frame: StepFrame,
    steps: StepTable | EncodedSteps | Iterable[Step],
    options: CheckOptions = DEFAULT_OPTIONS,
    progress: Callable[[Progress], None] | None = None,
) -> StepReport:
    """Judge every step with TLC.

    Args:
        frame: what TLC evaluates for a step.
        steps: the steps, as a table, encoded, or one by one.
        options: how TLC runs.
        progress: called in this thread after each chunk.

    Raises:
        ToolError: there are no steps, TLA+ cannot express a step, TLC cannot use the frame, or
            TLC's report does not add up.
    """
    begin = monotonic()
    batch = Batch.from_steps(steps)
    session = _Session(frame, batch, options)
    chunks = [
        batch.rows[start : start + options.chunk]
        for start in range(0, len(batch.rows), options.chunk)
    ]
    verdicts: dict[Row, StepVerdict] = {}
    pool = ThreadPoolExecutor(max_workers=options.parallel or os.cpu_count() or 1)
    try:
        running: dict[Future[dict[Row, StepVerdict]], int] = {
            pool.submit(session.judge, f"chunk{number:04}", chunk): len(chunk)
            for number, chunk in enumerate(chunks, start=1)
        }
        for done, future in enumerate(as_completed(running), start=1):
            verdicts.update(future.result())
            if progress:
                progress(Progress(done, len(chunks), len(verdicts), len(batch.rows)))
    finally:
        pool.shutdown(cancel_futures=True)
    return StepReport(
        verdicts=[verdicts[row] for row in batch.row_of_step],
        distinct=len(batch.rows),
        runs=session.runs,
        seconds=monotonic() - begin,
        cpu_seconds=session.cpu_seconds,
        peak_rss_mb=session.peak_rss_mb,
        warnings=sorted(session.warnings),
        as_text=session.as_text,
    )


def batch_module(
    frame: StepFrame, definitions: str, steps: int, tail: str, extends: Sequence[str] = ()
) -> ModuleText:
    """Return the module StepBatch: the steps as data, the variable SB_id, and `tail`.

    Args:
        frame: what TLC evaluates for a step.
        definitions: the definitions of the steps, by `Batch.definitions`.
        steps: number of steps.
        tail: definitions that use the steps.
        extends: standard modules that `tail` needs.
    """
    # No more than what is needed: each module brings names that the frame then cannot define.
    # Sequences under a name of its own would spare the frame these, but TLC is slower then.
    tlc = ["TLC"] if needs_tlc(definitions) else []
    values = [MODULE] if "SB_Loaded(" in definitions else []
    needed = ["Integers", "Sequences", *extends, *tlc, *values]
    needed += [] if frame.given else [frame.module]
    head = f"---- MODULE {ROOT_MODULE} ----\nEXTENDS {', '.join(dict.fromkeys(needed))}\n"
    counter = f"SB_Init == SB_id \\in 0..{steps}\nSB_Next == FALSE /\\ UNCHANGED SB_id\n"
    own = f"{frame.definitions.rstrip()}\n" if frame.definitions else ""
    own = definitions + "\n" + _instance(frame) + own
    return ModuleText(ROOT_MODULE, f"{head}VARIABLE SB_id\n\n{own}\n{counter}\n{tail}====\n")


def _instance(frame: StepFrame) -> str:
    """The frame module under the constants of the step that is judged."""
    if not frame.given:
        return ""
    sets = [
        f"[{', '.join(f'{name} |-> {text}' for name, text in each.items())}]"
        for each in frame.given
    ]
    values = ", ".join(f"{name} <- SB_now.{name}" for name in frame.given[0])
    return (
        f"SB_given ==\n  <<{NEXT_LINE.join(sets)}>>\nSB_now == SB_given[SB_step(SB_id).given]\n"
        f"INSTANCE {frame.module} WITH {values}\n"
    )


def batch_cfg(frame: StepFrame, invariant: str) -> str:
    """The cfg of StepBatch: the caller's constants, and one invariant over the initial states."""
    return f"{frame.constants.rstrip()}\nINIT SB_Init\nNEXT SB_Next\nINVARIANT {invariant}\n"


def invariant_of(steps: str | bytes) -> str:
    """The name of the invariant of a batch with these steps, as text or in a file."""
    data = steps if isinstance(steps, bytes) else steps.encode()
    return f"{INVARIANT}_{blake2b(data, digest_size=8).hexdigest()}"


def rejected_ids(result: TlcResult, steps: int, invariant: str) -> set[int]:
    """Return the steps (numbered from 1) that `invariant` does not allow, by a finished run.

    Raises:
        ToolError: the run did not end normally, or a count does not add up. There must be one state
            for each step and one for the canary, and one report for each named step and for the
            canary, each in range.
    """
    for violation in result.violations:
        if violation.kind == "assumption":
            raise ToolError(f"the frame assumes what is not so: {violation.property}")
    wrong: list[str] = []
    if not result.complete:
        wrong.append("TLC did not finish")
    if result.generated != steps + 1 or result.distinct != steps + 1:
        wrong.append(f"{result.generated} states generated and {result.distinct} distinct")
    named: list[int] = []
    for violation in result.violations:
        number = violation.states[0].values.get("SB_id") if len(violation.states) == 1 else None
        if violation.property != invariant or type(number) is not int:
            wrong.append(f"a report of {violation.property} without the number of a step")
        else:
            named.append(number)
    if len(set(named)) != len(named):
        wrong.append(f"{len(named)} reports for {len(set(named))} steps")
    wrong += [f"a report of step {number}" for number in named if not 0 <= number <= steps][:1]
    if 0 not in named:
        wrong.append("no report of the canary")
    if wrong:
        raise ToolError(
            f"TLC's report on {steps} steps does not add up ({'; '.join(wrong)}): "
            "its verdicts cannot be trusted"
        )
    return set(named) - {0}


def complaint(result: TlcResult) -> str:
    """TLC's first error, without our number of the step, which means nothing outside."""
    return result.errors[0].split(" While working on the initial state:")[0]


def failed(said: str) -> StepVerdict:
    """The verdict on a step whose evaluation failed with these words."""
    if any(limit in said for limit in JAVA_LIMITS):
        return StepVerdict("unknown", f"TLC came to the end of its means: {said}")
    return StepVerdict("rejected", f"evaluation error: {said}")


Row: TypeAlias = Any
"""Of a Batch or an EncodedBatch: hashable."""

_UNLINKED = re.compile(r"\w+(?:ClassDef|ClassVersion|Linkage|Method|Field)\w*Error\b.*")
_cannot_load: dict[tuple[object, ...], str] = {}
"""Tools that were seen not to load the class for values, and what they said: Java, TLC's jar, that
of the class, and what starts them, since a test may play TLC."""


def assumption_is_broken(result: TlcResult) -> bool:
    """Whether an ASSUME is false: that the values are loaded, or one of the frame's own."""
    return any(violation.kind == "assumption" for violation in result.violations)


def not_values(result: TlcResult) -> str:
    """Why this run judged no steps as values, where text may do better; "" if it judged them."""
    if assumption_is_broken(result):
        return f"this TLC did not load the class {MODULE}"
    said = complaint(result) if result.errors else ""
    if unlinked := _UNLINKED.search(said):
        return f"this TLC cannot load the class {MODULE} ({unlinked[0]})"
    if UNDECODED in said:
        return said[said.index(UNDECODED) :].splitlines()[0]
    if said and not result.error_state and not any(limit in said for limit in JAVA_LIMITS):
        return said.splitlines()[0]
    return ""


class _Session:
    """One check: runs TLC on lists of rows, and keeps the account of what that cost."""

    def __init__(
        self, frame: StepFrame, batch: Batch | EncodedBatch, options: CheckOptions
    ) -> None:
        self.frame = frame
        self.batch = batch
        self.options = options
        self.runs = 0
        self.cpu_seconds = 0.0
        self.peak_rss_mb = 0.0
        self.warnings: dict[str, None] = {}
        self._tools = (find_java().path, find_jar().path, JAR, run_tlc)
        self.as_text = options.as_text or _cannot_load.get(self._tools, "")
        self._lock = threading.Lock()

    def judge(self, name: str, rows: list[Row]) -> dict[Row, StepVerdict]:
        """The verdict of each row of a chunk."""
        verdicts: dict[Row, StepVerdict] = {}
        waiting = [rows]
        runs = 0
        last_error = ""
        while waiting:
            part = waiting.pop()
            if runs > self.options.extra_runs:
                reason = f"not judged: too many steps that TLC cannot evaluate ({last_error})"
                verdicts |= dict.fromkeys(part, StepVerdict("unknown", reason))
                continue
            runs += 1
            result, invariant = self._run(f"{name}-run{runs}", part)
            if result.stopped:
                verdicts |= dict.fromkeys(part, StepVerdict("unknown", result.stopped))
            elif result.errors:
                last_error = complaint(result)
                if runs == 1:
                    self._demand_sound_frame(name)
                waiting += self._isolate(part, result, verdicts)
            else:
                rejected = rejected_ids(result, len(part), invariant)
                for number, row in enumerate(part, start=1):
                    verdicts[row] = NOT_ALLOWED if number in rejected else ACCEPTED
        return verdicts

    def _isolate(
        self, part: list[Row], result: TlcResult, verdicts: dict[Row, StepVerdict]
    ) -> list[list[Row]]:
        """Judge the step at which TLC failed; say in which portions to judge the rest."""
        number = (result.error_state or {}).get("SB_id")
        if len(part) == 1:
            number = 1
        if type(number) is int and 1 <= number <= len(part):
            culprit = part[number - 1]
            verdicts[culprit] = failed(complaint(result))
            shape = self.batch.shape(culprit)
            alike = [r for r in part if r != culprit and self.batch.shape(r) == shape]
            aside = {culprit, *alike}
            portions = [alike, [row for row in part if row not in aside]]
        else:
            # The error came before any step was looked at (a set whose elements TLC cannot
            # compare): halve until it is alone.
            middle = len(part) // 2
            portions = [part[:middle], part[middle:]]
        return [portion for portion in portions if portion]

    def _demand_sound_frame(self, name: str) -> None:
        """If TLC cannot even start without steps, the frame is at fault and not a step."""
        result, _ = self._run(f"{name}-frame", [])
        if result.errors:
            raise ToolError(
                f"the frame {self.frame.module} fails before any step is judged: "
                f"{complaint(result)}"
            )

    def _run(self, name: str, rows: list[Row]) -> tuple[TlcResult, str]:
        """What TLC says, and the name of the invariant of which it says so."""
        if self.as_text:
            return self._started(name, rows, self.batch.definitions(rows))
        why = ""
        try:
            data = self.batch.data(rows)
            ran = self._started(name, rows, assumption(data, len(rows)), data)
            why = not_values(ran[0])
        except (ToolError, ValueError) as error:
            # What is wrong with the frame or the values, the text form says in its own words.
            why = str(error).splitlines()[0]
        if not why:
            return ran
        ran = self._started(f"{name}-text", rows, self.batch.definitions(rows))
        if not ran[0].errors and not assumption_is_broken(ran[0]):
            self.as_text = why
            if MODULE in why:
                _cannot_load[self._tools] = why
        return ran

    def _started(
        self, name: str, rows: list[Row], definitions: str, data: bytes = b""
    ) -> tuple[TlcResult, str]:
        """data: the file of values, where `definitions` are none."""
        invariant = invariant_of(data or definitions)
        tail = f"{invariant} == SB_id # 0 /\\ Allowed(SB_step(SB_id))\n"
        job = TlcJob(
            module=batch_module(self.frame, definitions, len(rows), tail),
            cfg=batch_cfg(self.frame, invariant),
            libraries=self.frame.libraries,
            heap_mb=self.options.heap_mb,
            timeout_s=self.options.timeout_s,
            deadlock=False,
            go_on=True,
            jvm_flags=JVM_FLAGS,
            beside=module() if data else {},
            files={FILE: data} if data else {},
            classes=[JAR] if data else [],
        )
        keep = self.options.keep
        result = run_tlc(job, work_dir=keep / name if keep else None)
        with self._lock:
            self.runs += 1
            self.warnings |= dict.fromkeys(result.warnings)
            self.cpu_seconds += result.cpu_seconds
            self.peak_rss_mb = max(self.peak_rss_mb, result.peak_rss_mb)
        return result, invariant
