"""Columns of operations are judged as the operations are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference.clients.promises import promised
from tests.traces.checkers.bulk_worlds import compare, rows_of, world
from tests.traces.checkers.member_worlds import CONFIGURATION
from traces.checkers import bulk
from traces.checkers.check import check_history, check_rows


def test_columns_are_those_of_the_operations(tmp_path: Path) -> None:
    found = Counter(compare(seed, tmp_path) for seed in range(150))
    assert found["same"] > 140, found


@pytest.mark.parametrize("wrong", ["span", "session", "record"])
def test_a_wrong_column_is_seen(
    wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if wrong == "span":
        at = bulk._Spans.at

        def late(self: Any, place: Any, rows: Any, of: Any) -> Any:
            span, several = at(self, place, rows, of)
            return np.where(several, span - 1, span), several

        monkeypatch.setattr(bulk._Spans, "at", late)
    elif wrong == "session":
        monkeypatch.setattr(bulk, "_sessions", lambda rows, fetches: rows.process[fetches])
    else:
        records = bulk._records
        monkeypatch.setattr(
            bulk, "_records", lambda *given: tuple(each[1:] for each in records(*given))
        )
    with pytest.raises(AssertionError):
        for seed in range(400):
            compare(seed, tmp_path)


def test_reports_are_the_same(tmp_path: Path) -> None:
    """With their certificates."""
    promise = promised(CONFIGURATION)
    found: Counter[str] = Counter()
    for seed in range(150):
        history = world(seed)
        if not any(each.f in ("append", "fetch") for each in history.operations):
            continue
        slow = check_history(history, configuration=CONFIGURATION, gaps=True)
        fast = check_rows(rows_of(history, tmp_path), promise, CONFIGURATION, gaps=True)
        found[slow.verdict] += fast is not None
        assert fast in (None, slow), seed
    assert found["holds"] > 100 and found["violated"] > 10, found
