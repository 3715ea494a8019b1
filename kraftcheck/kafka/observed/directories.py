"""Which log directory of its broker each replica is in, as the metadata log says (KIP-858).

A directory that has failed is told by what its broker has left (BrokerRegistrationChangeRecord,
logDirs). To the rules a broker is fenced then, for the replicas that were in the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kraftcheck.kafka.observed.image import Key

RESERVED: Final = frozenset(f"AAAAAAAAAAAAAAAAAAAA{end}" for end in ("AA", "AQ", "Ag"))
"""Kafka's DirectoryId: of a replica of which nobody has said yet where it is (MIGRATING,
UNASSIGNED, LOST)."""


class Directories:
    """Folded record by record."""

    def __init__(self) -> None:
        self._of: dict[Key, dict[int, str]] = {}
        self._replicas: dict[Key, list[int]] = {}
        self._online: dict[int, frozenset[str]] = {}

    def note(self, key: Key, data: Mapping[str, Any]) -> None:
        """What a record of a partition, or of its change, says."""
        if data.get("replicas") is not None:
            self._replicas[key] = data["replicas"]
        if data.get("directories"):
            replicas = self._replicas.get(key, [])
            self._of[key] = dict(zip(replicas, data["directories"], strict=True))

    def online(self, broker: int, directories: Iterable[str]) -> None:
        """What a record of a broker, or of its change, says; none: that nothing is known."""
        self._online[broker] = frozenset(directories) | RESERVED
        if self._online[broker] == RESERVED:
            del self._online[broker]

    def is_offline(self, key: Key, broker: int) -> bool:
        """Whether the broker's replica is in a directory that the broker has no more."""
        where = self._of.get(key, {}).get(broker)
        return where is not None and where not in self._online.get(broker, {where})
