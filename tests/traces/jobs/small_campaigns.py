"""Small campaigns for tests, whose steps a stand-in for TLC accepts unless it is told otherwise.

    python -m tests.traces.jobs.small_campaigns DIR      the same in a process of its own

What is tested with it is all that stands around TLC; test_campaigns.py has one campaign that TLC
itself judges.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

from kraftcheck.traces.jobs import campaigns
from kraftcheck.traces.jobs.backends import Backend, Pool
from kraftcheck.traces.jobs.campaigns import Listener, Options, run_campaign
from kraftcheck.traces.jobs.plan import Configuration, begin, plan_of
from kraftcheck.traces.steps.classes import PartFiles
from kraftcheck.traces.steps.judge import ACCEPTED, JUDGED, UNJUDGED, Judgement, groups_of
from tla_utils.errors import ToolError

RUNS, SEED = 12, 3
QUORUM = (Configuration(name="quorum", scenario="quorum"),)
BATCH = 150


class StandIn:
    """In the place of TLC: accepts all it is asked, and remembers how much that was.

    dies_after: so many batches are judged, then it fails as a JVM without memory would.
    """

    def __init__(self, dies_after: int | None = None) -> None:
        self.asked = 0
        self.dies_after = dies_after

    def __call__(
        self,
        files: Sequence[PartFiles],
        merged: pa.Table,
        into: Path,
        options: Any,
        specs: Path,
        progress: Callable[[int], None],
        keep: Callable[[str, pa.Table], None],
        workers: Backend | None = None,
    ) -> Judgement:
        judgement = Judgement(np.full(len(merged), UNJUDGED, dtype=np.int8))
        for number, (kind, classes) in enumerate(groups_of(files, merged, BATCH)):
            if number == self.dies_after:
                raise ToolError("TLC died")
            self.asked += len(classes)
            judged = classes.drop_columns(["number"])
            for name, value in (("verdict", "accepted"), ("reason", "")):
                judged = judged.append_column(name, pa.array([value] * len(classes)))
            keep(kind, judged.cast(JUDGED))
            judgement.verdicts[classes["number"].to_numpy()] = ACCEPTED
        return judgement


def campaign(
    directory: Path,
    runs: int = RUNS,
    configurations: tuple[Configuration, ...] = QUORUM,
    stand_in: StandIn | None = None,
    told: Listener | None = None,
    **options: Any,
) -> dict[str, Any] | None:
    """Begins it, or goes on with it."""
    plan = begin(directory, plan_of(configurations, runs, SEED))
    with mock.patch.object(campaigns, "judge", stand_in or StandIn()):
        return run_campaign(directory, plan, Options(backend=Pool(1), **options), told)


def extended(directory: Path, more: int) -> dict[str, Any] | None:
    from kraftcheck.traces.jobs.plan import extended, read_plan

    plan = extended(directory, read_plan(directory), more)
    with mock.patch.object(campaigns, "judge", StandIn()):
        return run_campaign(directory, plan, Options(backend=Pool(1)))


def contents(directory: Path) -> dict[str, bytes]:
    """All that a campaign left, but for hidden notes of the work and what was spent."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != campaigns.TIMINGS
        if not any(part.startswith(".") for part in path.relative_to(directory).parts)
    }


if __name__ == "__main__":
    campaign(Path(sys.argv[1]))
