"""What a process need not import: pandas, where Arrow makes arrays of lists."""

from __future__ import annotations

import subprocess
import sys

MADE = """
import sys
import pyarrow as pa
{first}
table = pa.table({{"a": [1, 2], "b": [["x"], []]}})
print("pandas" in sys.modules)
print(table.to_pandas()["a"].sum())
"""


def said(first: str) -> list[str]:
    words = [sys.executable, "-c", MADE.format(first=first)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()


def test_pandas_is_imported_where_it_is_called_for_only() -> None:
    """The second is the canary: without our word Arrow imports it."""
    assert said("import kraftcheck.traces.schema") == ["False", "3"]
    assert said("") == ["True", "3"]
