"""The own time of a served cluster."""

from __future__ import annotations

import time
from typing import Final

GAP_S: Final = 0.25
"""Of a longer time in which the process was not run, no more than this is the cluster's own."""


class Clock:
    """The cluster's own time, in microseconds: real time, sped up, and what it leapt."""

    def __init__(self, speed: int) -> None:
        self._speed = speed
        self._real = time.monotonic()
        self._now = 0

    def now(self) -> int:
        real = time.monotonic()
        self._now += int(min(real - self._real, GAP_S) * 1e6 * self._speed)
        self._real = real
        return self._now

    def rest(self) -> None:
        """Leave out the time in which the cluster computed.

        Where there is much to do for many partitions its time goes more slowly, and clients are
        heard all the same.
        """
        self._real = time.monotonic()

    def leap_to(self, now: int) -> None:
        self._now = max(self._now, now)
