"""A change to try: what has been voted so far is enough, if half of all said yes."""

from __future__ import annotations

from two_phase.protocol import Coordinator, Decided, TwoPhaseRules, Voted


class Eager(TwoPhaseRules):
    def decided(self, row: Coordinator, votes: tuple[Voted, ...]) -> Decided:
        if "No" in votes:
            return "Abort"
        return "Commit" if 2 * votes.count("Yes") >= len(votes) else "None"
