"""What kind of file or folder a verb was given, by first bytes.

Almost every verb asks this first. So this module imports nothing of a protocol.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from kraftcheck.osutil.files import open_file
from kraftcheck.reference.sim.headed import CHOICES, MOVES


def is_schedule(path: Path) -> bool:
    """Whether the file begins as a schedule of moves does."""
    return _begins(path, MOVES)


def is_choices(path: Path) -> bool:
    """Whether the file begins as a schedule of choices does."""
    return _begins(path, CHOICES)


def is_trace(folder: Path) -> bool:
    """Whether the folder is a trace of ours, by its manifest's name and first bytes."""
    try:
        with open_file(folder / "manifest.json") as file:
            return b'"schema_version"' in file.read(4096)
    except OSError:
        return False


def _begins(path: Path, kind: str) -> bool:
    with suppress(OSError), open_file(path) as file:
        return file.read(len(kind)) == kind.encode()
    return False
