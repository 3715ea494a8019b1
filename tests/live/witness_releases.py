"""What each release of Kafka does, kept small; `python -m tests.live.witness_releases` makes it.

Each is given the same beginning of a run, of a quorum, of a partition, and of a cluster of both,
and the schedules of what was found in Kafka. Recordings with the same steps are kept once;
`kafka-releases.json` says of each release which are its own. Beside them the first step in which a
release parts from the default one, or else the newest, by the same rules, as both have it.
tests/traces/foreign/test_releases.py judges them without Kafka.
"""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final

from kraftcheck.kafka.live.witness.jars import DEFAULT, versions
from kraftcheck.kafka.witness.driving import drive, host_of, of_run, producer, traces_of
from kraftcheck.kafka.witness.following import follow
from kraftcheck.kafka.witness.kafka import Kafka, driver
from kraftcheck.kafka.witness.releases import FINDS
from kraftcheck.kafka.witness.speech import header
from kraftcheck.known_bugs.schedules import stored
from tests.live.witness_samples import FOLDER, WHOLE

INDEX: Final = FOLDER / "kafka-releases.json"
RUNS: Final = {"quorum": (7, 3), "partition": (1, 0), "cluster": (5, 1)}
"""Seed and number of the run of which the beginning is kept; tests/live/witness_samples.py keeps
those of the newest release, but of a cluster."""
PARTS: Final = {
    **{"quorum": ("quorum", 0), "partition": ("partition", 0)},
    **{"cluster-quorum": ("cluster", 0), "cluster-partition": ("cluster", 1)},
}
"""What is kept, of which run it is, and of which of the run's parts."""
NEWEST: Final = {"quorum": "kafka-run", "partition": "kafka-partition-run"}


def component(what: str, version: str) -> Any:
    run, _ = PARTS.get(what, (FINDS.get(what, what), 0))
    return driver(run, what).component(_kafka(version))


def _kafka(version: str) -> Kafka:
    return Kafka(version, None, "", files=True)


MOVES: Final = 300
"""Of a run."""
FEWER: Final = {"quorum": 100, "partition": 100, "cluster": 300}
"""So many of them have the steps that are kept."""


@cache
def _driven(name: str, version: str, moves: int) -> list[list[str]]:
    """The lines of a run, of each part."""
    seed, number = RUNS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        of = component(name, version)
        drive(path, _kafka(version), of, 3, runs=1, first=number, seed=seed, moves=moves)
        traces = [each.read_text("utf-8").splitlines() for each in traces_of(path, of)]
    return [[head, *(_numbered(line, 0) for line in lines)] for head, *lines in traces]


def run(what: str, version: str, moves: int = MOVES) -> list[str]:
    """The lines of a part of a run."""
    name, part = PARTS[what]
    return _driven(name, version, moves)[part]


def find(what: str, version: str) -> list[str]:
    """The lines of the schedule of a find."""
    of, script, kafka = component(what, version), stored(f"{what}.moves"), _kafka(version)
    setting = of.setting(script.options)
    constants = of.constants(setting)
    with host_of(kafka, of.protocol, constants) as host:
        found = follow(script, of.begin(setting, host, watched=True))
    steps = [of_run(text, 0).rstrip() for text, _ in found.schedule.lines]
    return [header(constants, producer(kafka, of.protocol)), *steps]


def kept(what: str, version: str) -> list[str]:
    """The lines that are kept."""
    if what not in PARTS:
        return find(what, version)
    lines = run(what, version, FEWER[PARTS[what][0]])[: WHOLE + 1]
    assert len(lines) == WHOLE + 1, f"{what}: more moves"
    return lines


def main() -> None:
    index: dict[str, dict[str, str]] = {}
    names: dict[tuple[str, ...], str] = {}
    newest: dict[str, list[str]] = {}
    for version in sorted(reversed(versions()), key=DEFAULT.__ne__):
        index[version] = {}
        for what in (*PARTS, *FINDS):
            lines = kept(what, version)
            usual = NEWEST.get(what, f"kafka-{what}")
            name = usual if version == DEFAULT else f"kafka-{version}-{what}"
            name = index[version][what] = names.setdefault(tuple(lines[1:]), name)
            if not (what in NEWEST and version == DEFAULT):
                _write(name, lines)
        whole = run("quorum", version)
        rules = component("quorum", version).protocol.name
        if parts := _parts(whole, newest.setdefault(rules, whole)):
            index[version]["parts"] = f"kafka-{version}-parts"
            _write(index[version]["parts"], parts)
    INDEX.write_text(json.dumps(dict(sorted(index.items())), indent=2) + "\n", "utf-8")


def _parts(lines: list[str], beside: list[str]) -> list[str]:
    """The first step that is not the same, as both have it, each in a run of its own."""
    for one, two in zip(lines[1:], beside[1:], strict=False):
        if one != two:
            head = f'{lines[0][:-1]},"start":"any","order":"by node"}}'
            return [head, _numbered(one, 0), _numbered(two, 1)]
    return []


def _numbered(line: str, run: int) -> str:
    return f'{line.rpartition(",")[0]},"run":{run}}}'


def _write(name: str, lines: list[str]) -> None:
    path = FOLDER / f"{name}.jsonl"
    if not path.is_file() or path.read_text("utf-8").splitlines()[1:] != lines[1:]:
        path.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
