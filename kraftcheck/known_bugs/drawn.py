"""A counterexample of TLC as a picture, on the page that draws runs (traces/report/run.py).

A state of a reduced model stands for several steps: who asks, who answers, who takes the answer. So
each message that is told of a state (stories.py) has a dot of who sent it and one of who took it;
what a node became in that state stands at its last dot there.

Law of this file: nothing is guessed. A model without a teller does not say which message a step
took; its steps and messages are told in words, and no arrow is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from kraftcheck.known_bugs.stories import (
    Way,
    fresh_messages,
    heading,
    message,
    name_of,
    pairs,
    short,
)
from kraftcheck.traces.report.run import Arrow, Lane, Picture, Step
from tla_utils.output import State
from tla_utils.values import Function, Record

BESIDE = ("controller", "metadata")
"""Variables that hold the row of a node of their own."""
MODEL = "the model"
WITHOUT_ARROWS = "; which message a step took, the model does not say"


class _Dot(NamedTuple):
    """A step. state: an index. took: a message; None: what the heading of the state says."""

    state: int
    node: str
    took: Any
    sent: list[Any]


def picture(
    title: str, states: Sequence[State], ways: Sequence[Way] | None, lines: Sequence[str]
) -> Picture:
    """states: at least two. ways: how each was reached, where a teller says. lines: the whole in
    words; the last one says what is broken.
    """
    headings = [""] + [
        heading(before, state, ways[at] if ways else None)
        for at, (before, state) in enumerate(pairwise(states), 1)
    ]
    dots = [*(_told_dots(states, ways) if ways else _dots(states))]
    rows = [_rows(state) for state in states]
    nodes = [*rows[0], *(name for name in _ends(dots) if name not in rows[0])]
    lanes = {name: at for at, name in enumerate(nodes)}
    last = {(dot.state, dot.node): at for at, dot in enumerate(dots)}
    return Picture(
        title=title,
        drawn=f"TLC's counterexample, {len(states)} states{'' if ways else WITHOUT_ARROWS}",
        verdict="violated",
        found=lines[-1:],
        lanes=[Lane(name, "", rows[0].get(name, {})) for name in nodes],
        steps=[
            Step(
                number=at + 1,
                time=f"state {dot.state + 1} of TLC",
                lane=lanes[dot.node],
                action=headings[dot.state] if dot.took is None else str(dot.took["type"]),
                input=headings[dot.state] if dot.took is None else message(dot.took),
                sent=tuple(message(each) for each in dot.sent),
                ignored="",
                changed=_changed(rows, dot) if last[dot.state, dot.node] == at else {},
                said=tuple(lines[-1:]) if at == len(dots) - 1 else (),
            )
            for at, dot in enumerate(dots)
        ],
        arrows=[*_arrows(dots, lanes)] if ways else [],
        lines=lines,
    )


def _changed(rows: Sequence[Mapping[str, Mapping[str, str]]], dot: _Dot) -> dict[str, str]:
    before, after = (rows[at].get(dot.node, {}) for at in (dot.state - 1, dot.state))
    return {name: said for name, said in after.items() if before.get(name) != said}


# -- Who takes steps


def _dots(states: Sequence[State]) -> Iterator[_Dot]:
    """Of a model without a teller: a dot of each node that changed, or sent something."""
    for at in range(1, len(states)):
        sent = fresh_messages(states[at - 1], states[at])
        before, after = _rows(states[at - 1]), _rows(states[at])
        senders = [name_of(each["source"]) for each in sent if "source" in each]
        changed = [name for name in after if before.get(name) != after[name]]
        for name in dict.fromkeys([*changed, *senders]) or [next(iter(after))]:
            own = [each for each in sent if "source" in each and name_of(each["source"]) == name]
            yield _Dot(at, name, None, own)


def _told_dots(states: Sequence[State], ways: Sequence[Way]) -> Iterator[_Dot]:
    for at in range(1, len(states)):
        way = ways[at]
        told = [*way["messages"]]
        before, after = _rows(states[at - 1]), _rows(states[at])
        changed = [name for name in after if before.get(name) != after[name]]
        who = name_of(way["node"]) if way["what"] != "?" else ""
        if who not in after:
            who = changed[0] if changed else next(iter(after))
        later = [*ways[at + 1]["messages"]] if at + 1 < len(ways) else []
        dots: list[_Dot] = []
        if told and name_of(told[0]["destination"]) == who:
            # An answer that was on its way: its sender sent it in an earlier state.
            dots.append(_Dot(at, who, told.pop(0), []))
        else:
            dots.append(_Dot(at, who, None, []))
        for each in told:
            source, destination = name_of(each["source"]), name_of(each["destination"])
            mine = next((dot for dot in reversed(dots) if dot.node == source), None)
            if mine is None:
                dots.append(mine := _Dot(at, source, None, []))
            mine.sent.append(each)
            is_last = each is told[-1]
            if not (is_last and later and later[0] == each):
                dots.append(_Dot(at, destination, each, []))
        seen = {dot.node for dot in dots}
        yield from dots
        yield from (_Dot(at, name, None, []) for name in changed if name not in seen)


def _ends(dots: Sequence[_Dot]) -> dict[str, None]:
    """All who take a step, and all from or to whom a message is."""
    found: dict[str, None] = {}
    for dot in dots:
        found[dot.node] = None
        for each in (*dot.sent, *([dot.took] if dot.took is not None else [])):
            found |= {name_of(each[end]): None for end in ("source", "destination") if end in each}
    return found


def _arrows(dots: Sequence[_Dot], lanes: Mapping[str, int]) -> Iterator[Arrow]:
    waiting: dict[Any, list[int]] = {}
    for at, dot in enumerate(dots):
        if dot.took is not None:
            left = waiting[dot.took].pop(0) if waiting.get(dot.took) else None
            sender = lanes[name_of(dot.took["source"])]
            yield Arrow(message(dot.took), sender, lanes[dot.node], left, at)
        for each in dot.sent:
            waiting.setdefault(each, []).append(at)
    for each, left_over in waiting.items():
        ends = lanes[name_of(each["source"])], lanes[name_of(each["destination"])]
        yield from (Arrow(message(each), *ends, at, None) for at in left_over)


# -- What they are


def _rows(state: State) -> dict[str, dict[str, str]]:
    """By node the fields of its row, in words; in a model that has no rows by that name, all its
    variables, as those of one.
    """
    found = {name_of(node): dict(_fields("", row)) for node, row in pairs(state.values.get("rows"))}
    for name in BESIDE:
        if isinstance(state.values.get(name), Record):
            found[name] = dict(_fields("", state.values[name]))
    every = [field for name, value in state.values.items() for field in _fields(name, value)]
    return found or {MODEL: dict(every)}


def _fields(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Fields of records and of functions under the names of both; the rest as one value."""
    if isinstance(value, Record) and not {"value", "epoch"} <= {*value}:
        for name in value:
            yield from _fields(f"{path}.{name}" if path else name, value[name])
    elif isinstance(value, Function):
        for key, each in pairs(value):
            yield from _fields(f"{path}[{name_of(key)}]", each)
    else:
        yield path, short(value)
