"""For which patches Kafka's own tests have shown the defect and the fix, by what was run.

    python -m tests.experiments.held        # runs the others, and writes held.json

A run takes half a minute, and the same patch on the same Kafka comes to the same. So what has held
is kept with a digest of the patch, of how its tests are run, and of Kafka's version, and is run
again when one of these changes. So is what our programs say of Kafka with a patch
(tests/live/test_by_classes.py), with one digest of that file and of all programs and patches.
"""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from pathlib import Path
from typing import Final

import pytest

from experiments import by_classes, changed, kafka_tests
from experiments.changed import FINDS
from experiments.kafka_tests import TESTED, compare
from kraftcheck.kafka.live.artifacts import version

KEPT: Final = Path(__file__).with_suffix(".json")
BY_CLASSES: Final = "by classes"
ASKED: Final = Path(__file__).parents[1] / "live" / "test_by_classes.py"
PROGRAMS: Final = ("*.py", "*.java", "*.toml", "*.patch")


def digest_of(name: str) -> str:
    found = sha256(version().encode())
    ours = [Path(str(module.__file__)) for module in (changed, kafka_tests)]
    for path in (*ours, *sorted((FINDS / name).glob("*.patch"))):
        found.update(sha256(path.read_bytes()).digest())
    return found.hexdigest()


def digest_of_programs() -> str:
    found = sha256(version().encode())
    folders = Path(by_classes.__file__).parent, FINDS
    programs = [each for of in folders for kind in PROGRAMS for each in of.rglob(kind)]
    for path in (ASKED, *sorted(programs)):
        found.update(f"{path.name} {sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()


def have_held_by_classes() -> bool:
    return kept().get(BY_CLASSES) == digest_of_programs()


def kept() -> dict[str, str]:
    found: dict[str, str] = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    return found


def unknown() -> list[str]:
    """The finds of which nothing is kept, or what was run before a change."""
    known = kept()
    return [name for name in TESTED if known.get(name) != digest_of(name)]


def keep(name: str, digest: str) -> None:
    """It has held."""
    known = kept() | {name: digest}
    lines = [f'  "{each}": "{known[each]}"' for each in (BY_CLASSES, *TESTED) if each in known]
    KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    for name in unknown():
        found = compare(name)
        assert found.holds, (name, found)
        keep(name, digest_of(name))
        sys.stdout.write(f"{name}\n")
    if not have_held_by_classes():
        assert pytest.main(["-q", str(ASKED)]) == 0
        keep(BY_CLASSES, digest_of_programs())
