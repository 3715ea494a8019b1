"""What machines have seen of bounded graphs: their steps are named as recorded ones are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from msgspec.structs import replace

from kraftcheck.reference.partition.sim.options import PartitionOptions
from kraftcheck.reference.partition.steered.schedule import PartitionSchedule
from kraftcheck.reference.quorum.steered.schedule import Schedule
from kraftcheck.reference.quorum.types import Constants
from kraftcheck.reference.runner.scripted import AnySchedule, Replayed, recorded
from kraftcheck.traces.cover.charts import Chart, ChartClass, ChartStore
from kraftcheck.traces.cover.models import Graph
from kraftcheck.traces.steps.classes import CLASSES, Classes
from kraftcheck.traces.steps.record import Part
from kraftcheck.traces.steps.translation import INIT
from tests.stateful import graph_share, reached
from tests.stateful.graph_share import firsts, note_steps, report

VOTERS = Constants((0, 1, 2), 2)
MOVES = 150
FAULTS = ("Crash", "clock", "cut", "disk", "heal")


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Steps are noted while a test lasts; nothing is remembered from before."""
    monkeypatch.setattr(reached, "counts", {})
    monkeypatch.setattr(reached, "note_run", reached.note_run)
    monkeypatch.setattr(graph_share, "_entered", {})
    monkeypatch.setattr(reached, "note_rules", lambda machine: None)
    graph_share.watch()
    yield
    reached.begin("", False)


def wander(schedule: AnySchedule) -> None:
    """Takes moves, always the same: messages arrive, and sometimes something else happens."""
    random = Random(1)
    for number in range(MOVES):
        fair = [m for m in schedule.possible() if not any(each in m.words for each in FAULTS)]
        arriving = [move for move in fair if "Request " in move.words or "Response " in move.words]
        random.choice(arriving if arriving and number % 6 else fair).make()


def recorded_keys(schedule: AnySchedule) -> set[bytes]:
    """The classes of the run's steps, as a campaign finds them."""
    _, recorder = recorded(Replayed(schedule, (), (), None))
    table = Classes(Part(recorder.tables())).table()
    assert table.schema == CLASSES
    rows = zip(table["key"].to_pylist(), table["action"].to_pylist(), strict=True)
    return {key for key, action in rows if action != INIT}


def test_a_quorum_has_taken_what_its_recording_says() -> None:
    reached.begin("quorum", True)
    schedule = Schedule(VOTERS)
    wander(schedule)
    reached.note_run("quorum", schedule)
    found = firsts(reached.of("quorum"))
    assert len(found) > 20 and found == dict.fromkeys(recorded_keys(schedule), 0)


def test_voters_count_from_0() -> None:
    """The machine's are 1, 2, 3, those of the graphs 0, 1, 2."""
    found = []
    for constants in (VOTERS, replace(VOTERS, voters=(1, 2, 3))):
        reached.begin("quorum", True)
        schedule = Schedule(constants)
        wander(schedule)
        taken = list(graph_share.steps_of(schedule))
        found.append({graph_share.key_of(*each) for each in taken})
    assert found[0] == found[1] and len(found[0]) > 20


def test_a_partition_has_taken_what_its_recording_says() -> None:
    reached.begin("partition", True)
    schedule = PartitionSchedule(PartitionOptions(idempotence=False))
    wander(schedule)
    reached.note_run("partition", schedule)
    assert firsts(reached.of("partition")) == dict.fromkeys(recorded_keys(schedule), 0)


def test_steps_of_a_bug_do_not_count_and_later_examples_add_what_is_new() -> None:
    reached.begin("quorum", False)
    schedule = Schedule(VOTERS)
    wander(schedule)
    reached.note_run("quorum", schedule)
    assert firsts(reached.of("quorum")) == {}
    reached.begin("quorum", True)
    schedule = Schedule(VOTERS)
    next(iter(schedule.possible())).make()
    reached.note_run("quorum", schedule)
    before = firsts(reached.of("quorum"))
    reached.begin("quorum", True)
    schedule = Schedule(VOTERS)
    wander(schedule)
    reached.note_run("quorum", schedule)
    after = firsts(reached.of("quorum"))
    assert set(before.values()) == {0} and set(after.values()) == {0, 1}
    assert all(after[key] == 0 for key in before)
    heard = Counter({f"class {key.hex()} 7": 1 for key in after})
    assert firsts(reached.of("quorum") + heard) == after


class _Charts(ChartStore):
    """Of every graph: two edges that were seen in the third example, and one that was not."""

    def __init__(self) -> None:
        pass

    def chart(self, model: Graph, **_: object) -> Chart:
        classes = (
            ChartClass("aa" * 16, "HandleFlush", 2),
            ChartClass("bb" * 16, "HandleResign", 1),
        )
        return Chart(model.name, 3, classes)


def test_the_report_says_what_each_machine_has_seen_of_graphs_of_its_protocol() -> None:
    counts = {"quorum": Counter({"examples": 4, f"class {'aa' * 16} 2": 1}), "cluster": Counter()}
    lines = list(report(counts, _Charts()))
    assert lines[:4] == [
        "quorum: quorum-three-elect: 2 of 3 edges seen (67%), 1 of 2 local steps",
        "  HandleFlush: 2 of 2 edges",
        "  HandleResign: 0 of 1 edges",
        "  edges seen by examples: 0 after 1, 0 after 2, 2 after 4",
    ]
    assert not any("partition" in line or "cluster" in line for line in lines)


def test_a_step_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found: Counter[str] = Counter(examples=1)
    schedule = PartitionSchedule(PartitionOptions(idempotence=False))
    wander(schedule)
    note_steps(found, set(), schedule)
    monkeypatch.setattr(graph_share, "_namers", None)
    again: Counter[str] = Counter(examples=1)
    note_steps(again, set(), schedule)
    assert again == found
