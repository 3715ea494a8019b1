"""What the interceptor costs a producer: `python -m benchmarks interceptor [ROUNDS]`.

Four producers of one JVM write batches of 16 kB to one broker on this machine, in turn: without an
interceptor, with one that only adds a header, with the recorder, and with the recorder without a
header (Interceptor.java). Throughput depends on the other load of the machine, so the measure is
the JVM's CPU time for a record: the median of ROUNDS rounds, and the median of what each round's
producer costs beside that without an interceptor. The first rounds warm up and do not count.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

from kraftcheck.kafka.live import interceptor
from kraftcheck.kafka.live.artifacts import class_path, version
from kraftcheck.kafka.live.cluster import Cluster
from kraftcheck.kafka.live.topics import admin_of, make

SIZES: Final = ((1000, 100_000), (100, 500_000))
"""Bytes of a record, and how many of them a round has."""
WARM_UP: Final = 3
ROUNDS: Final = 10
TOPIC: Final = "t"
CONFIG: Final = {"retention.bytes": str(1 << 28), "segment.bytes": str(1 << 26)}


def main(arguments: Sequence[str]) -> None:
    rounds = int(arguments[0]) if arguments else ROUNDS
    with tempfile.TemporaryDirectory(prefix="interceptor-") as temporary:
        folder = Path(temporary)
        jar = folder / interceptor.JAR
        interceptor.build(jar)
        cluster = Cluster.up(folder / "cluster", "single")
        try:
            make(admin_of(cluster.bootstrap, {}), TOPIC, 1, 1, CONFIG)
            for size, count in SIZES:
                measure(cluster.bootstrap, jar, size, count, rounds, folder / "history.jsonl")
        finally:
            cluster.down()


def measure(bootstrap: str, jar: Path, size: int, count: int, rounds: int, history: Path) -> None:
    """Prints the medians of one size of records."""
    call = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-cp", f"{jar}:{class_path()}"]
    call += [str(Path(__file__).with_name("Interceptor.java")), bootstrap, str(history)]
    call += [str(size), str(count), str(WARM_UP + rounds)]
    said = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True).stdout
    lines = [line for line in said.splitlines() if line[:1].isdigit()]
    costs = [tuple(map(int, line.split())) for line in lines[WARM_UP:]]
    bytes_a_record = history.stat().st_size / count / (WARM_UP + rounds) / 2
    history.unlink()
    print(f"Kafka {version()}, {rounds} rounds of {count:,} records of {size} bytes: ns a record")
    for at, name in enumerate(("without", "header alone", "recorded", "recorded, no header")):
        more = median(each[at] / each[0] for each in costs) - 1
        print(f"  {name} {round(median(each[at] for each in costs)):,}: {more:+.1%}")
    print(f"  {bytes_a_record:.1f} bytes of history a record; rounds: {costs}", flush=True)
