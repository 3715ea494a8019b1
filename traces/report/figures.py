"""Small figures as SVG text, drawn here: bins of a distribution, and curves against runs.

Bars are drawn by a template (bars.html.j2).

They take their colours from the page's style sheet, so that they are readable in the dark too.

Law of this file: the same numbers give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import log10
from typing import Any, Final, NamedTuple

WIDTH, HEIGHT = 320, 120
LEFT, BOTTOM, TOP = 8, 20, 14
CURVE_WIDTH, CURVE_HEIGHT, CURVE_LEFT = 640, 220, 64
SHADES = ("s1", "s2", "s3", "s4")
NEVER: Final = "never"
"""At the end of a bar for what did not happen: it stands in red."""


class Bar(NamedTuple):
    label: str
    share: float
    """Of the longest."""
    said: str
    """What stands at its end."""


def count(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:,.2f}"


def quantity(number: float, unit: str) -> str:
    """A number with its unit, as people say it: 1500000 us is 1.5 s."""
    if unit != "us":
        return count(number)
    for size, word in ((1_000_000, "s"), (1000, "ms")):
        if number >= size:
            return f"{number / size:.3g} {word}"
    return f"{number} us"


def histogram(distribution: Mapping[str, Any], unit: str) -> str:
    """The bins of a distribution (traces/jobs/findings.py); zero has a bar of its own."""
    bins = [(quantity(low, unit), number) for low, _, number in distribution["bins"]]
    if distribution["zero"]:
        bins.insert(0, ("0", distribution["zero"]))
    most = max((number for _, number in bins), default=1)
    step = (WIDTH - 2 * LEFT) / max(len(bins), 1)
    every = max(1, -(-len(bins) // 6))
    parts = []
    for place, (label, number) in enumerate(bins):
        height = (HEIGHT - BOTTOM - TOP) * number / most
        x, y = LEFT + place * step, HEIGHT - BOTTOM - height
        said = escape(f"from {label}: {count(number)}")
        parts.append(
            f'<rect class="s1" x="{x:.1f}" y="{y:.1f}" width="{max(step - 2, 1):.1f}" '
            f'height="{height:.1f}"><title>{said}</title></rect>'
        )
        if place % every == 0:
            parts.append(
                f'<text x="{x + step / 2:.1f}" y="{HEIGHT - 6}" class="tick">{escape(label)}</text>'
            )
    words = escape(f"{len(bins)} bins, the fullest with {count(most)}")
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{words}">'
        f'<text x="{LEFT}" y="10" class="tick start">{count(most)}</text>{"".join(parts)}</svg>'
    )


def curves(series: Mapping[str, Sequence[tuple[int, int]]]) -> str:
    """Lines of (runs, how many), runs on a logarithmic scale; at most as many as SHADES."""
    points = [point for line in series.values() for point in line]
    if not points:
        return ""
    last = max(runs for runs, _ in points)
    most = max(max(number for _, number in points), 1)
    wide = max(log10(max(last, 2)), 0.1)
    inner_width = CURVE_WIDTH - CURVE_LEFT - 16
    inner_height = CURVE_HEIGHT - BOTTOM - TOP

    def place(runs: int, number: int) -> str:
        x = CURVE_LEFT + inner_width * log10(max(runs, 1)) / wide
        return f"{x:.1f},{TOP + inner_height * (1 - number / most):.1f}"

    parts = []
    for power in range(int(wide) + 1):
        x = place(10**power, 0).partition(",")[0]
        parts.append(f'<text x="{x}" y="{CURVE_HEIGHT - 6}" class="tick">{10**power:,}</text>')
        parts.append(
            f'<line class="row" x1="{x}" x2="{x}" y1="{TOP}" y2="{CURVE_HEIGHT - BOTTOM}"/>'
        )
    for share in (0, 0.5, 1):
        y = TOP + inner_height * (1 - share)
        label = f"{round(most * share):,}"
        parts.append(f'<text x="{CURVE_LEFT - 6}" y="{y + 4:.1f}" class="tick end">{label}</text>')
    for shade, line in zip(SHADES, series.values(), strict=False):
        drawn = " ".join(place(*point) for point in line)
        parts.append(f'<polyline class="line {shade}" points="{drawn}"/>')
    words = escape("curves of " + ", ".join(series))
    return (
        f'<svg class="wide" viewBox="0 0 {CURVE_WIDTH} {CURVE_HEIGHT}" role="img" '
        f'aria-label="{words}">{"".join(parts)}</svg>'
    )


def steps_curve(curve: Sequence[tuple[int, int]]) -> str:
    """How many distinct steps so many runs have: is there more to find?"""
    return curves({"distinct steps": [(runs, number) for runs, number in curve]})
