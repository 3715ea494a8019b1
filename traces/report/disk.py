"""Draw the page about brokers' disks.

Each partition has its replicas, one above the other, by offsets: segments, epochs, transactions,
what checkpoints say, and where two of them part.

It is given numbers and words and judges nothing; all of them are escaped; no script runs, nothing
is fetched; what is left out is said. The same picture gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from kraftcheck.traces.report import html

TEMPLATE: Final = "disk.html.j2"
PARTITIONS_MAX: Final = 40
"""So many partitions are drawn."""
BOXES_MAX: Final = 150
"""So many boxes of a kind in a replica: segments are joined, of transactions the last are drawn."""
WIDTH, LEFT, RIGHT, BAND, LANE = 960, 10, 44, 16, 92
"""Pixels: of the drawing and its margins; of a band of a replica, and of the replica."""
LETTER: Final = 7


class Box(NamedTuple):
    """A stretch of offsets, the second not in it."""

    start: int
    end: int
    name: str
    """As long as it fits."""
    words: str
    """When it is pointed at."""
    kind: str = ""
    """Of segments and epochs "", of transactions committed, aborted, open."""


class Mark(NamedTuple):
    """Of a checkpoint."""

    offset: int
    letter: str
    """As it is drawn."""
    name: str


class Replica(NamedTuple):
    folder: str
    verdict: str
    segments: Sequence[Box]
    epochs: Sequence[Box]
    transactions: Sequence[Box]
    """The last."""
    transactions_count: int
    """How many there are."""
    marks: Sequence[Mark]
    facts: Sequence[tuple[str, str]]
    """What there is to say of it, by name."""
    findings: Sequence[tuple[str, str, str]]
    """(weight, place, words)."""


class Partition(NamedTuple):
    name: str
    verdict: str
    replicas: Sequence[Replica]
    together: Sequence[tuple[str, str]]
    """What is wrong between replicas (weight, words)."""
    parted: Sequence[tuple[int, str]]
    """(offset, words)."""


class _Scale(NamedTuple):
    """Of offsets: from the first that any replica has to the last."""

    start: int
    end: int

    def x(self, offset: int) -> float:
        inside = min(max(offset, self.start), self.end) - self.start
        return round(LEFT + (WIDTH - LEFT - RIGHT) * inside / max(self.end - self.start, 1), 1)


def render(title: str, verdict: str, said: Sequence[str], partitions: Sequence[Partition]) -> str:
    """The page as text. said: of the whole. Raises ValueError: no partition."""
    if not partitions:
        raise ValueError("no partition: there is nothing to draw")
    drawn = sorted(partitions, key=lambda each: each.verdict == "holds")[:PARTITIONS_MAX]
    return html.render(
        TEMPLATE,
        title=title,
        verdict=verdict,
        said=said,
        left_out=len(partitions) - len(drawn),
        partitions=[_drawing(each) for each in drawn],
        width=WIDTH,
        band=BAND,
        # Ours, the same on every page.
        style=Markup(html.asset("history.css") + html.asset("disk.css")),
    )


def _drawing(partition: Partition) -> dict[str, object]:
    boxes = [box for each in partition.replicas for box in (*each.segments, *each.epochs)]
    start = min((box.start for box in boxes), default=0)
    scale = _Scale(start, max([start + 1, *(box.end for box in boxes)]))
    height = LANE * len(partition.replicas)
    return {
        "partition": partition,
        "height": height + 34,
        "lanes": [_lane(each, at * LANE, scale) for at, each in enumerate(partition.replicas)],
        "parted": [
            {"x": scale.x(offset), "offset": f"{offset:,}", "words": words}
            for offset, words in partition.parted
        ],
        "bottom": height,
        "ticks": [{"x": scale.x(offset), "offset": f"{offset:,}"} for offset in _ticks(scale)],
    }


def _ticks(scale: _Scale) -> list[int]:
    """Round offsets, seven at most, and the first one."""
    steps = (base * 10**power for power in range(20) for base in (1, 2, 5))
    step = next(each for each in steps if (scale.end - scale.start) / each <= 6)
    first = -(-scale.start // step) * step
    return list(range(first, scale.end + 1, step))


def _lane(replica: Replica, top: int, scale: _Scale) -> dict[str, object]:
    return {
        "replica": replica,
        "top": top,
        "bands": [
            {"y": top + 20 + number * BAND, "kind": kind, "boxes": _boxes(found, scale)}
            for number, (kind, found) in enumerate(
                (
                    ("segments", _joined(replica.segments)),
                    ("epochs", _joined(replica.epochs)),
                    ("transactions", replica.transactions[-BOXES_MAX:]),
                )
            )
        ],
        "left_out": max(replica.transactions_count - BOXES_MAX, 0),
        "marks": _marks(replica.marks, scale),
    }


def _marks(found: Sequence[Mark], scale: _Scale) -> list[dict[str, object]]:
    """Letters of marks that stand close together stand side by side."""
    out: list[dict[str, object]] = []
    taken = float("-inf")
    for each in sorted(found):
        x = scale.x(each.offset)
        taken = max(x, taken + LETTER + 3)
        words = f"{each.name} {each.offset:,}"
        out.append({"x": x, "letter_x": taken, "letter": each.letter, "words": words})
    return out


def _boxes(found: Sequence[Box], scale: _Scale) -> list[dict[str, object]]:
    out: list[dict[str, object]] = []
    for at, box in enumerate(found):
        x, width = scale.x(box.start), max(scale.x(box.end) - scale.x(box.start), 1)
        fits = LETTER * len(box.name) + 4 < width
        out.append(
            {
                "x": x,
                "width": round(width, 1),
                "name": box.name if fits else "",
                "words": box.words,
                "kind": box.kind or ("even" if at % 2 == 0 else "odd"),
            }
        )
    return out


def _joined(found: Sequence[Box]) -> list[Box]:
    """As many as can be told apart."""
    each = -(-len(found) // BOXES_MAX)
    if each <= 1:
        return list(found)
    parts = [found[at : at + each] for at in range(0, len(found), each)]
    return [
        Box(part[0].start, part[-1].end, part[0].name, f"{len(part)}, from: {part[0].words}")
        for part in parts
    ]
