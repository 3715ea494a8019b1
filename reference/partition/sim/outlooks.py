"""What properties say to a step is looked up, as steps are (memo.py): how things stand, as far as
any property can tell, knows which steps were taken from there, found harmless, and led where.

Law of this file: what properties look at of a row is its face (`invariants.face_of`), and a step that
leaves it alone is harmless; what they look at of the past is what the checker knows. So who stands
alike, and takes the same step, need not be looked at again. A step that violates something, or
whose own rows are suspicious, is never known; nor does it tell what a broker read of the metadata,
of which there is too much to stand alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final

import msgspec

from reference.partition.invariants import Known, PartitionChecker
from reference.sim.memo import State, Step

MOST: Final = 100_000
"""So many are known at most, then none: some 80 MB. To find one again takes microseconds."""


class Outlook(msgspec.Struct, eq=False, gc=False):
    """How things stand. known, settled: what the checker knows, and whether it is settled."""

    known: Known
    settled: bool
    after: dict[Step, Outlook]
    """By harmless steps that were taken from here."""


class Outlooks:
    """All that were met under the same constants and rules, and the same properties."""

    def __init__(self) -> None:
        self._outlooks: dict[Hashable, Outlook] = {}

    def of(self, states: Iterable[State], checker: PartitionChecker) -> Outlook:
        """The one object for nodes in these states, always in one order, and what is known."""
        known, settled = checker.known(), checker.is_settled
        key = (*[state.face for state in states], *known.facts, settled)
        found = self._outlooks.get(key)
        if found is None:
            if len(self._outlooks) >= MOST:
                self.forget()
            found = self._outlooks[key] = Outlook(known, settled, {})
        return found

    def forget(self) -> None:
        """They refer to each other in circles, which nobody else would take apart."""
        for outlook in self._outlooks.values():
            outlook.after.clear()
        self._outlooks.clear()
