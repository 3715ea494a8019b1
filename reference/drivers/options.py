"""The options of a run of a declared protocol: its constants, its length, and its faults.

They are made from the protocol's `World`. Each is the simplest one at the first value of its
palette.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import msgspec

from kraftcheck.reference.core.run import LATE, STRICT
from kraftcheck.reference.core.system import world_of
from kraftcheck.reference.kit.dispatch import snake
from kraftcheck.reference.kit.protocol import Protocol, World
from kraftcheck.reference.sim.asked_by_models import asked_by_models
from kraftcheck.reference.sim.options import STRETCH, OptionSet, Palette

FATES: Final[Mapping[str, tuple[int, ...]]] = {
    "delivered": (500, 800),
    "lost": (0, 50, 200),
    "doubled": (0, 50, 200),
}
"""Per mille. delivered: of the moves, so many deliver a message if one is under way. lost: of the
messages. doubled: of the deliveries, after which the message is under way still."""

AWAY: Final = "away"
"""The option of a run in which nodes are away for a while, one at a time: so many of a thousand
moves begin with one of them leaving. Nothing comes to it, and it does nothing; what is sent to it
waits, and what would be heard at once it does not hear. No run draws it (`Family.on_request`)."""
OFTEN_AWAY: Final = 10


class DeclaredScenario(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of a protocol."""

    name: str
    sentence: str
    protocol: Protocol
    palettes: Mapping[str, Palette]


def scenario_of(protocol: Protocol) -> DeclaredScenario:
    world = world_of(protocol)
    drawn: dict[str, Any] = {**world.constants, "moves": tuple(world.moves), **FATES}
    drawn |= {name: values for name, values in disturbances_of(world).items() if values}
    if world.awaited is not None:
        drawn |= {LATE: (50, 200)}
    palettes = {name: tuple((1, value) for value in values) for name, values in drawn.items()}
    return DeclaredScenario(
        name=protocol.name, sentence=protocol.sentence, protocol=protocol, palettes=palettes
    )


def disturbances_of(world: World) -> dict[str, Sequence[int]]:
    """By name of an option."""
    return {snake(of.__name__): values for of, values in world.disturbances.items()}


@cache
def options_of(protocol: Protocol) -> OptionSet[Any]:
    """Give the constants of a run and how it goes.

    How many moves it has, what becomes of messages, and whether it ends where a property is
    violated.
    """
    world = world_of(protocol)
    fields = {field.name: field for field in msgspec.structs.fields(protocol.constants)}
    own = [(name, fields[name].type, values[0]) for name, values in world.constants.items()]
    general: list[tuple[str, Any, Any]] = [("moves", int, world.moves[0]), ("watched", bool, True)]
    general.append((STRETCH, int, 1))
    # What is not asked for is not told, so that runs are recorded as ever.
    general.append((AWAY, int | msgspec.UnsetType, msgspec.UNSET))
    general += [(name, int, values[0]) for name, values in FATES.items()]
    disturbances = disturbances_of(world)
    general += [(name, int, values[0]) for name, values in disturbances.items() if values]
    unsaid = [name for name, values in disturbances.items() if not values]
    general += [(name, int | msgspec.UnsetType, msgspec.UNSET) for name in unsaid]
    late = (LATE,) if world.awaited is not None else ()
    general += [(name, int, 0) for name in late]
    if world.unpromised is not None:
        general.append((STRICT, bool, False))
    kind = msgspec.defstruct(
        f"{protocol.name}_options", [*own, *general], frozen=True, kw_only=True
    )
    often = [name for name in disturbances if name not in unsaid]
    kinds = {name: (name,) for name in ("lost", "doubled", *often, *late)}
    shares = (*FATES, *disturbances, *late, AWAY)
    return OptionSet(kind, kinds, positive=("moves", STRETCH), shares=shares)


def simplest(protocol: Protocol) -> dict[str, Any]:
    return {name: values[0] for name, values in world_of(protocol).constants.items()}


def on_request(protocol: Protocol) -> list[dict[str, Any]]:
    """Give the constants that no run draws.

    First what TLC's models of the protocol ask for (tests/specs/asked_by_models.py), then what the
    protocol has on request itself.
    """
    own = world_of(protocol).on_request
    return [*asked_by_models(protocol.name), *[{of: each} for of in own for each in own[of]]]


def rarely_drawn(protocol: Protocol, own: Mapping[str, Any]) -> str:
    """By those of them that no run draws."""
    drawn = world_of(protocol).constants
    rare = {name: value for name, value in own.items() if value not in drawn.get(name, ())}
    return " ".join(f"{of}={msgspec.json.encode(value).decode()}" for of, value in rare.items())
