"""Exit codes arrive whatever threads of Arrow still do when a command is done."""

from __future__ import annotations

import subprocess
import sys

import pytest

LATE_THREAD = """
import io, sys, threading, time
import pyarrow as pa, pyarrow.parquet as pq
from kraftcheck import exits

class Slow(io.BytesIO):
    def read(self, *size):
        if threading.current_thread() is not threading.main_thread():
            started.set()
            time.sleep(0.3)
        return super().read(*size)

started = threading.Event()
sink = io.BytesIO()
pq.write_table(pa.table({"a": list(range(1000))}), sink)
file = pq.ParquetFile(pa.PythonFile(Slow(sink.getvalue()), "r"), pre_buffer=True)
threading.Thread(target=file.read, daemon=True).start()
assert started.wait(20)
print("said")
"""
"""A thread of Arrow's is in Python code when the command is done, and wants on."""

AT_EXIT = """
import atexit, sys
from kraftcheck import exits
atexit.register(print, "registered")
print("said")
print("complained", file=sys.stderr, end="")
exits.leave(2)
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("code", [0, 1])
def test_a_late_thread_does_not_change_the_exit_code(code: int) -> None:
    done = run(f"{LATE_THREAD}exits.leave({code})")
    assert (done.returncode, done.stdout, done.stderr) == (code, "said\n", "")


def test_a_late_thread_aborts_a_process_that_ends_as_usual() -> None:
    """The negative twin: what `leave` is for; where it passes some day, `leave` can go."""
    done = run(f"{LATE_THREAD}sys.exit(0)")
    assert (done.returncode, done.stdout) == (-6, "said\n")


def test_what_was_registered_for_the_end_and_what_was_said_is_not_lost() -> None:
    done = run(AT_EXIT)
    assert (done.returncode, done.stdout) == (2, "said\nregistered\n")
    assert done.stderr == "complained"


def test_the_console_script_leaves_so() -> None:
    program = "import sys; sys.argv = ['kraftcheck', 'no-such-verb']\n"
    program += "from kraftcheck import cli, exits\n"
    program += "exits.os._exit = lambda code: sys.stderr.write(f'left with {code}')\n"
    done = run(f"{program}cli.main()")
    assert done.stderr.endswith("left with 3")
