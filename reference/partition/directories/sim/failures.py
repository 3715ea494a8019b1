"""When directories fail while a cluster runs, and when a broker starts again to have them back.

Law of this file: when is drawn before the run; what fails, when it is time. It does nothing any
more when the faults have ended, but that every broker without one of its directories starts again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from kraftcheck.reference.partition.moving.sim.administrator import FIRST_US
from kraftcheck.reference.sim.choices import Stream, chance, pick

REPAIRED: Final = 400
"""So many of a thousand brokers without a directory start again while there are faults."""
REPAIR_US: Final = 2_500_000
"""So soon, then."""
RESTART_US: Final = 200_000


class Brokers(Protocol):
    all: tuple[int, ...]

    def is_running(self, node: int) -> bool: ...
    def online(self, node: int) -> tuple[int, ...]:
        """The directories of a broker that have not failed."""
        ...

    def fail(self, node: int, directory: int) -> None: ...
    def kill(self, node: int) -> None:
        """The process ends, and its disks have all that was written."""
        ...

    def start_again(self, node: int) -> None:
        """One that is down."""
        ...


class Failures:
    """Of one run."""

    def __init__(
        self,
        failures: int,
        directories: Sequence[int],
        stream: Stream,
        brokers: Brokers,
        call: Callable[[int, Callable[[int], None], int], None],
    ) -> None:
        """failures: so many times. directories: of each broker."""
        self._failures, self._directories, self._stream = failures, directories, stream
        self._brokers, self._call = brokers, call
        self._over = False
        self.failed = 0
        """So many failed."""

    def start(self, lasts: int) -> None:
        """lasts: so many microseconds there are faults."""
        for _ in range(self._failures):
            self._call(FIRST_US + self._stream.below(max(1, lasts - FIRST_US)), self._fail, 0)

    def end(self) -> None:
        self._over = True
        for node in self._brokers.all:
            self._repair(node)

    def _fail(self, _: int) -> None:
        """A directory of a broker that has others left."""
        brokers = self._brokers
        able = [n for n in brokers.all if brokers.is_running(n) and len(brokers.online(n)) > 1]
        if self._over or not able:
            return
        node = pick(self._stream, able)
        brokers.fail(node, pick(self._stream, brokers.online(node)))
        self.failed += 1
        if chance(self._stream, REPAIRED):
            self._call(self._stream.below(REPAIR_US), self._repair, node)

    def _repair(self, node: int) -> None:
        brokers = self._brokers
        if brokers.is_running(node) and len(brokers.online(node)) < len(self._directories):
            brokers.kill(node)
            self._call(RESTART_US, brokers.start_again, node)
