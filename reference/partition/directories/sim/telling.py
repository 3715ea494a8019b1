"""How steps are told where replicas are in directories: as where they move, with those."""

from __future__ import annotations

from typing import Any, Final

from kraftcheck.reference.partition.directories.types import DirectoryBrokerRow, is_offline
from kraftcheck.reference.partition.moving.sim.telling import MANNER as OF_MOVING
from kraftcheck.reference.partition.reassignment.types import UNASSIGNED
from kraftcheck.reference.sim.family import Manner


def columns(step: Any) -> str:
    """Behind the high watermark, of a broker, where its replica is, and whether that has failed."""
    of, told = OF_MOVING.columns(step), step.after
    if not isinstance(told, DirectoryBrokerRow) or told.directory == UNASSIGNED:
        return of
    return f"{of.rstrip()} @{told.directory}{'!' if is_offline(told) else ''}"


MANNER: Final[Manner] = OF_MOVING._replace(columns=columns)
