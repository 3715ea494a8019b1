"""Exit codes arrive whatever threads of Arrow still do when a command is done."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

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


BEGUN = "from kraftcheck.start import main; print(flush=True); main()"


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.03, 0.1, 0.2, 0.35])
def test_an_interrupt_while_it_starts_is_one_line(seconds: float, tmp_path: Path) -> None:
    """In the first half second modules are imported."""
    words = ["verify", "--out", str(tmp_path / "out")]
    child = subprocess.Popen(
        [sys.executable, "-c", BEGUN, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(seconds)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    lines = [line for line in said.decode().splitlines() if line.startswith("kraftcheck: ")]
    assert "Traceback" not in said.decode() and len(lines) == 1 and "interrupted" in lines[0]
