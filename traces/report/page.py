"""The page: evidence and figures through one template, into one file.

The page needs nothing beside itself: styles and figures stand in it, no script runs, nothing is
fetched. Apart from the seconds that its artifacts state, the same folder gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from kraftcheck.traces.report import figures, html
from kraftcheck.traces.report.evidence import Evidence, ReportError, read_evidence
from kraftcheck.traces.report.figures import NEVER, Bar

REPORT: Final = "report.html"
TEMPLATE: Final = "page.html.j2"
STYLE: Final = "history.css"

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
    return html.write_page(out or directory / REPORT, render(read_evidence(directory)))


def render(evidence: Evidence) -> str:
    """The page as text. Raises ReportError for a summary in which something is missing."""
    # Late: only who draws waits for it.
    from jinja2 import TemplateError

    summary = evidence.summary
    try:
        return html.render(
            TEMPLATE,
            {"seconds": seconds},
            evidence=evidence,
            summary=summary,
            meaning=MEANING[evidence.verdict],
            never=[action for action, taken in summary["actions"].items() if not taken],
            coverage=_coverage(summary["actions"]),
            faults=_faults(summary),
            # The style sheet and the figure are our own, and the only texts that are not escaped.
            style=Markup(html.asset(STYLE)),
            curve=Markup(figures.steps_curve(summary["distinct_steps"]["curve"])),
        )
    except (KeyError, TypeError, ValueError, TemplateError) as error:
        raise ReportError(f"the summary is not what a judged trace leaves: {error!r}") from None


def _coverage(actions: Mapping[str, int]) -> list[Bar]:
    total = sum(actions.values()) or 1
    most = max(actions.values(), default=0) or 1
    return [
        Bar(action, taken / most, f"{html.count(taken)} ({taken / total:.1%})" if taken else NEVER)
        for action, taken in actions.items()
    ]


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


def _faults(summary: Mapping[str, Any]) -> list[Bar]:
    runs, statistics = summary["runs"], summary["faults"]
    found = []
    for name, words in FAULTS.items():
        had, total = statistics[name]["runs"], statistics[name]["total"]
        share = had / runs
        said = f"{share:.0%} of runs, {html.count(total)} in all" if total else NEVER
        found.append(Bar(words, share, said))
    return found


def seconds(number: float | None) -> str:
    if number is None:
        return html.NONE
    return f"{number:.1f} s" if number < 120 else f"{number / 60:.1f} min"
