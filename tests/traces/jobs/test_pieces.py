"""Rows and messages in pieces: joined again they are what they were, under any names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from kraftcheck.reference.partition.messages import RegisterBrokerRequest, RegisterBrokerResponse
from kraftcheck.reference.protocols import KINDS, peers_of
from kraftcheck.traces.steps.record import Part
from kraftcheck.traces.steps.symmetry import (
    _KEYS,
    Item,
    Renaming,
    Renumbering,
    apart,
    layout_of,
    make_room,
    whole,
)
from tests.traces.jobs.recorded import part

encode = msgspec.msgpack.Encoder().encode
SCENARIOS = ("quorum", "partition", "transactions", "groups", "cluster")


def met(scenario: str) -> Iterator[tuple[Any, Any]]:
    """Constants, with rows, inputs and messages that were recorded under them."""
    recorded = Part(part(scenario))
    for number in range(0, len(recorded.node), 3):
        step = recorded.step(number)
        constants = recorded.constants[int(recorded.step_constants[number])]
        for item in (step.before, step.input, step.after, *step.sent):
            yield constants, item


def renaming_of(constants: Any) -> Renaming:
    """Names in another order, ranks, values and positions that are others."""
    peers = peers_of(constants)
    ranks = Renumbering(tuple(range(0, 60, 2)), 1)
    return Renaming(peers, (*peers[1:], peers[0]), lambda value: value + 70, ranks)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_is_joined_is_what_was_apart(scenario: str) -> None:
    for constants, item in met(scenario):
        unchanged = Renaming(peers_of(constants), peers_of(constants), int)
        assert whole(apart(item)) == item
        assert Item(apart(item)).encoded(unchanged) == encode(unchanged.item(item))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_pieces_are_renamed_as_the_whole_is(scenario: str) -> None:
    for constants, item in met(scenario):
        renaming = renaming_of(constants)
        expected = encode(renaming.item(item))
        assert Item(apart(item)).encoded(renaming) == expected
        make_room(most=0)
        assert Item(apart(item)).encoded(renaming) == expected


def test_every_row_is_in_pieces() -> None:
    for kind in KINDS:
        assert len(layout_of(kind.row).places) >= len(kind.row.__struct_fields__)


def test_a_form_that_is_remembered_under_too_little_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted: of a piece with a rank the form is remembered for all ranks together."""
    renamings = [Renaming((0, 1), (0, 1), int, Renumbering(ranks)) for ranks in ((0, 9), (9,))]

    def encodings(epoch: int) -> tuple[list[bytes], list[bytes]]:
        asked = RegisterBrokerRequest(0, -2, 1, -1)
        item = RegisterBrokerResponse(-2, 0, asked, "NONE", epoch)
        pieces = apart(item)
        whole = [encode(renaming.item(item)) for renaming in renamings]
        return [Item(pieces).encoded(renaming) for renaming in renamings], whole

    found, expected = encodings(9)
    assert found == expected
    make_room(most=0)
    monkeypatch.setitem(_KEYS, (False, False, True, False), lambda piece, renaming: renaming.names)
    found, expected = encodings(9)
    make_room(most=0)
    assert found != expected
