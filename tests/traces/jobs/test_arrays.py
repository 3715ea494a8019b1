"""The steps of a part, run by run and component by component."""

from __future__ import annotations

import pyarrow as pa

from kraftcheck.traces.steps.record import Occurrences


def test_a_thread_is_one_component_of_one_run() -> None:
    """Two runs: one of three components, one that has none of its own."""
    runs = pa.table(
        {
            "steps": [[5, 6, 7, 8], [9, 5]],
            "times": [[1, 2, 3, 4], [1, 2]],
            "components": pa.array([[2, 0, 1, 2], []], pa.list_(pa.int64())),
        }
    )
    found = Occurrences.from_runs(runs)
    assert found.components == 3
    assert found.run_at.tolist() == [0, 0, 0, 0, 1, 1]
    assert found.thread.tolist() == [2, 0, 1, 2, 3, 3]
    assert found.step[found.by_thread].tolist() == [6, 7, 5, 8, 9, 5]
