"""`kraftcheck` as a process of its own, forked from one that has imported what each would.

To start is most of what a short command does: libraries take 0.2 of its 0.6 processor seconds, the
command line 0.15. So one process has those already, and each command is a fork of it, with the
arguments, the folder and the environment that it is given.

Law of this file: of our own modules none is imported before the fork but those that the command
line imports before it reads its arguments: protocols from outside are known to all that come later.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

LIBRARIES: Final = (
    "msgspec",
    "numpy",
    "pyarrow.compute",
    "pyarrow.parquet",
    "rich.progress",
)
TIMEOUT_S: Final = 300
KRAFTCHECK: Final = Path(sys.executable).parent / "kraftcheck"


def run(
    *words: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """What the command ends with, and says."""
    command = [str(KRAFTCHECK), *map(str, words)]
    with tempfile.TemporaryDirectory() as folder:
        asked = {
            "command": command,
            "cwd": str(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
            "said": folder,
        }
        stem = _stem()
        assert stem.stdin is not None and stem.stdout is not None
        stem.stdin.write(json.dumps(asked) + "\n")
        stem.stdin.flush()
        code = int(stem.stdout.readline())
        said = [Path(folder, name).read_text("utf-8") for name in ("stdout", "stderr")]
    return subprocess.CompletedProcess(command, code, *said)


@functools.cache
def _stem() -> subprocess.Popen[str]:
    """It ends with its standard input, so with this process."""
    stem = subprocess.Popen(
        [sys.executable, "-m", "tests.commands"],
        cwd=Path(__file__).resolve().parents[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(stem.communicate)
    return stem


def _serve() -> None:
    importlib.import_module("kraftcheck.cli")
    for name in LIBRARIES:
        importlib.import_module(name)
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if not child:
            _become(asked["command"], asked["cwd"], asked["env"], Path(asked["said"]))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _become(command: Sequence[str], cwd: str, env: Mapping[str, str], said: Path) -> None:
    """This process is the command from here on, and ends as it does."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(said / name, os.O_WRONLY | os.O_CREAT), number)
    signal.alarm(TIMEOUT_S)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = list(command)
    importlib.import_module("kraftcheck.cli").main()


if __name__ == "__main__":
    _serve()
