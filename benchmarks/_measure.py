"""What a process that measures takes, and a process of its own for what is measured."""

from __future__ import annotations

import re
import resource
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

Found = TypeVar("Found")


class Spent(NamedTuple):
    """CPU seconds of this process, and of the child processes whose end it awaited."""

    own: float
    children: float

    @property
    def both(self) -> float:
        return self.own + self.children

    def since(self, before: Spent) -> Spent:
        return Spent(self.own - before.own, self.children - before.children)


def spent() -> Spent:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Spent(*(each.ru_utime + each.ru_stime for each in used))


def peak_memory() -> int:
    """KiB of resident memory at the peak of this process alone; 0 where there is no /proc.

    Not from getrusage: its peak includes that of the process that started this one.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    found = re.search(r"VmHWM:\s+(\d+)", status.read_text(encoding="ascii", errors="replace"))
    return int(found.group(1)) if found else 0


def apart(work: Callable[..., Found], *arguments: Any) -> Found:
    """What the work returns in a process that has loaded and kept nothing before."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()
