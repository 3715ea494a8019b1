"""How fast histories are read: megabytes and operations for a second of processor time, by format.

A synthetic history of a log (and of a register, for the formats that know no logs) is written in
each format and read again, at two sizes: what is linear takes ten times as long for ten times more.

    python -m benchmarks.formats [OPERATIONS ...]     default 5000 50000
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from traces.formats import detect, jepsen, jsonlines
from traces.history import OK, History, Operation

SIZES: Final = (5_000, 50_000)
PROCESSES: Final = 10


def log_history(size: int) -> History:
    """Appends and fetches in turn, by processes that take turns."""
    chance = random.Random(size)
    operations = []
    offset = 0
    asked: dict[str, Any]
    for at in range(size):
        if at % 2:
            read = tuple((o, o) for o in range(max(0, offset - chance.randrange(4)), offset))
            asked = {"f": "fetch", "argument": None, "result": read}
        else:
            asked = {"f": "append", "argument": offset, "result": offset}
            offset += 1
        operations.append(operation(at, asked, key="0"))
    return history(operations, "partition-log")


def register_history(size: int) -> History:
    operations = []
    for at in range(size):
        f, argument, result = ("write", at, None) if at % 2 else ("read", None, at - 1)
        operations.append(operation(at, {"f": f, "argument": argument, "result": result}))
    return history(operations, "register")


def operation(at: int, asked: dict[str, Any], key: str | None = None) -> Operation:
    return Operation(
        index=at,
        group=at,
        process=at % PROCESSES,
        outcome=OK,
        key=key,
        invoked=at * 1000,
        completed=at * 1000 + 999 * PROCESSES,
        **asked,
    )


def history(operations: list[Operation], model: str) -> History:
    return History(source="", format="", time_unit="ns", operations=tuple(operations), model=model)


def log_lines(size: int) -> Iterator[str]:
    for at in range(size):
        process, value = at % PROCESSES, at
        for kind in ("invoke", "ok"):
            yield f"INFO  jepsen.util - {process}\t:{kind}\t:write\t{value}\n"


def porcupine(size: int) -> Iterator[str]:
    for at in range(size):
        head = f"{{:process {at % PROCESSES}, :type :"
        for kind in ("invoke", "ok"):
            yield f'{head}{kind}, :f :append, :key "{at % 10}", :value "x {at} y"}}\n'


def main(*sizes: int) -> None:
    print(
        f"{'format':<22} {'operations':>10} {'MB':>7} {'CPU-s':>7} {'MB/s':>6} {'operations/s':>13}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes or SIZES:
            texts = {
                "jepsen, log": jepsen.write(log_history(size)),
                "jepsen, register": jepsen.write(register_history(size)),
                "jsonlines, log": jsonlines.write(log_history(size)),
                "jsonlines, register": jsonlines.write(register_history(size)),
                "loglines, register": log_lines(size),
                "porcupine, kv": porcupine(size),
            }
            for name, lines in texts.items():
                path = Path(folder) / "history"
                path.write_text("".join(lines), encoding="utf-8")
                begin = time.process_time()
                found = len(detect.read(path).operations)
                spent = time.process_time() - begin
                megabytes = path.stat().st_size / 1e6
                print(
                    f"{name:<22} {found:>10,} {megabytes:>7.1f} {spent:>7.2f} "
                    f"{megabytes / spent:>6.1f} {found / spent:>13,.0f}"
                )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
