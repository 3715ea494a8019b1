"""Canaries: where they stand, what is wrong with them, and which faults they see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from msgspec.msgpack import encode

from kraftcheck.reference.quorum.protocol import VOTER
from kraftcheck.reference.quorum.types import Constants, initial_row
from kraftcheck.traces.steps import judge
from kraftcheck.traces.steps.classes import CLASSES, Classes
from kraftcheck.traces.steps.judge import (
    CHUNK,
    NUMBER,
    REASON,
    SPACING,
    canaries_of,
    planted,
    planted_among,
    report_of,
    spoiled,
    without_canaries,
)
from kraftcheck.traces.steps.record import Part, constants_text, decoder_of
from tests.conformance.recording import RecordedRun, part_of, steps_of_walk
from tests.traces.jobs.untrue import judge_as_predecessor
from tla_utils import CheckOptions, Record, StepReport, StepTable, StepVerdict, function
from tla_utils.errors import ToolError

THREE = Constants(voters=(1, 2, 3), fetch_max_records=2)
TEXT = constants_text(THREE)
COLUMNS = ("action", "node", "before", "input", "after", "sent", "ignored")


@cache
def classes(walks: int = 12) -> pa.Table:
    """Distinct steps of random walks."""
    runs = [RecordedRun(THREE, steps_of_walk(THREE, seed, 150)) for seed in range(walks)]
    return Classes(Part(part_of(runs))).table()


def synthetic(count: int, first: int = 0) -> pa.Table:
    """So many steps that differ in their keys alone."""
    row = {
        "constants": TEXT,
        "action": "HandleFlush",
        "node": 1,
        "before": b"",
        "input": b"\x90",
        "after": encode(initial_row(THREE)),
        "sent": [],
        "ignored": "",
    }
    keys = [(first + at).to_bytes(16, "little") for at in range(count)]
    columns: dict[str, Any] = {name: [value] * count for name, value in row.items()}
    return pa.table({"key": keys, **columns}, schema=CLASSES)


def test_steps_stay_in_their_order_and_canaries_stand_apart() -> None:
    steps = classes()
    found, canary = planted(steps, VOTER)
    assert found.filter(pa.array(~canary)).equals(steps)
    places = np.flatnonzero(canary).tolist()
    assert 15 < len(places) <= canaries_of(len(steps))
    gaps = np.diff(places).tolist()
    assert set(gaps[:-1]) == {SPACING} and gaps[-1] <= SPACING
    assert places[0] <= SPACING and places[-1] == len(found) - 1


def test_a_canary_is_the_step_before_it_with_one_thing_wrong() -> None:
    found, canary = planted(classes(), VOTER)
    rows = found.to_pylist()
    wrong: Counter[str] = Counter()
    for at in np.flatnonzero(canary).tolist():
        one, other = rows[at - 1], rows[at]
        (name,) = [name for name in found.column_names if one[name] != other[name]]
        wrong[name] += 1
        if name == "ignored":
            assert other[name] == REASON
        elif name == "sent":
            assert other[name] == [*one[name], one["input"]]
        else:
            before, after = map(decoder_of(VOTER.row), (one[name], other[name]))
            names = before.__struct_fields__
            changed = [n for n in names if getattr(before, n) != getattr(after, n)]
            assert len(changed) == 1 and getattr(after, changed[0]) == NUMBER
    assert set(wrong) == {"ignored", "after", "sent"}
    assert max(wrong.values()) - min(wrong.values()) <= 2


def test_a_step_without_an_input_has_a_canary_too() -> None:
    first = synthetic(1).to_pylist()[0] | {"input": b""}
    for number in range(6):
        key = number.to_bytes(8, "big") + bytes(8)
        table = pa.Table.from_pylist([first | {"key": key}], schema=CLASSES)
        found, canary = planted(table, VOTER)
        assert canary.tolist() == [False, True]
        one, other = found.to_pylist()
        changed = [name for name in found.column_names if one[name] != other[name]]
        assert changed in (["ignored"], ["after"])


@pytest.mark.parametrize(
    "row",
    [
        Record(up=True),
        Record(known=()),
        Record(known=(Record(up=True),)),
        Record(known=function([(7, True)])),
    ],
)
def test_a_row_without_a_number_has_a_canary_too(row: Record) -> None:
    step = {"after": row, "input": None, "sent": (), "ignored": ""}
    for turn in range(3):
        assert spoiled(step, turn) == step | {"ignored": REASON}


@pytest.mark.parametrize("count", [1, 2, 45, 46, 47, 93, 1000])
def test_there_is_a_canary_in_a_batch_of_any_size(count: int) -> None:
    found, canary = planted(synthetic(count), VOTER)
    assert len(found) - count == canary.sum() <= canaries_of(count)
    assert canary[-1] and canary.sum() >= max(1, count // (SPACING - 1))
    assert canaries_of(CHUNK) == 1_088


def test_other_batches_have_them_in_other_places() -> None:
    firsts = {
        int(np.flatnonzero(planted(synthetic(60, first), VOTER).canary)[0])
        for first in range(0, 2**16, 997)
    }
    assert len(firsts) > 20


def test_every_thousandth_step_of_a_full_batch_is_a_canary_somewhere() -> None:
    """Wherever one begins to count."""
    for first in (0, 2**24 - 1, 2**40 + 5):
        places = np.flatnonzero(planted(synthetic(CHUNK, first), VOTER).canary)
        for k in (2, 7, 52, 100, 512, 1000):
            assert set((places % k).tolist()) == set(range(k)), (first, k)


@pytest.mark.parametrize("count", [1, 46, 47, 1000])
def test_steps_in_another_form_have_canaries_alike(count: int) -> None:
    """As records of the spec: where they stand depends on how many there are."""
    step = {"input": Record(type="Flush"), "sent": frozenset(), "after": Record(epoch=1, role="L")}
    steps = [{**step, "ignored": str(number)} for number in range(count)]
    found, canary = planted_among(steps, spoiled)
    assert [each for each, one in zip(found, canary, strict=True) if not one] == steps
    places = np.flatnonzero(canary).tolist()
    assert places[-1] == count + len(places) - 1 and len(places) <= canaries_of(count)
    assert set(np.diff(places)[:-1].tolist()) <= {SPACING}
    wrongs: list[dict[str, Any]] = [
        {"ignored": REASON},
        {"after": Record(epoch=NUMBER, role="L")},
        {"sent": frozenset([Record(type="Flush")])},
    ]
    for turn, at in enumerate(places, start=count % (SPACING - 1)):
        assert found[at] == found[at - 1] | wrongs[turn % 3]


def test_what_is_sent_already_is_not_sent_again() -> None:
    """It would be no other step."""
    step = {"input": 1, "sent": (1,), "after": Record(epoch=1), "ignored": ""}
    assert spoiled(step, 2) == {**step, "ignored": REASON}


# --- Faults between a step and its verdict

Order = Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]
K = 15


def sabotaged(monkeypatch: pytest.MonkeyPatch, steps: pa.Table, order: Order) -> StepReport:
    """The report of a TLC that allows these steps alone, and judges for each place the step that
    stands at `order` of it."""
    allowed = {tuple(map(str, row)) for row in zip(*(steps[n] for n in COLUMNS), strict=True)}
    whole: list[pa.Table] = []

    def table(block: pa.Table, *_: object) -> StepTable:
        whole.append(block)
        return StepTable({"number": [0]}, {"number": [0] * len(block)})

    def check(frame: object, asked: StepTable, *_: object) -> StepReport:
        judged = whole[-1].take(pa.array(order(np.arange(len(asked)))))
        rows = zip(*(judged[name] for name in COLUMNS), strict=True)
        verdicts = [
            StepVerdict("accepted" if tuple(map(str, row)) in allowed else "rejected")
            for row in rows
        ]
        return StepReport(verdicts, len(asked), 1, 0.0, 0.0, 0.0, [])

    monkeypatch.setattr(judge, "encoded_steps", table)
    monkeypatch.setattr(judge, "check_steps", check)
    return report_of("voter", steps, CheckOptions())


def every(k: int, begin: int, by: int) -> Order:
    """Every k-th place holds the step that stands `by` further on."""

    def order(places: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        moved = np.where(places % k == begin, places + by, places)
        return np.clip(moved, 0, len(places) - 1)

    return order


FAULTS: dict[str, Order] = {
    "shifted": lambda places: np.roll(places, 1),
    "shifted back": lambda places: np.roll(places, -1),
    "turned round": lambda places: places[::-1],
    "the first half twice": lambda places: places % (len(places) // 2),
    "the last is the one before": lambda places: np.minimum(places, len(places) - 2),
    "always the first": lambda places: places * 0,
    **{f"every {K}th from {at}: {by}": every(K, at, by) for at in range(K) for by in (-1, 1)},
}


def test_an_honest_report_is_that_on_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = classes()
    report = sabotaged(monkeypatch, steps, lambda places: places)
    assert len(report.verdicts) == len(steps) >= K * SPACING
    assert {each.verdict for each in report.verdicts} == {"accepted"}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_step_that_is_judged_as_another_one_is_seen(
    monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    with pytest.raises(ToolError, match=r"TLC accepted \d+ of \d+ canaries"):
        sabotaged(monkeypatch, classes(), FAULTS[fault])


def test_what_could_not_be_judged_is_no_canary_that_lives() -> None:
    unknown, accepted = StepVerdict("unknown", "no time"), StepVerdict("accepted")
    report = StepReport([unknown, unknown, accepted], 3, 1, 0.0, 0.0, 0.0, [])
    kept = without_canaries(report, np.array([False, True, False]))
    assert kept.verdicts == [unknown, accepted]
    with pytest.raises(ToolError, match=r"TLC accepted 1 of 1 canaries.*verdicts on the 2 steps"):
        without_canaries(report, np.array([False, False, True]))


@pytest.mark.parametrize("steps", [2, 4])
def test_verdicts_that_are_not_one_for_each_step(steps: int) -> None:
    report = StepReport([StepVerdict("rejected")] * 3, 3, 1, 0.0, 0.0, 0.0, [])
    with pytest.raises(ToolError, match=f"TLC gave 3 verdicts on {steps} steps"):
        without_canaries(report, np.ones(steps, dtype=bool))


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.parametrize("at", [0, 8])
def test_a_module_that_judges_every_so_many_steps_as_their_predecessor(
    monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """The canary of each batch is reported, and all counts add up."""
    steps = classes()
    assert set(report_of("voter", steps, CheckOptions()).verdicts) == {StepVerdict("accepted")}
    judge_as_predecessor(monkeypatch, K, at)
    with pytest.raises(ToolError, match=r"TLC accepted .* canaries"):
        report_of("voter", steps, CheckOptions())


@pytest.mark.tlc
def test_a_wrong_step_is_still_rejected_among_canaries(tmp_path: Path) -> None:
    rows = classes(3).to_pylist()
    for number in (0, 7, len(rows) - 1):
        rows[number]["ignored"] = "NotLeader, or so"
    report = report_of("voter", pa.Table.from_pylist(rows, schema=CLASSES), CheckOptions())
    assert report.numbers("rejected") == [0, 7, len(rows) - 1]
