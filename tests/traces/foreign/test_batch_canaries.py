"""A judging of foreign traces that cannot be trusted gives no verdict."""

from __future__ import annotations

import pytest

from kraftcheck.traces.foreign import batch
from kraftcheck.traces.foreign.batch import judge_batch
from kraftcheck.traces.foreign.reading import ForeignTrace, read_foreign
from tests.traces.foreign.lines import header, write
from tests.traces.foreign.walks import CONSTANTS, walk_lines
from tests.traces.jobs.untrue import accept_all, judge_as_predecessor, plant_none
from tla_utils.errors import ToolError

LIVED = r"TLC accepted \d+ of \d+ canaries"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> ForeignTrace:
    """Steps of brokers and of their controller; some stand twice."""
    path = tmp_path_factory.mktemp("foreign") / "walk.jsonl"
    lines = [line | {"run": run} for run in range(3) for line in walk_lines(seed=3, steps=200)]
    return read_foreign(write(path, [header(CONSTANTS, "full"), *lines]))


@pytest.mark.slow
@pytest.mark.tlc
def test_canaries_change_no_verdict_and_are_not_counted(
    trace: ForeignTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = judge_batch(trace)
    assert found.verdict == "holds" and 100 < found.distinct < 300
    plant_none(monkeypatch, batch)
    assert judge_batch(trace).distinct == found.distinct


@pytest.mark.slow
@pytest.mark.tlc
def test_steps_that_are_judged_as_their_predecessor(
    trace: ForeignTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge_as_predecessor(monkeypatch, 3, 1)
    with pytest.raises(ToolError, match=LIVED):
        judge_batch(trace)
    # The twin: nothing else sees it.
    plant_none(monkeypatch, batch)
    assert judge_batch(trace).verdict == "holds"


def test_a_judging_that_accepts_everything(
    trace: ForeignTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept_all(monkeypatch)
    with pytest.raises(ToolError, match=LIVED):
        judge_batch(trace)
    plant_none(monkeypatch, batch)
    assert judge_batch(trace).verdict == "holds"


def test_a_judging_that_drops_steps(trace: ForeignTrace, monkeypatch: pytest.MonkeyPatch) -> None:
    accept_all(monkeypatch, dropped=1)
    with pytest.raises(ToolError, match=r"TLC gave \d+ verdicts on \d+ steps"):
        judge_batch(trace)
