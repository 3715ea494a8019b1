"""Run TLC on one model.

Laws of this file:

* Every run has a private directory with root module, cfg, `-metadir`, Java's temporary directory
  and the output. There are three reasons. TLC searches `-DTLA-Library` only if it starts in the
  root module's directory with a bare module name. It names its metadata by the second, so two runs
  in one `-metadir` collide. And it unpacks the standard modules into Java's temporary directory,
  where runs would overwrite each other's files.
* Equal jobs run alike: fingerprint function, seed and worker count are always given.
* A run that takes too long is killed with its whole process group, and is "unknown".
* What TLC ignores silently in a cfg is an error here (`config.py` says what that is).
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from kraftcheck.osutil import children
from kraftcheck.osutil.files import read_text
from tla_utils.config import Config, read_config
from tla_utils.errors import ToolError
from tla_utils.jar import Jar, Java, find_jar, find_java
from tla_utils.output import TlcResult, parse_output

# In jobs under about 30 s start-up dominates, so they use the serial GC and the quick compiler
# only. Batches of 10,000 steps take 3.3 processor seconds, and 5.45 with Java's defaults. Compiling
# is a third of a short run and pays only for frequent calls, so the threshold is higher: 0.71
# seconds in place of 0.76.
SHORT_JVM_FLAGS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:CompileThresholdScaling=3",
)
# For long searches the optimising compiler pays, and TLC is tuned for the throughput collector.
LONG_JVM_FLAGS = ("-XX:+UseParallelGC",)

# TLC records each of its messages in Java's flight recorder. Nobody reads them, and starting the
# recorder takes a quarter of the processor time of a short run. This property makes Java report
# that the recorder is not supported.
NO_RECORDER = "-Djfr.unsupported.vm=true"

OUTPUT_FILE = "tlc.out"


@dataclass(frozen=True, slots=True)
class ModuleText:
    """A root module that exists as text only: its name and its source."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Simulate:
    """Random behaviours in place of a search: their number, and their largest number of states."""

    num: int
    depth: int = 100


TOLD_S = 2.0
_PROGRESS = re.compile(r"^Progress\(.*?([\d,]+) distinct states found", re.MULTILINE)


class Running(NamedTuple):
    """The progress of a run of TLC."""

    name: str
    seconds: float
    """Wall seconds since the start."""
    states: int | None
    """Distinct states in TLC's last report, which comes after some seconds and then once a minute;
    None before the first.
    """

    def __str__(self) -> str:
        states = "" if self.states is None else f"{self.states:,} states, "
        return f"{self.name} ({states}{self.seconds:.0f} s)"


@dataclass(frozen=True, slots=True)
class TlcJob:
    """One run of TLC, fully described.

    java, jar: what to run; None finds them (see jar.py).
    """

    module: Path | ModuleText
    """The root module, a `.tla` file or a ModuleText. Its folder is searched for modules too."""
    cfg: Path | str
    """A Path to a cfg file, or the text of one."""
    libraries: Sequence[Path] = ()
    """Folders in which TLC looks for further modules, in order."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """Texts of modules by name; TLC prefers them to modules of `libraries`."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Contents of further files by name, written into the folder in which TLC runs."""
    classes: Sequence[Path] = ()
    """Jars with operators that are written in Java."""
    heap_mb: int = 1024
    """Java heap in MiB."""
    workers: int = 1
    """TLC worker threads."""
    timeout_s: float | None = None
    """Wall seconds; None: no limit."""
    seed: int = 1
    """The seed of TLC's random choices."""
    deadlock: bool = True
    """Whether a state without successor is a violation."""
    go_on: bool = False
    """Report every violation instead of the first (TLC's -continue)."""
    simulate: Simulate | None = None
    """Random behaviours in place of a search."""
    dfid: int | None = None
    """Iterative deepening to this depth."""
    dump: Path | None = None
    """Write the state graph to this file, in dot form with action labels (see dump.py)."""
    coverage: bool = False
    """Count how often each action is taken."""
    long: bool = False
    """Whether to use the JVM flags for searches over about 30 s."""
    jvm_flags: Sequence[str] = ()
    java: Java | None = None
    jar: Jar | None = None
    defines: Mapping[str, str] = field(default_factory=dict)
    told: Callable[[Running], None] | None = None
    """Called every other second while it runs, by a thread of its own."""

    @property
    def name(self) -> str:
        """The name of the root module."""
        return self.module.name if isinstance(self.module, ModuleText) else self.module.stem


@dataclass(frozen=True, slots=True)
class _Ended:
    """The end of a process.

    Exit code (None if it was killed after the time limit), wall and CPU
    seconds, and peak resident memory in MiB.
    """

    exit_code: int | None
    seconds: float
    cpu_seconds: float
    peak_rss_mb: float


