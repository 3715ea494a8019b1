"""Rows and messages of the partition: immutable, hashable, one form for one value; and purity."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from kraftcheck.reference.kit.messages import canonical, encode
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    AlterPartitionRequest,
    BrokerInput,
    ControllerInput,
    Input,
    Message,
    ProduceRequest,
    ProduceResponse,
)
from kraftcheck.reference.partition.row import parked_with
from kraftcheck.reference.partition.types import (
    BrokerRow,
    ControllerRow,
    Parked,
    PartitionConstants,
)
from tests.reference.partition.walks import PartitionWalk

THREE = PartitionConstants((2, 1, 3), min_insync_replicas=2)


def digest(seed: int, steps: int) -> str:
    """A digest of everything that the core says about one walk."""
    summed = hashlib.sha256()
    for step in PartitionWalk(THREE, seed).steps(steps):
        summed.update(msgspec.msgpack.encode((step.input, step.outcome)))
    return summed.hexdigest()


SCRIPT = "from tests.reference.partition.test_types import digest; print(digest(5, 300))"


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_the_same_bytes_come_out_under_any_hash_seed(hash_seed: str, repo_root: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=repo_root,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(repo_root)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == digest(5, 300)
    assert digest(5, 300) != digest(6, 300)


def test_rows_and_messages_survive_a_round_trip() -> None:
    broker_row = msgspec.msgpack.Decoder(BrokerRow)
    controller_row = msgspec.msgpack.Decoder(ControllerRow)
    for step in PartitionWalk(THREE, 4).steps(250):
        decoder = broker_row if step.node >= 0 else controller_row
        row = step.outcome.row
        again = decoder.decode(msgspec.msgpack.encode(row))
        assert again == row and hash(again) == hash(row)
        assert msgspec.msgpack.decode(encode(step.input), type=Input) == step.input
        for m in step.outcome.sent:
            assert msgspec.msgpack.decode(encode(m), type=Message) == m


def test_sets_are_sorted_tuples() -> None:
    for seed in range(4):
        for step in PartitionWalk(THREE, seed).steps(200):
            row = step.outcome.row
            if isinstance(row, BrokerRow):
                assert list(row.isr) == sorted(set(row.isr))
                members = [m.broker for m in row.pending.isr]
                assert members == sorted(set(members))
                producers = [state.producer for state in row.producers]
                assert producers == sorted(set(producers))
                asked = [m.destination for m in row.fetching]
                assert asked == sorted(set(asked))
                keys = [(p.offset, p.required, encode(p.request)) for p in row.parked]
                assert keys == sorted(set(keys))
            else:
                for members in (list(row.partition.isr), list(row.partition.elr)):
                    assert members == sorted(set(members))
            assert step.outcome.sent == canonical(step.outcome.sent)


def request(value: int) -> ProduceRequest:
    return ProduceRequest(CLIENTS, 1, 0, -1, (value,), -1, -1, -1)


def test_a_set_of_messages_has_one_order() -> None:
    one, two = ProduceResponse(1, CLIENTS, request(1), "X", -1), request(2)
    assert canonical([one, two]) == canonical([two, one])
    assert canonical([one, one]) == (one,)
    assert canonical([]) == ()


def test_a_set_of_parked_requests_has_one_order() -> None:
    first, second = Parked(request(1), 0, 1), Parked(request(2), 1, 2)
    again = Parked(request(1), 1, 2)
    both = (first, second)
    assert parked_with((first,), second) == parked_with((second,), first) == both
    assert parked_with(both, first) == both
    assert parked_with(both, again) == parked_with(parked_with((again,), second), first)


def test_everything_is_frozen() -> None:
    with pytest.raises(AttributeError):
        request(1).acks = 0  # type: ignore[misc]


def test_inputs_and_messages_are_tagged_with_their_names() -> None:
    for of in (BrokerInput, ControllerInput, Message):
        for each in of.__args__:
            assert each.__struct_config__.tag == each.__name__
    assert b"AlterPartitionRequest" in encode(
        AlterPartitionRequest(1, -2, 0, 0, 0, (), recovering=False)
    )
