"""Classes of Apache Kafka with one change: from the sources of the release, compiled anew.

What a test needs is said by `missing`; without it the test is skipped, and says so.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Final, NamedTuple

from live.witness.jars import class_path

VERSION: Final = "4.3.1"
SOURCES: Final = "62a12abd61b24dba55fdc7a6bb3544432f3f8a3753ffc6efddf1a04b208460cb"
"""Of the jar with the sources of kafka-raft, sha256."""
SHORT: Final = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")
"""For a compiler that ends after one file: 1.7 processor seconds where it took 3.3."""


class Plant(NamedTuple):
    """A fault in Kafka. file: in its sources; old: text that stands there once; new: in its place.
    action, field: of the first step that must be refused, and what is wrong with it. runs: so many
    meet it.
    """

    name: str
    file: str
    old: str
    new: str
    action: str
    field: str
    runs: int = 4


def missing() -> str:
    """Why Kafka's classes cannot be driven here; empty if they can."""
    lacks = [name for name in ("mvn", "javac", "java") if shutil.which(name) is None]
    return f"no {', '.join(lacks)}: Kafka's own classes are not judged" if lacks else ""


def sources(folder: Path) -> Path:
    """The sources of kafka-raft, fetched into the folder."""
    what = f"org.apache.kafka:kafka-raft:{VERSION}:jar:sources"
    words = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={what}"]
    subprocess.run([*words, f"-DoutputDirectory={folder}"], check=True, capture_output=True)
    [jar] = folder.glob("*.jar")
    assert hashlib.sha256(jar.read_bytes()).hexdigest() == SOURCES, f"{jar} is another"
    with zipfile.ZipFile(jar) as packed:
        packed.extractall(folder / "sources")
    return folder / "sources"


def compiled(plant: Plant, sources: Path, folder: Path) -> Path:
    """A folder with the classes of the file that was changed."""
    text = (sources / plant.file).read_text(encoding="utf-8")
    assert text.count(plant.old) == 1, f"{plant.name}: {text.count(plant.old)} such places"
    changed = folder / "changed" / Path(plant.file).name
    changed.parent.mkdir(parents=True)
    changed.write_text(text.replace(plant.old, plant.new), encoding="utf-8")
    classes = folder / "classes"
    path = ":".join(class_path(VERSION).entries)
    words = ["javac", *SHORT, "-nowarn", "-proc:none", "-d", str(classes), "-cp", path]
    done = subprocess.run([*words, str(changed)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return classes
