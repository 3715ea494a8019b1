"""A served cluster that keeps its logs: what it begins with, and that all is written (`--data`)."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from typing import Final

from kraftcheck.exits import BadInput
from kraftcheck.kafka.serve.clock import Clock
from kraftcheck.kafka.serve.directories import Directories, Recovered, commands, of_broker, stored
from kraftcheck.kafka.serve.tape import Taped
from kraftcheck.kafka.serve.world import ServedWorld

STEP_US: Final = 100_000
STEPS_MAX: Final = 2000
"""So long a cluster gets to elect leaders, and followers to fetch what was restored."""


def locked(folder: Path) -> int:
    """Lock the folder, which is made; the lock is held as long as the descriptor is open.

    Raises BadInput: another process keeps its logs there, or it is no folder that can be used.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileExistsError:
        raise BadInput(f"{folder} is no folder") from None
    except OSError as error:
        raise BadInput(f"{folder}: {error.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise BadInput(f"{folder}: another served cluster keeps its logs here") from None
    return lock


class Data:
    """A folder. The first cluster begins with what is there, each later one with nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._restores = True
        self._open: Directories | None = None

    def begin(self, taped: Taped, clock: Clock) -> None:
        """Raises BadInput: what is there is of another cluster, or cannot be read."""
        setup = taped.core.setup
        found = stored(self._folder, len(setup.ports))
        if self._restores and found.generation:
            recovered = Recovered(self._folder, found)
            try:
                for said in commands(recovered):
                    _settle(taped, clock)
                    if wrong := taped.command(clock.now(), said):
                        raise BadInput(f"{self._folder}: {wrong}")
            finally:
                recovered.close()
            _settle(taped, clock)
        self._restores = False
        self._open = Directories(self._folder, found.generation + 1, len(setup.ports))
        self._open.keep(taped.core.world)
        for old in self._folder.glob("generation-*"):
            if old != of_broker(self._folder, found.generation + 1, 0).parent:
                shutil.rmtree(old, ignore_errors=True)

    def keep(self, world: ServedWorld) -> None:
        """Before anything leaves."""
        if self._open is not None:
            self._open.keep(world)

    def end(self, world: ServedWorld) -> None:
        """What is asked of the cluster after this is for its judges."""
        if self._open is not None:
            self._open.keep(world)
            self._open.close()
            self._open = None


def _settle(taped: Taped, clock: Clock) -> None:
    """Leaders are elected, and all has been fetched. Raises BadInput: not in all this time."""
    world = taped.core.world
    for _ in range(STEPS_MAX):
        if all(_is_settled(world, at) for at in range(len(world.live_partitions))):
            return
        clock.leap_to(world.now + STEP_US)
        taped.arrive("tick", clock.now(), 0)
    raise BadInput("what was kept could not be replicated: no leader in time")


def _is_settled(world: ServedWorld, at: int) -> bool:
    partition = world.live_partitions[at]
    leader = partition.controller.partition.leader
    if not partition.is_agreed():
        return False
    row = partition.row(leader)
    return row.high_watermark == len(row.log)
