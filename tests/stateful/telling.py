"""How far a long search is, while it lasts: pytest itself says nothing until a test has ended."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Event, Thread
from time import monotonic

BEAT_S = 1.5
GROWTH = 0.25
"""Without a terminal the next line comes when such a part of the time until then has gone."""


class Telling:
    """Says again and again what `told` gives, with the seconds: on one line of a terminal. Where it
    gives nothing, the test that runs just now is named (`testing`): not every one is a search.

    screen: a descriptor, of which a copy is kept, since while a test runs pytest captures what goes
    to its own. beat: seconds.
    """

    def __init__(self, screen: int, told: Callable[[], str], beat: float = BEAT_S) -> None:
        self._screen = os.fdopen(os.dup(screen), "w", encoding="utf-8")
        self._told, self._every = told, beat
        self.testing = ""
        self._begun = self._last = monotonic()
        self._ended = Event()
        self._thread = Thread(target=self._beat, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Says no more; may be called again."""
        self._ended.set()
        self._thread.join()
        self._screen.close()

    def _beat(self) -> None:
        while not self._ended.wait(self._every):
            now = monotonic()
            what = self._told() or self.testing or "the tests are collected"
            text = f"chaos: {what}, {now - self._begun:.0f} s"
            if self._screen.isatty():
                self._say(f"\r\x1b[K{text} ")
            elif now - self._last >= GROWTH * (self._last - self._begun):
                self._last = now
                self._say(f"\n{text}\n")

    def _say(self, text: str) -> None:
        self._screen.write(text)
        self._screen.flush()
