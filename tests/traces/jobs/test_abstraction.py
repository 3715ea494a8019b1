"""The abstraction against the text of the specification: the same fields, no more and no fewer."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kraftcheck.reference.groups.types import Constants as GroupConstants
from kraftcheck.reference.kit.fields import Kind, fields_of
from kraftcheck.reference.quorum.messages import (
    INPUTS,
    NO_DIVERGENCE,
    BeginQuorumEpochResponse,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
)
from kraftcheck.reference.quorum.types import (
    CacheEntry,
    Constants,
    Entry,
    EpochEnd,
    QuorumStateFile,
    Row,
    initial_row,
)
from kraftcheck.traces.steps.translation import Abstraction, cfg_constants
from tla_utils import Function, Record
from tla_utils.errors import ToolError
from tla_utils.settings import Settings, constants_of

CONSTANTS = Constants(voters=(1, 2, 3), fetch_max_records=2)
MODULES = ("QuorumHandlers", "KRaftElection", "ReplicaLog", "QuorumRules")
# Fields of the spec that no recorded value has: the outcome of a handler.
OUTCOME = {"row", "sent", "ignored"}


def module_text(specs: Path, name: str) -> str:
    """A module without its comments."""
    (path,) = specs.rglob(f"{name}.tla")
    text = path.read_text(encoding="utf-8")
    return re.sub(r"\(\*.*?\*\)|\\\*[^\n]*", " ", text, flags=re.DOTALL)


def record_fields(text: str) -> list[str]:
    return re.findall(r"(\w+) \|->", text)


def spec_row_fields(specs: Path) -> list[str]:
    """The fields of InitialRow, in order; those of the quorum state inside it left out."""
    text = module_text(specs, "QuorumHandlers")
    body = text[text.index("InitialRow(n) ==") :]
    body = body[: body.index("---")]
    body = re.sub(r"\[epoch \|-> 0, leader[^\]]*\]|\[v \\in[^\]]*\]", "...", body)
    return record_fields(body)


def spec_messages(specs: Path) -> dict[str, list[str]]:
    """For each message or other input, the fields that the spec gives it, in order.

    `Response(type, ...)` builds those whose type is an argument.
    """
    found: dict[str, list[str]] = {}
    for module in ("QuorumHandlers", "KRaftElection"):
        for record in re.findall(r"\[type \|-> [^\]]*\]", module_text(specs, module)):
            head = re.match(r'\[type \|-> (?:"(\w+)"|type)', record)
            assert head is not None, record
            names = [head[1]] if head[1] else ["BeginQuorumEpochResponse", "EndQuorumEpochResponse"]
            for name in names:
                found[name] = record_fields(record)[1:]
    del found["None"]  # stands for "no request in flight", and is never a message
    return found


def python_fields(struct: type[msgspec.Struct]) -> list[str]:
    return [field.spec_name for field in fields_of(struct)]


def test_fields_are_exactly_what_the_spec_names(specs_dir: Path) -> None:
    texts = [module_text(specs_dir, m) for m in MODULES]
    # `[v \\in Voters |-> ...]` is a function and no record.
    texts = [re.sub(r"\[(v|n) \\in Voters \|->", "[", text) for text in texts]
    named = {name for text in texts for name in record_fields(text)}
    structs: tuple[type[msgspec.Struct], ...] = (
        Row,
        QuorumStateFile,
        Entry,
        CacheEntry,
        EpochEnd,
        *INPUTS,
    )
    assert named - OUTCOME - {"type"} == {name for each in structs for name in python_fields(each)}


def test_a_row_has_the_fields_of_the_initial_row_in_their_order(specs_dir: Path) -> None:
    assert python_fields(Row) == spec_row_fields(specs_dir)


def test_messages_and_inputs_have_the_fields_of_their_constructors(specs_dir: Path) -> None:
    ours = {struct.__name__: python_fields(struct) for struct in INPUTS}
    assert ours == spec_messages(specs_dir)


@pytest.mark.parametrize("struct", [QuorumStateFile, Entry, CacheEntry, EpochEnd])
def test_what_rows_are_made_of_is_a_record_in_the_spec(specs_dir: Path, struct: Any) -> None:
    pattern = r",\s*".join(rf"{name} \|-> [^,\]]*" for name in python_fields(struct))
    assert any(re.search(rf"\[{pattern}\]", module_text(specs_dir, m)) for m in MODULES)


def test_sets_and_functions_of_the_row_are_those_of_the_spec(specs_dir: Path) -> None:
    text = module_text(specs_dir, "QuorumHandlers")
    body = text[text.index("InitialRow(n) ==") :]
    body = body[: body.index("---")]
    assert set(re.findall(r"(\w+) \|-> \{\}", body)) == of_kind(Kind.SET)
    assert set(re.findall(r"(\w+) \|-> \[v \\in", body)) == of_kind(Kind.BY_NODE)


def of_kind(kind: Kind) -> set[str]:
    return {field.spec_name for field in fields_of(Row) if field.many is kind}


def test_the_constants_are_those_of_the_modules(specs_dir: Path) -> None:
    declared = {
        name
        for m in (*MODULES, "VoterSet")
        for line in re.findall(r"^CONSTANTS? (.*)", module_text(specs_dir, m), re.MULTILINE)
        for name in re.findall(r"\w+", line)
    }
    assert set(re.findall(r"(\w+) =", cfg_constants(CONSTANTS))) == declared


def test_a_set_of_sets_among_the_constants_is_read_again() -> None:
    """As that of the instance ids of groups."""
    constants = GroupConstants((1, 2, 3), (1, 2), 1, 1, static=((1, 3), (2,)), growing=(2,))
    settings = Settings(constants_of(cfg_constants(constants)))
    assert settings.sets("Static") == [["1", "3"], ["2"]]
    assert settings.members("Growing") == ["2"]
    assert Settings({"Static": "{}"}).sets("Static") == []


def test_values_take_their_form_in_the_spec() -> None:
    fetch = FetchRequest(source=2, destination=1, epoch=3, fetch_offset=4, last_fetched_epoch=2)
    row = replace(
        initial_row(CONSTANTS), log=(Entry(1, 0),), granted=(1, 3), parked=(fetch,), successors=(2,)
    )
    value = Abstraction(CONSTANTS).row(row)
    assert isinstance(value, Record)
    assert value["log"] == (Record(epoch=1, value=0),)
    assert value["granted"] == frozenset({1, 3})
    assert value["successors"] == (2,)
    assert value["endOffsets"] == (-1, -1, -1)
    assert value["quorumState"] == Record(epoch=0, leader=-1, voted=-1)
    parked = Record(
        type="FetchRequest", source=2, destination=1, epoch=3, fetchOffset=4, lastFetchedEpoch=2
    )
    assert value["parked"] == frozenset({parked})


def test_voters_that_do_not_count_from_one_make_functions() -> None:
    constants = Constants(voters=(0, 4), fetch_max_records=1)
    value = Abstraction(constants).row(initial_row(constants))
    assert isinstance(value, Record)
    assert value["connections"] == Function({0: "Ready", 4: "Ready"})


def test_a_response_carries_its_request_and_a_vote_keeps_its_boolean() -> None:
    fetch = FetchRequest(2, 1, 3, 4, 2)
    response = FetchResponse(1, 2, "NONE", 3, 1, (Entry(3, 7),), NO_DIVERGENCE, -1, fetch)
    value = Abstraction(CONSTANTS).input(response)
    assert isinstance(value, Record)
    assert value["type"] == "FetchResponse"
    assert value["diverging"] == Record(epoch=-1, endOffset=-1)
    assert isinstance(value["request"], Record)


def test_different_rows_have_different_abstractions() -> None:
    """One change in each field shows (L1: nothing is left out)."""
    row = initial_row(CONSTANTS)
    changed: dict[str, Any] = {
        "role": "Leader",
        "quorum_state": QuorumStateFile(1, 2, 3),
        "log": (Entry(1, 0),),
        "epoch_cache": (CacheEntry(1, 0),),
        "has_fetched": True,
        "end_offsets": (-1, 0, -1),
        "connections": ("Ready", "Awaiting", "Ready"),
        "parked": (FetchRequest(2, 1, 3, 4, 2),),
        **dict.fromkeys(("granted", "rejected", "fetched_voters", "unacked", "successors"), (2,)),
    }
    seen = {Abstraction(CONSTANTS).row(row)}
    for name in Row.__struct_fields__:
        seen.add(Abstraction(CONSTANTS).row(replace(row, **{name: changed.get(name, 9)})))
    assert len(seen) == 1 + len(Row.__struct_fields__)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"granted": (1, 1)}, "stands twice"),
        ({"end_offsets": (0,)}, "1 entries for"),
        ({"log": (3.5,)}, "type float has no form"),
        ({"log": (BeginQuorumEpochResponse,)}, "has no form"),
    ],
)
def test_what_has_no_form_in_the_spec_is_refused(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ToolError, match=complaint):
        Abstraction(CONSTANTS).row(replace(initial_row(CONSTANTS), **change))


def test_both_generic_responses_are_built_by_one_constructor(specs_dir: Path) -> None:
    """`spec_messages` presumes so; a third use of Response would have to be named there."""
    text = module_text(specs_dir, "QuorumHandlers")
    uses = set(re.findall(r'HandleLeaderRequest\(n, row, m, "(\w+)"\)', text))
    assert uses == {BeginQuorumEpochResponse.__name__, EndQuorumEpochResponse.__name__}
