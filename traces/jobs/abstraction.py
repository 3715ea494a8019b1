"""Recorded values as values of the specification: the total function `abstract` of law L1.

The reference keeps its state in the fields of specs/QuorumHandlers.tla under snake-case names. What
differs in form is listed in three tables and nowhere else:

    FIELDS      the name of each field, here and in the spec
    SETS        fields that are sorted tuples here and sets there
    BY_VOTER    fields that are tuples aligned with the voters here and functions on voters there

Everything else follows from the type: a struct is a record, a tagged struct a record with the
field `type`, a tuple a sequence, a number or a string itself.

Laws of this file: nothing is left out, nothing is made up and nothing is decided. Two recorded
values with the same abstraction are equal, so a verdict on the abstraction is one on the recording.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from reference.core.messages import Input, Message
from reference.core.types import Constants, Row
from tla_utils import Record, Value, function
from tla_utils.errors import ToolError

# One line per kind of value that has the field first; a name means the same wherever it occurs.
FIELDS: Final[Mapping[str, str]] = {
    # the row
    "role": "role",
    "epoch": "epoch",
    "leader": "leader",
    "voted": "voted",
    "quorum_state": "quorumState",
    "log": "log",
    "flushed": "flushed",
    "epoch_cache": "epochCache",
    "high_watermark": "highWatermark",
    "granted": "granted",
    "rejected": "rejected",
    "has_fetched": "hasFetched",
    "epoch_start": "epochStart",
    "end_offsets": "endOffsets",
    "fetched_voters": "fetchedVoters",
    "unacked": "unacked",
    "successors": "successors",
    "connections": "connections",
    "parked": "parked",
    "announced": "announced",
    # a record, an entry of the epoch cache, a diverging epoch
    "value": "value",
    "start": "start",
    "end_offset": "endOffset",
    # messages
    "source": "source",
    "destination": "destination",
    "error": "error",
    "request": "request",
    "last_epoch": "lastEpoch",
    "last_offset": "lastOffset",
    "pre_vote": "preVote",
    "fetch_offset": "fetchOffset",
    "last_fetched_epoch": "lastFetchedEpoch",
    "records": "records",
    "diverging": "diverging",
    # other inputs
    "peer": "peer",
    "keep": "keep",
}

# A vote's `granted` is a Boolean; the row's is a set of voters. Only tuples are turned into sets.
SETS: Final = frozenset({"granted", "rejected", "fetched_voters", "unacked", "parked"})
BY_VOTER: Final = frozenset({"end_offsets", "connections"})

# The input of a node's first step, which nothing causes; the frame does not look at it.
INIT_INPUT: Final = Record(type="Init")


class Abstraction:
    """The abstraction under one set of constants, which say whom the tuples by voter belong to."""

    def __init__(self, constants: Constants) -> None:
        self.constants = constants
        # Logs, caches and connections of thousands of rows are a few hundred values.
        self._known: dict[tuple[str, object], Value] = {}

    def row(self, row: Row) -> Value:
        """The row as the spec's record of 20 fields."""
        return self._value(row)

    def input(self, input: Input | None) -> Value:
        """A message, a timer or another input as a record; None is the input of an Init step."""
        return INIT_INPUT if input is None else self._value(input)

    def sent(self, sent: Iterable[Message]) -> Value:
        """Sent messages as a set. That none stands twice is a check of its own (checks.py)."""
        return frozenset(self._value(message) for message in sent)

    def _value(self, value: object) -> Value:
        if isinstance(value, bool | int | str):
            return value
        if isinstance(value, tuple):
            return tuple([self._value(item) for item in value])
        if isinstance(value, msgspec.Struct):
            return self._record(value)
        raise ToolError(f"a recorded value of type {type(value).__name__} has no form in the spec")

    def _record(self, struct: msgspec.Struct) -> Value:
        fields: dict[str, Value] = {}
        tag = struct.__struct_config__.tag
        if tag is not None:
            fields["type"] = str(tag)
        for name in struct.__struct_fields__:
            spec_name = FIELDS.get(name)
            if spec_name is None:
                raise ToolError(f"the field {name} of {type(struct).__name__} has no spec name")
            fields[spec_name] = self._field(name, getattr(struct, name))
        if not fields:
            raise ToolError(f"{type(struct).__name__} has no fields, so it is no record")
        return Record(fields)

    def _field(self, name: str, value: object) -> Value:
        if not isinstance(value, tuple):
            return self._value(value)
        known = self._known.get((name, value))
        if known is None:
            known = self._known[name, value] = self._tuple(name, value)
        return known

    def _tuple(self, name: str, value: tuple[object, ...]) -> Value:
        items = [self._value(item) for item in value]
        if name in SETS:
            members = frozenset(items)
            if len(members) != len(items):
                raise ToolError(f"the set {name} was recorded with a member that stands twice")
            return members
        if name in BY_VOTER:
            if len(items) != len(self.constants.voters):
                raise ToolError(
                    f"{name} was recorded with {len(items)} entries for the voters "
                    f"{self.constants.voters}"
                )
            return function(zip(self.constants.voters, items, strict=True))
        return tuple(items)


def cfg_constants(constants: Constants) -> str:
    """The constants as TLC's configuration names them (L8)."""
    voters = ", ".join(str(voter) for voter in constants.voters)
    return (
        f"CONSTANTS\n  Voters = {{{voters}}}\n  FetchMaxRecords = {constants.fetch_max_records}\n"
    )
