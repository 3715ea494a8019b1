"""What properties say to a step is looked up, as steps are (memo.py): how things stand, as far as
any property can tell, knows which steps were taken from there, found harmless, and led where.

Law of this file: what properties look at of a row is its face (`invariants.face_of`), which a
harmless step leaves alone; what they look at of the past is what the checker knows. So who stands
alike, and takes the same step, need not be looked at again. A step that violates something, or of
which the row alone is suspicious, is never known. What a broker has read of the metadata is looked
at in every run: hardly two have the same metadata.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import count
from typing import Any, Final

import msgspec

from reference.partition.invariants import Known, PartitionChecker, face_of
from reference.sim.memo import State, Step

MOST: Final = 100_000
"""So many are known at most, then none: some 80 MB. To find one again takes microseconds."""


class Outlook(msgspec.Struct, eq=False, gc=False):
    """How things stand. past: a number for what the checker knows of what was. settled: whether the
    checker is."""

    known: Known
    past: int
    settled: bool
    after: dict[Step, Outlook]
    """By harmless steps that were taken from here."""


class Outlooks:
    """All that were met under the same constants and rules."""

    def __init__(self) -> None:
        self._outlooks: dict[tuple[int, ...], Outlook] = {}
        self._pasts: defaultdict[Any, int] = defaultdict(count().__next__)
        self._faces: dict[Any, int] = {}

    def of(
        self,
        states: Iterable[State],
        checker: PartitionChecker,
        promised: bool,
        before: Outlook | None = None,
    ) -> Outlook:
        """The one object for nodes in these states, always in one order, and for what is known.
        promised: whether what is committed is. before: how things stood before the last step.
        """
        known, settled = checker.known(), checker.is_settled
        if before is not None and known.facts == before.known.facts:
            past = before.past
        else:
            past = self._pasts[known.facts]
        key = (promised, settled, past, *[state.face or self._face(state) for state in states])
        found = self._outlooks.get(key)
        if found is None:
            if len(self._outlooks) >= MOST:
                self.forget()
            found = self._outlooks[key] = Outlook(known, past, settled, {})
        return found

    def _face(self, state: State) -> int:
        state.face = self._faces.setdefault(face_of(state.row), 1 + len(self._faces))
        return state.face

    def forget(self) -> None:
        """They refer to each other in circles, which nobody else would take apart."""
        for outlook in self._outlooks.values():
            outlook.after.clear()
        self._outlooks.clear()
        self._pasts.clear()
