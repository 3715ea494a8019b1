"""The option that writes expected output anew, and a word at the end of a run that used it."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite",
        action="store_true",
        default=False,
        help="write the expected output of tests/scenarios anew; read the diff before committing",
    )


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.getoption("rewrite", default=False):
        terminalreporter.write_line(
            "Expected output of tests/scenarios was rewritten: understand `git diff` first."
        )
