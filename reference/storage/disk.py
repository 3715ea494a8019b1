"""A log directory in memory, which knows what of it is durable, and what a crash may leave.

Each change is an entry of a journal. A crash at any moment is a cut of the journal; what it leaves
is made of three choices: for each folder, which changes of names happened; for each file, how long
it is, and for each page of it whether the new bytes are there, or the old ones: zeros behind the
old end. What a sync
has covered is certain. Folders are of the log directory, and the one of each partition.

*Ordered*: of a folder's changes of names a prefix has happened, as journals of file systems have
it, and what Kafka needs. *Free*: any of them, which shows what Kafka relies on.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product
from random import Random
from typing import Final, Literal, NamedTuple, TypeAlias

Mode: TypeAlias = Literal["ordered", "free"]
PAGE: Final = 512
"""Bytes that are written whole or not at all: a sector."""
SIZES_MAX: Final = 6
"""Of a file that lost something so many lengths are tried."""


class Change(NamedTuple):
    """Of names: a link to a file under a name, or none (unlink); a rename is both at once."""

    folder: str
    link: tuple[str, int] | None
    gone: str | None


class Write(NamedTuple):
    """Of a file: bytes at a position; data None: cut, or made longer, to the position."""

    file: int
    at: int
    data: bytes | None


class Synced(NamedTuple):
    file: int


class FolderSynced(NamedTuple):
    folder: str


Entry: TypeAlias = Change | Write | Synced | FolderSynced


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


class MemoryDisk:
    """Files in memory.

    journal: what was done, since the disk was made. fails: asked before each operation but those
    through memory: the number of an error, or 0.
    """

    def __init__(self, content: dict[str, bytes] | None = None) -> None:
        self.names: dict[str, int] = {}
        self.data: dict[int, bytearray] = {}
        self.times: dict[int, int] = {}
        self.folders: set[str] = {""}
        self.journal: list[Entry] = []
        self.now = 0
        self.fails: Callable[[str, str], int] = lambda operation, path: 0
        for path, data in sorted((content or {}).items()):
            self.folders.add(folder_of(path))
            self.names[path] = len(self.data)
            self.data[len(self.data)] = bytearray(data)
        self.first = self.content()
        self.first_names = {**self.names, **{f"{name}/": -1 for name in self.folders if name}}

    def content(self) -> dict[str, bytes]:
        return {path: bytes(self.data[file]) for path, file in sorted(self.names.items())}

    # -- Files

    def list(self, folder: str) -> list[str]:
        prefix = f"{folder}/" if folder else ""
        return sorted(
            path.removeprefix(prefix)
            for path in self.names
            if path.startswith(prefix) and "/" not in path.removeprefix(prefix)
        )

    def size(self, path: str) -> int | None:
        file = self.names.get(path)
        return None if file is None else len(self.data[file])

    def read(self, path: str) -> bytes:
        self._ask("read", path)
        return bytes(self.data[self._file(path)])

    def create(self, path: str) -> None:
        if path in self.names:
            return
        self._ask("create", path)
        file = len(self.data)
        self.data[file] = bytearray()
        self.names[path] = file
        self.times[file] = self.now
        self.journal.append(Change(folder_of(path), (path, file), None))

    def write(self, path: str, at: int, data: bytes) -> None:
        failed = self.fails("write", path)
        self._write(path, at, data[: len(data) // 2] if failed else data)
        if failed:
            raise OSError(failed, "write", path)

    def write_mapped(self, path: str, at: int, data: bytes) -> None:
        self._write(path, at, data)

    def _write(self, path: str, at: int, data: bytes) -> None:
        file = self._file(path)
        content = self.data[file]
        if at > len(content):
            content.extend(bytes(at - len(content)))
        content[at : at + len(data)] = data
        self.times[file] = self.now
        self.journal.append(Write(file, at, data))

    def resize(self, path: str, size: int) -> None:
        self._ask("resize", path)
        file = self._file(path)
        content = self.data[file]
        if size == len(content):
            return
        if size < len(content):
            del content[size:]
        else:
            content.extend(bytes(size - len(content)))
        self.journal.append(Write(file, size, None))

    def sync(self, path: str) -> None:
        self._ask("sync", path)
        self.journal.append(Synced(self._file(path)))

    def rename(self, old: str, new: str) -> None:
        self._ask("rename", old)
        file = self._file(old)
        del self.names[old]
        self.names[new] = file
        self.journal.append(Change(folder_of(new), (new, file), old))

    def unlink(self, path: str) -> None:
        self._ask("unlink", path)
        self._file(path)
        del self.names[path]
        self.journal.append(Change(folder_of(path), None, path))

    def make_folder(self, folder: str) -> None:
        if folder not in self.folders:
            self.folders.add(folder)
            self.journal.append(Change("", (f"{folder}/", -1), None))

    def sync_folder(self, folder: str) -> None:
        self._ask("sync_folder", folder)
        self.journal.append(FolderSynced(folder))

    def modified(self, path: str) -> int:
        return self.times.get(self._file(path), 0)

    def set_modified(self, path: str, time: int) -> None:
        self.times[self._file(path)] = time

    def _file(self, path: str) -> int:
        if path not in self.names:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        return self.names[path]

    def _ask(self, operation: str, path: str) -> None:
        if failed := self.fails(operation, path):
            raise OSError(failed, operation, path)


# -- Crashes


class _File:
    """What a file was when it was last synced, is, and was in between."""

    def __init__(self, data: bytes) -> None:
        self.durable = data
        self.now = bytearray(data)
        self.sizes = [len(data)]

    def apply(self, write: Write) -> None:
        if write.data is None:
            if write.at < len(self.now):
                del self.now[write.at :]
            else:
                self.now.extend(bytes(write.at - len(self.now)))
        else:
            if write.at > len(self.now):
                self.now.extend(bytes(write.at - len(self.now)))
            self.now[write.at : write.at + len(write.data)] = write.data
        self.sizes.append(len(self.now))

    def sync(self) -> None:
        self.durable = bytes(self.now)
        self.sizes = [len(self.now)]

    def states(self) -> list[bytes]:
        """Give the states that may lie there, the most likely first.

        Every length that it had, one that tears the last piece, and for each of these all new, all
        old and zeros.
        """
        if len(self.sizes) == 1:
            return [self.durable]
        sizes = list(dict.fromkeys(reversed(self.sizes)))[:SIZES_MAX]
        least, most = min(sizes), max(sizes)
        if most > least + 1:
            sizes.append(most - 1 if most - 1 not in sizes else (least + most) // 2)
        found = dict.fromkeys(
            self.made(size, [kind] * (size // PAGE + 1)) for size in sizes for kind in "no"
        )
        return list(found)

    def made(self, size: int, pages: Sequence[str]) -> bytes:
        """Of this length. pages: of each whether it is new, or as it was: zeros behind its end."""
        out = bytearray(size)
        for number, kind in enumerate(pages):
            part = slice(number * PAGE, min((number + 1) * PAGE, size))
            taken = (self.now if kind == "n" else self.durable)[part]
            out[part.start : part.start + len(taken)] = taken
        return bytes(out)

    def drawn(self, chance: Random) -> bytes:
        """One of all that may lie there."""
        if len(self.sizes) == 1:
            return self.durable
        size = chance.choice(self.sizes)
        if chance.random() < 0.3:
            size = chance.randint(min(self.sizes), max(self.sizes))
        kinds = chance.choice(("n", "n", "o", "no"))
        return self.made(size, [chance.choice(kinds) for _ in range(size // PAGE + 1)])


class Crash:
    """The disk after so many entries of its journal."""

    def __init__(self, disk: MemoryDisk, upto: int) -> None:
        self.files = {
            file: _File(disk.first[path])
            for path, file in disk.first_names.items()
            if path in disk.first
        }
        self.names = dict(disk.first_names)
        self.pending: dict[str, list[Change]] = {}
        for entry in islice(disk.journal, upto):
            self._apply(entry)

    def _apply(self, entry: Entry) -> None:
        match entry:
            case Write(file):
                self.files[file].apply(entry)
            case Synced(file):
                self.files[file].sync()
            case FolderSynced(folder):
                for change in self.pending.pop(folder, ()):
                    _rename(self.names, change)
            case Change(folder, link):
                if link is not None and link[1] >= 0:
                    self.files.setdefault(link[1], _File(b""))
                self.pending.setdefault(folder, []).append(entry)

    def now(self) -> dict[str, int]:
        """The files by name, as the process sees them."""
        return self._names({folder: len(changes) for folder, changes in self.pending.items()})

    def process(self) -> dict[str, bytes]:
        """What a crash of the process leaves: all that was done."""
        return _paths(self.now(), {file: bytes(each.now) for file, each in self.files.items()})

    def states(self) -> Iterator[dict[str, bytes]]:
        """All in ordered mode, by the lengths and the three kinds of pages of `_File.states`."""
        folders = sorted(self.pending)
        for kept in product(*(range(len(self.pending[name]) + 1) for name in folders)):
            names = self._names(dict(zip(folders, kept, strict=True)))
            used = sorted(set(names.values()) - {-1})
            for data in product(*(self.files[file].states() for file in used)):
                yield _paths(names, dict(zip(used, data, strict=True)))

    def drawn(self, chance: Random, mode: Mode) -> dict[str, bytes]:
        """One of all states."""
        names = dict(self.names)
        for folder in sorted(self.pending):
            changes = self.pending[folder]
            if mode == "ordered":
                changes = changes[: chance.randint(0, len(changes))]
            else:
                often = chance.choice((0.2, 0.5, 0.9))
                changes = [each for each in changes if chance.random() < often]
            for change in changes:
                _rename(names, change)
        used = sorted(set(names.values()) - {-1})
        lazy = chance.choice((0.0, 0.3, 1.0))
        return _paths(
            names,
            {
                file: bytes(self.files[file].now)
                if chance.random() < lazy
                else self.files[file].drawn(chance)
                for file in used
            },
        )

    def _names(self, kept: dict[str, int]) -> dict[str, int]:
        names = dict(self.names)
        for folder, count in kept.items():
            for change in self.pending[folder][:count]:
                _rename(names, change)
        return names


def killed(disk: MemoryDisk, upto: int) -> MemoryDisk:
    """Give the disk after so many entries of its journal, for a process that starts again.

    All that was done is there, and no more of it is durable than was.
    """
    crash = Crash(disk, upto)
    out = MemoryDisk(disk.first)
    out.journal = disk.journal[:upto]
    out.now = disk.now
    names = crash.now()
    out.folders = {"", *(name.removesuffix("/") for name, file in names.items() if file < 0)}
    out.names = {name: file for name, file in names.items() if file >= 0}
    out.data = {file: bytearray(each.now) for file, each in sorted(crash.files.items())}
    out.times = dict(disk.times)
    return out


def _rename(names: dict[str, int], change: Change) -> None:
    if change.link is None:
        names.pop(change.gone or "", None)
        return
    if change.gone is not None:
        names.pop(change.gone, None)
    names[change.link[0]] = change.link[1]


def _paths(names: dict[str, int], data: dict[int, bytes]) -> dict[str, bytes]:
    """Without what lies in a folder whose own name is gone."""
    return {
        path: data[file]
        for path, file in sorted(names.items())
        if file >= 0 and (f"{folder_of(path)}/" in names or not folder_of(path))
    }
