"""For which patches Kafka's own tests have shown the defect and the fix, by what was run.

    python -m tests.experiments.held        # runs the others, and writes held.json

A run takes half a minute, and the same patch on the same Kafka comes to the same. So what has held
is kept with a digest of the patch, of how its tests are run, and of Kafka's version, and is run
again when one of these changes.
"""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from pathlib import Path
from typing import Final

from experiments import changed, kafka_tests
from experiments.changed import FINDS
from experiments.kafka_tests import TESTED, compare
from kraftcheck.kafka.live.artifacts import version

KEPT: Final = Path(__file__).with_suffix(".json")


def digest_of(name: str) -> str:
    found = sha256(version().encode())
    ours = [Path(str(module.__file__)) for module in (changed, kafka_tests)]
    for path in (*ours, *sorted((FINDS / name).glob("*.patch"))):
        found.update(sha256(path.read_bytes()).digest())
    return found.hexdigest()


def unknown() -> list[str]:
    """The finds of which nothing is kept, or what was run before a change."""
    kept = json.loads(KEPT.read_text("utf-8"))
    return [name for name in TESTED if kept.get(name) != digest_of(name)]


def keep(names: list[str]) -> None:
    """These have held."""
    kept = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    kept |= {name: digest_of(name) for name in names}
    lines = [f'  "{name}": "{kept[name]}"' for name in TESTED if name in kept]
    KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    for name in unknown():
        found = compare(name)
        assert found.holds, (name, found)
        keep([name])
        sys.stdout.write(f"{name}\n")
