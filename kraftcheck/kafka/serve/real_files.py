"""The engine's files, on a disk (kraftcheck.reference.storage.files.Files)."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from kraftcheck.osutil.files import read_bytes

FILE_MAX = 1 << 31
NANO = 1_000_000
"""Nanoseconds in a millisecond."""


class RealFiles:
    """A log directory. A file stays open until it goes."""

    def __init__(self, root: Path) -> None:
        """Makes it. Raises OSError."""
        self.root = root
        self._open: dict[str, int] = {}
        root.mkdir(parents=True, exist_ok=True)

    def _file(self, path: str) -> int:
        if path not in self._open:
            self._open[path] = os.open(self.root / path, os.O_RDWR | os.O_CLOEXEC)
        return self._open[path]

    def _close(self, path: str) -> None:
        if path in self._open:
            os.close(self._open.pop(path))

    def close(self) -> None:
        for path in list(self._open):
            self._close(path)

    def list(self, folder: str) -> list[str]:
        with suppress(FileNotFoundError):
            return sorted(each.name for each in os.scandir(self.root / folder) if each.is_file())
        return []

    def size(self, path: str) -> int | None:
        with suppress(FileNotFoundError):
            return os.stat(self.root / path).st_size
        return None

    def read(self, path: str) -> bytes:
        return read_bytes(self.root / path, FILE_MAX)

    def create(self, path: str) -> None:
        os.close(os.open(self.root / path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644))

    def write(self, path: str, at: int, data: bytes) -> None:
        left = memoryview(data)
        while left:
            done = os.pwrite(self._file(path), left, at)
            left, at = left[done:], at + done

    def write_mapped(self, path: str, at: int, data: bytes) -> None:
        self.write(path, at, data)

    def resize(self, path: str, size: int) -> None:
        os.ftruncate(self._file(path), size)

    def sync(self, path: str) -> None:
        os.fsync(self._file(path))

    def rename(self, old: str, new: str) -> None:
        self._close(old)
        self._close(new)
        os.replace(self.root / old, self.root / new)

    def unlink(self, path: str) -> None:
        self._close(path)
        os.unlink(self.root / path)

    def make_folder(self, folder: str) -> None:
        (self.root / folder).mkdir(exist_ok=True)

    def sync_folder(self, folder: str) -> None:
        number = os.open(self.root / folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(number)
        finally:
            os.close(number)

    def modified(self, path: str) -> int:
        return os.stat(self.root / path).st_mtime_ns // NANO

    def set_modified(self, path: str, time: int) -> None:
        os.utime(self.root / path, ns=(time * NANO, time * NANO))
