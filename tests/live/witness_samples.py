"""Small recordings of Kafka's own classes, made again: `python -m tests.live.witness_samples`.

They are for tests that need no Kafka (tests/traces/foreign/test_profiles.py): of each protocol one
run from its beginning, and some steps for each entry of the profile, each in a run of its own.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from kraftcheck.kafka.live.witness.jars import DEFAULT
from kraftcheck.kafka.witness.chance import Component
from kraftcheck.kafka.witness.driving import (
    NO_OPTIONS,
    all_judged,
    drive,
    host_of,
    of_run,
)
from kraftcheck.kafka.witness.following import follow
from kraftcheck.kafka.witness.groups import GROUP_COORDINATORS
from kraftcheck.kafka.witness.kafka import Kafka
from kraftcheck.kafka.witness.partition import BROKERS
from kraftcheck.kafka.witness.quorum import VOTERS, VOTERS_BEFORE_41
from kraftcheck.kafka.witness.transactions import TRANSACTION_COORDINATORS
from kraftcheck.known_bugs import schedules
from kraftcheck.reference.steered.scripts import read

FOLDER: Final = Path(__file__).parents[1] / "traces" / "foreign" / "data"
EXAMPLES: Final = Path(__file__).parents[2] / "examples" / "witness"
RUNS: Final = 60
WHOLE: Final = 50
"""Steps of the run that is kept from its beginning."""
EACH: Final = 3
"""Steps for each entry."""


class Sample(NamedTuple):
    """Runs in which every entry is met. name: how the files begin. whole: the run that is kept from
    its beginning, if one is. schedule: of the last run. version: of Kafka. nodes, runs, moves,
    given: as driving.drive has them.
    """

    name: str
    component: Component
    seed: int
    whole: int | None = None
    schedule: Path | None = None
    version: str = DEFAULT
    nodes: int = 3
    runs: int = RUNS
    moves: int = 300
    given: Mapping[str, Any] = NO_OPTIONS


SAMPLES: Final = (
    Sample("kafka", VOTERS, 7, whole=3),
    Sample("kafka-partition", BROKERS, 1, 0, EXAMPLES / "stop-is-soft.moves"),
    Sample("kafka-transactions", TRANSACTION_COORDINATORS, 1, 1, None, DEFAULT, 2, 30, 200),
    Sample(
        *("kafka-transactions-1", TRANSACTION_COORDINATORS, 1, 0, None, DEFAULT, 2, 30, 200),
        {"version": 1},
    ),
    Sample("kafka-groups", GROUP_COORDINATORS, 5, whole=1, runs=8),
    Sample(*("kafka-4.4-groups", GROUP_COORDINATORS, 8, None, None, "4.4.0"), runs=3, moves=150),
    # Its run is among those of releases (tests/live/witness_releases.py).
    Sample("kafka-4.0", VOTERS_BEFORE_41, 7, None, schedules.FOLDER / "Z68.moves", "4.0.2"),
)


def main() -> None:
    """Makes those of the names that are given, or all."""
    for sample in SAMPLES:
        if sample.name in (sys.argv[1:] or [sample.name]):
            _make(sample)


def _make(sample: Sample) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        kafka = Kafka(sample.version, None, "", files=True)
        how: dict[str, Any] = {"runs": sample.runs, "seed": sample.seed, "moves": sample.moves}
        drive(path, kafka, sample.component, sample.nodes, **how, given=sample.given)
        if sample.schedule:
            with path.open("a", encoding="utf-8") as file:
                file.writelines(_followed(sample.component, kafka, sample.schedule))
        profile = kafka.allowed(*(part.protocol.name for part in sample.component.parts))
        head, *lines = path.read_text(encoding="utf-8").splitlines()
        [found] = all_judged(sample.component, path, profile)
    FOLDER.mkdir(exist_ok=True)
    if sample.whole is not None:
        whole = [_of_run(line, 0) for line in lines if line.endswith(f',"run":{sample.whole}}}')]
        _write(f"{sample.name}-run", [head, *whole[:WHOLE]])
    head = f'{head[:-1]},"start":"any","order":"by node"}}'
    chosen = dict.fromkeys(line for met in found.met for line in met.lines[:EACH])
    picked = [_of_run(lines[line - 2], run) for run, line in enumerate(chosen)]
    _write(f"{sample.name}-departures", [head, *picked])


def _followed(component: Component, kafka: Kafka, path: Path) -> list[str]:
    script, _ = read(path.read_text(encoding="utf-8"))
    setting = component.setting(script.options)
    with host_of(kafka, component.protocol, component.constants(setting)) as host:
        found = follow(script, component.begin(setting, host, watched=True))
    assert found.left_out == [], found.left_out
    return [of_run(text, RUNS) for text, _ in found.schedule.lines]


def _of_run(line: str, run: int) -> str:
    return f'{line.rpartition(",")[0]},"run":{run}}}'


def _write(name: str, lines: list[str]) -> None:
    (FOLDER / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
