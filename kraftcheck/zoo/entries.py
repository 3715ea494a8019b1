"""The bugs of the quorum and of the partition together, by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from reference.bugs.catalog import CATALOG, Bug, OutOfScope, UnknownBug, nearest
from reference.bugs.partition_catalog import PARTITION_CATALOG, PartitionBug
from reference.sim.cluster.scenario import CLUSTER

Entry: TypeAlias = Bug | PartitionBug

ALL: tuple[Entry, ...] = tuple(sorted((*CATALOG, *PARTITION_CATALOG), key=lambda each: each.id))

_BY_ID = {each.id: each for each in ALL}

SCENARIOS: Mapping[type, str] = MappingProxyType({Bug: "quorum", PartitionBug: "partition"})
"""The scenario whose protocol a bug's rules are part of. A protocol without an entry has no
scenario yet, and its bugs are unknown to the detectors that need runs."""
WHOLE = CLUSTER.name
"""The scenario of the quorum and partitions together: it asks the rules of both."""


def entry_of(id: str) -> Entry:
    """The bug of this id, in capitals or not. Raises UnknownBug with the nearest ids."""
    found = _BY_ID.get(id.strip().upper())
    if found is None:
        titles = {each.id: each.title for each in ALL}
        raise UnknownBug(f"no bug {id!r}{nearest(id, titles)}")
    return found


def selected(ids: Sequence[str]) -> list[Entry]:
    """The bugs with these ids, each once; without any, all that can be replayed.

    Raises UnknownBug; OutOfScope for one that cannot be replayed.
    """
    if not ids:
        return [each for each in ALL if each.in_scope]
    found = list(dict.fromkeys(entry_of(id).id for id in ids))
    for id in found:
        if not _BY_ID[id].in_scope:
            raise OutOfScope(f"{id} cannot be replayed: it {_BY_ID[id].scope}")
    return [_BY_ID[id] for id in found]


def scenario_of(entry: Entry) -> str | None:
    """The scenario of the bug's own protocol, or None where there is none yet."""
    return SCENARIOS.get(type(entry))


def is_asked_in(entry: Entry, scenario: str) -> bool:
    """Whether runs of the scenario are taken by the protocol whose rules the bug replaces."""
    return scenario in (scenario_of(entry), WHOLE)


def is_control(entry: Entry) -> bool:
    """Whether it is no bug but a configuration that promises less (a negative control)."""
    return isinstance(entry, PartitionBug) and bool(entry.configuration)


def replaced(entry: Entry) -> list[str]:
    """The names of the rules and handlers that it replaces."""
    handlers = entry.handlers if isinstance(entry, PartitionBug) else {}
    return [*entry.rules, *handlers]


def properties(entry: Entry) -> list[str]:
    return [entry.property, *entry.also]
