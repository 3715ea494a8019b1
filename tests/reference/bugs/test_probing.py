"""The probe tells a replacement that was never asked, one that never differed, and one that did."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kraftcheck.reference.bugs.catalog import bug
from kraftcheck.reference.bugs.probing import Consulted, probed
from kraftcheck.reference.partition.messages import Member
from kraftcheck.reference.partition.sim.machine import broker_handlers_for
from kraftcheck.reference.partition.types import Pending, initial_row
from tests.reference.partition.cluster import THREE


class Twice:
    def of(self, number: int) -> int:
        return 2 * number

    def other(self) -> str:
        return "other"


class Square(Twice):
    """The bug: right for 0 and 2 alone."""

    def of(self, number: int) -> int:
        return number * number


@pytest.mark.parametrize(
    ("questions", "differed"), [((), 0), ((0, 2, 2), 0), ((2, 3), 1), ((3, 4, 5), 3)]
)
def test_questions_and_differences_are_counted(questions: tuple[int, ...], differed: int) -> None:
    consulted = Consulted()
    square = probed(Square, ("of", "other"), Twice(), consulted)()
    assert [square.of(each) for each in questions] == [each * each for each in questions]
    assert square.other() == "other"
    # What is not replaced is not counted, by whatever name.
    assert consulted.asked == {"of": len(questions)}
    assert consulted.differed == {"of": differed}
    assert consulted.effective == (differed > 0)


def test_the_correct_method_can_be_asked_of_the_object_itself() -> None:
    consulted = Consulted()
    square = probed(Square, ("of", "other"), Twice, consulted)()
    assert [square.of(each) for each in (0, 2, 3)] == [0, 4, 9]
    assert (consulted.asked, consulted.differed) == ({"of": 3}, {"of": 1})


def test_replaced_handlers_are_counted_like_rules() -> None:
    consulted = Consulted()
    handlers = broker_handlers_for("Z39", THREE, consulted)
    assert consulted.asked == {"alter_partition_request": 0}
    proposal = Pending("Expand", (Member(2, 0),), refused=False)
    row = replace(initial_row(THREE), role="Leader", pending=proposal)
    assert handlers.alter_partition_request(1, row).isr == (Member(2, 0),)
    assert not consulted.effective
    # The member has fetched as incarnation 5, and metadata still says 0.
    row = replace(row, pending=replace(proposal, isr=(Member(2, 5),)))
    assert handlers.alter_partition_request(1, row).isr == (Member(2, 0),)
    assert consulted.asked == {"alter_partition_request": 2} and consulted.effective


@pytest.mark.parametrize("id", ["Z67", "Z69"])
def test_what_was_reproduced_on_kafka_is_part_of_the_story(id: str) -> None:
    story = bug(id).story
    assert "reproduced on Apache Kafka 4.3.1" in story and "finds/Z6" in story
    assert "4.3.1" not in bug("Z01").story
