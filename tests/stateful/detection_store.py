"""detection.json: what `make detection` has measured, as samples. The table is made of it alone.

Law of this file: a sample that was stored is not measured again, so that a measurement of hours can
be stopped at any moment and taken up later. Samples of one bug are of one version of the machine;
when the machine has changed since, they are kept and the table says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from kraftcheck.reference.protocols import PROTOCOLS

STORED: Final = Path(__file__).resolve().with_name("detection.json")
ROOT: Final = STORED.parents[2]
_QUORUM, _PARTITION, _CLUSTER, _CHANGING = (
    f"reference/{of}/steered" for of in ("quorum", "partition", "cluster", "quorum/snapshots")
)
_MAIL: Final = "reference/steered/mail.py"
BEGINNINGS: Final = (
    "tests/stateful/beginnings.py",
    *[f"tests/corpus/{path.name}" for path in sorted((ROOT / "tests/corpus").glob("tlc-*.moves"))],
)
_OF_CLUSTER: Final = (
    "tests/stateful/machine.py",
    "tests/stateful/broker_machine.py",
    "tests/stateful/cluster_machine.py",
    *(f"{_CLUSTER}/{name}.py" for name in ("schedule", "moves", "parts")),
    *(f"{_PARTITION}/{name}.py" for name in ("told", "world", "producers")),
    *(f"{_QUORUM}/schedule.py", _MAIL),
)
SOURCES: Final = {
    "quorum": ("tests/stateful/machine.py", f"{_QUORUM}/schedule.py", _MAIL, *BEGINNINGS),
    "partition": (
        "tests/stateful/machine.py",
        "tests/stateful/broker_machine.py",
        "tests/stateful/partition_machine.py",
        *BEGINNINGS,
        *(f"{_PARTITION}/{name}.py" for name in ("schedule", "told", "world", "producers")),
        *(f"{_QUORUM}/schedule.py", _MAIL),
    ),
    "cluster": _OF_CLUSTER,
    "changing-cluster": (*_OF_CLUSTER, f"{_CLUSTER}/moving.py", f"{_CHANGING}/schedule.py"),
    **dict.fromkeys(
        (each.name for each in PROTOCOLS if each.by_chance),
        ("tests/stateful/plain_machine.py", "reference/drivers/script.py"),
    ),
}
"""What a machine is made of, besides the reference."""


class DamagedStore(ValueError):
    """detection.json is not what this version writes."""


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """One seed. examples: up to and including the first that fails; None: none did. tried: examples
    up to then. moves: in all of them. seconds: CPU time up to then. how: what was violated.
    length: moves of the example that failed.
    """

    examples: int | None
    tried: int
    moves: int
    seconds: float
    how: str
    length: int


class Samples(msgspec.Struct, kw_only=True):
    """Of one bug and machine, by seed from 1 on. version: of the machine that was measured. shrunk:
    for the first seeds that found anything.
    """

    version: str
    search: list[Sample] = []
    campaign: list[Sample] = []
    shrunk: list[Sample] = []


class Correct(msgspec.Struct, kw_only=True):
    """Searches with the correct reference. batches: seeds 1 to so many. examples: the valid ones;
    tried: with those that Hypothesis gave up. found: what was violated, one line for each. remark:
    what came of looking into it, written by hand.
    """

    version: str
    batches: int = 0
    examples: int = 0
    tried: int = 0
    moves: int = 0
    seconds: float = 0.0
    found: list[str] = []
    remark: str = ""


class Detection(msgspec.Struct, kw_only=True):
    """The file. machine: where it was measured; date: when last. examples, campaign_seconds:
    the limits of a search and of a campaign. samples: by machine, by bug.
    """

    machine: str = ""
    date: str = ""
    examples: int
    campaign_seconds: float
    samples: dict[str, dict[str, Samples]] = {}
    correct: dict[str, Correct] = {}


def version_of(name: str) -> str:
    """A digest of the sources of a machine."""
    digest = blake2b(digest_size=4)
    for source in SOURCES[name]:
        digest.update((ROOT / source).read_bytes())
    return digest.hexdigest()


def load(path: Path = STORED) -> Detection | None:
    """What is stored, or None. Raises DamagedStore."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Detection)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise DamagedStore(f"{path} is damaged: {error}") from None


def store(detection: Detection, path: Path = STORED) -> None:
    """Write the file as a whole, a kind of sample of a bug on a line, so that changes are seen."""
    encode = msgspec.json.Encoder(order="sorted").encode
    about = {
        name: getattr(detection, name) for name in ("campaign_seconds", "date", "examples")
    } | {"machine": detection.machine}
    machines = [
        f'"{name}": {{\n{_joined(_bug(id, of) for id, of in sorted(bugs.items()))}\n}}'
        for name, bugs in sorted(detection.samples.items())
    ]
    text = (
        f"{encode(about).decode()[:-1]},\n"
        f'"correct": {encode(detection.correct).decode()},\n'
        f'"samples": {{\n{_joined(machines)}\n}}}}\n'
    )
    whole = path.with_suffix(".new")
    whole.write_text(text, encoding="utf-8")
    os.replace(whole, path)


def _bug(id: str, of: Samples) -> str:
    encode = msgspec.json.Encoder(order="sorted").encode
    kinds = ",\n  ".join(
        f'"{kind}": {encode(getattr(of, kind)).decode()}'
        for kind in ("version", "search", "campaign", "shrunk")
    )
    return f'"{id}": {{{kinds}}}'


def _joined(lines: Iterable[str]) -> str:
    return ",\n".join(lines)
