"""Run TLC on one model.

Laws of this file:

* Every run has a private directory: root module, cfg, `-metadir`, Java's temporary directory and
  the output all lie there. TLC searches `-DTLA-Library` only when it is started in the root
  module's directory with a bare module name; it names its metadata by the second, so two runs in
  one `-metadir` collide; and it unpacks the standard modules into Java's temporary directory, where
  runs would overwrite each other's files.
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

# For jobs under about 30 s start-up dominates: serial GC and the quick compiler only. In batches of
# 10,000 steps this took 3.3 processor seconds where Java's own choice took 5.45. A third of a short
# run is compiling, which pays for what is called often only: 0.71 seconds where it took 0.76.
SHORT_JVM_FLAGS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:CompileThresholdScaling=3",
)
# For long searches the optimising compiler pays, and TLC is tuned for the throughput collector.
LONG_JVM_FLAGS = ("-XX:+UseParallelGC",)

# TLC notes each of its messages in Java's flight recorder, which nobody reads: to begin it is a
# quarter of the processor time of a short run. Told so, Java takes it for one that it cannot have.
NO_RECORDER = "-Djfr.unsupported.vm=true"

OUTPUT_FILE = "tlc.out"


@dataclass(frozen=True, slots=True)
class ModuleText:
    """A root module that exists as text only: its name and its source."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Simulate:
    """Random behaviours instead of a search: how many, and how many states long at most."""

    num: int
    depth: int = 100


TOLD_S = 2.0
_PROGRESS = re.compile(r"^Progress\(.*?([\d,]+) distinct states found", re.MULTILINE)


class Running(NamedTuple):
    """How far a run of TLC is."""

    name: str
    seconds: float
    """Since it began."""
    states: int | None
    """The distinct ones that it has found, as it said last, which it does after some seconds and
    then once a minute; None before.
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
    """By name, the texts of modules that it finds before those."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """By name, what else is put into the folder in which TLC runs."""
    classes: Sequence[Path] = ()
    """Jars with operators that are written in Java."""
    heap_mb: int = 1024
    """Java heap in MiB."""
    workers: int = 1
    """TLC worker threads."""
    timeout_s: float | None = None
    """Wall seconds, None for ever."""
    seed: int = 1
    """Of TLC's random choices."""
    deadlock: bool = True
    """Whether a state without successor is a violation."""
    go_on: bool = False
    """Report every violation instead of the first (TLC's -continue)."""
    simulate: Simulate | None = None
    """Random behaviours instead of a search."""
    dfid: int | None = None
    """Iterative deepening to this depth."""
    dump: Path | None = None
    """Write the state graph to this file, in dot form with action labels (see dump.py)."""
    coverage: bool = False
    """Count how often each action is taken."""
    long: bool = False
    """JVM flags for searches over about 30 s instead of those for short jobs."""
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
    """How a process ended.

    Exit code (None when killed for time), wall and CPU seconds, and peak resident memory in MiB.
    """

    exit_code: int | None
    seconds: float
    cpu_seconds: float
    peak_rss_mb: float


def command_line(job: TlcJob, work_dir: Path) -> list[str]:
    """The command that `run_tlc` starts in `work_dir`: for a dry run, and to repeat a run by hand.

    Raises ToolError when Java or the jar cannot be used, or when options exclude each other.
    """
    if job.simulate and job.dfid is not None:
        raise ToolError("a TLC job can either simulate or deepen iteratively, not both")
    java, jar = job.java or find_java(), job.jar or find_jar()
    libraries = [str(path.resolve()) for path in _libraries(job)]
    command = [java.path, f"-Xmx{job.heap_mb}m", *(LONG_JVM_FLAGS if job.long else SHORT_JVM_FLAGS)]
    if (archive := archive_of(jar)).is_file():
        # One that does not fit is left alone, and what the JVM says of it would be read as TLC's.
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
        # Otherwise liveness is looked at whenever the graph has grown for a while: which of several
        # counterexamples is found would depend on the speed of the machine.
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
    """Where an archive of this jar's classes lies, if there is one (shared_classes.py)."""
    return jar.path.with_suffix(".jsa")


def run_tlc(job: TlcJob, *, work_dir: Path | None = None) -> TlcResult:
    """Run TLC and read what it printed.

    work_dir: a folder to work in and to keep afterwards (created; must be empty), with the
    module, the cfg and TLC's output `tlc.out`. Without it, a temporary folder that is removed.

    Raises ToolError for everything TLC cannot start on: missing tools and files, modules that do
    not parse, a cfg that names what no module defines.
    """
    if work_dir is None:
        with tempfile.TemporaryDirectory(prefix="tla-") as temporary:
            return _run_in(job, Path(temporary))
    work_dir.mkdir(parents=True, exist_ok=True)
    if any(work_dir.iterdir()):
        raise ToolError(f"the work folder {work_dir} is not empty: name a new one")
    return _run_in(job, work_dir.resolve())


def _libraries(job: TlcJob) -> list[Path]:
    """Where TLC looks for modules: the root module's own folder first, then the job's folders."""
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
        # The work folder is private and soon gone: speak of the file the caller gave.
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
    """Put root module and cfg into the work folder; returns what the cfg names."""
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
    """Run the command in a process group of its own and wait, at most `timeout_s`."""
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
            # wait4 and not Popen.wait: it tells what *this* child used, whatever runs beside it.
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
    """Tells whoever wants to know how far TLC is."""
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
    # The group may be gone already: that is what was wanted.
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
    # TLC's own copies of the standard modules are gone when it has ended; no cfg names those.
    try:
        return read_text(Path(path), errors="replace")
    except OSError:
        return ""
