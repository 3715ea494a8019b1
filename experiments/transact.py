"""Kafka's own transactional producer, told step by step what to do (Transact.java)."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from experiments.tools import TOPIC, Partition, Program
from live.clients import Setting
from live.cluster import Cluster

TRANSACT = Path(__file__).resolve().parent / "Transact.java"
ID, KEY = "p1", "t-0"


class Writer(Program):
    """Kafka's transactional producer on one host, and what it was told. Raises ClusterError: it
    ended, which is what it does when it is refused.
    """

    def __init__(self, cluster: Cluster, setting: Setting, host: str) -> None:
        super().__init__(cluster.tool(host, str(TRANSACT), cluster.bootstrap, TOPIC, ID))
        self._journal = setting.journal
        self._values = setting.values
        self._number = setting.processes.next()
        self._sent: list[tuple[int, int]] = []

    def __enter__(self) -> Self:
        """Waits until it may begin a transaction."""
        self.answer()
        return self

    def begin(self, records: int) -> None:
        values = [self._values.next() for _ in range(records)]
        asked = [["send", KEY, value] for value in values]
        self._journal.event(self._number, "invoke", "txn", asked)
        self.do("begin")
        self._sent = [(self.do(f"send {value}")["offset"], value) for value in values]

    def end(self, how: str) -> list[int]:
        """how: commit or abort. Returns the values that are committed by it."""
        self.do(how)
        committed = how == "commit"
        told = [["send", KEY, [*at] if committed else at[1]] for at in self._sent]
        self._journal.event(self._number, "ok" if committed else "fail", "txn", told)
        return [value for _, value in self._sent] if committed else []


def numbers(partition: Partition, asking: str) -> list[int]:
    """What Kafka's own consumer reads of what is committed."""
    return [int(value) for value in partition.read(asking, "read_committed")]
