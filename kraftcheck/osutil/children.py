"""Children end when the process that started them has, however that ended.

A process that is killed with -9 says nothing to its children. A worker would wait for work for
ever, and a JVM search on for hours. So each kind notices by itself:

* a worker of a pool (WORKERS) waits, in a thread, for the end of its parent: a pipe whose other end
  only the parent holds;
* of other children (a JVM cannot watch a pipe) a small shell knows, the *guard*, which reads from a
  pipe of ours. When that ends, so have we, and it kills those that we had not told it were gone.

Neither asks who the parent is now (there is a moment in which that has changed already), nor has
the kernel send a signal when a parent ends (PR_SET_PDEATHSIG, which means a thread, and Linux).
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType
from typing import Any, Final

ORPHANED: Final = 1
"""The exit code of a worker whose parent is gone; nobody asks for it."""


class _Worker(SpawnProcess):
    """A process that ignores Ctrl-C.

    A terminal sends Ctrl-C to the whole foreground group. The parent handles it, and ends this
    process, which would otherwise end in a traceback.
    """

    def start(self) -> None:
        # What is blocked here is blocked there from the first instruction on.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        main = sys.modules["__main__"]
        # A worker would run the user's script again, up to where it starts workers, and again.
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            super().start()
        finally:
            sys.modules["__main__"] = main
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Workers(SpawnContext):
    Process = _Worker


WORKERS: Final = _Workers()
"""The context of pools. Not "fork": who starts them may hold threads (Spark's gateway, ours), and a
fork of those can deadlock."""


def end_with_parent() -> None:
    """For a pool's initializer: this process ends within a moment of the one that started it."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "a worker has a parent"
    threading.Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    # Not sys.exit, which ends this thread alone.
    os._exit(ORPHANED)


# -- The guard

_GUARD: Final = """
groups=" "
while read -r said group; do
    case $said in
        begun) groups="$groups$group " ;;
        ended) groups="${groups%% $group *} ${groups#* $group }" ;;
    esac
done
for group in $groups; do kill -9 "-$group"; done
"""
# The child says itself that it has begun, before it becomes what was asked for: until it has, its
# end of the guard's pipe is open, so there is no moment in which nobody would end it.
_CHILD: Final = 'echo "begun $$" >&0; exec "$0" "$@" <{source}'

_guard: subprocess.Popen[bytes] | None = None
_groups: set[int] = set()
_lock = threading.Lock()


@contextmanager
def started(
    command: Sequence[str], *, fed: bool = False, **how: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """A child in a session of its own, which is killed if we end in this block.

    Its whole process group is. At the end of the block it must have ended.

    command: with a program that exists: none would be said by a shell, as exit code 127.
    fed: it reads what is written to its `stdin`; without, it has no input.
    how: for subprocess.Popen.
    """
    source, feed = os.pipe() if fed else (None, None)
    kept = () if source is None else (source,)
    script = _CHILD.format(source="/dev/null" if source is None else f"/dev/fd/{source}")
    with _lock:
        guard = _running_guard()
        process = subprocess.Popen(
            ["/bin/sh", "-c", script, *command],
            stdin=guard.stdin,
            start_new_session=True,
            pass_fds=kept,
            **how,
        )
        _groups.add(process.pid)
    if source is not None and feed is not None:
        os.close(source)
        process.stdin = os.fdopen(feed, "wb")
    try:
        yield process
    finally:
        with _lock:
            _groups.remove(process.pid)
            if _guard is not None:
                _say(_guard, "ended", process.pid)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a child that is fed and answers through a pipe, with all of its group."""
    assert process.stdin is not None and process.stdout is not None
    with suppress(OSError):
        process.stdin.close()
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.stdout.close()
    process.wait()


def processor_seconds() -> float:
    """By this process, and by those that it started and that have ended, with theirs."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _running_guard() -> subprocess.Popen[bytes]:
    global _guard
    if _guard is None or _guard.poll() is not None:
        # There is none yet, or somebody killed it.
        _guard = _started_guard()
        for group in sorted(_groups):
            _say(_guard, "begun", group)
    return _guard


def _started_guard() -> subprocess.Popen[bytes]:
    # In a session of its own, since who kills us may kill our whole group.
    guard = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    atexit.register(_dismissed, guard)
    return guard


def _say(guard: subprocess.Popen[bytes], what: str, group: int) -> None:
    assert guard.stdin is not None
    with suppress(BrokenPipeError):  # somebody killed it; the next child finds out
        os.write(guard.stdin.fileno(), f"{what} {group}\n".encode())


def _dismissed(guard: subprocess.Popen[bytes]) -> None:
    global _guard
    _guard = None  # who is told of a child after this has nobody to tell
    with suppress(OSError):
        guard.communicate()