def command_line(job: TlcJob, work_dir: Path) -> list[str]:
    """Return the command that `run_tlc` starts, for a dry run or to repeat a run by hand.

    Args:
        job: the run of TLC.
        work_dir: the folder in which the command will run.

    Raises:
        ToolError: Java or the jar cannot be used, or options exclude each other.
    """
    if job.simulate and job.dfid is not None:
        raise ToolError("a TLC job can either simulate or deepen iteratively, not both")
    java, jar = job.java or find_java(), job.jar or find_jar()
    libraries = [str(path.resolve()) for path in _libraries(job)]
    command = [java.path, f"-Xmx{job.heap_mb}m", *(LONG_JVM_FLAGS if job.long else SHORT_JVM_FLAGS)]
    if (archive := archive_of(jar)).is_file():
        # The JVM ignores an archive that does not fit. Its warning would be parsed as TLC's output.
        command += [f"-XX:SharedArchiveFile={archive}", "-Xlog:disable"]
    command += [*job.jvm_flags, NO_RECORDER]
    command += ["-Dfile.encoding=UTF-8", f"-Djava.io.tmpdir={work_dir / 'tmp'}"]
    command += [f"-D{name}={value}" for name, value in sorted(job.defines.items())]
    if libraries:
        command.append(f"-DTLA-Library={os.pathsep.join(libraries)}")
    # TLC's own jar comes first: the archive of its classes fits no other order.
    path = os.pathsep.join(map(str, [jar.path, *job.classes]))
    command += ["-cp", path, "tlc2.TLC", "-tool", "-metadir", str(work_dir / "states")]
    command += ["-workers", str(job.workers), "-fp", "0", "-seed", str(job.seed)]
    if job.simulate is None:
        # Otherwise TLC checks liveness whenever the graph has grown for a while. Then the speed of
        # the machine would decide which of several counterexamples it finds.
        command += ["-lncheck", "final"]
    if not job.deadlock:
        command.append("-deadlock")
    if job.go_on:
        command.append("-continue")
    if job.simulate:
        command += ["-simulate", f"num={job.simulate.num}", "-depth", str(job.simulate.depth)]
    if job.dfid is not None:
        command += ["-dfid", str(job.dfid)]
    if job.dump is not None:
        command += ["-dump", "dot,actionlabels", str(job.dump.resolve())]
    if job.coverage:
        # The interval is in minutes; the final report comes in any case.
        command += ["-coverage", "1000"]
    return [*command, "-config", f"{job.name}.cfg", job.name]


def archive_of(jar: Jar) -> Path:
    """Return the path for an archive of this jar's classes (shared_classes.py)."""
    return jar.path.with_suffix(".jsa")


def run_tlc(job: TlcJob, *, work_dir: Path | None = None) -> TlcResult:
    """Run TLC and parse its output.

    Args:
        job: the run of TLC.
        work_dir: an empty folder, created if needed. It keeps the module, the cfg and TLC's output
            `tlc.out`. By default a temporary folder is used and removed.

    Raises:
        ToolError: TLC cannot start: tools or files are missing, a module does not parse, or the
            cfg names something that no module defines.
    """
    if work_dir is None:
        with tempfile.TemporaryDirectory(prefix="tla-") as temporary:
            return _run_in(job, Path(temporary))
    work_dir.mkdir(parents=True, exist_ok=True)
    if any(work_dir.iterdir()):
        raise ToolError(f"the work folder {work_dir} is not empty: name a new one")
    return _run_in(job, work_dir.resolve())


def _libraries(job: TlcJob) -> list[Path]:
    """Return the folders in which TLC looks for modules: the root module's, then the job's."""
    own = [] if isinstance(job.module, ModuleText) else [job.module.parent]
    return [*own, *job.libraries]


def _run_in(job: TlcJob, work_dir: Path) -> TlcResult:
    config = _write_inputs(job, work_dir)
    command = command_line(job, work_dir)
    output = work_dir / OUTPUT_FILE
    with _telling(job, output):
        ended = _execute(command, work_dir, output, job.timeout_s)
    stopped = ""
    if ended.exit_code is None:
        stopped = f"stopped after the time limit of {job.timeout_s:g} s"
    try:
        result = parse_output(
            read_text(output, errors="replace"),
            ended.exit_code,
            properties=config.properties,
            stopped=stopped,
        )
    except ToolError as error:
        # The work folder is private and temporary, so the message names the caller's file.
        own = str(work_dir / f"{job.name}.tla")
        given = f"module {job.name}" if isinstance(job.module, ModuleText) else str(job.module)
        raise ToolError(f"{job.name}: {str(error).replace(own, given)}") from error
    # A TLC that was killed may not have read every module.
    ended_by_itself = ended.exit_code is not None and ended.exit_code >= 0
    distrust = _distrust(config, job, result.modules) if ended_by_itself else []
    return replace(
        result,
        warnings=[*result.warnings, *distrust],
        seconds=ended.seconds,
        cpu_seconds=ended.cpu_seconds,
        peak_rss_mb=ended.peak_rss_mb,
    )


