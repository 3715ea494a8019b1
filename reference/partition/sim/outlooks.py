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

from kraftcheck.reference.partition.invariants import Known, PartitionChecker, face_of
from kraftcheck.reference.sim.memo import State, Step

MOST: Final = 100_000
"""So many are known at most, then none: some 80 MB. To find one again takes microseconds."""
TRIED: Final = 5_000
"""When so many steps were looked at it is seen whether they pay. By then runs of one configuration
have looked up nearly as many, and runs that draw their options a tenth of that."""


class Outlook(msgspec.Struct, eq=False, gc=False):
    """How things stand. known: what the checker knows; None: nobody else shall know it. past: a
    number for what of it was. settled: whether the checker is."""

    known: Known | None
    past: int
    settled: bool
    after: dict[Step, Outlook]
    """By harmless steps that were taken from here."""


class Outlooks:
    """All that were met under the same constants and rules. pays: whether they are looked up.
    looked_up: how many steps were, which whoever does it counts."""

    def __init__(self, pays: bool) -> None:
        self._pays = pays
        self._asked = 0
        self.looked_up = 0
        self._outlooks: dict[tuple[int, ...], Outlook] = {}
        self._unknown = [Outlook(None, 0, settled, {}) for settled in (False, True)]
        """Where nothing is looked up: all that is to be known is whether the checker is settled."""
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
        settled = checker.is_settled
        if not self._pays:
            return self._unknown[settled]
        known = checker.known()
        if before is not None and before.known is not None and known.facts == before.known.facts:
            past = before.past
        else:
            past = self._pasts[known.facts]
        key = (promised, settled, past, *[state.face or self._face(state) for state in states])
        found = self._outlooks.get(key)
        if found is None:
            if len(self._outlooks) >= MOST:
                self.forget()
            found = self._outlooks[key] = Outlook(known, past, settled, {})
        self._asked += 1
        if self._asked == TRIED and 2 * self.looked_up < TRIED:
            self._pays = False
            self.forget()
        return found

    def harmless(self, before: Outlook, step: Step, after: Outlook) -> None:
        """The step led from one to the other, and violates nothing."""
        if self._pays:
            before.after[step] = after

    def _face(self, state: State) -> int:
        state.face = self._faces.setdefault(face_of(state.row), 1 + len(self._faces))
        return state.face

    def forget(self) -> None:
        """They refer to each other in circles, which nobody else would take apart."""
        for outlook in self._outlooks.values():
            outlook.after.clear()
        self._outlooks.clear()
        self._pasts.clear()
