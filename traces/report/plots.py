"""Figures as SVG text that can stand in a page.

Law of this file: the same numbers give the same bytes. Ids come from a fixed salt, no date is
written, and text stays text, so that it can be read, searched and scaled.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

INK, MUTED, BAR, NONE, GRID = "#1f2328", "#59636e", "#3a6ea5", "#c4392f", "#d8dee4"
_WIDTH = 7.0
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
}


def curve(points: Sequence[Sequence[int]]) -> str:
    """Distinct steps against runs: [runs, distinct] in ascending order."""
    with rc_context(_SETTINGS):
        figure, axes = _figure(3.0)
        runs, distinct = zip(*points, strict=True)
        axes.plot(runs, distinct, color=BAR, linewidth=2, marker="o", markersize=3)
        axes.set_xlabel("runs")
        axes.set_ylabel("distinct steps")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.grid(color=GRID, linewidth=0.7)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(5, integer=True))
            axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        return _svg(figure, "curve")


def bars(name: str, values: Sequence[tuple[str, float, str]], axis: str) -> str:
    """Horizontal bars, the first on top: (label, length, what is written at its end).

    axis: what their length is.

    A bar without length is named in red: something that never happened.
    """
    with rc_context(_SETTINGS):
        figure, axes = _figure(0.24 * len(values) + 0.5)
        labels = [label for label, _, _ in values]
        lengths = [length for _, length, _ in values]
        places = range(len(values))
        axes.barh(places, lengths, color=BAR, height=0.68)
        longest = max(lengths, default=0) or 1
        axes.set_xlim(0, longest * 1.6)
        for place, (_, length, text) in zip(places, values, strict=True):
            axes.annotate(
                text,
                (length, place),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
                color=INK if length else NONE,
            )
        axes.set_yticks(places, labels)
        for tick, length in zip(axes.get_yticklabels(), lengths, strict=True):
            tick.set_color(INK if length else NONE)
        axes.invert_yaxis()
        axes.set_ylim(len(values) - 0.4, -0.6)
        axes.set_xticks([])
        axes.set_xlabel(axis, color=MUTED, fontsize=9)
        axes.spines["bottom"].set_visible(False)
        return _svg(figure, name)


def _figure(height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _svg(figure: Figure, name: str) -> str:
    """The figure's SVG element, without the XML prologue."""
    sink = io.StringIO()
    # A salt of its own for each figure: two on one page must not share ids.
    with rc_context({"svg.hashsalt": f"kraftcheck-{name}"}):
        figure.savefig(sink, format="svg", metadata={"Date": None, "Creator": None})
    text = sink.getvalue()
    return text[text.index("<svg") :].rstrip()
