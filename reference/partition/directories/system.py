"""Declare a partition in log directories that fail as a system.

As reference/partition/moving/system.py, with the failures, and the requests that name directories.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from kraftcheck.reference.partition import messages as of_partition
from kraftcheck.reference.partition.directories.messages import (
    ControllerRequestTimeout,
    LogDirFailure,
    SendAssignReplicasToDirs,
)
from kraftcheck.reference.partition.directories.types import Constants
from kraftcheck.reference.partition.messages import CONTROLLER
from kraftcheck.reference.partition.moving import system as of_moving


def _local(constants: Constants, node: int, row: Any) -> Iterator[Any]:
    for input in of_moving.WORLD.local(constants, node, row):
        if isinstance(input, of_partition.ControllerRequestTimeout):
            request: Any = input.request
            yield ControllerRequestTimeout(request)
        else:
            yield input
    if node != CONTROLLER:
        yield SendAssignReplicasToDirs()
        yield from map(LogDirFailure, constants.directories)


WORLD: Final = replace(of_moving.WORLD, local=_local)
