"""Reports a verb to a CI server: JUnit XML, annotations and a summary, from its Report.

The JUnit file says that there is no verdict until there is one. So a verb that is killed leaves an
error behind, not the file of an earlier run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from kraftcheck import artifacts, exits
from kraftcheck.api import github as actions, junit as xml
from kraftcheck.api.cases import Case, cases, failed
from kraftcheck.api.report import Report
from kraftcheck.screen import Screen


def reported(
    verb: str, junit: Path | None, github: bool, screen: Screen, work: Callable[[], int]
) -> int:
    """Run a verb and report it.

    Args:
        verb: by its name on the command line.
        junit: the file to write; None: none.
        github: whether to annotate, and to add to the step's summary.
        work: runs the verb on the screen and returns its exit code.

    Raises:
        OSError: a file cannot be written.
    """
    _write(junit, xml.document(verb, failed(verb, "it ended before there was a verdict")))
    screen.keeps = True
    try:
        code = work()
    except Exception as error:
        _tell(verb, failed(verb, _reason(error)), (), junit, github)
        raise
    report = Report(verb, code, tuple(screen.documents), tuple(screen.lines))
    found = cases(report) if code in exits.VERDICTS else failed(verb, f"exit code {code}")
    _tell(verb, found, report.lines, junit, github)
    return code


def _tell(
    verb: str, found: Sequence[Case], lines: Sequence[str], junit: Path | None, github: bool
) -> None:
    _write(junit, xml.document(verb, found, lines))
    if github:
        for line in actions.annotated(verb, found):
            click.echo(line, err=True)
        if place := os.environ.get(actions.SUMMARY):
            with open(place, "a", encoding="utf-8") as file:
                file.write(actions.summary(verb, found))


def _reason(error: Exception) -> str:
    if isinstance(error, click.ClickException):
        return error.format_message()
    return exits.bad_input_in(error) or f"{type(error).__name__}: {error}"


def _write(place: Path | None, data: bytes) -> None:
    if place is not None:
        artifacts.write_whole(place, data)
