"""How TLC's states are read where a model does not show nodes and messages as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

from kraftcheck.reference.protocols import PROTOCOLS, is_preset, part_of
from tla_utils import Value

Shown: TypeAlias = tuple[dict[int, Value | None], Value | None]
"""Of each node that is shown its row, and the messages in the network."""


class Reading(NamedTuple):
    constants: Callable[[Mapping[str, str]], Any]
    """From the texts of a cfg."""
    seen: Callable[[Any], Sequence[Callable[[Mapping[str, Value]], Shown]]]
    """Under these constants, what a state shows; in several ways, where it is open which of the
    model's values is which of the reference's.
    """
    own: Callable[[Value], Value]
    """As much of a row or message of the reference."""
    moves: int = 1
    """So many moves of the reference may be one step of TLC."""
    loses: bool = False
    """Messages may be lost in a step."""


AskedWith: TypeAlias = Callable[
    [Mapping[str, str], Mapping[str, Any], Mapping[str, Any], str | None], tuple[Any, ...]
]
"""What the reference's properties are asked with, of the texts of a cfg, the variables in two
states of a model, and its bug."""


def reading_of(protocol: str) -> Reading | None:
    """Load the reading in the module `counterexamples` of the protocol's folder.

    None: there is no such module, or it has no reading.
    """
    found: Reading | None = getattr(module_of(protocol), "READING", None)
    return found


def asked_with_of(protocol: str) -> AskedWith | None:
    """As `reading_of`."""
    found: AskedWith | None = getattr(module_of(protocol), "asked_with", None)
    return found


def module_of(protocol: str) -> ModuleType | None:
    """What a protocol of the kit says of how its models are read, if it does."""
    for ours in PROTOCOLS:
        if ours.name == protocol and not ours.modules and not is_preset(ours):
            found: ModuleType | None = part_of(ours, "counterexamples")
            return found
    return None
