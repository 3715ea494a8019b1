"""How TLC's states of groups are read.

Their models know members and partitions by model values, forget answers for which nobody waits,
handle a heartbeat in the step that sends it or lose it there, and commit a record in the step that
appends it where nothing can be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import permutations
from typing import Any, Final, TypeAlias

from kraftcheck.reference.groups.messages import COORDINATOR, LOADER, MIGRATION, OFFSETS
from kraftcheck.reference.groups.types import Constants
from kraftcheck.traces.counterexamples.readings import Reading, Shown
from tla_utils import Record, Value, function
from tla_utils.settings import Settings
from tla_utils.values import Function, ModelValue

ALONE: Final = {"loader": LOADER, "offsets": OFFSETS, "migration": MIGRATION}
"""The variables of models that have one row."""
FORGOTTEN: Final = frozenset({"waiting"})
"""Fields of rows. Of the coordinator's: there are answers in it that the models have forgotten."""


def _constants(texts: Mapping[str, str]) -> Constants:
    """Models with one row say nothing of coordinators.

    Raises ToolError: one is missing, or no number.
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


def _shown(value: Value, called: Mapping[str, int], forgotten: frozenset[str]) -> Value:
    """Without what the models forget."""
    inner = partial(_shown, called=called, forgotten=forgotten)
    match value:
        case ModelValue():
            return called[value.name]
        case tuple():
            return tuple([inner(each) for each in value])
        case frozenset():
            return frozenset(inner(each) for each in value)
        case Record():
            return Record({k: inner(v) for k, v in value.items() if k not in forgotten})
        case Function():
            return function((inner(k), inner(v)) for k, v in value.items())
    return value


Apart: TypeAlias = Callable[[Any], tuple[Sequence[Sequence[int]], Sequence[int]]]
"""Under these constants, the members that are known from others, by what they have in common, and
the partitions."""


def _seen(
    constants: Any, apart: Apart, forgotten: frozenset[str]
) -> list[Callable[[Mapping[str, Value]], Shown]]:
    """Try each order of the members and of the partitions.

    A target is any in the models, and depends on their order in the reference.
    """
    of_members, of_partitions = apart(constants)
    return [
        partial(_state, {**_called("m", members), **_called("p", partitions)}, forgotten)
        for members in _orders(constants.members, *of_members)
        for partitions in _orders(constants.partitions, of_partitions)
    ]


def _orders(of: Sequence[int], *apart: Sequence[int]) -> list[tuple[int, ...]]:
    """Those in which who is known from the others is one of its own."""
    orders = permutations(of)
    return [o for o in orders if all({o[n - 1] for n in each} == {*each} for each in apart)]


def _called(letter: str, numbers: Sequence[int]) -> dict[str, int]:
    return {f"{letter}{at}": number for at, number in enumerate(numbers, 1)}


def _state(
    called: Mapping[str, int], forgotten: frozenset[str], values: Mapping[str, Value]
) -> Shown:
    def shown(name: str) -> Any:
        return _shown(values[name], called, forgotten)

    for name, node in ALONE.items():
        if name in values:
            return {node: shown(name)}, None
    rows: dict[int, Value | None] = {COORDINATOR: shown("coordinator")}
    return rows | dict(enumerate(shown("clients"), 1)), shown("network")


def reading(
    constants: Callable[[Mapping[str, str]], Any], apart: Apart, forgotten: frozenset[str]
) -> Reading:
    """constants: as of a reading. forgotten: fields of rows that are not compared."""
    return Reading(
        constants,
        partial(_seen, apart=apart, forgotten=forgotten),
        partial(_shown, called={}, forgotten=forgotten),
        moves=2,
        loses=True,
    )


READING: Final = reading(
    _constants, lambda constants: (constants.static, constants.growing), FORGOTTEN
)
