"""GitHub Actions: an annotation for each case that does not hold, and a summary of the step.

Annotations are workflow commands on stderr, which the runner reads as it reads stdout: stdout keeps
the result alone. The summary is Markdown, appended to the file that GITHUB_STEP_SUMMARY names.

Source: GitHub's documentation, "Workflow commands for GitHub Actions"; a step may have ten
annotations of a kind and a summary of one MiB.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kraftcheck.api.cases import Case, counts

ACTIVE: Final = "GITHUB_ACTIONS"
"""The environment variable that is `true` in a workflow."""
SUMMARY: Final = "GITHUB_STEP_SUMMARY"
"""The environment variable with the file of the step's summary."""
COMMANDS: Final = {"violated": "error", "bad input": "error", "unknown": "warning"}
ANNOTATIONS_MAX: Final = 10
ROWS_MAX: Final = 200
CELL_MAX: Final = 300


def annotated(verb: str, found: Sequence[Case]) -> Iterator[str]:
    """A line for each case that does not hold."""
    wrong = [case for case in found if case.verdict in COMMANDS]
    for case in wrong[:ANNOTATIONS_MAX]:
        title = f"title={_property(f'kraftcheck {verb}: {case.verdict}')}"
        place = f"file={_property(case.file)}," if case.file else ""
        place += f"line={case.line}," if case.file and case.line else ""
        said = case.evidence[0] if case.evidence else case.name
        yield f"::{COMMANDS[case.verdict]} {place}{title}::{_data(said)}"


def summary(verb: str, found: Sequence[Case]) -> str:
    """Markdown: the number of cases by verdict, and a table of those that do not hold."""
    number = counts(found)
    said = ", ".join(f"{count:,} {verdict}" for verdict, count in number.items() if count)
    lines = [f"### kraftcheck {verb}: {said}", ""]
    if wrong := [case for case in found if case.verdict in COMMANDS]:
        lines += ["| case | verdict | why |", "|---|---|---|"]
        for case in wrong[:ROWS_MAX]:
            why = case.evidence[0] if case.evidence else ""
            lines.append(f"| {_cell(case.name)} | {case.verdict} | {_cell(why)} |")
        if len(wrong) > ROWS_MAX:
            lines += ["", f"and {len(wrong) - ROWS_MAX:,} more"]
        lines.append("")
    return "\n".join(lines) + "\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _cell(text: str) -> str:
    """Text that neither ends its cell nor becomes markup."""
    line = " ".join(text.split())
    line = line if len(line) <= CELL_MAX else f"{line[:CELL_MAX]}\N{HORIZONTAL ELLIPSIS}"
    for special in "\\`*_[]<>|":
        line = line.replace(special, f"\\{special}")
    return line
