"""Writes step traces for `kraftcheck conform` (docs/foreign-traces.md). Copy it."""

import json
import sys
import threading
from collections.abc import Mapping
from typing import Any, TextIO


class Emitter:
    """Rows, messages and steps are mappings: what is left out is hidden, not unchanged."""

    def __init__(self, out: TextIO, producer: str, rows: str, constants: Mapping[str, Any]) -> None:
        """Write the header. rows: "full" if every field will be there, else "partial"."""
        self._out, self._lock = out, threading.Lock()
        head = {"format": "kraftcheck steps 1", "producer": producer, "rows": rows}
        self._line({**head, "constants": constants})

    def step(self, node: int, step: Mapping[str, Any]) -> None:
        """Write one handler call of a node, under the lock that guards the node's state."""
        self._line({**step, "node": node})

    def _line(self, fields: Mapping[str, Any]) -> None:
        text = json.dumps(fields, separators=(",", ":"))
        with self._lock:
            self._out.write(text + "\n")
            self._out.flush()  # what was written survives a crash


if __name__ == "__main__":
    voters = {"protocol": "quorum", "voters": [1, 2, 3], "fetchMaxRecords": 2}
    emitter = Emitter(sys.stdout, "emitter", "partial", voters)
    timed_out = {"type": "ElectionTimeout"}
    emitter.step(1, {"input": timed_out, "after": {"role": "Prospective", "epoch": 0}})
