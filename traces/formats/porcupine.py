"""Porcupine's key-value histories: an EDN map for each event, with :key, get, put and append.

Source: porcupine_test.go, which takes these files apart by a regular expression: types are invoke
and ok only, values are strings. An append adds to the end of the string under its key.
"""

from __future__ import annotations

from pathlib import Path

from kraftcheck.traces.formats.jepsen import read_edn
from kraftcheck.traces.history import History

NAME = "porcupine"


def read(path: Path) -> History:
    """Raises HistoryError."""
    return read_edn(path, NAME)
