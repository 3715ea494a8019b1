"""What a campaign under way has found so far, from the receipts of its finished ranges.

Ranges are finished by workers, perhaps on other machines; what they leave behind is all that the
driver sees of them. A receipt is read once, when it is new.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import pyarrow.parquet as pq

from kraftcheck.osutil.files import read_bytes
from kraftcheck.traces.jobs.arrays import Ints
from kraftcheck.traces.jobs.ranges import Receipt, Work, receipt_path

EVERY_S: Final = 2.0
"""Nobody reads faster, and looking costs the driver a list of the folder."""
_RECEIPT: Final = ".range.json"


class SoFar:
    """Sums over the finished ranges of a campaign, those included that were finished before.

    distinct is the number of distinct keys, first rows included, so that steps of two
    configurations count once if they are equal.
    """

    def __init__(self, works: Sequence[Work]) -> None:
        self.steps = self.bad_runs = 0
        self._folders = [work.out for work in works]
        # A receipt of a range that has to be worked on (again) is one of other code.
        self._read = {
            each
            for work in works
            for entry in work.parts
            if entry is not None
            for each in _seen([receipt_path(work.trace, entry)])
        }
        self._keys: Ints = np.zeros(0, dtype=np.int64)
        self._next = 0.0

    @property
    def distinct(self) -> int:
        return len(self._keys)

    def look(self) -> None:
        """Takes in what has been finished since; seldom, however often it is called."""
        if time.monotonic() < self._next:
            return
        fresh = [self._keys]
        for folder in self._folders:
            for each in _seen(folder.glob(f"*{_RECEIPT}")) - self._read:
                self._read.add(each)
                fresh += self._taken_in(each[0])
        self._keys = np.unique(np.concatenate(fresh))
        self._next = time.monotonic() + EVERY_S

    def words(self) -> str:
        bad = f"{self.bad_runs:,} runs violate something" if self.bad_runs else "no violation"
        return f"{self.steps:,} steps, {self.distinct:,} distinct, {bad}"

    def _taken_in(self, path: Path) -> list[Ints]:
        """The keys of a range; none if it cannot be read, which others will say better."""
        slim = path.with_name(path.name.replace(_RECEIPT, ".slim.parquet"))
        try:
            receipt = msgspec.json.decode(read_bytes(path), type=Receipt)
            keys = pq.read_table(slim, columns=["key"])["key"].to_pylist()
        except (OSError, msgspec.MsgspecError, ValueError):
            return []
        self.steps += receipt.steps
        self.bad_runs += receipt.bad_runs
        # Half of a key's 128 bits is enough to count them.
        return [np.frombuffer(b"".join(key[:8] for key in keys), dtype=np.int64)]


def _seen(paths: Iterable[Path]) -> set[tuple[Path, int]]:
    """Of the files that are there, the time of their last change as well."""
    found = set()
    for path in paths:
        with suppress(OSError):
            found.add((path, path.stat().st_mtime_ns))
    return found
