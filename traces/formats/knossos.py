"""Knossos' histories: Jepsen's maps without index and time, often all in one vector.

Source: knossos.cli, knossos.op. The position in the file is the order of events.
"""

from __future__ import annotations

from pathlib import Path

from kraftcheck.traces.formats.jepsen import read_edn
from kraftcheck.traces.history import History

NAME = "knossos"


def read(path: Path) -> History:
    """Raises HistoryError."""
    return read_edn(path, NAME)
