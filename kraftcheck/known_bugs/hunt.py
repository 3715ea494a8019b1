"""Where a bug is looked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from kraftcheck.reference.runner.run import Run
    from kraftcheck.traces.store import Campaign
WATCHED, UNWATCHED = "watched", "unwatched"
"""The two kinds of run (runs.py)."""


class Hunt(msgspec.Struct, frozen=True, kw_only=True):
    """Where a bug is looked for: a campaign, but for the number of its runs.

    bug: an id, or whatever else names a substitution. options: those that every run has; the
    others are drawn.
    """

    scenario: str
    bug: str | None
    seed: int = 1
    options: dict[str, Any] = {}

    def campaign(self, kind: str, runs: int) -> Campaign:
        """The campaign of so many runs; `kind` is WATCHED or UNWATCHED."""
        # Late, as below: `bugs show` only names the hunt.
        from kraftcheck.traces.store import Campaign

        options = {**self.options, "watched": kind == WATCHED}
        return Campaign(
            scenario=self.scenario, seed=self.seed, runs=runs, bug=self.bug, options=options
        )

    def run(self, kind: str, number: int) -> Run:
        """One run alone, by content."""
        from kraftcheck.reference.runner.run import simulate_run

        campaign = self.campaign(kind, number + 1)
        return simulate_run(self.scenario, self.seed, number, self.bug, campaign.options)
