"""The class path of a witness: Kafka's jars by version, and the host that drives them, compiled.

Law of this file: no jar that Maven brought is used unless its hash is kept here. The host is
compiled against the version that it drives, the first time, into the user's cache.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from live.artifacts import KAFKA, ArtifactError, Artifacts, cache, version_of

_HERE: Final = Path(__file__).resolve().parent
_POM: Final = _HERE / "pom.xml"
_SOURCES: Final = _HERE / "java"
_RELEASE: Final = "17"
"""Of Java: the least that Kafka 4 runs on."""

DEFAULT: Final = version_of(_POM)


class Component(NamedTuple):
    """What is driven of Kafka: the classes under `java/FOLDER`, with those of `java/host`.

    node: the class whose `nodes` makes them. broker: whether it takes the broker's jars
    (live/kafka), of which one version is known, beside those of the witness. host: the program.
    """

    node: str
    broker: bool
    folder: str
    host: str = "kraftcheck.witness.Host"


_VOTER: Final = Component("org.apache.kafka.raft.Voter", False, "quorum")
COMPONENTS: Final = {
    "quorum": _VOTER,
    "quorum41": _VOTER,
    "partition": Component("kafka.cluster.Broker", True, "partition"),
    "storage": Component("", True, "storage", host="kraftcheck.storage.Logs"),
    "reassignment": Component("org.apache.kafka.controller.Assignments", True, "reassignment"),
}
"""By protocol, and the log on disk."""


class ClassPath(NamedTuple):
    """version: of the release that the host was compiled against. own: a folder of jars or classes
    that come first, or None. node: the class that makes the nodes. host: the program.
    """

    version: str
    entries: tuple[str, ...]
    own: Path | None
    node: str
    host: str


def versions() -> list[str]:
    """The releases whose hashes are known."""
    return sorted(path.stem for path in (_HERE / "checksums").glob("*.txt"))


def check_version(version: str) -> None:
    """Raises ArtifactError: no hashes are known of it."""
    if version not in versions():
        known = ", ".join(versions())
        raise ArtifactError(f"no hashes are known of Apache Kafka {version}; known are {known}")


def has_log(version: str) -> bool:
    """Whether Kafka's own log of the quorum is among these jars: it was Scala until 4.3."""
    return version.split(".")[:2] >= ["4", "3"]


def class_path(version: str = DEFAULT, own: Path | None = None, of: str = "quorum") -> ClassPath:
    """What a witness of this version runs with; fetched and compiled where it was not before.

    own: a folder with jars, or with class files, that take the place of the release's. of: the
    protocol. Raises ArtifactError, in one line: no such version, no Maven, no compiler, no classes.
    """
    check_version(version)
    component = COMPONENTS[of]
    if component.broker and version != KAFKA.version:
        raise ArtifactError(f"a {of} of Apache Kafka {KAFKA.version} only, not of {version}")
    checksums = _HERE / "checksums" / f"{version}.txt"
    jars = [f"{Artifacts('witness', _POM, checksums, version).libraries()}/*"]
    if component.broker:
        jars.append(f"{KAFKA.libraries()}/*")
    first = [] if own is None else _own(own)
    entries = (*first, str(_compiled(version, component.folder, jars)), *jars)
    return ClassPath(version, entries, own, component.node, component.host)


def _own(folder: Path) -> list[str]:
    if not folder.is_dir():
        raise ArtifactError(f"{folder}: no folder of jars")
    jars = sorted(folder.glob("*.jar"))
    classes = next(folder.rglob("*.class"), None)
    if not jars and classes is None:
        raise ArtifactError(f"{folder}: neither jars nor class files in it")
    return [*([str(folder)] if classes else []), *map(str, jars)]


def _compiled(version: str, of: str, jars: list[str]) -> Path:
    """The folder with the host's classes for this version and protocol."""
    sources = sorted(path for name in ("host", of) for path in (_SOURCES / name).rglob("*.java"))
    digest = hashlib.sha256()
    for path in sources:
        digest.update(f"{path.relative_to(_SOURCES)}\0".encode() + path.read_bytes())
    classes = cache() / "witness-host" / f"{version}-{digest.hexdigest()[:16]}"
    if not classes.is_dir():
        compiler = program("javac")
        classes.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f"{version}-", dir=classes.parent))
        words = [compiler, "--release", _RELEASE, "-proc:none", "-nowarn", "-d", str(partial)]
        try:
            done = subprocess.run(
                [*words, "-cp", ":".join(jars), *map(str, sources)],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                said = [line for line in done.stderr.splitlines() if "error" in line]
                raise ArtifactError(f"javac, with Kafka {version}: {said[0] if said else 'failed'}")
            # Whoever was faster has made the same.
            if not classes.is_dir():
                partial.rename(classes)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return classes


def program(name: str) -> str:
    """`java` or `javac`, of JAVA_HOME or else on PATH. Raises ArtifactError: there is none."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(f"{home}/bin/{name}") if home else None
    found = found or shutil.which(name)
    if found is None:
        raise ArtifactError(
            f"no `{name}` command: a witness of Kafka needs a JDK, {_RELEASE} or newer"
        )
    return found
