"""How TLC's states of classic groups are read: as those of groups of the other protocol.

Their models know members and partitions by model values, and forget answers for which nobody waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kraftcheck.reference.groups.classic.types import Constants
from kraftcheck.reference.groups.counterexamples import FORGOTTEN, reading
from tla_utils.settings import Settings


def _constants(texts: Mapping[str, str]) -> Constants:
    """Raises ToolError: one is missing, or has no value of its kind."""
    settings = Settings(texts)
    return Constants(
        tuple(range(1, len(settings.members("Members")) + 1)),
        tuple(range(1, len(settings.members("Partitions")) + 1)),
        settings.truth("Cooperative"),
        settings.number("MaxCoordinators"),
        settings.number("MaxCorrelation"),
    )


READING: Final = reading(_constants, lambda constants: ((), ()), FORGOTTEN)
