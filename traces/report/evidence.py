"""What the artifacts in a folder say, arranged for a reader.

    summary.json    a judged trace (traces/jobs/summary.py)
    specs.json      checked models, if there were any: `models`, a list of {name, module, tier,
                    expect, verdict, property, distinct, depth, seconds, matches}

Laws of this file: nothing is judged anew, and nothing is left out that an artifact counts against
the trace. The page's verdict is the worst of what they say, where violated is worse than unknown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from kraftcheck.traces.sealed import DocumentError, read_document

SUMMARY: Final = "summary.json"
SPECS: Final = "specs.json"
SUMMARY_VERSION: Final = 1
SPECS_VERSION: Final = 1
WITNESSES: Final = 3
"""How many witnesses are shown of each kind of rejected step."""

T = TypeVar("T")
_WORST: Final = ("violated", "unknown", "holds")


class ReportError(Exception):
    """No report can be made. The text is one line, with the file in it."""


class Pattern(NamedTuple):
    """A cause: rejected steps that differ from the spec in the same places."""

    places: tuple[str, ...]
    actions: Mapping[str, int]
    """How many such steps each has, the most first."""
    distinct: int
    """Of all of them."""
    taken: int
    """How often runs took one."""
    witnesses: list[Mapping[str, Any]]
    """The earliest of them."""


class Model(NamedTuple):
    """A checked model; `as_expected` is whether its verdict (and property) is the one expected."""

    name: str
    module: str
    tier: str
    expect: str
    verdict: str
    property: str
    distinct: int | None
    depth: int | None
    seconds: float | None
    as_expected: bool


class Evidence(NamedTuple):
    summary: dict[str, Any]
    models: list[Model]
    patterns: list[Pattern]
    unexplained: list[Mapping[str, Any]]
    """Rejected steps that are listed without an explanation."""
    verdict: str
    reasons: list[str]


def read_evidence(directory: Path) -> Evidence:
    """The artifacts of a folder.

    Raises ReportError: there is no summary, or an artifact is damaged or of another version.
    """
    path = directory / SUMMARY
    summary = _read(path, "summary", SUMMARY_VERSION)
    if summary is None:
        raise ReportError(f"{path}: no such file: judge the trace first (kraftcheck conform)")
    checked = _read(directory / SPECS, "specs", SPECS_VERSION) or {"models": []}
    if not isinstance(checked.get("models"), list):
        raise ReportError(f"{directory / SPECS}: damaged: it has no list of models")
    models = [_model(directory / SPECS, entry) for entry in checked["models"]]
    try:
        verdict, reasons = _verdict(summary, models)
        patterns = patterns_of(summary["rejections"])
        unexplained = [each for each in summary["rejections"] if "differences" not in each]
    except (KeyError, TypeError) as error:
        raise ReportError(f"{path}: not what a judged trace leaves: {error!r}") from None
    return Evidence(summary, models, patterns, unexplained, verdict, reasons)


def _read(path: Path, what: str, version: int) -> dict[str, Any] | None:
    """The content, or None where there is no such file."""
    try:
        return read_sealed(path, what, version)
    except FileNotFoundError:
        return None


def read_sealed(path: Path, what: str, version: int) -> dict[str, Any]:
    """A sealed document. Raises FileNotFoundError; ReportError: damaged, or of another version."""
    try:
        return read_document(path, dict[str, Any], what, version)
    except DocumentError as error:
        raise ReportError(str(error)) from None


def _model(path: Path, entry: Any) -> Model:
    if not isinstance(entry, dict) or not {"name", "expect", "verdict"} <= set(entry):
        raise ReportError(f"{path}: an entry without name, expect and verdict")
    values: dict[str, Any] = {name: entry.get(name) for name in Model._fields[:-1]}
    for name in ("name", "module", "tier", "expect", "verdict", "property"):
        values[name] = str(values[name] or "")
    # Whoever checked the models may know better: the property and the counts count as well.
    as_expected = entry.get("matches", values["verdict"] == values["expect"])
    return Model(**values, as_expected=bool(as_expected))


def _verdict(summary: Mapping[str, Any], models: Sequence[Model]) -> tuple[str, list[str]]:
    """The worst of the trace's verdict and the models' agreement with what is expected of them."""
    verdicts, reasons = [summary["verdict"]], list(summary["reasons"])
    for model in models:
        if not model.as_expected:
            verdicts.append("unknown" if model.verdict == "unknown" else "violated")
        # The command line has said so already if it has merged the models into the summary.
        if not model.as_expected and "spec" not in summary.get("parts", {}):
            reasons.append(
                f"model {model.name}: expected {model.expect}, TLC says {model.verdict}"
                + (f" ({model.property})" if model.property else "")
            )
    return min(verdicts, key=_WORST.index), reasons


def patterns_of(rejections: Sequence[Mapping[str, Any]]) -> list[Pattern]:
    """Explained rejected steps, grouped by where they differ.

    The kind that the first run shows first stands first: later ones are often what comes of it.
    """
    explained = [each for each in rejections if each.get("differences")]
    ordered = sorted(explained, key=lambda each: (each["run"], each["step"]))
    return [
        Pattern(
            places,
            dict(Counter(each["action"] for each in group).most_common()),
            len(group),
            sum(each["count"] for each in group),
            group[:WITNESSES],
        )
        for places, group in grouped(ordered, lambda each: each["differences"])
    ]


def grouped(
    items: Iterable[T], differences_of: Callable[[T], Sequence[str]]
) -> list[tuple[tuple[str, ...], list[T]]]:
    """Items of one cause together, in the order in which causes are first met."""
    groups: dict[tuple[str, ...], list[T]] = {}
    for item in items:
        groups.setdefault(places_of(differences_of(item)), []).append(item)
    return [*groups.items()]


def places_of(differences: Sequence[str]) -> tuple[str, ...]:
    """Where a rejected step differs from what the spec allows, without what stands there."""
    return tuple(dict.fromkeys(_place(line) for line in differences))


def _place(line: str) -> str:
    """`after.flushed: recorded 0, spec allows {1}` differs at `after.flushed`."""
    head = re.split(r": recorded |\bevaluation error", line)[0]
    # An element of a set is told by its whole content, a position in a log by its number.
    head = head.split(" element ")[0]
    return re.sub(r"\[\d+\]", "[]", head)[:120]
