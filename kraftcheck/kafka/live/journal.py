"""What clients asked and were told, written down as it happens: JSON lines in Jepsen's shape.

One file, one clock: times are nanoseconds of the machine's monotonic clock since the recording
began, and a line is written at the moment whose time it bears. So a recording that is cut short
holds everything up to its end (traces/formats/jsonlines.py reads it).
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import msgspec

NEMESIS = "nemesis"
HISTORY, RECORDING, DISKS = "history.jsonl", "recording.json", "disks"
ANSWERS = "answers.jsonl"
"""Of a recording: what clients asked and were told, how it was made, what brokers kept and said."""


class Journal:
    """Use as a context; may be written to from several threads at once."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "wb")  # noqa: SIM115 (closed by the context)
        self._lock = threading.Lock()
        self._encode = msgspec.json.Encoder().encode
        self._index = 0
        self._began = time.monotonic_ns()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._file.close()

    @property
    def lines(self) -> int:
        return self._index

    def now(self) -> int:
        """Nanoseconds since the recording began."""
        return time.monotonic_ns() - self._began

    def event(self, process: int | str, kind: str, f: str, value: Any, **more: Any) -> None:
        """kind: invoke, ok, fail or info."""
        head = {"process": process, "type": kind, "f": f, "value": value, **more}
        with self._lock:
            line = self._encode({"index": self._index, "time": self.now(), **head})
            self._index += 1
            self._file.write(line + b"\n")

    def moment(self, f: str, value: str, **more: Any) -> None:
        """Something that happened to the cluster, at once."""
        self.event(NEMESIS, "info", f, value, **more)

    def flush(self) -> None:
        with self._lock:
            self._file.flush()
