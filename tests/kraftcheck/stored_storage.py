"""What Kafka's own log answered and wrote to its folder, kept, so that the engine is held against
it where there is no Java.

    python -m tests.kraftcheck.stored_storage    asks Kafka's classes anew, and keeps what they say
"""

from __future__ import annotations

import json
import lzma
import tempfile
from pathlib import Path
from typing import Any, Final, Protocol

from kraftcheck.kafka.witness.storage import FOLDER, Compared, compare, compare_crashes, hosted

STORED: Final = Path(__file__).with_name("kafka_storage.jsonl.xz")
HISTORIES: Final = (0, 3, 6, 50)
CRASHED: Final = (0, 1)
CRASHES: Final = 5


class Asked(Protocol):
    def ask(self, lines: list[str]) -> list[str]: ...


def contents(folder: Path) -> dict[str, str]:
    files = sorted((folder / FOLDER).glob("*"))
    return {path.name: path.read_bytes().decode("latin-1") for path in files}


class Recorder:
    """A host, of which is kept what it is asked, what it answers, and which files it changes."""

    def __init__(self, host: Asked, folder: Path) -> None:
        self.host, self.folder = host, folder
        self.said: list[list[Any]] = []

    def ask(self, lines: list[str]) -> list[str]:
        before = contents(self.folder)
        answers = self.host.ask(lines)
        after = contents(self.folder)
        changed = {name: data for name, data in after.items() if before.get(name) != data}
        gone = {name: None for name in before.keys() - after.keys()}
        own = str(self.folder)
        told, said = ([line.replace(own, "") for line in of] for of in (lines, answers))
        self.said.append([told, said, {**changed, **gone}])
        return answers


class Stored:
    """A host that does again what was kept. Raises AssertionError: it is asked something else."""

    def __init__(self, said: list[list[Any]], folder: Path) -> None:
        self.said, self.folder = said, folder

    def ask(self, lines: list[str]) -> list[str]:
        told, answers, files = self.said.pop(0)
        assert told == [line.replace(str(self.folder), "") for line in lines]
        (self.folder / FOLDER).mkdir(exist_ok=True)
        for name, data in files.items():
            path = self.folder / FOLDER / name
            if data is None:
                path.unlink()
            else:
                path.write_bytes(data.encode("latin-1"))
        return list(answers)


def all_compared(host: Any, folder: Path) -> Compared:
    total = Compared()
    for seed in HISTORIES:
        compare(host, folder, seed, total)
    for seed in CRASHED:
        compare_crashes(host, folder, seed, CRASHES, total)
    return total


def stored() -> list[list[Any]]:
    with lzma.open(STORED, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def asked_anew(host: Asked, folder: Path) -> list[list[Any]]:
    recorder = Recorder(host, folder)
    assert all_compared(recorder, folder).differ == []
    return recorder.said


def main() -> None:
    with tempfile.TemporaryDirectory() as name, hosted() as host:
        said = asked_anew(host, Path(name) / "t")
    with lzma.open(STORED, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(each, sort_keys=True) + "\n" for each in said)


if __name__ == "__main__":
    main()
