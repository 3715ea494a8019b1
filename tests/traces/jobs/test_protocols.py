"""Constants as texts, and what is recorded under them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import msgspec
import pytest
from msgspec.msgpack import encode

from kraftcheck.reference.cluster.types import ClusterConstants
from kraftcheck.reference.kit.fields import union
from kraftcheck.reference.partition.messages import IsrShrinkTimeout
from kraftcheck.reference.partition.protocol import BROKER, PARTITION
from kraftcheck.reference.partition.types import PartitionConstants
from kraftcheck.reference.protocols import PROTOCOLS
from kraftcheck.reference.quorum.messages import NO_DIVERGENCE, FetchRequest, VoteRequest
from kraftcheck.reference.quorum.types import Constants
from kraftcheck.reference.quorum.voters.messages import FetchResponse
from kraftcheck.reference.quorum.voters.types import Constants as VoterConstants, VotersEntry
from kraftcheck.traces.schema import TraceError
from kraftcheck.traces.steps import record
from kraftcheck.traces.steps.record import (
    actions_of,
    constants_text,
    decode_constants,
    decode_step_constants,
)

QUORUM = Constants(voters=(1, 2, 3), fetch_max_records=2)
DATA = PartitionConstants((0, 1, 2), 2)
JOINING = VoterConstants((1, 2), (1,), 2)
CLUSTER = ClusterConstants(QUORUM, (DATA, DATA))

THREADS_THAT_READ = """
import sys, threading
import msgspec
from kraftcheck.traces.steps.record import decoder_of

sys.setswitchinterval(1e-6)
for i in range(150):
    parts = [msgspec.defstruct(f"Part{i}", [("a", tuple[int, ...])]) for i in range(12)]
    row = msgspec.defstruct("Row", [(part.__name__, tuple[part, ...]) for part in parts])
    data = msgspec.msgpack.encode(row(*[(part((1,)),) for part in parts]))
    together = threading.Barrier(3)
    read = []

    def reader():
        together.wait()
        read.append(MAKE(row)(data))

    threads = [threading.Thread(target=reader) for _ in range(3)]
    [each.start() for each in threads]
    [each.join() for each in threads]
    assert len(read) == 3
"""


def test_a_step_has_no_constants_of_a_cluster() -> None:
    for constants in (QUORUM, DATA):
        assert decode_step_constants(constants_text(constants)) == constants
    text = constants_text(CLUSTER)
    assert decode_constants(text) == CLUSTER
    with pytest.raises(TraceError, match="a cluster takes no steps, its components do"):
        decode_step_constants(text)


def test_each_action_is_named_once() -> None:
    every = actions_of([constants_text(CLUSTER), constants_text(DATA)])
    alone = actions_of([constants_text(QUORUM)])
    assert len(set(every)) == len(every) and set(alone) < set(every)
    assert set(BROKER.actions) <= set(every) - set(alone)


def test_inputs_are_those_of_the_protocols_that_come_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of another folder may have the same names, and other fields."""
    apart = [
        replace(each, modules="elsewhere") if each is PARTITION else each for each in PROTOCOLS
    ]
    monkeypatch.setattr(record, "PROTOCOLS", apart)
    of = record._types_beside.__wrapped__  # what is kept is of the true protocols
    vote = VoteRequest(2, 1, 2, 1, 1, pre_vote=False)
    home, elsewhere = (
        record.decoder_of(union(of(frozenset([(place, "")])))) for place in ("", "elsewhere")
    )
    assert home(encode(vote)) == vote
    assert elsewhere(encode(IsrShrinkTimeout())) == IsrShrinkTimeout()
    for decode, strange in ((home, IsrShrinkTimeout()), (elsewhere, vote)):
        with pytest.raises(msgspec.ValidationError, match="Invalid value"):
            decode(encode(strange))


def test_one_that_extends_another_has_messages_of_the_same_names() -> None:
    """With other fields."""
    quorum, voters = (record.decoder_of_inputs(each) for each in (QUORUM, JOINING))
    asked = FetchRequest(2, 1, 1, 0, 0)
    known = ("NONE", 1, 1, (VotersEntry(1, -1, (1, 2)),), NO_DIVERGENCE, 0, asked)
    response = FetchResponse(1, 2, *known)  # type: ignore[arg-type]  # as in their order
    assert voters(encode(response)) == response
    assert type(quorum(encode(response))) is not FetchResponse


def test_a_protocol_that_is_not_there_is_asked_for() -> None:
    with pytest.raises(TraceError, match="a protocol of your own needs --protocol"):
        decode_constants('{"protocol": "lease"}')
    with pytest.raises(TraceError) as caught:
        decode_constants(constants_text(QUORUM).replace("[1,2,3]", '"all"'))
    assert "--protocol" not in str(caught.value)


def read_in_threads(make: str) -> int:
    """The exit code of a process whose threads make decoders of the same new types at once."""
    program = THREADS_THAT_READ.replace("MAKE", make)
    return subprocess.run([sys.executable, "-c", program], check=False).returncode


def test_threads_may_read_rows_of_a_kind_that_nobody_has_read() -> None:
    assert read_in_threads("decoder_of") == 0


def test_without_a_lock_msgspec_ends_the_process() -> None:
    """When it does no longer, `decoder_of` needs no lock."""
    assert read_in_threads("(lambda of: msgspec.msgpack.Decoder(of).decode)") != 0