def _write_inputs(job: TlcJob, work_dir: Path) -> Config:
    """Write root module and cfg into the work folder, and return the parsed cfg."""
    for folder in _libraries(job):
        if not folder.is_dir():
            raise ToolError(f"the module folder {folder} does not exist")
    if isinstance(job.module, ModuleText):
        (work_dir / f"{job.name}.tla").write_text(job.module.text, encoding="utf-8")
    elif job.module.is_file():
        shutil.copyfile(job.module, work_dir / f"{job.name}.tla")
    else:
        raise ToolError(f"there is no module at {job.module}")
    if isinstance(job.cfg, str):
        cfg_text = job.cfg
    else:
        try:
            cfg_text = read_text(job.cfg)
        except OSError as error:
            raise ToolError(f"the cfg {job.cfg} cannot be read: {error.strerror}") from error
    (work_dir / f"{job.name}.cfg").write_text(cfg_text, encoding="utf-8")
    for name, text in job.beside.items():
        (work_dir / f"{name}.tla").write_text(text, encoding="utf-8")
    for name, data in job.files.items():
        (work_dir / name).write_bytes(data)
    (work_dir / "tmp").mkdir()
    return read_config(cfg_text)


def _execute(command: list[str], cwd: Path, output: Path, timeout_s: float | None) -> _Ended:
    """Run the command in its own process group, for at most `timeout_s`."""
    begin = time.monotonic()
    with (
        output.open("wb") as sink,
        children.started(command, cwd=cwd, stdout=sink, stderr=subprocess.STDOUT) as process,
    ):
        timed_out = threading.Event()

        def give_up() -> None:
            timed_out.set()
            _kill_group(process.pid)

        timer = threading.Timer(timeout_s, give_up) if timeout_s is not None else None
        if timer:
            timer.daemon = True
            timer.start()
        try:
            # wait4 in place of Popen.wait: it returns the resources of this child only.
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        except BaseException:
            _kill_group(process.pid)
            process.wait()
            raise
        finally:
            if timer:
                timer.cancel()
    return _Ended(
        exit_code=None if timed_out.is_set() else process.returncode,
        seconds=time.monotonic() - begin,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        peak_rss_mb=_rss_mb(usage),
    )


@contextlib.contextmanager
def _telling(job: TlcJob, output: Path) -> Iterator[None]:
    """Call `job.told` with the progress of TLC while the body runs."""
    told = job.told
    if told is None:
        yield
        return
    begin, over = time.monotonic(), threading.Event()

    def tell() -> None:
        while not over.wait(TOLD_S):
            said: list[str] = []
            with contextlib.suppress(OSError):  # not there yet
                said = _PROGRESS.findall(read_text(output, errors="replace"))
            states = int(said[-1].replace(",", "")) if said else None
            told(Running(job.name, time.monotonic() - begin, states))

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def _rss_mb(usage: resource.struct_rusage) -> float:
    # Kilobytes on Linux, bytes on macOS.
    return usage.ru_maxrss / (1024 if os.uname().sysname == "Linux" else 1024 * 1024)


def _kill_group(pid: int) -> None:
    # The group may have ended already.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _distrust(config: Config, job: TlcJob, modules: list[str]) -> list[str]:
    """Refuse a constant that no module declares; warn of a substitution TLC may have ignored."""
    sources = {Path(path).stem: _source(path) for path in modules}
    if not sources:
        return []
    for name in config.assigned:
        word = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])")
        if not any(word.search(text) for text in sources.values()):
            raise ToolError(
                f"{job.name}: the cfg gives a value to {name}, but no module that TLC read "
                "mentions it; TLC would ignore it silently"
            )
    warnings = []
    for left, module, right in config.substituted:
        defined = re.compile(rf"^\s*{re.escape(left)}\s*(\([^)]*\))?\s*==", re.MULTILINE)
        elsewhere = [stem for stem, text in sources.items() if defined.search(text)]
        if module is None and elsewhere and job.name not in elsewhere:
            warnings.append(
                f"TLC may silently ignore {left} <- {right}, as {left} is of another module: "
                f"write {left} <- [{elsewhere[0]}] {right}"
            )
    return warnings


def _source(path: str) -> str:
    # TLC removes its copies of the standard modules when it ends; no cfg names those.
    try:
        return read_text(Path(path), errors="replace")
    except OSError:
        return ""
