"""A counterexample of TLC followed by the reference, state by state.

Law of this file: a state that no moves lead to ends the story there, and is said with what is
missing. Nothing is put in its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from kraftcheck.exits import BadInput
from kraftcheck.retracing import partition, quorum
from kraftcheck.retracing.partition import COUNTED, Naming
from kraftcheck.retracing.search import Allowed, Essence, Limits, Made, Way, find
from reference.bugs.catalog import rules_for
from reference.partition.controller import PartitionControllerHandlers
from reference.partition.messages import CONTROLLER, MetadataUpdate
from reference.partition.rules import PartitionRules
from reference.partition.sim.machine import broker_handlers_for
from reference.partition.types import INITIAL_OFFSET, PartitionConstants
from reference.quorum.handlers import QuorumHandlers
from reference.quorum.rules import QuorumRules
from reference.quorum.types import Constants
from tla_utils import State

PATIENCE: Final = (Limits(), Limits(worlds=40_000, kept=150))
"""Tried one after the other: the moves that a later state needs may be none that TLC shows."""
_REMARK = re.compile(r"\\\*[^\n]*|\(\*.*?\*\)", re.DOTALL)
_CONSTANT = re.compile(r"(\w+)\s*(?:=|<-)\s*(\{[^{}]*\}|[^\s=]+)")


class Followed(NamedTuple):
    """machine: "quorum" or "partition". options: its setting. states: how many TLC showed;
    reached: how many of them the reference did. missing: why not more, in lines; empty if all.
    """

    machine: str
    options: dict[str, Any]
    moves: tuple[Made, ...]
    states: int
    reached: int
    missing: list[str]


class _Beginning(NamedTuple):
    """way: to where the story begins. wanted: what a world must show where TLC printed a state, and
    which one before it. parts: names of the parts of an essence, the counts last. places: positions
    of the rows, by their names in the model. fields: of what parts consist, by their number.
    brokers: by position, of a partition.
    """

    machine: str
    options: dict[str, Any]
    way: Way
    wanted: Callable[[Mapping[str, Any], Mapping[str, Any]], Essence]
    parts: tuple[str, ...]
    places: Mapping[str, int]
    fields: tuple[tuple[str, ...], ...]
    brokers: tuple[int, ...] = ()

    def movers(self, parts: frozenset[int]) -> frozenset[int] | None:
        """Whose moves may do when these parts change; None where others must answer."""
        if not self.brokers:
            return None
        changed = {node for at, node in enumerate(self.brokers) if at in parts}
        return frozenset({*changed, CONTROLLER})


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
    Raises BadInput: the states are of no protocol of ours; UnknownBug, OutOfScope.
    """
    begin = _beginning(states, cfg, bug)
    for limits in patience or PATIENCE:
        followed = _follow(begin, states, limits, told)
        if not followed.missing:
            break
    return followed


