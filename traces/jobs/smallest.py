"""The certificate of one log of one run, for reports that name the smallest of many."""

from __future__ import annotations

from bisect import bisect_right
from itertools import islice
from pathlib import Path

import pyarrow.compute as pc

from traces.checkers.assessment import EXAMPLES_MAX, assess
from traces.checkers.recorded import from_arrow, partitions
from traces.checkers.verdict import Certificate
from traces.jobs.promised import has_control_records, promises_of
from traces.schema import Manifest, read_table


def certificate_in(
    trace: Path, manifest: Manifest, run: int, partition: int, anomaly: str | None
) -> Certificate | None:
    """The smallest evidence of an anomaly by its name, or, without one, of what breaks the promise;
    None where nothing does. Raises TraceError: the part cannot be read.
    """
    starts = [entry.first_run for entry in manifest.parts]
    entry = manifest.parts[bisect_right(starts, run) - 1]
    runs = read_table(trace, entry, "runs")
    own = runs.filter(pc.equal(runs["run"], run))
    scenario = manifest.campaign.scenario
    history = list(partitions(own["history"]))[partition]
    found = assess(
        from_arrow(history), promises_of(scenario, own), gaps=has_control_records(scenario)
    )
    if anomaly is None:
        return found.certificate(0)
    examples = islice(found.anomalies.certificates(anomaly, 0), EXAMPLES_MAX)
    return min(examples, key=lambda each: len(each.operations), default=None)
