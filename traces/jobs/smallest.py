"""The certificate of one log of one run, for reports that name the smallest of many."""

from __future__ import annotations

from bisect import bisect_right
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow.compute as pc

from kraftcheck.traces.checkers.arrow import from_arrow, partitions
from kraftcheck.traces.checkers.assessment import assess
from kraftcheck.traces.checkers.findings import EXAMPLES_MAX
from kraftcheck.traces.checkers.verdict import Certificate
from kraftcheck.traces.formats.trace import history_of, log_of, objects_of
from kraftcheck.traces.history import History
from kraftcheck.traces.jobs.promised import (
    has_control_records,
    judge_objects,
    objects_seen,
    promises_of,
)
from kraftcheck.traces.store import Manifest, read_table


class Shown(NamedTuple):
    """The evidence, and the whole history of its run; both name operations alike."""

    certificate: Certificate
    history: History
    why: str = ""
    """Of an anomaly of a log, why it is allowed there, or that it is not."""


def shown(
    trace: Path, manifest: Manifest, run: int, partition: int, anomaly: str | None
) -> Shown | None:
    """Give the smallest evidence of an anomaly by its name.

    Without a name, of what breaks the promise; None where nothing does. Raises TraceError: the part
    cannot be read.
    """
    starts = [entry.first_run for entry in manifest.parts]
    entry = manifest.parts[bisect_right(starts, run) - 1]
    runs = read_table(trace, entry, "runs")
    own = runs.filter(pc.equal(runs["run"], run))
    scenario = manifest.campaign.scenario
    recorded = own["history"][0].as_py()
    seen = objects_seen(scenario)
    if seen is not None:
        history = objects_of(trace, run, recorded, "")
        found = judge_objects(history, seen)
        [of_object] = [each for each in found if each.key == str(partition)]
        evidence = of_object.certificate
        return None if evidence is None else Shown(evidence, history)
    batch = from_arrow(list(partitions(own["history"]))[partition])
    # Counted there are the operations on this partition alone.
    place = np.array([at for at, each in enumerate(recorded) if each["partition"] == partition])
    batch = batch._replace(
        appends=batch.appends._replace(operation=place[batch.appends.operation]),
        reads=batch.reads._replace(operation=place[batch.reads.operation]),
    )
    assessed = assess(
        batch, promises_of(scenario, own), gaps=has_control_records(scenario), complete=False
    )
    if anomaly is None:
        certificate = assessed.certificate(0)
    else:
        examples = islice(assessed.anomalies.certificates(anomaly, 0), EXAMPLES_MAX)
        certificate = min(examples, key=lambda each: len(each.operations), default=None)
    if certificate is None:
        return None
    whole = history_of(trace, run, recorded, log_of(scenario))
    named = certificate.operations
    key = whole.operations[named[-1]].key if named else None
    why = "" if anomaly is None else assessed.why(anomaly, 0)
    return Shown(msgspec.structs.replace(certificate, key=key), whole, why)
