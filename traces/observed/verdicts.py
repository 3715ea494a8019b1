"""What is said of a recording: by whoever judges it, of whichever witness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec


class Finding(msgspec.Struct, frozen=True):
    """A record that no rule explains, or one that is missing."""

    offset: int
    """In the metadata log."""
    subject: str
    reason: str


class Defect(msgspec.Struct, frozen=True):
    """What is wrong: of which partition, on which brokers, and the first place of its kind."""

    name: str
    key: str
    brokers: tuple[int, ...]
    reason: str


def first_of_each(found: Iterable[Defect]) -> list[Defect]:
    """The first place of each kind, for each partition and its brokers."""
    first: dict[tuple[str, str, tuple[int, ...]], Defect] = {}
    for each in found:
        first.setdefault((each.name, each.key, each.brokers), each)
    return list(first.values())


class RecordingVerdict(NamedTuple):
    """What came of a recording.

    findings, defects, contradictions: what is wrong with the metadata log, on disks, with answers.
    replicas, entries: how many lay on disks, with how many records together.
    """

    records: int
    """Of the metadata log."""
    steps: Mapping[str, int]
    """Those that were explained, by what they are."""
    unjudged: Mapping[str, int]
    """Records by kind."""
    findings: Sequence[Finding]
    replicas: int
    entries: int
    defects: Sequence[Defect]
    answers: int
    """Of brokers."""
    asked: Mapping[str, int]
    """How often each rule was."""
    contradictions: Sequence[Defect]
    compared: Mapping[str, int]
    """Likewise of transactions on disks."""
    left: Mapping[str, str]
    """Rules of transactions that were not judged, and why."""
    silent: Mapping[str, str]
    """By each witness that told nothing, why."""
    unknown: str
    """Why it is not known whether all is well; empty: it is."""

    @property
    def judged(self) -> int:
        """Steps of the controller."""
        return sum(self.steps.values())
