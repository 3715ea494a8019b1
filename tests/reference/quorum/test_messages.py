"""Inputs are values: they come back from their bytes, and a set of messages has one order."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from kraftcheck.reference.kit.messages import encode
from kraftcheck.reference.quorum.messages import (
    INPUTS,
    MESSAGES,
    ElectionTimeout,
    Flush,
    Input,
    Message,
    canonical,
)
from tests.reference.quorum.builders import anything, fetch_request, vote_request

decode_input = msgspec.msgpack.Decoder(Input).decode
decode_message = msgspec.msgpack.Decoder(Message).decode
any_input = st.one_of([anything(of) for of in INPUTS])
any_message = st.one_of([anything(of) for of in MESSAGES])


@given(any_input)
def test_an_input_comes_back_from_its_bytes(value: Input) -> None:
    again = decode_input(encode(value))
    assert again == value and type(again) is type(value)
    assert hash(again) == hash(value)
    assert encode(again) == encode(value)


@given(any_message)
def test_a_message_comes_back_from_its_bytes(value: Message) -> None:
    assert decode_message(encode(value)) == value
    assert pickle.loads(pickle.dumps(value)) == value


@given(any_input, any_input)
def test_equal_bytes_are_equal_inputs(one: Input, other: Input) -> None:
    assert (encode(one) == encode(other)) == (one == other)


def test_the_tag_is_the_name_of_the_type() -> None:
    for of in INPUTS:
        assert of.__struct_config__.tag == of.__name__
        assert of.__struct_config__.tag_field == "type"


def test_inputs_without_fields_differ() -> None:
    empty: list[Input] = [ElectionTimeout(), Flush(), Flush()]
    assert empty[0] != empty[1]
    assert empty[1] == empty[2]


@pytest.mark.parametrize("value", [ElectionTimeout(), Flush()])
def test_a_timer_is_no_message(value: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_message(encode(value))


def test_a_truncated_message_is_refused() -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_message(encode(vote_request())[:-1])


@given(st.lists(any_message, max_size=4, unique=True))
def test_a_set_of_messages_has_one_order(some: list[Message]) -> None:
    orders = {canonical(order) for order in itertools.permutations(some)}
    assert len(orders) == 1
    assert set(orders.pop()) == set(some)


def test_addressees_come_in_their_order() -> None:
    to_three, to_two = fetch_request(2, 3), fetch_request(1, 2)
    assert canonical([to_three, to_two]) == (to_two, to_three)


def test_sending_twice_is_our_mistake() -> None:
    with pytest.raises(AssertionError, match="sent twice"):
        canonical([fetch_request(), fetch_request()])
