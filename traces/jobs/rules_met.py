"""Which named decisions the runs came to, and how they were answered.

A decision of a protocol is a method of its rules (`Protocol.rules`). Steps are remembered while
runs are simulated, so most decisions are taken once for many runs; here the first runs of a
campaign are executed once more, each step anew, while every decision is watched. What is asked of
so few runs is which answers were ever given, not how often.

    rule    a decision and its answer (reference/runner/watching.py)

Where rules guide a campaign, all its runs tell of them (novelty.py).
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kraftcheck.reference.runner.run import execute_run
from kraftcheck.reference.runner.watching import rules_of, watched
from kraftcheck.traces.jobs.coverage import FEATURES
from kraftcheck.traces.jobs.novelty import RULE
from kraftcheck.traces.store import Campaign

WATCHED_RUNS: Final = 100
"""Of each campaign, so many runs are executed again."""


def rules_met(campaign: Campaign, first_run: int, runs: int) -> pa.Table:
    """FEATURES of kind `rule`, of those of the runs that are among the first WATCHED_RUNS; count is
    in how many of them."""
    found: dict[str, list[int]] = {}
    for run in range(first_run, min(first_run + runs, WATCHED_RUNS)):
        met: set[str] = set()
        with watched(rules_of(campaign.scenario, campaign.options), met.add):
            options = dict(campaign.options) or None
            execute_run(campaign.scenario, campaign.seed, run, campaign.bug, options)
        for name in met:
            found.setdefault(name, []).append(run)
    rows = [
        {"kind": RULE, "name": name, "count": len(of), "first_run": of[0]}
        for name, of in sorted(found.items())
    ]
    return pa.Table.from_pylist(rows, schema=FEATURES)
