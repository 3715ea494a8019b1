"""Made-up logs hold by construction, and each planted fault breaks every one of them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks._log_synthetic import FAULTS, logs, planted
from kraftcheck.traces.checkers.columns import MAY, UNKNOWN
from kraftcheck.traces.checkers.log import BROKEN, HELD, judge

RUNS = 6


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("unknown", [0.0, 0.2])
def test_what_is_made_is_linearizable(unknown: float, ends: bool) -> None:
    batch = logs(RUNS, 200, 5, unknown=unknown, ends=ends, seed=1)
    assert judge(batch).verdicts.tolist() == [HELD] * RUNS
    assert bool((batch.appends.outcome == MAY).any()) == (unknown > 0)
    reads = batch.reads
    if not ends:
        assert (reads.end == UNKNOWN).all()
        return
    # A read finds a record unless it is at the end.
    assert ((np.diff(reads.splits) == 1) == (reads.start < reads.end)).all()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_in_every_run(fault: str) -> None:
    batch = logs(RUNS, 200, 5, seed=2)
    broken = planted(batch, fault)
    assert judge(broken).verdicts.tolist() == [BROKEN] * RUNS
    if fault == "stale":
        assert len(batch.reads.offsets) - len(broken.reads.offsets) == RUNS
    else:
        assert (batch.appends.offset != broken.appends.offset).sum() == 2 * RUNS


def test_what_cannot_be_made_is_refused() -> None:
    for wrong in ((0, 1, 1), (1, 0, 1), (1, 1, 0)):
        with pytest.raises(ValueError, match="runs of"):
            logs(*wrong)
    with pytest.raises(ValueError, match="no fault 'torn'"):
        planted(logs(1, 10, 2), "torn")
