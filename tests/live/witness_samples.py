"""Small recordings of Kafka's own classes, made again: `python -m tests.live.witness_samples`.

They are for tests that need no Kafka (tests/traces/foreign/test_profiles.py): one run from its
beginning, and some steps for each entry of the profile, each in a run of its own.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from kraftcheck.witness.departures import witnessed
from kraftcheck.witness.driving import drive
from kraftcheck.witness.kafka import Kafka
from kraftcheck.witness.quorum import VOTERS, left_open
from live.witness.jars import DEFAULT
from traces.foreign.profiles import read_profile
from traces.foreign.reading import read_foreign

FOLDER: Final = Path(__file__).parents[1] / "traces" / "foreign" / "data"
RUNS, SEED, MOVES = 60, 7, 300
"""In which every entry is met."""
WHOLE: Final = 50
"""Steps of the first run."""
EACH: Final = 3
"""Steps for each entry."""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        kafka = Kafka(DEFAULT, None, "", files=True)
        drive(path, kafka, VOTERS, 3, runs=RUNS, seed=SEED, moves=MOVES)
        head, *lines = path.read_text(encoding="utf-8").splitlines()
        trace = read_foreign(path)
        found = witnessed(trace, read_profile("kafka-4.3"), left_open(trace))
    FOLDER.mkdir(exist_ok=True)
    _write("kafka-run", [head, *lines[:WHOLE]])
    head = f'{head[:-1]},"start":"any","order":"by node"}}'
    chosen = dict.fromkeys(line for met in found.met for line in met.lines[:EACH])
    picked = [_of_run(lines[line - 2], run) for run, line in enumerate(chosen)]
    _write("kafka-departures", [head, *picked])


def _of_run(line: str, run: int) -> str:
    return f'{line.rpartition(",")[0]},"run":{run}}}'


def _write(name: str, lines: list[str]) -> None:
    (FOLDER / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