def _follow(
    begin: _Beginning,
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
    return Followed(begin.machine, begin.options, moves, len(states), reached, missing)


def _allowed(begin: _Beginning, old: State, new: State) -> Allowed:
    """What the step of TLC changes and spends."""
    was: Any = old.values["spent"]
    now: Any = new.values["spent"]
    spends = frozenset(name for name in now if was[name] != now[name])
    # Whoever crashes, or is told something, may look as before.
    changed = _changed(begin, old.values, new.values) or set(range(len(begin.parts)))
    # The last parts are no rows: of a partition what is under way, and the counts.
    free = range(len(begin.parts) - (2 if begin.brokers else 1), len(begin.parts))
    return Allowed(
        state=new.number,
        parts=frozenset({*changed, *free}),
        crash="crashes" in spends,
        value=now["records"] if "records" in spends else None,
        others=spends,
    )


def _changed(begin: _Beginning, old: Mapping[str, Any], new: Mapping[str, Any]) -> set[int]:
    """The parts that are another in TLC's own words, whatever of it is compared here."""
    rows, after = old["rows"], new["rows"]
    changed = {begin.places[str(getattr(n, "name", n))] for n in after if rows[n] != after[n]}
    if begin.brokers and old["controller"] != new["controller"]:
        changed.add(len(begin.brokers))
    return changed


def _differences(begin: _Beginning, shown: Essence, wanted: Essence) -> list[str]:
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


def _beginning(states: Sequence[State], cfg: str, bug: str | None) -> _Beginning:
    if not states or "rows" not in states[0].values or "spent" not in states[0].values:
        raise BadInput("the counterexample shows no rows: it is of no model of this kit")
    values = dict(_CONSTANT.findall(_REMARK.sub(" ", cfg)))
    try:
        if "controller" in states[0].values:
            return _partition(states, values, bug)
        return _quorum(states, values, bug)
    except KeyError as error:
        raise BadInput(f"the cfg of the model has no constant {error.args[0]}") from None


def _quorum(states: Sequence[State], values: Mapping[str, str], bug: str | None) -> _Beginning:
    nodes = quorum.numbers_of(states[0].values["rows"])
    constants = Constants(tuple(sorted(nodes.values())), int(values["FetchMaxRecords"]))
    handlers = QuorumHandlers(constants, rules_for(QuorumRules, bug, constants))
    return _Beginning(
        "quorum",
        {"voters": list(constants.voters), "fetch_max_records": constants.fetch_max_records},
        Way(quorum.first_world(handlers), ()),
        lambda state, _: quorum.wanted_of(state, nodes),
        (*(f"voter {n}" for n in constants.voters), "counts of records and crashes"),
        {name: number - 1 for name, number in nodes.items()},
        quorum.FIELDS,
    )


def _partition(states: Sequence[State], values: Mapping[str, str], bug: str | None) -> _Beginning:
    leaders = list(_leaders(states))
    rows: Any = states[0].values["rows"]
    others = sorted({str(getattr(key, "name", key)) for key in rows} - set(leaders))
    nodes = {name: number for number, name in enumerate([*leaders, *others])}
    constants = PartitionConstants(
        replicas=tuple(range(len(nodes))),
        min_insync_replicas=int(values["MinInsyncReplicas"]),
        elr_enabled=values["ElrEnabled"] == "TRUE",
        unclean_election=values["UncleanElection"] == "TRUE",
        fetch_max_records=int(values["FetchMaxRecords"]),
    )
    idempotent = values.get("Idempotent") == "TRUE"
    acks_all = idempotent or values.get("AcksAll") == "TRUE"
    of = partition.Partition(
        constants,
        broker_handlers_for(bug, constants),
        _controller(constants, bug),
        {node: _controller(_listing_first(constants, node), bug) for node in constants.brokers},
        -1 if acks_all else 1,
        values.get("Torn") == "TRUE",
        idempotent,
    )
    names = Naming(nodes)
    first = partition.first_world(of)
    reads = tuple(
        Made(node, MetadataUpdate(INITIAL_OFFSET, first.metadata)) for node in constants.brokers
    )
    return _Beginning(
        "partition",
        _options(constants, acks_all, idempotent),
        Way(first, reads),
        lambda state, old: partition.wanted_of(state, old, names),
        (
            *(f"broker {n}" for n in constants.brokers),
            "the controller",
            "proposals under way",
            f"counts of {', '.join(COUNTED)}",
        ),
        nodes,
        partition.FIELDS,
        constants.brokers,
    )


def _controller(constants: PartitionConstants, bug: str | None) -> PartitionControllerHandlers:
    return PartitionControllerHandlers(constants, rules_for(PartitionRules, bug, constants))


def _listing_first(constants: PartitionConstants, broker: int) -> PartitionConstants:
    others = [n for n in constants.replicas if n != broker]
    return replace(constants, replicas=(broker, *others))


def _options(constants: PartitionConstants, acks_all: bool, idempotent: bool) -> dict[str, Any]:
    return {
        "replicas": len(constants.replicas),
        "min_insync_replicas": constants.min_insync_replicas,
        "elr": constants.elr_enabled,
        "unclean": constants.unclean_election,
        "fetch_max_records": constants.fetch_max_records,
        "acks": "all" if acks_all else "1",
        "idempotence": idempotent,
    }


def _leaders(states: Sequence[State]) -> Iterator[str]:
    """The brokers that the controller makes leader, each once, in order."""
    seen = set()
    for state in states:
        name = getattr(_partition_of(state)["leader"], "name", None)
        if name is not None and name not in seen:
            seen.add(name)
            yield name


def _partition_of(state: State) -> Any:
    controller: Any = state.values["controller"]
    return controller["partition"]
