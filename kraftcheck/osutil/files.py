"""Files as they are read here: regular ones only, and never more than is told.

A FIFO may never have a writer, a device has no end, a folder is no text: whoever names one by
mistake, or is handed one, is told so at once. What is read is read whole, into as much memory as
the file is long; whoever reads by lines reads lines of a bounded length.

Law of this file: whatever cannot be read is an OSError whose `strerror` says why and whose
`filename` says where, so that every caller can say it in the line that it says for all of them.
"""

from __future__ import annotations

import errno
import os
import stat
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

FILE_MAX: Final = 1 << 31
"""Bytes of any file. What is made of a file takes a multiple of it (docs/histories.md)."""
SCHEDULE_MAX: Final = 1 << 22
"""Bytes of the moves or choices of one run."""
TOML_MAX: Final = 1 << 20
"""Bytes of a plan or a list that people write."""
TOML_LINE_MAX: Final = 10_000
"""Bytes of its longest line: reading a key takes the square of its length in time."""
LINE_MAX: Final = 1 << 24
"""Bytes of one line, or of one operation where several share a line."""
DATA: Final = (".moves", ".json", ".toml")
"""The files of what code reads that lies beside it."""

_KINDS: Final = (
    (stat.S_ISDIR, errno.EISDIR, "a folder"),
    (stat.S_ISFIFO, errno.EINVAL, "a pipe"),
    (stat.S_ISSOCK, errno.EINVAL, "a socket"),
    (stat.S_ISCHR, errno.EINVAL, "a device"),
    (stat.S_ISBLK, errno.EINVAL, "a device"),
)


def open_file(path: Path) -> BinaryIO:
    """The file, to be read from its beginning. Raises OSError: it is none, or cannot be read."""
    # Asked first, since opening alone may have effects on a device; asked again of what was opened.
    _only_regular(os.stat(path).st_mode, path)
    # Without O_NONBLOCK, a FIFO that took the file's place just now would be waited for.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _only_regular(os.fstat(descriptor).st_mode, path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _only_regular(mode: int, path: Path) -> None:
    for is_of, number, kind in _KINDS:
        if is_of(mode):
            raise OSError(number, f"is {kind}: only regular files are read", str(path))


def read_bytes(path: Path, most: int = FILE_MAX) -> bytes:
    """All of a file. Raises OSError: it cannot be read, or has more than `most` bytes."""
    with open_file(path) as file, named(path):
        if os.fstat(file.fileno()).st_size > most:
            raise _too_large(path, most)
        data = file.read()
    if len(data) > most:
        raise _too_large(path, most)
    return data


@contextmanager
def named(path: Path) -> Iterator[None]:
    """For whoever reads an open file: a disk that fails then does not say of which."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def _too_large(path: Path, most: int) -> OSError:
    return OSError(errno.EFBIG, f"is larger than {_size(most)}, the most that is read", str(path))


def read_text(path: Path, most: int = FILE_MAX, errors: str = "strict") -> str:
    """All of a file of UTF-8, with each end of a line as a newline.

    errors: what is done about bytes that are no UTF-8, as `bytes.decode` has it. Raises OSError as
    `read_bytes` does; UnicodeDecodeError.
    """
    return read_bytes(path, most).decode("utf-8", errors).replace("\r\n", "\n").replace("\r", "\n")


def lines(file: BinaryIO, path: Path, most: int = LINE_MAX) -> Iterator[bytes]:
    """The lines of an open file, each with its end. Raises OSError: one has more than `most` bytes.

    The error names the line.
    """
    number = 0
    while line := file.readline(most + 1):
        number += 1
        if len(line) > most:
            what = f"line {number} is longer than {_size(most)}, the most that is read"
            raise OSError(errno.EFBIG, what, str(path))
        yield line


def replace_file(path: Path, data: bytes, *, durable: bool = False) -> None:
    """The whole file, or what was there before. durable: also if the machine goes down next.

    Raises OSError, which names this file.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise
    finally:
        with suppress(OSError):
            temporary.unlink()


def sources(folder: Path) -> list[Path]:
    """The modules below a folder, and the data beside them in their packages."""
    modules = sorted(folder.rglob("*.py"))
    packages = [path.parent for path in modules if path.name == "__init__.py"]
    data = [path for of in packages for path in sorted(of.iterdir()) if path.suffix in DATA]
    return modules + data


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file. Raises OSError as `read_bytes` does; ValueError: it is no TOML."""
    text = read_text(path, TOML_MAX)
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > TOML_LINE_MAX:
            raise ValueError(f"line {number} is longer than {TOML_LINE_MAX:,} characters")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is too deeply nested") from None


def _size(count: int) -> str:
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 1 << power:
            return f"{count >> power} {unit}"
    return f"{count} bytes"
