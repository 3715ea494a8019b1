"""Read TLC's states of a group whose members commit.

They are read as those of groups, except that the followed partition is derived from the others.

A commit, too, is sent and handled in one step there, and its answer heard in it. Numbers of
heartbeats begin where they wrap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kraftcheck.reference.groups.commits.types import Constants
from kraftcheck.reference.groups.counterexamples import FORGOTTEN, reading
from tla_utils.settings import Settings


def _constants(texts: Mapping[str, str]) -> Constants:
    """Raises ToolError: one is missing, or no number."""
    settings = Settings(texts)
    members, partitions = settings.members("Members"), settings.members("Partitions")
    return Constants(
        tuple(range(1, len(members) + 1)),
        tuple(range(1, len(partitions) + 1)),
        settings.number("MaxCoordinators"),
        settings.number("MaxCorrelation"),
        followed=partitions.index(settings.text("Followed")) + 1,
    )


READING: Final = reading(
    _constants, lambda constants: ((), (constants.followed,)), FORGOTTEN | {"correlation"}
)
