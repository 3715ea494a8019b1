"""A copy of the tree, in which a mutant stands and its tests run. The checkout is never touched.

A run of pytest has a session of its own, so that whatever it has started ends with it.
"""

from __future__ import annotations

import importlib.util
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Final, NamedTuple

from tests.mutation.marking import mark
from tests.mutation.mutants import Mutant
from tests.quality.tidy import UNTRACKED

POLL_S: Final = 0.02
REPORT: Final = "report.xml"
BUSY: Final = 6
"""A processor that others use as well takes so many times as long."""
RECORDING: Final = Path(__file__).with_name("recording")


class Calls(NamedTuple):
    """seconds: of each test. of: by function, the tests that call it; "" stands for all of them."""

    seconds: dict[str, float]
    of: dict[str, set[str]]


class Ran(NamedTuple):
    """code: of pytest; None if it was stopped at its time limit. failed: the first test that did;
    "" if none did, or if none began. cpu_s: with all it started.
    """

    code: int | None
    failed: str
    cpu_s: float

    @property
    def killed_by_others(self) -> bool:
        """Ctrl-C, or a machine without memory: it says nothing of the tests."""
        return self.code in (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT)


class Overlay(NamedTuple):
    """root: the copy. scratch: for temporary files, beside it. passed: tests, alone."""

    root: Path
    scratch: Path
    passed: set[str]

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

    def pytest(self, tests: Iterable[str], limit_s: float | None = None) -> Ran:
        """Run tests, in this order, until one fails. limit_s: of its processor."""
        return self._pytest(("-x", *tests), limit_s)

    def passes(self, test: str) -> bool:
        """Alone, without a mutation."""
        if test not in self.passed and self.pytest((test,)).code == 0:
            self.passed.add(test)
        return test in self.passed

    def recorded(self, file: str, paths: Iterable[str]) -> tuple[Ran, Calls]:
        """Run a test file, and see which functions of these modules each test calls."""
        calls = self.scratch / "calls.txt"
        calls.write_text("")
        with ExitStack() as stack:
            for path in paths:
                stack.callback(mark(self.root, path).unlink)
            named = {"PYTHONPATH": f"{self.root}:{RECORDING}", "REACHED_TO": str(calls)}
            ran = self._pytest(("-p", "reached", file), None, named)
        found = Calls({}, {})
        for line in calls.read_text("utf-8").splitlines():
            test, _, said = line.rpartition("\t")
            if "::" in said:
                found.of.setdefault(said, set()).add(test)
            else:
                found.seconds[test] = found.seconds.get(test, 0.0) + float(said)
        return ran, found

    def _pytest(
        self, told: tuple[str, ...], limit_s: float | None, named: dict[str, str] | None = None
    ) -> Ran:
        report = self.scratch / REPORT
        report.unlink(missing_ok=True)
        # The same examples each time: what is caught is caught again.
        always = ("-q", "--hypothesis-profile=ci", f"--junitxml={report}", "-ojunit_family=xunit1")
        command = [sys.executable, "-m", "pytest", *always, *told]
        own = {"PYTHONPATH": str(self.root), "TMPDIR": str(self.scratch)}
        with (self.scratch / "output.txt").open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=self.root,
                env=os.environ | own | (named or {}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            code, cpu_s = _ended(process, limit_s)
        return Ran(code, _failed(report), cpu_s)


@contextmanager
def overlay(root: Path) -> Iterator[Overlay]:
    """A copy of the tree without what set-up and runs leave behind; gone afterwards."""
    with TemporaryDirectory(prefix="kraftcheck-mutation-") as folder:
        made = Overlay(Path(folder, "tree"), Path(folder, "scratch"), set())
        made.scratch.mkdir()
        ignore = shutil.ignore_patterns(*UNTRACKED, ".git")
        shutil.copytree(root, made.root, symlinks=True, ignore=ignore)
        yield made


def _ended(process: subprocess.Popen[bytes], limit_s: float | None) -> tuple[int | None, float]:
    begin, late = monotonic(), False
    if limit_s is not None:
        with suppress(ProcessLookupError):
            most = math.ceil(limit_s)
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (most, most + 1))
    # wait4 and not wait: it tells what the process and its own have cost.
    while not (ended := os.wait4(process.pid, 0 if late else os.WNOHANG))[0]:
        if limit_s is not None and monotonic() - begin > BUSY * limit_s:
            _end_session(process.pid)
            late = True
        sleep(POLL_S)
    # What it has started and left behind.
    _end_session(process.pid)
    _, status, usage = ended
    process.returncode = code = os.waitstatus_to_exitcode(status)
    late = late or code == -signal.SIGXCPU
    return None if late else code, usage.ru_utime + usage.ru_stime


def _end_session(leader: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _failed(report: Path) -> str:
    """The first test that did, or its file, if that could not be imported."""
    try:
        cases = list(ElementTree.parse(report).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        # Stopped before it was written.
        return ""
    for case in cases:
        if case.find("failure") is not None or case.find("error") is not None:
            file = case.get("file", "")
            named = f"{file}::{case.get('name')}" if file else str(case.get("name"))
            return named if case.get("classname") else file
    return ""
