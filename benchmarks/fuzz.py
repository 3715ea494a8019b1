"""Damaged histories against every parser: how many, how they end, the slowest, the memory.

Each case is a small history of one format, damaged in one to four ways, read with the format told
and with the format to be found. It must be read, or refused with a HistoryError of one line.

    python -m benchmarks.fuzz [CASES] [SEED]     default 100000 1
"""

from __future__ import annotations

import random
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Final

from benchmarks._damage import damaged
from benchmarks._texts import TEXTS
from traces.formats import detect
from traces.history import HistoryError

CASES: Final = 100_000
SECONDS_MAX: Final = 2.0


def main(cases: int = CASES, seed: int = 1) -> None:
    chance = random.Random(seed)
    ends: Counter[tuple[str, str]] = Counter()
    slowest = 0.0
    texts = [(name, (text.encode(), format)) for name, (text, format, _) in TEXTS.items()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history"
        for case in range(cases):
            name, (data, format) = texts[case % len(texts)]
            for _ in range(chance.randint(1, 4)):
                data = damaged(data, *(chance.randrange(4096) for _ in range(4)))
            path.write_bytes(data)
            for chosen in ("auto", format):
                begin = time.process_time()
                ends[name, outcome(path, chosen)] += 1
                slowest = max(slowest, time.process_time() - begin)
    print(f"{'history':<12} {'read':>8} {'refused':>8}")
    for name, _ in texts:
        print(f"{name:<12} {ends[name, 'read']:>8,} {ends[name, 'refused']:>8,}")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{cases:,} damaged histories, each read twice; slowest {slowest * 1000:.0f} ms CPU, ",
        end="",
    )
    print(f"peak memory {memory:.0f} MB")
    assert slowest < SECONDS_MAX, "a parser took long over a small file"


def outcome(path: Path, format: str) -> str:
    """`read` or `refused`; anything else is an error that ends the benchmark."""
    try:
        detect.read(path, format)
    except HistoryError as error:
        assert str(error).isprintable() and len(error.reason) < 500, str(error)
        return "refused"
    return "read"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
