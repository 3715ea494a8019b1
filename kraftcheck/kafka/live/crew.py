"""Clients at work, each in a thread of its own, and an end that does not depend on their goodwill.

A client library may never come back from a call (kafka-python 3.0.12 loops for ever on an error in
the middle of a fetch). Whoever it holds is left behind: threads are daemons, so that the process
can end, and the history simply has no answer to what was asked last.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any


class Crew:
    """Starts work, waits for it, and counts whom it could not wait for."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []
        self._failed = threading.Event()
        self._problems: list[BaseException] = []

    def start(self, work: Callable[..., Any], *arguments: Any) -> None:
        def tried() -> None:
            try:
                work(*arguments)
            except BaseException as problem:
                self._problems.append(problem)
                self._failed.set()

        thread = threading.Thread(target=tried, daemon=True)
        self._threads.append(thread)
        thread.start()

    def wait(self, seconds: float) -> bool:
        """So long, or until somebody has failed; returns whether somebody has."""
        return self._failed.wait(seconds)

    def join(self, patience: float | None = None) -> int:
        """Waits for all, at most so many seconds in all. Returns how many are still held.

        Raises the first error that one of them ended with.
        """
        begin = time.monotonic()
        for thread in self._threads:
            left = None if patience is None else patience - (time.monotonic() - begin)
            thread.join(None if left is None else max(0.0, left))
        if self._problems:
            raise self._problems[0]
        return sum(thread.is_alive() for thread in self._threads)
