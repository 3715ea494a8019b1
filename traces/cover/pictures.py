"""State graphs as pictures: what a whole graph says of one thing, small enough to read.

A picture looks at the rows of TLC's dump in one way: `Picture.view` has a word for each row.
Its arrows are the changes of that word along the graph's edges, with the actions that make them.
Nothing is drawn by hand, and nothing of the reference is asked.

Laws of this file: same graphs, same text. A picture with too much on it to be read is a ToolError:
its view is to be made coarser.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec

from kraftcheck.traces.cover.matching import LABEL
from tla_utils import ToolError
from tla_utils.dump import Dump

MOST_STATES: Final = 16
MOST_ARROWS: Final = 48


class Picture(NamedTuple):
    name: str
    """Of the heading."""
    sentence: str
    """What is seen."""
    graphs: tuple[str, ...]
    """Whose edges, by name."""
    view: Callable[[Any], str]
    """The word for a row, as the spec's record."""
    of_controller: bool = False
    """Whether it looks at the row of a controller, whose number is below 0, and else at others."""


@dataclass
class Arrows:
    first: set[str] = field(default_factory=set)
    """Words in initial states."""
    actions: defaultdict[tuple[str, str], set[str]] = field(
        default_factory=lambda: defaultdict(set)
    )
    """(word before, word after) -> who makes it so."""
    words: set[str] = field(default_factory=set)
    """All there are."""


def voter_role(row: Any) -> str:
    return str(row.role)


def broker_life(row: Any) -> str:
    """Its status; while it runs also its role."""
    return str(row.status if row.status != "Running" else row.role)


def partition_life(row: Any) -> str:
    """The controller's row: whether there is a leader, how large ISR and ELR are."""
    partition = row.partition
    led = "led" if partition.leader >= 0 else "no leader"
    return f"{led}, ISR {len(partition.isr)}, ELR {len(partition.elr)}"


def proposal_life(row: Any) -> str:
    """A broker's row: whether it leads, the ISR that it knows to be committed, its proposal."""
    if row.status == "Down" or row.role != "Leader":
        return "no leader"
    proposed = str(row.pending.kind).lower()
    told = "nothing proposed" if proposed == "none" else f"proposes to {proposed}"
    sent = ", asked" if row.alterRequest["type"] != "None" else ""
    refused = ", refused" if row.pending.refused else ""
    return f"ISR {len(row.isr)}, {told}{sent}{refused}"


PICTURES: Final = (
    Picture(
        "Roles of a voter",
        "Every change of a voter's role.",
        (
            *("quorum-few-votes", "quorum-few-restarts", "quorum-handover"),
            *("quorum-resignations", "quorum-retries-twice", "quorum-three-restart"),
        ),
        voter_role,
    ),
    Picture(
        "Life of a broker",
        "Every change of a broker's status, and of its role while it runs.",
        ("partition-isr", "partition-crash", "partition-elections", "partition-stop-alone"),
        broker_life,
    ),
    Picture(
        "The partition at the controller",
        "Two replicas, min ISR 2, ELR: how leader, ISR and ELR change together.",
        ("partition-isr", "partition-crash", "partition-elections", "partition-stop"),
        partition_life,
        of_controller=True,
    ),
    Picture(
        "A change of the ISR at its leader",
        "A leader's proposal and its end; asked: the request is in flight. The committed ISR\n"
        "changes by metadata or by the response.",
        ("partition-isr",),
        proposal_life,
    ),
)


def look(dump: Dump, picture: Picture, arrows: Arrows) -> None:
    """Adds what one graph shows of a picture."""
    at = dump.variables.index("rows")
    words: dict[int, str] = {}
    shown: list[tuple[str, ...]] = []
    for state in dump.states:
        nodes = state[at].keys or ("",) * len(state[at].pieces)
        pieces = [
            piece
            for node, piece in zip(nodes, state[at].pieces, strict=True)
            if node.startswith("-") == picture.of_controller
        ]
        for piece in pieces:
            if piece not in words:
                words[piece] = picture.view(dump.pieces[piece])
        shown.append(tuple([words[piece] for piece in pieces]))
    arrows.words.update(words.values())
    arrows.first.update(word for number in dump.initial for word in shown[number])
    for source, target, label in zip(dump.source, dump.target, dump.label, strict=True):
        if shown[source] != shown[target]:
            action = dump.labels[label].removeprefix(LABEL).removeprefix("Handle")
            for before, after in zip(shown[source], shown[target], strict=True):
                if before != after:
                    arrows.actions[before, after].add(action)


class Drawing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a picture shows, in a fixed order."""

    name: str
    """Of the picture."""
    words: tuple[str, ...]
    """Its states."""
    first: tuple[str, ...]
    """Those of initial states."""
    arrows: tuple[tuple[str, str, tuple[str, ...]], ...]
    """(word before, word after, the actions that make it so)."""


def look_at(picture: Picture, dumps: Iterable[Dump]) -> Drawing:
    """What the graphs show. Raises ToolError when it is too much to be read."""
    arrows = Arrows()
    for dump in dumps:
        look(dump, picture, arrows)
    if len(arrows.words) > MOST_STATES or len(arrows.actions) > MOST_ARROWS:
        raise ToolError(
            f"the picture {picture.name!r} has {len(arrows.words)} states and "
            f"{len(arrows.actions)} arrows, too many to be read"
        )
    return Drawing(
        picture.name,
        tuple(sorted(arrows.words)),
        tuple(sorted(arrows.first)),
        tuple(
            [
                (before, after, tuple(sorted(actions)))
                for (before, after), actions in sorted(arrows.actions.items())
            ]
        ),
    )


def draw(drawing: Drawing) -> str:
    """The drawing as a Mermaid state diagram."""
    number = {word: f"s{at}" for at, word in enumerate(drawing.words)}
    lines = ["stateDiagram-v2"]
    lines += [f'    state "{word}" as {name}' for word, name in number.items()]
    lines += [f"    [*] --> {number[word]}" for word in drawing.first]
    for before, after, actions in drawing.arrows:
        lines.append(f"    {number[before]} --> {number[after]} : {', '.join(actions)}")
    return "\n".join(lines) + "\n"


def heading(picture: Picture, edges: Mapping[str, int]) -> str:
    """What stands above a picture; edges: how many each graph has."""
    listed = "\n".join(f"- {name}: {edges[name]:,} edges" for name in picture.graphs)
    return f"## {picture.name}\n\n{picture.sentence}\n\n{listed}\n"


def page(
    drawings: Sequence[Drawing],
    edges: Mapping[str, int],
    pictures: Sequence[Picture] = PICTURES,
) -> str:
    """All pictures on one page, each with its drawing; edges: how many each graph has."""
    parts = [
        "# Life cycles, drawn from state graphs\n\n"
        "`make docs` writes this page from the graphs that TLC dumps (specs/*/cover). Each\n"
        "arrow is a change that some edge of these graphs makes, with its actions. Changes\n"
        "beyond the bounds of the graphs are not drawn, so a state without an outgoing arrow\n"
        "may have some there.\n"
    ]
    for picture, drawing in zip(pictures, drawings, strict=True):
        parts.append(f"{heading(picture, edges)}\n```mermaid\n{draw(drawing)}```\n")
    return "\n".join(parts)
