"""Draw the page about one run.

It has a lane for each node, steps from top to bottom, messages as arrows, and what each node is
after the step that is looked at.

Laws of this file: it is given words and numbers and knows no protocol; all of them are escaped, and
a policy in the page forbids any script but its own; nothing is fetched; what is left out is said.
The same picture gives the same bytes. Without its script the page has the drawing, and each step in
words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from kraftcheck.traces.report import html
from kraftcheck.traces.report.history_words import printable

TEMPLATE: Final = "run.html.j2"
ASSETS: Final = ("history.css", "run.css", "run.js")
STEPS_MAX: Final = 1500
"""So many steps are drawn."""
AFTER: Final = 30
"""So many of them after the first of which something is said."""
ROW, WORDS, LETTER = 22, 250, 7
"""Pixels: of a step; of its words, on the left; of a letter of a lane's name."""


class Lane(NamedTuple):
    """A node, or an address that is none."""

    name: str
    group: str
    """Those whose rows are shown together."""
    row: Mapping[str, str]
    """What the node was before its first step, by field."""


class Step(NamedTuple):
    number: int
    time: str
    lane: int
    """An index."""
    action: str
    input: str
    sent: tuple[str, ...]
    ignored: str
    changed: Mapping[str, str]
    """Fields that the step gave another value."""
    said: tuple[str, ...] = ()
    """What there is to say of it beside that; a step of which something is said is marked."""


class Arrow(NamedTuple):
    """A message. left, taken: indices of steps; None: it came from outside, it was not taken."""

    words: str
    sender: int
    receiver: int
    left: int | None
    taken: int | None


class Likelihood(NamedTuple):
    """The share of futures that fail, by prefix of the run (kraftcheck/explore/likelihood.py).

    Args:
        sentence: what it says. svg: the curve; ours, and not escaped. unit: of a prefix's length.
        rows: of each prefix its length, how many futures fail, the interval, its last move or step,
            and whether it is the decisive one.
    """

    sentence: str
    svg: Markup
    unit: str
    rows: Sequence[tuple[int, str, str, str, bool]]


class Picture(NamedTuple):
    """A run."""

    title: str
    drawn: str
    verdict: str
    """In words."""
    found: Sequence[str]
    """What is wrong with it, in sentences."""
    lanes: Sequence[Lane]
    steps: Sequence[Step]
    arrows: Sequence[Arrow]
    lines: Sequence[str]
    """The run as `replay` tells it."""
    likelihood: Likelihood | None = None


class Scale(NamedTuple):
    lane: int
    """The width of one, in pixels."""

    def x(self, lane: int) -> float:
        return WORDS + (lane + 0.5) * self.lane

    def y(self, step: int) -> float:
        return (step + 0.5) * ROW


def render(picture: Picture) -> str:
    """The page as text. Raises ValueError: a run without steps."""
    if not picture.steps:
        raise ValueError("the run has no step: there is nothing to draw")
    whole, picture = picture, _window(picture)
    style, own, script = [html.asset(name) for name in ASSETS]
    scale = Scale(LETTER * max(len(each.name) for each in picture.lanes) + 16)
    return html.render(
        TEMPLATE,
        picture=picture,
        left_out=len(whole.steps) - len(picture.steps),
        first=picture.steps[0].number,
        last=picture.steps[-1].number,
        lanes=[{"x": scale.x(at), "name": each.name} for at, each in enumerate(picture.lanes)],
        steps=[
            {"y": scale.y(at), "x": scale.x(each.lane), "marked": bool(each.said), "step": each}
            for at, each in enumerate(picture.steps)
        ],
        arrows=[_line(each, scale) for each in picture.arrows],
        width=WORDS + len(picture.lanes) * scale.lane,
        height=scale.y(len(picture.steps)),
        row=ROW,
        lines=[printable(each) for each in whole.lines],
        data=_data(picture),
        # Ours, the same on every page, and nothing of the run in them.
        style=Markup(style + own),
        **html.scripted(script),
    )


def _window(picture: Picture) -> Picture:
    """Of a long run the steps that lead to the first that is wrong, or the last ones.

    What goes before them is folded into the first rows.
    """
    marked = [at for at, step in enumerate(picture.steps) if step.said]
    end = min(len(picture.steps), marked[0] + AFTER) if marked else len(picture.steps)
    first = max(0, end - STEPS_MAX)
    if len(picture.steps) <= STEPS_MAX:
        return picture
    rows = [dict(lane.row) for lane in picture.lanes]
    for step in picture.steps[:first]:
        rows[step.lane].update(step.changed)
    arrows = [
        each._replace(
            left=None if each.left is None or each.left < first else each.left - first,
            taken=None if each.taken is None or each.taken >= end else each.taken - first,
        )
        for each in picture.arrows
        if any(at is not None and first <= at < end for at in (each.left, each.taken))
    ]
    return picture._replace(
        lanes=[lane._replace(row=row) for lane, row in zip(picture.lanes, rows, strict=True)],
        steps=picture.steps[first:end],
        arrows=arrows,
    )


def _line(arrow: Arrow, scale: Scale) -> dict[str, Any]:
    """From where to where.

    What was not taken ends on its way; what came from outside begins beside the step that took it.
    """
    left, taken = arrow.left, arrow.taken
    begin = taken if left is None else left
    assert begin is not None
    end = begin if taken is None else taken
    x1, y1 = scale.x(arrow.sender), scale.y(begin)
    x2, y2 = scale.x(arrow.receiver), scale.y(end)
    if taken is None:
        x2, y2 = x1 + (x2 - x1) * 0.35, y1 + ROW * 0.7
    return {
        "at": (x1, y1, x2, y2),
        "left": "" if left is None else left,
        "taken": "" if taken is None else taken,
        "lost": taken is None,
        "words": arrow.words,
    }


def _data(picture: Picture) -> Markup:
    """What the script shows of steps and rows. As JSON in which no mark-up can stand."""
    data = {
        "lanes": [
            {"name": each.name, "group": each.group, "row": dict(each.row)}
            for each in picture.lanes
        ],
        "steps": [
            {
                "number": each.number,
                "time": each.time,
                "lane": each.lane,
                "action": each.action,
                "input": printable(each.input),
                "sent": [printable(words) for words in each.sent],
                "ignored": printable(each.ignored),
                "changed": dict(each.changed),
                "said": [printable(words) for words in each.said],
            }
            for each in picture.steps
        ],
    }
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
