"""Who had which partition of a group, as bars."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from kraftcheck.checking.judge import judge_file
from kraftcheck.checking.options import Options
from kraftcheck.traces.formats import detect
from kraftcheck.traces.history import History
from kraftcheck.traces.report.history import render
from kraftcheck.traces.report.history_members import BARS_MAX, Ownership, ownership
from tests.traces.checkers.test_groups import BAD, GOOD, Facts, begun


def drawn(told: Facts, path: Path) -> tuple[History, Ownership | None]:
    path.write_text("\n".join(told.lines))
    history = detect.read(path)
    return history, ownership(history)


def test_a_bar_for_each_time_that_a_member_had_a_partition(tmp_path: Path) -> None:
    _, found = drawn(GOOD["a hand-over"], tmp_path / "history.edn")
    assert found is not None and found.left == 0
    [row] = found.rows
    one, other = row.bars
    assert one.x + one.width <= other.x and row.name == "t"
    assert one.hint.endswith("given up") and other.hint.endswith("nothing more was heard")


@pytest.mark.parametrize("name", ["overlap", "zombie-overlap"])
def test_two_members_at_once_lie_over_one_another(name: str, tmp_path: Path) -> None:
    _, found = drawn(BAD[name], tmp_path / "history.edn")
    assert found is not None
    bars = found.rows[0].bars
    assert any(one.x + one.width > other.x for one, other in pairwise(bars))


def test_a_history_without_rebalances_has_none(tmp_path: Path) -> None:
    history, found = drawn(Facts().sent(10), tmp_path / "history.edn")
    assert found is None
    page = render(history, judge_file(tmp_path / "history.edn", Options()))
    assert "Who had which partition" not in page


def test_it_is_on_the_page(tmp_path: Path) -> None:
    history, _ = drawn(BAD["overlap"], tmp_path / "history.edn")
    page = render(history, judge_file(tmp_path / "history.edn", Options()))
    assert page.count('class="member hue') == 2 and "Who had which partition" in page


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    told = begun()
    for _ in range(BARS_MAX // 2 + 5):
        told.taken(1).given(1).taken(1).given(1)
    _, found = drawn(told, tmp_path / "history.edn")
    assert found is not None and len(found.rows[0].bars) == BARS_MAX and found.left == 11
