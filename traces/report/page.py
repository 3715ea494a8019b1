"""The page: evidence and figures through one template, into one file.

The page needs nothing beside itself: styles and figures stand in it, no script runs, nothing is
fetched. Apart from the seconds that its artifacts state, the same folder gives the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, TemplateError
from markupsafe import Markup

from traces.report import plots
from traces.report.evidence import Evidence, ReportError, read_evidence

REPORT: Final = "report.html"
TEMPLATE: Final = "page.html.j2"

# What each verdict means, in the words of the page's first line.
MEANING: Final = {
    "holds": "every recorded step is allowed by the specification, and nothing else was found",
    "violated": "something is not as the specification or the core demands",
    "unknown": "nothing was found to be wrong, but not everything could be judged",
}


def write_report(directory: Path, out: Path | None = None) -> Path:
    """Makes the page about a folder; returns its path (`<directory>/report.html` by default).

    Raises ReportError: artifacts are missing or damaged, or the page cannot be written.
    """
    path = out or directory / REPORT
    text = render(read_evidence(directory))
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise ReportError(f"{error.filename or path}: {error.strerror}") from None
    return path


def render(evidence: Evidence) -> str:
    """The page as text. Raises ReportError for a summary in which something is missing."""
    environment = Environment(
        loader=PackageLoader("traces.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["count"] = count
    environment.filters["seconds"] = seconds
    summary = evidence.summary
    try:
        return environment.get_template(TEMPLATE).render(
            evidence=evidence,
            summary=summary,
            meaning=MEANING[evidence.verdict],
            never=[action for action, taken in summary["actions"].items() if not taken],
            # The figures are our own SVG, and the only text that is not escaped.
            curve=Markup(plots.curve(summary["distinct_steps"]["curve"])),
            coverage=Markup(_coverage(summary["actions"])),
            faults=Markup(_faults(summary)),
        )
    except (KeyError, TypeError, ValueError, TemplateError) as error:
        raise ReportError(f"the summary is not what a judged trace leaves: {error!r}") from None


def _coverage(actions: Mapping[str, int]) -> str:
    total = sum(actions.values()) or 1
    values = [
        (action, float(taken), f"{count(taken)}  ({taken / total:.1%})" if taken else "never")
        for action, taken in actions.items()
    ]
    return plots.bars("coverage", values, "recorded steps")


# The statistics that are faults or what they lead to, in the order of the page.
FAULTS: Final = {
    "lost": "messages lost by chance",
    "blocked": "messages lost to a partition",
    "undelivered": "messages to a node that was down",
    "duplicated": "messages delivered twice",
    "held": "messages overtaken",
    "partitions": "network partitions",
    "crashes": "crashes",
    "lossy_crashes": "crashes that lost records",
    "resignations": "leaders asked to resign",
    "leader_changes": "changes of leader",
    "truncations": "logs cut",
}


def _faults(summary: Mapping[str, Any]) -> str:
    runs, statistics = summary["runs"], summary["faults"]
    values = []
    for name, words in FAULTS.items():
        had, total = statistics[name]["runs"], statistics[name]["total"]
        share = had / runs
        written = f"{share:.0%} of runs, {count(total)} in all" if total else "never"
        values.append((words, share, written))
    return plots.bars("faults", values, "share of runs")


def count(number: float | None) -> str:
    """12345 as 12,345; nothing as a dash."""
    return "–" if number is None else f"{number:,}"  # noqa: RUF001


def seconds(number: float | None) -> str:
    if number is None:
        return "–"  # noqa: RUF001
    return f"{number:.1f} s" if number < 120 else f"{number / 60:.1f} min"
