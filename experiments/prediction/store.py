"""What was predicted and what was observed, as files: tests and the page read them without Kafka.

`expected.json` is worked out again by anybody, to the byte; `observed.jsonl` has a line for each
episode on a cluster, and only grows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from experiments.prediction.expected import Predicted
from experiments.prediction.observed import Observed
from experiments.prediction.outcomes import APIS

FOLDER: Final = Path(__file__).resolve().parent / "results"
EXPECTED, OBSERVED = "expected.json", "observed.jsonl"


class StoreError(Exception):
    """Results that cannot be read. The text is one line."""


class Expected(msgspec.Struct, frozen=True):
    """The reference's side of the table. setups: by name."""

    seed: int
    runs: int
    setups: dict[str, Predicted]


class Situation(msgspec.Struct, frozen=True):
    """A setup through one API, by both sides.

    runs, allowed: of the reference, with how many runs showed each class. trials, seen: of Kafka.
    moved: trials in which the leader was another for a while.
    """

    setup: str
    api: str
    runs: int
    allowed: dict[str, int]
    trials: int
    moved: int
    seen: dict[str, int]

    @property
    def forbidden(self) -> tuple[str, ...]:
        """Classes that Kafka showed and the reference never did."""
        return tuple(each for each in self.seen if each not in self.allowed)

    @property
    def unseen(self) -> tuple[str, ...]:
        """Classes that the reference showed and Kafka never did."""
        return tuple(each for each in self.allowed if each not in self.seen)

    def chance(self, name: str) -> float:
        """Of never seeing a class in so many trials, were they independent and as likely as the
        reference's runs.
        """
        return (1 - self.allowed[name] / self.runs) ** self.trials


def situations(expected: Expected, episodes: Sequence[Observed]) -> list[Situation]:
    """All that were tried, in the order of the setups."""
    found = []
    for name, predicted in expected.setups.items():
        here = [each for each in episodes if name in each.outcomes]
        if not here:
            continue
        for api in APIS:
            seen: Counter[str] = Counter()
            for each in here:
                seen.update(each.outcomes[name][api])
            found.append(
                Situation(
                    setup=name,
                    api=api,
                    runs=predicted.runs - predicted.unfinished,
                    allowed=predicted.outcomes[api],
                    trials=sum(each.read[name] for each in here),
                    moved=sum(each.moved[name] for each in here),
                    seen=dict(seen),
                )
            )
    return found


def read_expected(folder: Path = FOLDER) -> Expected:
    """Raises StoreError."""
    return _decoded(folder / EXPECTED, Expected)


def write_expected(expected: Expected, folder: Path = FOLDER) -> None:
    data = msgspec.json.format(msgspec.json.encode(expected), indent=1)
    (folder / EXPECTED).write_bytes(data + b"\n")


def read_observed(folder: Path = FOLDER) -> list[Observed]:
    """In the order in which they were recorded; none if there is no file. Raises StoreError."""
    path = folder / OBSERVED
    if not path.exists():
        return []
    try:
        decode = msgspec.json.Decoder(Observed).decode
        return [decode(line) for line in path.read_bytes().splitlines()]
    except (OSError, msgspec.DecodeError) as error:
        raise StoreError(f"{path}: {error}") from None


def add_observed(episodes: Sequence[Observed], folder: Path = FOLDER) -> None:
    with open(folder / OBSERVED, "ab") as file:
        file.writelines(msgspec.json.encode(each) + b"\n" for each in episodes)


def _decoded(path: Path, kind: type[Expected]) -> Expected:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError) as error:
        raise StoreError(f"{path}: {error}") from None


def share_names(table: Mapping[str, int]) -> str:
    """`kept 12, lost 3`: the classes with their numbers."""
    return ", ".join(f"{name} {count}" for name, count in table.items())
