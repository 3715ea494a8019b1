"""How commands end: one line for every error, never a traceback, and the right exit code."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from pathlib import Path

import click
import pytest

from kraftcheck import exits
from kraftcheck.reference.bugs.catalog import OutOfScope, UnknownBug
from kraftcheck.traces.schema import TraceError
from tla_utils.errors import ToolError


def raising(error: BaseException) -> int:
    def work() -> int:
        raise error

    return exits.guarded(work)


def no_space(path: str) -> OSError:
    return OSError(errno.ENOSPC, "No space left on device", path)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ToolError("TLC said\n  no"), 3, "TLC said no"),
        (TraceError("run.parquet: truncated"), 3, "run.parquet: truncated"),
        (UnknownBug("no bug 'Q'"), 3, "no bug 'Q'"),
        (OutOfScope("not yet"), 3, "not yet"),
        (exits.BadInput("not so"), 3, "not so"),
        (no_space("out/a"), 3, "out/a: no space left"),
        (PermissionError(errno.EACCES, "Permission denied", "out"), 3, "out: Permission denied"),
        (click.UsageError("No such option"), 3, "No such option"),
        (MemoryError(), 2, "out of memory"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (click.Abort(), 130, "interrupted"),
        (exits.Interrupted(130), 130, "interrupted"),
        (exits.Interrupted(143), 143, "terminated"),
    ],
)
def test_an_error_is_one_line(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert raising(error) == code
    assert capsys.readouterr() == ("", f"kraftcheck: {said}\n")


def test_a_defect_is_one_line_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(exits.TRACEBACK_VARIABLE, raising=False)
    assert raising(ValueError("planted\nhere")) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "Traceback" not in said
    assert said.startswith("kraftcheck: a defect of kraftcheck: ValueError: planted here (")
    assert "(test_exits.py:" in said and f"{exits.TRACEBACK_VARIABLE}=1" in said

    monkeypatch.setenv(exits.TRACEBACK_VARIABLE, "1")
    assert raising(ValueError("planted")) == 2
    assert "Traceback" in capsys.readouterr().err


# More lines than a pipe holds, so that the writer is still at it when the reader leaves.
ENDLESS = """
import sys, click
from kraftcheck import exits
from kraftcheck.cli import Verbs
@click.group(cls=Verbs)
def cli(): pass
@cli.command()
def talk(): [click.echo("x" * 99) for _ in range(10**5)]
cli(["talk"])
"""


def test_a_reader_that_leaves_is_no_error() -> None:
    script = f'"{sys.executable}" -c "$0" | head -n 1; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", script, ENDLESS], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["x" * 99, str(exits.BROKEN_PIPE)]
    assert done.stderr == ""


def test_a_result_is_an_exit_code() -> None:
    assert exits.guarded(lambda: 1) == 1
    assert exits.guarded(lambda: None) == 0
    assert raising(click.exceptions.Exit(0)) == 0


@pytest.mark.parametrize(
    ("codes", "expected"),
    [([], 0), ([0, 0], 0), ([0, 2], 2), ([2, 1, 0], 1), ([1, 3, 2], 3), ([2, 3], 3)],
)
def test_precedence(codes: list[int], expected: int) -> None:
    assert exits.worst(codes) == expected


def test_verdicts_have_codes() -> None:
    assert [exits.code_of(verdict) for verdict in ("holds", "violated", "unknown")] == [0, 1, 2]


# A child with a session of its own, as a JVM of ours is: Ctrl-C alone would not reach it.
WAITING = """
import subprocess, sys, threading
from kraftcheck import exits
def work():
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    waiter = threading.Thread(target=child.wait)
    waiter.start()
    print(child.pid, flush=True)
    try:
        threading.Event().wait()
    finally:
        waiter.join()
sys.exit(exits.guarded(work))
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_ends_what_was_started(number: int, code: int, repo_root: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=repo_root,
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.send_signal(number)
    _, said = process.communicate(timeout=20)
    assert process.returncode == code
    assert said in ("kraftcheck: interrupted\n", "kraftcheck: terminated\n")
    # It ended first, since the process waited for it: an orphan would still sleep.
    assert not Path(f"/proc/{child}").exists() or sys.platform != "linux"


# The thread that gets the signal is not the one that waits, and waking that is left to us.
ELSEWHERE = """
import signal, sys, threading
from kraftcheck import exits
def work():
    def told():
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    threading.Timer(0.3, told).start()
    threading.Event().wait()
sys.exit(exits.guarded(work))
"""


def test_a_signal_that_wakes_nobody_is_answered(repo_root: Path) -> None:
    command = [sys.executable, "-c", ELSEWHERE]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=repo_root, timeout=20)
    assert (ended.returncode, ended.stderr) == (130, "kraftcheck: interrupted\n")


SWALLOWED = """
import os, signal, sys, threading
from kraftcheck import exits
def told():
    os.kill(os.getpid(), signal.SIGINT)
class Gone:
    def __del__(self):
        told()
def finalised():
    Gone()
def cleared():
    try:
        told()
    except BaseException:
        pass
def work():
    {}()
    threading.Event().wait()
sys.exit(exits.guarded(work))
"""


@pytest.mark.parametrize("how", ["finalised", "cleared"])
def test_an_interrupt_that_python_or_a_library_ignores_comes_again(
    how: str, repo_root: Path
) -> None:
    command = [sys.executable, "-c", SWALLOWED.format(how)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=repo_root, timeout=20)
    assert (ended.returncode, ended.stderr) == (130, "kraftcheck: interrupted\n")


# What is put in order after an interrupt takes longer than the signal is left unanswered.
PUT_IN_ORDER = """
import os, signal, sys, time
from kraftcheck import exits
def work():
    with exits.told_what_is_kept("all of it"):
        try:
            os.kill(os.getpid(), signal.SIGINT)
        finally:
            time.sleep(3 * exits.WAKE_S)
            print("in order")
sys.exit(exits.guarded(work))
"""


def test_an_interrupt_that_is_under_way_is_not_repeated(repo_root: Path) -> None:
    command = [sys.executable, "-c", PUT_IN_ORDER]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=repo_root, timeout=20)
    assert (ended.returncode, ended.stdout) == (130, "in order\n")
    assert ended.stderr == "kraftcheck: interrupted; all of it\n"


def test_a_time_limit_that_is_ignored_comes_again() -> None:
    def cleared() -> None:
        with suppress(exits.TimeOver):
            time.sleep(20)

    with pytest.raises(exits.TimeOver), exits.within(0.05):
        cleared()
        time.sleep(20)


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ([exits.resumable], "goes on with the rest"),
        ([exits.from_the_start], "begins anew"),
        ([exits.from_the_start, exits.resumable], "begins anew"),
        # Every verb is one of these; what more is known within it stands.
        ([exits.begun_anew], "interrupted; this begins anew"),
        ([exits.begun_anew, exits.resumable], "goes on with the rest"),
    ],
)
def test_who_interrupts_is_told_what_goes_on(
    kept: Sequence[Callable[[], AbstractContextManager[None]]],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["kraftcheck", "simulate", "--out", "runs/a b"])

    def work() -> int:
        with ExitStack() as within:
            for each in kept:
                within.enter_context(each())
            raise KeyboardInterrupt

    assert exits.guarded(work) == exits.INTERRUPTED
    told = capsys.readouterr().err.rstrip()
    assert told.endswith(f"{said}: kraftcheck simulate --out 'runs/a b'")
