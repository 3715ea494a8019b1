"""Rows, messages and steps of a partition in words, as quorum_words.py has them for voters.

A record is `epoch:value`, a line of the epoch cache `epoch@start`, C the controller, K clients.
Left out are values that say nothing (-1, no error, no divergence, nothing listed), of a response
the request that it answers, and of a row what only mirrors something else (the image, requests in
flight) or what only a restart looks at.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kraftcheck.reference.partition.log import NO_DIVERGENCE
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    CONTROLLER,
    MESSAGES,
    BrokerInput,
    ControllerInput,
    MetadataRecords,
    MetadataUpdate,
)
from kraftcheck.reference.partition.types import BrokerRow, ControllerRow

NAMES = {CONTROLLER: "C", CLIENTS: "K", -1: "nobody"}
IMPLIED = {"source", "destination", "request", "client"}
NODES = {"leader", "last_known_leader"}

OF_BROKER = (
    *("status", "broker_epoch", "role", "leader", "leader_epoch", "partition_epoch", "log"),
    *("log_start", "epoch_cache", "high_watermark", "epoch_start", "isr", "pending", "remotes"),
)
OF_PARTITION = (
    *("leader", "leader_epoch", "partition_epoch", "isr", "elr", "last_known_leader", "recovering"),
)


def value_words(name: str, value: Any) -> str:
    """One field of a row or a message."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in NODES:
        return NAMES.get(value, str(value))
    if name in ("log", "records"):
        return " ".join(f"{record.epoch}:{record.value}" for record in value) or "none"
    if name == "epoch_cache":
        return " ".join(f"{entry.epoch}@{entry.start}" for entry in value) or "none"
    if name == "diverging":
        return f"{value.epoch}..{value.end_offset}"
    if name == "pending":
        if value.kind == "None":
            return "none"
        return f"{value.kind} to {_set(m.broker for m in value.isr)}" + (
            ", refused" if value.refused else ""
        )
    if name == "remotes":
        known = (f"{at}" if at != -1 else "?" for at in (each.end_offset for each in value))
        return " ".join(known)
    if isinstance(value, tuple):
        return _set(m.broker if hasattr(m, "broker") else m for m in value)
    return "?" if value == -1 else str(value)


def _set(members: Any) -> str:
    return "{" + ", ".join(str(member) for member in members) + "}"


def _says_nothing(value: Any) -> bool:
    return value is False or value in (-1, "NONE", (), NO_DIVERGENCE)


def input_words(node: int, input: BrokerInput | ControllerInput | msgspec.Struct) -> str:
    """What a node consumes, or sends."""
    kind = type(input).__name__
    if isinstance(input, MetadataUpdate):
        end = input.offset + len(input.records)
        return f"{NAMES.get(node, node)} {kind} of offsets {input.offset} to {end - 1}"
    if isinstance(input, MESSAGES):
        source, destination = (NAMES.get(n, n) for n in (input.source, input.destination))
        head = f"{source} -> {destination} {kind}"
    else:
        head = f"{NAMES.get(node, node)} {kind}"
    parts = [
        f"{name}={value_words(name, value)}"
        for name in input.__struct_fields__
        if name not in IMPLIED and not _says_nothing(value := getattr(input, name))
        if (name, value) != ("log_start", 0) or kind != "ReplicaFetchRequest"
    ]
    return " ".join([head, *parts])


def _fields(row: BrokerRow | ControllerRow, brokers: tuple[int, ...]) -> dict[str, str]:
    if isinstance(row, BrokerRow):
        return {name: value_words(name, getattr(row, name)) for name in OF_BROKER}
    told = {name: value_words(name, getattr(row.partition, name)) for name in OF_PARTITION}
    known = list(zip(brokers, row.registrations, strict=True))
    told["fenced"] = _set(b for b, each in known if each.fenced)
    told["stopping"] = _set(b for b, each in known if each.stopping)
    return told


def step_words(
    brokers: tuple[int, ...],
    node: int,
    input: BrokerInput | ControllerInput,
    before: BrokerRow | ControllerRow,
    outcome: Any,
) -> list[str]:
    """A step: what came, what it changed, what was sent; or why nothing happened."""
    lines = [input_words(node, input)]
    if outcome is None:
        return [*lines, "  disabled"]
    if outcome.ignored:
        return [*lines, f"  ignored: {outcome.ignored}"]
    old, new = _fields(before, brokers), _fields(outcome.row, brokers)
    lines += [f"  {name}: {old[name]} => {new[name]}" for name in old if old[name] != new[name]]
    lines += [
        f"  sends {input_words(node, m)}"
        for m in outcome.sent
        if not isinstance(m, MetadataRecords)
    ]
    return lines if len(lines) > 1 else [*lines, "  nothing changes"]
