"""A counterexample of TLC followed by the reference, state by state.

Law of this file: a state that no moves lead to ends the story there, and is said with what is
missing. Nothing is put in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from kraftcheck.reference.protocols import PROTOCOLS
from kraftcheck.traces.counterexamples.readings import module_of
from kraftcheck.traces.counterexamples.search import (
    Allowed,
    Beginning,
    Essence,
    Limits,
    SearchMove,
    find,
)
from tla_utils import State, ToolError
from tla_utils.settings import constants_of

_MODULES: Final = [
    module
    for protocol in PROTOCOLS
    if not protocol.by_chance and (module := module_of(protocol.name))
]
"""Of each protocol that has a simulation of its own."""
PATIENCE: Final = (Limits(), Limits(worlds=40_000, kept=150))
"""Tried one after the other: the moves that a later state needs may be none that TLC shows."""


class Followed(NamedTuple):
    machine: str
    """"quorum" or "partition"."""
    options: dict[str, Any]
    """Its setting."""
    moves: tuple[SearchMove, ...]
    states: int
    """How many TLC showed."""
    reached: int
    """How many of them the reference did."""
    missing: list[str]
    """Why not more, in lines; empty if all."""
    nodes: dict[str, str]
    """TLC's name of each node, and the reference's."""


def follow(
    states: Sequence[State],
    cfg: str,
    bug: str | None,
    told: Callable[[int], None] | None = None,
    patience: Sequence[Limits] = (),
) -> Followed:
    """The moves of the reference, with this bug, that make the states of a counterexample.

    cfg: the text of the model's cfg, for its constants. told: hears of each state reached.
    patience: limits to be tried one after the other; PATIENCE unless given.
    Raises ToolError: the states are of no protocol of ours; UnknownBug, OutOfScope.
    """
    begin = beginning(states, cfg, bug)
    for limits in patience or PATIENCE:
        followed = _follow(begin, states, limits, told)
        if not followed.missing:
            break
    return followed


def _follow(
    begin: Beginning,
    states: Sequence[State],
    limits: Limits,
    told: Callable[[int], None] | None,
) -> Followed:
    ways = [begin.way]
    before = begin.wanted(states[0].values, states[0].values)
    missing = _differences(begin, begin.way.world.essence(), before)
    reached = 0 if missing else 1
    for old, new in pairwise(states):
        if missing:
            break
        wanted = begin.wanted(new.values, old.values)
        allowed = _allowed(begin, old, new)
        # Mostly those move who change; then others need not be looked at.
        movers = begin.movers(allowed.parts)
        found = find(ways, wanted, allowed._replace(movers=movers), limits)
        if not found.ways and movers is not None:
            found = find(ways, wanted, allowed, limits)
        if not found.ways:
            missing = _differences(begin, found.nearest.world.essence(), wanted)
            missing += [f"{found.looked_at:,} states of the reference were looked at"]
            break
        ways, before, reached = found.ways, wanted, new.number
        if told:
            told(new.number)
    moves = ways[0].moves
    nodes = {name: begin.parts[place] for name, place in begin.places.items()}
    return Followed(begin.machine, begin.options, moves, len(states), reached, missing, nodes)


def _allowed(begin: Beginning, old: State, new: State) -> Allowed:
    """What the step of TLC changes and spends."""
    was: Any = old.values["spent"]
    now: Any = new.values["spent"]
    spends = frozenset(name for name in now if was[name] != now[name])
    # Whoever crashes, or is told something, may look as before.
    changed = _changed(begin, old.values, new.values) or set(range(len(begin.parts)))
    free = range(len(begin.parts) - begin.loose, len(begin.parts))
    return Allowed(
        state=new.number,
        parts=frozenset({*changed, *free}),
        crash="crashes" in spends,
        value=now["records"] if "records" in spends else None,
        others=spends,
    )


def _changed(begin: Beginning, old: Mapping[str, Any], new: Mapping[str, Any]) -> set[int]:
    """The parts that are another in TLC's own words, whatever of it is compared here."""
    rows, after = old["rows"], new["rows"]
    changed = {begin.places[str(getattr(n, "name", n))] for n in after if rows[n] != after[n]}
    return changed | {part for name, part in begin.alone.items() if old[name] != new[name]}


def _differences(begin: Beginning, shown: Essence, wanted: Essence) -> list[str]:
    """What TLC shows and a world does not: by field where both have the same ones."""
    lines = []
    for part, now, goal in zip(begin.parts, shown, wanted, strict=True):
        if now != goal:
            pairs = [("", now, goal)]
            if isinstance(now, tuple) and isinstance(goal, tuple) and len(now) == len(goal):
                names = next(each for each in begin.fields if len(each) == len(goal))
                pairs = [(f", {name}", *both) for name, *both in zip(names, now, goal, strict=True)]
            lines += [
                f"{part}{name}: the model comes to {_words(there)}, the reference to {_words(here)}"
                for name, here, there in pairs
                if here != there
            ]
    return lines


def _words(essence: object) -> str:
    if not isinstance(essence, tuple):
        return str(essence)
    return "(" + " ".join(map(_words, essence)) + ")"


# -- Where a story begins


def beginning(states: Sequence[State], cfg: str, bug: str | None) -> Beginning:
    """Of the protocol whose models have these variables. Raises as `follow`."""
    shown = set(states[0].values) if states else set()
    fitting = [module for module in _MODULES if shown >= module.VARIABLES]
    if not fitting:
        raise ToolError("the counterexample shows no rows: it is of no model of this kit")
    values = constants_of(cfg)
    try:
        most = max(fitting, key=lambda module: len(module.VARIABLES))
        found: Beginning = most.beginning(states, values, bug)
        return found
    except KeyError as error:
        raise ToolError(f"the cfg of the model has no constant {error.args[0]}") from None
