"""Steps of the partition's twin as values of the specification, for TLC to judge.

The reference keeps its state in the fields of the specs under snake-case names. What differs in
form is listed here: fields that are sorted tuples and sets there, and tuples by broker that are
functions there. All else follows from the type.
"""

from __future__ import annotations

import msgspec

from kraftcheck.reference.partition.broker import BROKER_HANDLERS
from kraftcheck.reference.partition.controller import CONTROLLER_HANDLERS
from kraftcheck.reference.partition.messages import CONTROLLER
from kraftcheck.reference.partition.types import PartitionConstants
from tests.reference.partition.walks import Step
from tla_utils import Record, Value, function

SETS = frozenset({"isr", "elr", "producers", "parked", "fetching"})
BY_BROKER = frozenset({"brokers", "remotes", "registrations", "contacts"})


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


class PartitionValues:
    """The abstraction under one set of constants."""

    def __init__(self, constants: PartitionConstants) -> None:
        self.constants = constants

    def value(self, value: object, name: str = "") -> Value:
        if isinstance(value, bool | int | str):
            return value
        if isinstance(value, tuple):
            items = [self.value(item) for item in value]
            if name in SETS:
                assert len(set(items)) == len(items), f"stands twice in {name}: {value}"
                return frozenset(items)
            if name in BY_BROKER:
                return function(zip(self.constants.brokers, items, strict=True))
            return tuple(items)
        assert isinstance(value, msgspec.Struct), value
        fields: dict[str, Value] = {}
        config = value.__struct_config__
        if config.tag is not None:
            assert config.tag_field is not None
            fields[config.tag_field] = str(config.tag)
        for each in value.__struct_fields__:
            fields[camel(each)] = self.value(getattr(value, each), each)
        return Record(fields)

    def step(self, step: Step) -> dict[str, Value]:
        """A step as the frames expect it."""
        before: object = step.before.controller
        if step.node != CONTROLLER:
            before = step.before.rows[step.node]
        handlers = CONTROLLER_HANDLERS if step.node == CONTROLLER else BROKER_HANDLERS
        return {
            "action": handlers[type(step.input)],
            "node": step.node,
            "before": self.value(before),
            "input": self.value(step.input),
            "after": self.value(step.outcome.row),
            "sent": frozenset(self.value(m) for m in step.outcome.sent),
            "ignored": step.outcome.ignored,
        }


def cfg_constants(constants: PartitionConstants) -> str:
    """The constants as TLC's configuration names them (L8). A cfg knows no sequences: `Replicas`
    is substituted by the operator that the frame's root module defines.
    """
    return (
        f"CONSTANTS\n  MinInsyncReplicas = {constants.min_insync_replicas}\n"
        f"  ElrEnabled = {str(constants.elr_enabled).upper()}\n"
        f"  UncleanElection = {str(constants.unclean_election).upper()}\n"
        f"  FetchMaxRecords = {constants.fetch_max_records}\n"
    )
