"""The leader epochs of a log and where each begins, and their file (LeaderEpochFileCache)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kraftcheck.reference.storage.files import Files, write_text
from kraftcheck.reference.storage.rules import StorageRules

NAME: Final = "leader-epoch-checkpoint"


class MalformedEpochs(ValueError):
    """The epoch file is none: the log directory goes offline."""


class Epochs:
    """entries: (epoch, first offset), ascending."""

    def __init__(self, files: Files, folder: str, rules: StorageRules) -> None:
        self.files, self.path, self.rules = files, f"{folder}/{NAME}", rules
        self.entries: list[tuple[int, int]] = []
        files.create(self.path)
        for epoch, start in _parsed(files.read(self.path)):
            self._assign(epoch, start)

    @property
    def latest(self) -> int | None:
        return self.entries[-1][0] if self.entries else None

    def assign(self, epoch: int, start: int) -> None:
        """A new epoch is written at once (D6)."""
        if self._assign(epoch, start):
            self.write()

    def _assign(self, epoch: int, start: int) -> bool:
        if self.entries and epoch == self.entries[-1][0] and start >= self.entries[-1][1]:
            return False
        while self.entries and (self.entries[-1][0] >= epoch or self.entries[-1][1] >= start):
            self.entries.pop()
        self.entries.append((epoch, start))
        return True

    def cut_end(self, end: int) -> bool:
        """Epochs that begin at or above go; whether there were any."""
        kept = [each for each in self.entries if each[1] < end]
        changed = len(kept) < len(self.entries)
        self.entries = kept
        return changed

    def cut_start(self, start: int) -> bool:
        """Of those that begin at or below, the last one stays, and begins there."""
        below = [each for each in self.entries if each[1] <= start]
        if below:
            self.entries = [(below[-1][0], start), *self.entries[len(below) :]]
        return bool(below)

    def clear(self) -> None:
        self.entries = []
        self.write()

    def write(self) -> None:
        text = lines([f"{epoch} {start}" for epoch, start in self.entries])
        if self.rules.epoch_file_synced():
            write_text(self.files, self.path, text)
            return
        self.files.create(f"{self.path}.tmp")
        self.files.resize(f"{self.path}.tmp", 0)
        self.files.write(f"{self.path}.tmp", 0, text.encode())
        self.files.rename(f"{self.path}.tmp", self.path)


def lines(rows: Sequence[str]) -> str:
    """A checkpoint: a version, a count, and the lines."""
    return "".join(f"{row}\n" for row in ("0", str(len(rows)), *rows))


def read_lines(data: bytes, words: int) -> list[list[int | str]] | None:
    """None: it is malformed. An empty file has no lines. The last `words` of a line are numbers."""
    text = data.decode(errors="replace").split("\n")
    if text == [""]:
        return []
    try:
        rows = [line.split() for line in text[2:] if line]
        if int(text[0]) != 0 or int(text[1]) != len(rows) or text[-1] != "":
            return None
        return [[*row[:-words], *map(int, row[-words:])] for row in rows if len(row) >= words]
    except (ValueError, IndexError):
        return None


def _parsed(data: bytes) -> list[tuple[int, int]]:
    rows = read_lines(data, 2)
    if rows is None or any(len(row) != 2 for row in rows):
        raise MalformedEpochs(NAME)
    return [(int(epoch), int(start)) for epoch, start in rows]
