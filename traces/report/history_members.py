"""Who had which partition of a consumer group, and when: a row for each, a bar for each time.

A bar ends where the callback that took the partition was over, or where the member left; it is open
at the end if nothing more was heard. Faults are behind it.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kraftcheck.traces.history import (
    ASSIGNED,
    CALLBACKS,
    LOST,
    MEMBER_OPERATIONS,
    REVOKED,
    History,
    Operation,
)
from kraftcheck.traces.report import history_words as words
from kraftcheck.traces.report.history_incident import LEFT, WIDTH

ROW: Final = 22
BAR: Final = 14
ROWS_MAX: Final = 32
BARS_MAX: Final = 4000
"""Of all rows: what is left out is counted."""
NAME_MAX: Final = 9
"""Characters of a partition's name beside its row."""
HUES: Final = 6
"""Colours of members, one after the other."""


class Bar(NamedTuple):
    x: float
    width: float
    hue: int
    """A number of a colour."""
    label: str
    """The process, empty where there is no room for it."""
    hint: str


class Row(NamedTuple):
    name: str
    short: str
    """The end of its name, as far as there is room."""
    y: float
    bars: tuple[Bar, ...]


class Ownership(NamedTuple):
    height: float
    """Of the drawing."""
    rows: tuple[Row, ...]
    faults: tuple[tuple[float, float], ...]
    """(x, width) of each."""
    left: int
    """How many bars are not drawn."""


class _Time(NamedTuple):
    """A member had a partition, until it was taken in the way `how`."""

    process: int
    begin: int
    end: int
    how: str


def ownership(history: History) -> Ownership | None:
    """None for a history in which nobody tells of a rebalance."""
    found = _times(history.operations)
    if not found:
        return None
    begin = history.operations[0].invoked
    end = max(o.completed or o.invoked for o in history.operations)
    across = (WIDTH - LEFT - 8) / max(1, end - begin)
    rows: list[Row] = []
    drawn = 0
    for place in sorted(found, key=str)[:ROWS_MAX]:
        times = found[place][: max(0, BARS_MAX - drawn)]
        drawn += len(times)
        bars = tuple(_bar(each, begin, across, history) for each in times)
        group, key = place
        several = len({each[0] for each in found}) > 1
        name = words.ends(key or "")
        name = f"{group} {name}" if several else name
        short = name if len(name) <= NAME_MAX else f"…{name[1 - NAME_MAX :]}"
        rows.append(Row(name, short, len(rows) * ROW, bars))
    faults = [each for each in history.annotations if each.kind == "fault"]
    return Ownership(
        height=len(rows) * ROW,
        rows=tuple(rows),
        faults=tuple(
            (
                round(LEFT + max(0, each.at - begin) * across, 1),
                round(max(1.5, (min(each.until or each.at, end) - each.at) * across), 1),
            )
            for each in faults
        ),
        left=sum(map(len, found.values())) - drawn,
    )


def _bar(time: _Time, begin: int, across: float, history: History) -> Bar:
    width = max(2.0, (time.end - time.begin) * across)
    label = str(time.process)
    hint = f"process {time.process} from {words.when(time.begin, history)}"
    hint += f" to {words.when(time.end, history)}: {time.how}"
    return Bar(
        x=round(LEFT + (time.begin - begin) * across, 1),
        width=round(width, 1),
        hue=time.process % HUES,
        label=label if width > 7 * len(label) + 4 else "",
        hint=hint,
    )


def _times(operations: tuple[Operation, ...]) -> dict[tuple[Any, str | None], list[_Time]]:
    found: dict[tuple[Any, str | None], list[_Time]] = {}
    have: dict[tuple[int, str | None], tuple[Any, int]] = {}
    last: dict[int, int] = {}

    def end(process: int, key: str | None, at: int, how: str) -> None:
        group, begin = have.pop((process, key))
        found.setdefault((group, key), []).append(_Time(process, begin, at, how))

    for each in operations:
        over = each.invoked if each.completed is None else each.completed
        last[each.process] = max(last.get(each.process, over), over)
        if each.f not in MEMBER_OPERATIONS and each.f != "crash":
            continue
        mine = [key for process, key in have if process == each.process]
        if each.f == ASSIGNED:
            for key in each.argument[1]:
                if key in mine:
                    end(each.process, key, each.invoked, "given again")
                have[each.process, key] = (each.argument[0], each.invoked)
        elif each.f in CALLBACKS:
            for key in set(each.argument[1]) & set(mine):
                at = over if each.f == REVOKED else each.invoked
                end(each.process, key, at, "lost" if each.f == LOST else "given up")
        elif each.f in ("leave", "crash"):
            for key in mine:
                end(each.process, key, each.invoked, "left")
    for process, key in list(have):
        end(process, key, last[process], "nothing more was heard")
    return {place: sorted(times, key=lambda t: t.begin) for place, times in found.items()}
