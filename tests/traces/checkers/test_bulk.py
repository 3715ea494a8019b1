"""Columns of operations are judged as the operations are."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from kraftcheck.reference.clients.promises import promised
from kraftcheck.traces.checkers import bulk
from kraftcheck.traces.checkers.bulk import batch_of
from kraftcheck.traces.checkers.check import check_history, check_rows
from kraftcheck.traces.checkers.columns import from_history
from kraftcheck.traces.history import LOG_OPERATIONS
from tests.traces.checkers.bulk_worlds import compare, of_log, rows_of, world
from tests.traces.checkers.member_worlds import CONFIGURATION


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
        whole = bulk._sessions

        def without_resets(rows: Any, reads: Any) -> Any:
            return rows.process[reads], whole(rows, reads)[1]

        monkeypatch.setattr(bulk, "_sessions", without_resets)
    else:
        records = bulk._records
        monkeypatch.setattr(
            bulk, "_records", lambda *given: tuple(each[1:] for each in records(*given))
        )
    with pytest.raises(AssertionError):
        for seed in range(400):
            compare(seed, tmp_path)


def test_who_subscribes_again_or_is_torn_down_keeps_what_it_keeps(tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    for seed in range(80):
        draw, history = random.Random(seed), world(seed)
        changed = []
        for each in history.operations:
            if each.f == "processed" and draw.random() < 0.5:
                verb = draw.choice(("subscribe", "crash"))
                kept = tuple(draw.sample(("t-0", "t-1"), draw.randint(0, 2)))
                each = replace(each, f=verb, argument=kept if verb == "subscribe" else None)
                found[verb] += 1
            changed.append(each)
        history = replace(history, operations=tuple(changed))
        if any(each.f in LOG_OPERATIONS for each in changed):
            assert of_log(batch_of(rows_of(history, tmp_path))) == of_log(from_history(history))
    assert min(found["subscribe"], found["crash"]) > 50, found


def test_reports_are_the_same(tmp_path: Path) -> None:
    """With their certificates."""
    promise = promised(CONFIGURATION)
    found: Counter[str] = Counter()
    for seed in range(150):
        history = world(seed)
        if not any(each.f in ("append", "fetch") for each in history.operations):
            continue
        slow = check_history(history, configuration=CONFIGURATION, gaps=True, complete=False)
        rows = rows_of(history, tmp_path)
        fast = check_rows(rows, promise, CONFIGURATION, gaps=True, complete=False)
        found[slow.verdict] += fast is not None
        assert fast in (None, slow), seed
    assert found["holds"] > 100 and found["violated"] > 10, found
