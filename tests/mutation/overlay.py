"""A copy of the tree, in which a mutant stands and its tests run. The checkout is never touched.

A run of pytest has a session of its own, so that whatever it has started ends with it.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Final, NamedTuple

from tests.mutation.mutants import Mutant
from tests.quality.tidy import UNTRACKED

POLL_S: Final = 0.02
REPORT: Final = "report.xml"


class Ran(NamedTuple):
    """code: of pytest; None if it was stopped at its time limit. failed: the first test that did;
    "" if none did, or if none began. seconds: by test file. cpu_s: with all it started.
    """

    code: int | None
    failed: str
    seconds: dict[str, float]
    cpu_s: float

    @property
    def killed_by_others(self) -> bool:
        """Ctrl-C, or a machine without memory: it says nothing of the tests."""
        return self.code in (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT)


class Overlay(NamedTuple):
    """root: the copy. scratch: for temporary files, beside it."""

    root: Path
    scratch: Path

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """The mutant in the place of its module."""
        path = self.root / mutant.path
        correct = path.read_bytes()
        # Python takes compiled code for current by its time, in seconds, and its length.
        compiled = Path(importlib.util.cache_from_source(str(path)))
        compiled.unlink(missing_ok=True)
        path.write_bytes(mutant.put_into(correct))
        try:
            yield
        finally:
            path.write_bytes(correct)
            compiled.unlink(missing_ok=True)

    def pytest(self, files: tuple[str, ...], limit_s: float | None, *options: str) -> Ran:
        """Run test files, in this order."""
        report = self.scratch / REPORT
        report.unlink(missing_ok=True)
        # The same examples each time: what is caught is caught again.
        told = ("-q", "--hypothesis-profile=ci", f"--junitxml={report}", "-ojunit_family=xunit1")
        command = [sys.executable, "-m", "pytest", *told, *options, *files]
        environment = os.environ | {
            "PYTHONPATH": str(self.root),
            "PYTHONDONTWRITEBYTECODE": "1" if limit_s else "",
            "TMPDIR": str(self.scratch),
        }
        with (self.scratch / "output.txt").open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=self.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            code, cpu_s = _ended(process, limit_s)
        return Ran(code, *_told(report), cpu_s)


@contextmanager
def overlay(root: Path) -> Iterator[Overlay]:
    """A copy of the tree without what set-up and runs leave behind; gone afterwards."""
    with TemporaryDirectory(prefix="kraftcheck-mutation-") as folder:
        made = Overlay(Path(folder, "tree"), Path(folder, "scratch"))
        made.scratch.mkdir()
        ignore = shutil.ignore_patterns(*UNTRACKED, ".git")
        shutil.copytree(root, made.root, symlinks=True, ignore=ignore)
        yield made


def _ended(process: subprocess.Popen[bytes], limit_s: float | None) -> tuple[int | None, float]:
    begin, late = monotonic(), False
    # wait4 and not wait: it tells what the process and its own have cost.
    while not (ended := os.wait4(process.pid, 0 if late else os.WNOHANG))[0]:
        if limit_s is not None and monotonic() - begin > limit_s:
            _end_session(process.pid)
            late = True
        sleep(POLL_S)
    # What it has started and left behind.
    _end_session(process.pid)
    _, status, usage = ended
    process.returncode = os.waitstatus_to_exitcode(status)
    return None if late else process.returncode, usage.ru_utime + usage.ru_stime


def _end_session(leader: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _told(report: Path) -> tuple[str, dict[str, float]]:
    """The first test that failed, and the seconds of each file."""
    try:
        cases = list(ElementTree.parse(report).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        # Stopped before it was written.
        return "", {}
    failed = ""
    seconds: dict[str, float] = {}
    for case in cases:
        file = case.get("file", "")
        seconds[file] = seconds.get(file, 0.0) + float(case.get("time", "0"))
        if not failed and (case.find("failure") is not None or case.find("error") is not None):
            failed = f"{file}::{case.get('name')}" if file else str(case.get("name"))
    return failed, seconds
