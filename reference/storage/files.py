"""What the engine asks of a disk, and nothing else of an operating system.

A path is a name in the log directory (`recovery-point-offset-checkpoint`), or one in the folder of
a partition (`t-0/00000000000000000000.log`). What fails raises OSError.
"""

from __future__ import annotations

from typing import Protocol


class Files(Protocol):
    """A log directory."""

    def list(self, folder: str) -> list[str]:
        """The names of files in it, sorted; of a folder that is not there, none."""

    def size(self, path: str) -> int | None:
        """None: there is no such file."""

    def read(self, path: str) -> bytes:
        """All of it."""

    def create(self, path: str) -> None:
        """An empty file, or the one that is there."""

    def write(self, path: str, at: int, data: bytes) -> None: ...

    def write_mapped(self, path: str, at: int, data: bytes) -> None:
        """Through memory: the page cache takes it, and no error is seen."""

    def resize(self, path: str, size: int) -> None:
        """Cut, or made longer by zeros."""

    def sync(self, path: str) -> None:
        """All that was written of the file is durable; not so its name."""

    def rename(self, old: str, new: str) -> None:
        """Atomic; a file of the new name is gone."""

    def unlink(self, path: str) -> None: ...

    def make_folder(self, folder: str) -> None: ...

    def sync_folder(self, folder: str) -> None:
        """The names in it are durable; empty: those of the log directory."""

    def modified(self, path: str) -> int:
        """In milliseconds."""

    def set_modified(self, path: str, time: int) -> None: ...


def write_text(files: Files, path: str, text: str) -> None:
    """Replaces a checkpoint at once: a file beside it, synced, takes its name (D6)."""
    beside = f"{path}.tmp"
    files.create(beside)
    files.resize(beside, 0)
    files.write(beside, 0, text.encode())
    files.sync(beside)
    files.rename(beside, path)
    files.sync_folder(path.rpartition("/")[0])


def remove(files: Files, path: str) -> None:
    """If it is there."""
    if files.size(path) is not None:
        files.unlink(path)
