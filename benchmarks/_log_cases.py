"""Which made-up histories of partition logs are measured, and how Porcupine's driver reads them."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from benchmarks._log_synthetic import FAULTS, logs, planted
from kraftcheck.traces.checkers.columns import NEVER, Ints, LogBatch
from kraftcheck.traces.checkers.verdict import HOLDS, VIOLATED

LENGTHS: Final = (1_000, 10_000, 100_000, 1_000_000)
CONCURRENCIES: Final = (5, 10, 30)
UNKNOWN_SHARE: Final = 0.01
_RUNS: Final = {1_000: 100, 10_000: 10}
"""Of how many histories a case consists; of those not named, of one."""
_APPEND, _READ, _NOTHING = 0, 1, -1


class Case(NamedTuple):
    """Some histories of one kind: valid, stale, swap, or unknown."""

    operations: int
    clients: int
    kind: str
    expected: str
    batch: LogBatch


def case_of(operations: int, clients: int, kind: str) -> Case:
    """Raises ValueError: no operations or clients."""
    unknown = UNKNOWN_SHARE if kind == "unknown" else 0.0
    batch = logs(_RUNS.get(operations, 1), operations, clients, unknown=unknown, seed=operations)
    if kind in FAULTS:
        batch = planted(batch, kind)
    return Case(operations, clients, kind, VIOLATED if kind in FAULTS else HOLDS, batch)


def rows_of(log: LogBatch) -> Ints:
    """A log's operations as the driver reads them; reads are of one record."""
    a, r = log.appends, log.reads
    found = np.diff(r.splits)
    value = np.full(len(found), _NOTHING, np.int64)
    value[found > 0] = r.values
    appends = (a.process, np.full(len(a.value), _APPEND), a.offset, a.value, a.invoked, a.completed)
    reads = (r.process, np.full(len(value), _READ), r.start, value, r.invoked, r.completed)
    assert r.completed.max(initial=0) < NEVER
    return np.concatenate([np.stack(appends, axis=1), np.stack(reads, axis=1)]).astype("<i8")
