"""What a function of the API returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any, Literal, NoReturn, TypeAlias, cast

from kraftcheck import exits
from kraftcheck.api.found import Anomaly, anomalies, evidence

Verdict: TypeAlias = Literal["holds", "violated", "unknown"]
COLOURS = {"holds": "#1a7f37", "violated": "#cf222e", "unknown": "#9a6700"}
LISTED = 10
"""Sentences of evidence that a notebook shows."""


@dataclass(frozen=True)
class Report:
    """The verdict of one verb, with what it rests on.

    >>> report = Report("simulate", 1, ({"reasons": ["invariant ElectionSafety was violated"]},))
    >>> report.verdict, report.holds, report.exit_code
    ('violated', False, 1)
    >>> report.evidence
    ('invariant ElectionSafety was violated',)
    """

    verb: str
    """Of the command line: `kraftcheck VERB` says the same."""
    exit_code: int
    """Of the command line: 0 holds, 1 violated, 2 unknown."""
    documents: tuple[Mapping[str, Any], ...]
    """What `--json` prints: one document, or of `check` one for each history."""
    lines: tuple[str, ...] = field(default=(), repr=False)
    """What the command line prints."""

    @cached_property
    def anomalies(self) -> tuple[Anomaly, ...]:
        """What happened, allowed or not."""
        return anomalies(self.verb, self.documents)

    @cached_property
    def evidence(self) -> tuple[str, ...]:
        """In sentences, why the verdict is not `holds`: of each history the smallest evidence."""
        return evidence(self.verb, self.documents)

    @property
    def verdict(self) -> Verdict:
        """`holds`, `violated`, or `unknown`: a bound or a time limit was reached."""
        return cast(Verdict, exits.VERDICTS[self.exit_code])

    @property
    def holds(self) -> bool:
        """Whether the verdict is `holds`. Unknown is not: `assert report.holds`."""
        return self.exit_code == exits.HOLDS

    def to_dict(self) -> dict[str, Any]:
        """What `--json` prints, as one object; several documents stand under `documents`."""
        if len(self.documents) == 1:
            return dict(self.documents[0])
        return {"verdict": self.verdict, "documents": [dict(each) for each in self.documents]}

    def __bool__(self) -> NoReturn:
        raise TypeError("a Report has three verdicts: ask report.holds, or report.verdict")

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        """For a notebook: the verdict, the evidence, and a table of anomalies."""
        colour = COLOURS[self.verdict]
        said = [
            f'<p><b>{escape(self.verb)}: <span style="color:{colour}">{self.verdict}</span></b>'
        ]
        said += [f"<br>{escape(each)}" for each in self.evidence[:LISTED]]
        if left := len(self.evidence) - LISTED:
            said += [f"<br>and {left:,} more"] if left > 0 else []
        return "".join([*said, "</p>", *_table(self.anomalies)])


def _table(happened: Sequence[Anomaly]) -> Iterator[str]:
    if not happened:
        return
    yield "<table><tr><th>anomaly</th><th>times</th><th>allowed</th><th>why</th></tr>"
    for each in happened:
        cells = (each.name, f"{each.count:,}", "yes" if each.allowed else "no", each.reason)
        yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
    yield "</table>"
