"""What a partition's lists promise where replicas are in directories, in a run."""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.partition.directories.properties import OF_LISTS
from kraftcheck.reference.partition.moving.sim.lists import Lists


class ListsInDirectories(Lists):
    """Of one partition."""

    promises = OF_LISTS

    def stays(self, before: Any, after: Any) -> bool:
        return super().stays(before, after) and after.disks is before.disks
