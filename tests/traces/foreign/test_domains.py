"""Where the sets of the frames for partial rows leave values out, and where the row shows all."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.reference.protocols import kind_named
from kraftcheck.traces.foreign.domains import Domain
from kraftcheck.traces.foreign.reading import ForeignStep
from tla_utils import Record, Value


def cut(kind: str, input: str, hidden: str, **after: Value) -> list[str]:
    """What is cut of an input that hides one field, with these fields of the row after it."""
    step = ForeignStep(2, 0, 1, {}, {"type": input}, after, None, None)
    return Domain(kind_named(kind)).cut(step, [Record(open=(hidden,), input=Record(type=input))])


@pytest.mark.parametrize(
    ("kind", "input", "hidden", "after"),
    [
        ("voter", "FetchResponse", "records", {"log": (Record(epoch=1, value=2),)}),
        ("voter", "VoteRequest", "epoch", {"epoch": 3}),
        ("broker", "ProduceRequest", "values", {"log": ()}),
        ("broker", "ReplicaFetchResponse", "logStart", {"logStart": 1}),
    ],
)
def test_what_the_row_shows_is_whole(
    kind: str, input: str, hidden: str, after: dict[str, Any]
) -> None:
    assert cut(kind, input, hidden, **after) == []
    assert cut(kind, input, hidden, role="Leader") == [hidden]


def test_a_field_is_shown_for_its_own_input_only() -> None:
    assert cut("broker", "MetadataUpdate", "records", image=()) == []
    assert cut("broker", "MetadataUpdate", "records", log=()) == ["records"]


def test_a_log_whose_start_has_moved_does_not_show_what_came() -> None:
    log = (Record(epoch=-1, value=-1), Record(epoch=1, value=2))
    assert cut("broker", "ReplicaFetchResponse", "records", log=log) == ["records"]
    assert cut("broker", "ReplicaFetchResponse", "records", log=log[1:]) == []
