"""How TLC's states of groups are read.

Their models know members and partitions by model values, forget answers for which nobody waits,
handle a heartbeat in the step that sends it or lose it there, and commit a record in the step that
appends it where nothing can be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import permutations
from typing import Any, Final

from reference.groups.messages import COORDINATOR, LOADER, MIGRATION, OFFSETS
from reference.groups.types import Constants
from tla_utils import Record, Value, function
from tla_utils.settings import Settings
from tla_utils.values import Function, ModelValue
from traces.counterexamples.readings import Reading, Shown

ALONE: Final = {"loader": LOADER, "offsets": OFFSETS, "migration": MIGRATION}
"""The variables of models that have one row."""
FORGOTTEN: Final = "waiting"
"""Of the coordinator's row: there are answers in it that the models have forgotten."""


def _constants(texts: Mapping[str, str]) -> Constants:
    """Models with one row say nothing of coordinators. Raises ToolError: one is missing, or no
    number.
    """
    settings = Settings({"MaxCoordinators": "1", "MaxCorrelation": "1", **texts})
    members, partitions = settings.members("Members"), settings.members("Partitions")
    return Constants(
        tuple(range(1, len(members) + 1)),
        tuple(range(1, len(partitions) + 1)),
        settings.number("MaxCoordinators"),
        settings.number("MaxCorrelation"),
        tuple(sorted(_places(members, each) for each in settings.sets("Static"))),
        _places(partitions, settings.members("Growing")),
    )


def _places(of: Sequence[str], some: Sequence[str]) -> tuple[int, ...]:
    return tuple(sorted(of.index(each) + 1 for each in some))


def _shown(value: Value, called: Mapping[str, int]) -> Value:
    """Without what the models forget."""
    match value:
        case ModelValue():
            return called[value.name]
        case tuple():
            return tuple([_shown(each, called) for each in value])
        case frozenset():
            return frozenset(_shown(each, called) for each in value)
        case Record():
            return Record({k: _shown(v, called) for k, v in value.items() if k != FORGOTTEN})
        case Function():
            return function((_shown(k, called), _shown(v, called)) for k, v in value.items())
    return value


def _seen(constants: Constants) -> list[Callable[[Mapping[str, Value]], Shown]]:
    """In each order of the members and of the partitions: a target is any in the models, and in the
    reference one that depends on their order.
    """
    return [
        partial(_state, {**_called("m", members), **_called("p", partitions)})
        for members in _orders(constants.members, *constants.static)
        for partitions in _orders(constants.partitions, constants.growing)
    ]


def _orders(of: Sequence[int], *apart: Sequence[int]) -> list[tuple[int, ...]]:
    """Those in which who is known from the others is one of its own."""
    orders = permutations(of)
    return [o for o in orders if all({o[n - 1] for n in each} == {*each} for each in apart)]


def _called(letter: str, numbers: Sequence[int]) -> dict[str, int]:
    return {f"{letter}{at}": number for at, number in enumerate(numbers, 1)}


def _state(called: Mapping[str, int], values: Mapping[str, Value]) -> Shown:
    for name, node in ALONE.items():
        if name in values:
            return {node: _shown(values[name], called)}, None
    clients: Any = _shown(values["clients"], called)
    rows: dict[int, Value | None] = {COORDINATOR: _shown(values["coordinator"], called)}
    return rows | dict(enumerate(clients, 1)), _shown(values["network"], called)


READING: Final = Reading(_constants, _seen, lambda value: _shown(value, {}), moves=2, loses=True)
