"""The disk of one broker: a file system of its own, whose power can be cut.

It lies on a loop device, with the options that Linux gives by itself. ext4 and xfs are had to go
down as xfstests does (EXT4_IOC_SHUTDOWN, XFS_IOC_GOINGDOWN, without a flush of the journal): what
the kernel had not written is gone, what is left is what the journal makes of it. btrfs has no such
call (before Linux 6.19): what the device was given is copied, between two of its commits. Needs
root.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kraftcheck.kafka.live.cluster import ClusterError

SIZE = 512 << 20
KINDS: Final = {
    "ext4": ("mkfs.ext4", "-q", "-F"),
    "xfs": ("mkfs.xfs", "-q", "-f"),
    "btrfs": ("mkfs.btrfs", "-q", "-f"),
}
"""File systems, by what makes one."""
_TOOLS = {"ext4": "e2fsprogs", "xfs": "xfsprogs", "btrfs": "btrfs-progs"}
_SHUTDOWN = 0x8004587D
"""EXT4_IOC_SHUTDOWN (linux/fs/ext4/ext4.h), XFS_IOC_GOINGDOWN (linux/fs/xfs/libxfs/xfs_fs.h)."""
_WITHOUT_FLUSH = 2
"""EXT4_GOING_FLAGS_NOLOGFLUSH, XFS_FSOP_GOING_FLAGS_NOLOGFLUSH."""
_SUPERBLOCK = (64 << 10, 4 << 10)
"""Where btrfs has it, and its bytes: it changes with each commit (BTRFS_SUPER_INFO_OFFSET)."""


class NoDisk(ClusterError):
    """This machine cannot make a disk whose power is cut. The text is one line."""


@contextmanager
def disk(at: Path, kind: str = "ext4") -> Iterator[None]:
    """An empty file system there. Raises NoDisk; ClusterError: it cannot be made."""
    if os.geteuid() != 0:
        raise NoDisk("a disk whose power is cut needs root (mount), and a loop device")
    at.mkdir(parents=True)
    image = at.with_suffix(f".{kind}")
    with open(image, "wb") as file:
        file.truncate(SIZE)
    try:
        _run(*KINDS[kind], str(image), package=_TOOLS[kind])
        _mount(image, at)
        if kind == "ext4":
            (at / "lost+found").rmdir()  # Kafka would take it for a partition
        yield
    finally:
        subprocess.run(["umount", str(at)], capture_output=True, check=False)
        image.unlink()


def cut_power(at: Path) -> None:
    """Nothing may run on it. It is mounted again, after its journal was read."""
    (image,) = (path for kind in KINDS if (path := at.with_suffix(f".{kind}")).exists())
    if image.suffix == ".btrfs":
        _keep_what_was_given(image)
    else:
        fail(at)
    _run("umount", str(at))
    _await_released(image)
    kept = _kept(image)
    if kept.exists():
        kept.replace(image)
    _mount(image, at)


def fail(at: Path) -> None:
    """Whatever is asked of that ext4 or xfs from now on is an error: the disk is broken."""
    folder = os.open(at, os.O_RDONLY)
    try:
        fcntl.ioctl(folder, _SHUTDOWN, struct.pack("I", _WITHOUT_FLUSH))
    finally:
        os.close(folder)


def _keep_what_was_given(image: Path) -> None:
    """Raises ClusterError: whenever it was tried, a commit came between."""
    for _ in range(20):
        before = _superblock(image)
        shutil.copyfile(image, _kept(image))
        if _superblock(image) == before == _superblock(_kept(image)):
            return
    raise ClusterError(f"{image.name} does not stand still: its power cannot be cut")


def _superblock(image: Path) -> bytes:
    at, size = _SUPERBLOCK
    with open(image, "rb") as file:
        file.seek(at)
        return file.read(size)


def _kept(image: Path) -> Path:
    return image.with_name(f"{image.name}.kept")


def _await_released(image: Path) -> None:
    """Until nothing has it. Else the next mount is of the file system that has gone down.

    Raises ClusterError: something has it after a while, as another mount namespace may.
    """
    for _ in range(300):
        if not _run("losetup", "--associated", str(image)):
            return
        time.sleep(0.1)
    raise ClusterError(f"{image.name} is mounted elsewhere too: its power cannot be cut")


def _mount(image: Path, at: Path) -> None:
    _run("mount", "-o", "loop", str(image), str(at))


def _run(*words: str, package: str = "mount") -> str:
    if shutil.which(words[0]) is None:
        raise NoDisk(f"no `{words[0]}` command: install {package}")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"{' '.join(words)}: {' '.join(done.stderr.split())}")
    return done.stdout
