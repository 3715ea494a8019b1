"""Histories in tables, and their operations in columns."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kraftcheck.traces.checkers.arrow import partitions


def column(*runs: str) -> pa.ListArray:
    """Of each run the operations, each named by its partition."""
    rows = [[{"partition": int(each), "at": at} for at, each in enumerate(run)] for run in runs]
    fields = pa.struct({"partition": pa.int64(), "at": pa.int64()})
    return pa.array(rows, pa.list_(fields))


@pytest.mark.parametrize(
    ("runs", "split"),
    [
        (("0120", "", "22"), [[[0, 3], [], []], [[1], [], []], [[2], [], [0, 1]]]),
        (("00", "0"), [[[0, 1], [0]]]),
        (("", ""), [[[], []]]),
        ((), [[]]),
    ],
)
@pytest.mark.parametrize("chunked", [False, True])
def test_a_table_for_each_partition(
    runs: tuple[str, ...], split: list[list[list[int]]], chunked: bool
) -> None:
    made = column(*runs)
    given = pa.chunked_array([made.slice(0, 1), made.slice(1)], made.type) if chunked else made
    found = [[[each["at"] for each in run] for run in of.to_pylist()] for of in partitions(given)]
    assert found == split
