"""`make answers`: what answers.py and projections.py keep."""

from __future__ import annotations

import os
import sys

import pytest

from tests.specs import answers, projections


class _Keeping:
    """What TLC said is kept after each test: whoever is stopped goes on from there."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            answers.store(answers.kept() | answers.asked)
            answers.store(projections.kept() | projections.asked, projections.KEPT)


def main(*words: str) -> int:
    """Run the tests that ask; the exit code is pytest's."""
    if "--again" in words:
        os.environ[answers.AGAIN] = "1"
    code = pytest.main(["-n0", "-q", "-m", "tlc", str(answers.HERE)], [_Keeping()])
    if code == pytest.ExitCode.OK:
        answers.store(answers.asked)
        answers.store(projections.asked, projections.KEPT)
    return int(code)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
