"""The page about a campaign, made from `findings.json`, and `graphs.json` if that is there.

Law of this file: nothing is judged anew, nothing that the findings count against the campaign is
left out, and the same findings give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
from markupsafe import Markup

from kraftcheck.osutil.files import read_bytes
from kraftcheck.reference.clients.promises import Level
from kraftcheck.traces.history import History
from kraftcheck.traces.report import figures, html
from kraftcheck.traces.report.evidence import ReportError, read_sealed
from kraftcheck.traces.report.graphs import GRAPHS, growth_curve, read_graphs
from kraftcheck.traces.report.history_timeline import BAR, ROW, WIDTH, timeline

FINDINGS: Final = "findings.json"
FINDINGS_VERSION: Final = 2
REPORT: Final = "report.html"
TEMPLATE: Final = "campaign.html.j2"
STYLE: Final = "history.css"

MISSING: Final = (KeyError, TypeError, ValueError, msgspec.ValidationError)
"""What is raised where findings lack something."""

LEVELS: Final = tuple(level.name.lower().replace("_", "-") for level in Level)
MEANING: Final = {
    "holds": "every step is allowed by the specification, every invariant held, and every log kept "
    "what was promised to its clients",
    "violated": "something is not as the specification, an invariant or a promise demands",
    "unknown": "nothing was found to be wrong, but not everything could be judged",
}


def read_findings(path: Path) -> dict[str, Any]:
    """Raises ReportError: there are none, or they are damaged or of another version."""
    try:
        return read_sealed(path, "findings", FINDINGS_VERSION)
    except FileNotFoundError:
        raise ReportError(f"{path}: no such file: the campaign is not finished") from None


def write_campaign_report(directory: Path) -> Path:
    """Makes the page beside the findings; returns its path. Raises ReportError."""
    found = read_findings(directory / FINDINGS)
    seen = read_graphs(directory / GRAPHS, read_bytes(directory / FINDINGS))
    return html.write_page(directory / REPORT, render_campaign(found, seen))


def render_campaign(found: Mapping[str, Any], graphs: Mapping[str, Any] | None = None) -> str:
    """The page as text; graphs: by configuration, what was seen of bounded graphs.

    Raises ReportError for findings in which something is missing.
    """
    # Late: only who draws waits for it.
    from jinja2 import TemplateError

    try:
        return html.render(
            TEMPLATE,
            {"quantity": figures.quantity, "share": _share},
            found=found,
            graphs=graphs or {},
            meaning=MEANING[found["verdict"]],
            held=_held,
            matrix=_matrix,
            beside=_beside(found["configurations"]),
            timelines=_timelines,
            size={"width": WIDTH, "row": ROW, "bar": BAR},
            # The style sheet and the figures are our own, and the only texts that are not escaped.
            style=Markup(html.asset(STYLE)),
            histogram=lambda each: Markup(figures.histogram(each, each["unit"])),
            growth_curve=lambda each: Markup(growth_curve(each)),
            steps_curve=lambda each: Markup(figures.steps_curve(_distinct(each)["curve"])),
            coverage_curve=lambda each: Markup(_coverage_curve(each)),
        )
    except (*MISSING, TemplateError) as error:
        raise ReportError(f"the findings are not what a campaign leaves: {error!r}") from None


def _share(number: float | None) -> str:
    """A probability in words: 0.26 as 26 %, 1.2e-07 as 1.2e-05 %."""
    if number is None:
        return html.NONE
    return f"{100 * number:.3g} %"


def _matrix(levels: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each promised level: how many logs held each level, and what came of it."""
    rows: dict[str, dict[str, Any]] = {}
    for each in levels:
        row = rows.setdefault(each["promised"], {"held": {}, "logs": 0, "violated": 0, "open": 0})
        row["held"][each["held"]] = row["held"].get(each["held"], 0) + each["logs"]
        row["logs"] += each["logs"]
        row["violated"] += each["logs"] if each["verdict"] == "violated" else 0
        row["open"] += each["logs"] if each["verdict"] == "unknown" else 0
    return [{"promised": promised, **row} for promised, row in rows.items()]


def _held(levels: list[dict[str, Any]]) -> list[str]:
    """The levels that any log held, weakest first."""
    found = {each["held"] for each in levels}
    return [level for level in LEVELS if level in found]


def _beside(configurations: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows that lay configurations beside each other: shares of logs, and distributions."""
    rows: list[dict[str, Any]] = []

    def enter(what: str, told: Callable[[Mapping[str, Any]], str]) -> None:
        rows.append({"what": what, "said": [told(each) for each in configurations]})

    enter("logs promised nothing", lambda each: _of_logs(each["unpromised_logs"], each))
    for level in _held([row for each in configurations for row in each["levels"]]):
        enter(f"held {level}", partial(_logs, "levels", "held", level))
    names = [row["name"] for each in configurations for row in each["anomalies"]]
    for name in dict.fromkeys(names):
        enter(f"logs with {name}", partial(_logs, "anomalies", "name", name))
    words = {row["name"]: row["words"] for each in configurations for row in each["distributions"]}
    for name, said in words.items():
        enter(f"{said}: p50, p99, most", partial(_quantiles, name))
    return rows


def _of_logs(count: int, each: Mapping[str, Any]) -> str:
    return f"{count / each['logs']:.1%}" if each["logs"] else html.NONE


def _logs(table: str, column: str, value: str, each: Mapping[str, Any]) -> str:
    """The share of the logs that rows of a table with this value count."""
    return _of_logs(sum(row["logs"] for row in each[table] if row[column] == value), each)


def _quantiles(name: str, each: Mapping[str, Any]) -> str:
    own = next((row for row in each["distributions"] if row["name"] == name), None)
    if own is None:
        return "0"
    return ", ".join(figures.quantity(own[at], own["unit"]) for at in ("p50", "p99", "most"))


def _timelines(configuration: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each log that breaks its promise and is shown, once for the same operations."""
    witnesses = list(configuration["histories"]["smallest"])
    witnesses += [each["smallest"] for each in configuration["anomalies"] if each["forbidden"]]
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for each in witnesses:
        name = (each["run"], each["partition"], *each["named"])
        if each["history"] is None or name in found:
            continue
        history = msgspec.convert(each["history"], History)
        drawn = timeline(history, each["named"], each["key"])
        found[name] = {**each, "timeline": drawn}
    return list(found.values())


def _distinct(configuration: Mapping[str, Any]) -> Any:
    return configuration["conformance"]["distinct"]


def _coverage_curve(configuration: Mapping[str, Any]) -> str:
    growth = configuration["coverage"]["growth"]
    kinds = ("action", "ignored", "error", "effect")
    return figures.curves({kind: [(row["runs"], row[kind]) for row in growth] for kind in kinds})
