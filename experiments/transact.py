"""Kafka's own transactional producer, told step by step what to do (Transact.java)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from experiments.tools import TOPIC, Partition, Program
from kraftcheck.kafka.live.clients import Setting
from kraftcheck.kafka.live.cluster import Cluster, ClusterError

TRANSACT = Path(__file__).resolve().parent / "Transact.java"
ID, KEY = "p1", "t-0"


class Writer(Program):
    """Kafka's transactional producer on one host, and what it was told.

    Raises ClusterError: it ended, which is what it does when it is refused.
    """

    def __init__(self, cluster: Cluster, setting: Setting, host: str) -> None:
        super().__init__(cluster.tool(host, str(TRANSACT), cluster.bootstrap, TOPIC, ID))
        self._journal = setting.journal
        self._values = setting.values
        self._number = setting.processes.next()
        self._asked: list[list[Any]] = []
        self._sent: list[tuple[str, int, int]] = []

    def __enter__(self) -> Self:
        """Waits until it may begin a transaction."""
        self.answer()
        return self

    def begin(
        self, records: int, *partitions: int, amid: Callable[[], object] = lambda: None
    ) -> None:
        """partitions: of each record; none: all go to the first one.

        amid: what is done between one record and the next.
        """
        places = partitions or (0,) * records
        values = [self._values.next() for _ in places]
        self._asked = [
            ["send", f"{TOPIC}-{at}", each] for at, each in zip(places, values, strict=True)
        ]
        self._journal.event(self._number, "invoke", "txn", self._asked)
        self._done("begin")
        self._sent = []
        for at, (_, key, value) in zip(places, self._asked, strict=True):
            if self._sent:
                amid()
            self._sent.append((key, self._done(f"send {value} {at}")["offset"], value))

    def end(self, how: str) -> list[int]:
        """how: commit or abort. Returns the values that are committed by it."""
        self._done(how)
        committed = how == "commit"
        told = [["send", key, [at, value] if committed else value] for key, at, value in self._sent]
        self._journal.event(self._number, "ok" if committed else "fail", "txn", told)
        return [value for _, _, value in self._sent] if committed else []

    def _done(self, step: str) -> dict[str, Any]:
        try:
            return self.do(step)
        except ClusterError as error:
            # What its commit came to nobody knows; before that, nothing is committed.
            kind = "info" if step == "commit" else "fail"
            self._journal.event(self._number, kind, "txn", self._asked, error=str(error))
            raise


def numbers(partition: Partition, asking: str) -> list[int]:
    """What Kafka's own consumer reads of what is committed."""
    return [int(value) for value in partition.read(asking, "read_committed")]
