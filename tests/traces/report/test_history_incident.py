"""The chart of the whole time: what it counts of silences, and what it draws."""

from __future__ import annotations

import re

import pytest

from kraftcheck.traces.history import FAIL, INDETERMINATE, OK, Annotation, History, Operation
from kraftcheck.traces.report.history_incident import GRAIN, LONGEST_GAPS, incident
from kraftcheck.traces.report.judged import JudgedHistory
from tests.traces.report.histories import KEY

SECOND = 10**9
MS = 10**6


def append(at: float, took_ms: int = 5, outcome: str = OK, key: str = KEY) -> Operation:
    """An append that began at so many seconds."""
    begin = int(at * SECOND)
    return Operation(
        index=0,
        process=0,
        f="append",
        key=key,
        argument=1,
        invoked=begin,
        completed=begin + took_ms * MS,
        outcome=outcome,
        group=0,
    )


def history(operations: list[Operation], *faults: Annotation, unit: str = "ns") -> History:
    ordered = sorted(operations, key=lambda each: each.invoked)
    return History(
        source="history.jsonl",
        format="jepsen",
        time_unit=unit,
        operations=tuple(ordered),
        annotations=faults,
    )


def fault(begin: float, end: float, label: str = "kill b1") -> Annotation:
    return Annotation(at=int(begin * SECOND), until=int(end * SECOND), kind="fault", label=label)


def silenced(first: int, last: int, key: str = KEY) -> list[Operation]:
    """Ten appends a second for twenty seconds, but none that began from first to last."""
    moments = [at / 10 for at in range(200)]
    return [append(at, key=key) for at in moments if not first <= at < last]


def test_the_silence_of_a_fault_is_told() -> None:
    found = incident(history(silenced(5, 8), fault(5, 12)))
    assert found is not None and found.noun == "appends" and found.writes == 170
    (outage,) = found.outages
    # From the answer to the last one before, to the answer to the first one after.
    assert (outage.silent, outage.at, outage.lasted) == ("3.1 s", "5 s", "7 s")
    assert outage.key is None and found.elsewhere == "100 ms"


def test_a_silence_that_outlasts_its_fault_counts_whole() -> None:
    found = incident(history(silenced(5, 9), fault(5, 6)))
    assert found is not None and found.outages[0].silent == "4.1 s"


def test_a_fault_that_outlasts_the_writes_is_as_long_as_it_was() -> None:
    found = incident(history(silenced(5, 8), fault(5, 40)))
    assert found is not None and found.outages[0].lasted == "35 s"


def test_a_silence_without_a_fault_is_told_as_that() -> None:
    found = incident(history(silenced(5, 8), fault(12, 14)))
    assert found is not None and found.elsewhere == "3.1 s"
    assert found.outages[0].silent == "100 ms"


def test_another_partition_does_not_hide_the_one_that_stands() -> None:
    found = incident(history([*silenced(5, 8), *silenced(0, 0, "t-1")], fault(5, 12)))
    assert found is not None
    assert (found.outages[0].silent, found.outages[0].key) == ("3.1 s", KEY)


def test_what_was_not_acknowledged_ends_no_silence() -> None:
    lost = [append(5 + at / 10, outcome=INDETERMINATE) for at in range(10)]
    lost += [append(6 + at / 10, outcome=FAIL) for at in range(5)]
    found = incident(history([*silenced(5, 8), *lost], fault(5, 7)))
    assert found is not None
    outage = found.outages[0]
    assert (outage.silent, outage.indeterminate, outage.failed) == ("3.1 s", 10, 5)
    assert {each.outcome for each in found.chart.dots} == {OK, INDETERMINATE, FAIL}


@pytest.mark.parametrize("unit", ["event"])
def test_without_a_clock_there_is_nothing_to_draw(unit: str) -> None:
    assert incident(history(silenced(5, 8), unit=unit)) is None


def test_few_operations_are_drawn_one_by_one() -> None:
    assert incident(history(silenced(5, 8)[:60])) is None


def test_the_longest_silences_have_windows() -> None:
    faults = [fault(at, at + 0.5, f"pause b{at}") for at in range(1, LONGEST_GAPS + 3)]
    found = incident(history(silenced(5, 8), *faults))
    assert found is not None
    drawn = [each.label for each in found.outages if each.chart is not None]
    assert len(drawn) == LONGEST_GAPS and {"pause b5", "pause b7"} <= set(drawn)


def test_points_on_one_another_are_drawn_once() -> None:
    """A page's size is bounded by its area, not by the history's length."""
    many = [append(at / 20_000) for at in range(200_000)]
    found = incident(history(many))
    assert found is not None
    (dots,) = found.chart.dots
    assert len(dots.path) < 100
    assert sum(int(wide) for wide in re.findall(r"h(\d+)v", dots.path)) >= 900 - GRAIN


def test_the_page_shows_it_in_place_of_the_first_operations() -> None:
    from kraftcheck.traces.report.history import render

    judged = JudgedHistory(
        file="h", format="jepsen", model="partition-log", verdict="holds", unit="ns"
    )
    page = render(history(silenced(5, 8), fault(5, 12)), judged)
    assert "Over the whole time" in page and "3.1 s" in page and "kill b1" in page
    assert 'id="timeline"' not in page
