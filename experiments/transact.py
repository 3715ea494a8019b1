"""Kafka's own transactional producer, told step by step what to do (Transact.java)."""

from __future__ import annotations

from pathlib import Path

import msgspec

from experiments.tools import TOPIC, Partition
from live.clients import Setting
from live.cluster import Cluster, ClusterError

TRANSACT = Path(__file__).resolve().parent / "Transact.java"
ID, KEY = "p1", "t-0"


class Writer:
    """Kafka's transactional producer on one host, and what it was told. Raises ClusterError: it
    ended, which is what it does when it is refused.
    """

    def __init__(self, cluster: Cluster, setting: Setting, host: str) -> None:
        words = (cluster.bootstrap, TOPIC, ID)
        self._producer = cluster.tool(host, str(TRANSACT), *words)
        self._journal = setting.journal
        self._values = setting.values
        self._process = setting.processes.next()
        self._sent: list[tuple[int, int]] = []
        self._answer()

    def begin(self, records: int) -> None:
        values = [self._values.next() for _ in range(records)]
        asked = [["send", KEY, value] for value in values]
        self._journal.event(self._process, "invoke", "txn", asked)
        self._do("begin")
        self._sent = [(self._do(f"send {value}"), value) for value in values]

    def end(self, how: str) -> list[int]:
        """how: commit or abort. Returns the values that are committed by it."""
        self._do(how)
        committed = how == "commit"
        told = [["send", KEY, [*at] if committed else at[1]] for at in self._sent]
        self._journal.event(self._process, "ok" if committed else "fail", "txn", told)
        return [value for _, value in self._sent] if committed else []

    def close(self) -> None:
        self._producer.communicate()

    def _do(self, step: str) -> int:
        assert self._producer.stdin is not None
        self._producer.stdin.write(f"{step}\n")
        self._producer.stdin.flush()
        return self._answer()

    def _answer(self) -> int:
        """Waits for it; the offset, of a record that was sent."""
        assert self._producer.stdout is not None
        said = ""
        for line in self._producer.stdout:
            if line.startswith("{"):
                offset: int = msgspec.json.decode(line)["offset"]
                return offset
            said += line
        raise ClusterError(f"the producer ended: {' '.join(said.split())[:300]}")


def numbers(partition: Partition, asking: str) -> list[int]:
    """What Kafka's own consumer reads of what is committed."""
    return [int(value) for value in partition.read(asking, "read_committed")]
