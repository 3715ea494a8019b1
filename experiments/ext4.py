"""The disk of one broker: a file system of its own, whose power can be cut.

ext4 on a loop device, with the options that Linux gives by itself. `cut_power` has it go down as
xfstests does (EXT4_IOC_SHUTDOWN without a flush of its journal): what the kernel had not written is
gone, what is left is what its journal makes of it. Needs root.
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

from live.cluster import ClusterError

SIZE = 512 << 20
_SHUTDOWN = 0x8004587D
"""EXT4_IOC_SHUTDOWN (linux/fs/ext4/ext4.h)."""
_WITHOUT_FLUSH = 2
"""EXT4_GOING_FLAGS_NOLOGFLUSH."""


@contextmanager
def disk(at: Path) -> Iterator[None]:
    """An empty file system there. Raises ClusterError: it cannot be made."""
    if os.geteuid() != 0:
        raise ClusterError("a disk whose power is cut needs root (mount), and a loop device")
    at.mkdir(parents=True)
    image = _image(at)
    with open(image, "wb") as file:
        file.truncate(SIZE)
    try:
        _run("mkfs.ext4", "-q", "-F", str(image))
        _mount(at)
        (at / "lost+found").rmdir()  # Kafka would take it for a partition
        yield
    finally:
        subprocess.run(["umount", str(at)], capture_output=True, check=False)
        image.unlink()


def cut_power(at: Path) -> None:
    """Nothing may run on it. It is mounted again, after its journal was read."""
    folder = os.open(at, os.O_RDONLY)
    try:
        fcntl.ioctl(folder, _SHUTDOWN, struct.pack("I", _WITHOUT_FLUSH))
    finally:
        os.close(folder)
    _run("umount", str(at))
    _await_released(_image(at))
    _mount(at)


def _await_released(image: Path) -> None:
    """Until nothing has it. Else the next mount is of the file system that has gone down.

    Raises ClusterError: something has it after a while, as another mount namespace may.
    """
    for _ in range(100):
        if not _run("losetup", "--associated", str(image)):
            return
        time.sleep(0.1)
    raise ClusterError(f"{image.name} is mounted elsewhere too: its power cannot be cut")


def _image(at: Path) -> Path:
    return at.with_suffix(".ext4")


def _mount(at: Path) -> None:
    _run("mount", "-o", "loop", str(_image(at)), str(at))


def _run(*words: str) -> str:
    if shutil.which(words[0]) is None:
        raise ClusterError(f"no `{words[0]}` command: install e2fsprogs and mount")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"{' '.join(words)}: {' '.join(done.stderr.split())}")
    return done.stdout
