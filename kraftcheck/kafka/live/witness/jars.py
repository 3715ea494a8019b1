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
import tomllib
import zipfile
from pathlib import Path
from typing import Final, NamedTuple

from kraftcheck.kafka.live.artifacts import (
    ArtifactError,
    Artifacts,
    broker,
    cache,
    first,
    version_of,
)
from kraftcheck.osutil.java import BRIEF, NoJava, launcher

_HERE: Final = Path(__file__).resolve().parent
_POM: Final = _HERE / "pom.xml"
_SOURCES: Final = _HERE / "java"
_RELEASE: Final = "17"
"""Of Java: the least that Kafka 4 runs on."""

DEFAULT: Final = version_of(_POM)


class Component(NamedTuple):
    """What is driven of Kafka: the classes under folders of `java`, with those of `java/host`."""

    node: str
    """The class whose `nodes` makes them."""
    folders: tuple[str, ...]
    host: str = "kraftcheck.witness.Host"
    """The program."""
    since: str = ""
    """The first version that it can be compiled against; none: the default alone."""
    instead: str = ""
    """The folder of classes that take the place of Kafka's, of a user's build as well: threads and
    connections.
    """


_VOTER: Final = Component("org.apache.kafka.raft.Voter", ("quorum",), since="4.0")
_BROKER: Final = Component("kafka.cluster.Broker", ("partition",), since="4.0", instead="single")
COMPONENTS: Final = {
    "quorum": _VOTER,
    "quorum41": _VOTER,
    "partition": _BROKER,
    "cluster": _BROKER._replace(
        node="kraftcheck.cluster.Cluster", folders=("quorum", "partition", "cluster")
    ),
    "storage": Component("", ("storage",), host="kraftcheck.storage.Logs", since="4.1"),
    "transactions": Component(
        "kafka.coordinator.transaction.Coordinators", ("transactions",), since="4.0"
    ),
    "producers": Component(
        "", ("producers",), host="org.apache.kafka.clients.producer.internals.Told"
    ),
    "reassignment": Component(
        "org.apache.kafka.controller.Assignments", ("reassignment",), since="4.0"
    ),
    "groups": Component(
        "org.apache.kafka.coordinator.common.runtime.Coordinator",
        ("groups", "coordinated"),
        since="4.0",
    ),
    "shares": Component("kafka.server.share.Leader", ("shares", "coordinated"), since="4.2"),
    "controllers": Component(
        "org.apache.kafka.controller.ActiveController",
        ("controllers",),
        since="4.0",
        instead="single",
    ),
}
"""By protocol or composition; the log on disk; a transactional producer that is told errors."""

_MOCKS_OF: Final = {"4.2.2": "4.2.1", "4.4.0": "4.3.1"}
"""Of a release without jars of its tests: the one from the sources of whose tests its mocks are."""
_MOCKS: Final = (
    "common/utils/MockTime",
    "raft/MockExpirationService",
    "raft/MockLog",
    "raft/MockQuorumStateStore",
    "snapshot/MockRawSnapshotReader",
    "snapshot/MockRawSnapshotWriter",
)

_MOVED: Final = tomllib.loads((_HERE / "moved.toml").read_text(encoding="utf-8"))["moved"]


class ClassPath(NamedTuple):
    version: str
    """Of the release that the host was compiled against."""
    entries: tuple[str, ...]
    own: Path | None
    """A folder of jars or classes that come first, or None."""
    node: str
    """The class that makes the nodes."""
    host: str
    """The program."""


def versions() -> list[str]:
    """The releases whose hashes are known."""
    return sorted(path.stem for path in (_HERE / "checksums").glob("*.txt"))


def check_version(version: str) -> None:
    """Raises ArtifactError: no hashes are known of it."""
    if version not in versions():
        known = ", ".join(versions())
        raise ArtifactError(f"no hashes for Apache Kafka {version}; known versions: {known}")


def class_path(version: str = DEFAULT, own: Path | None = None, of: str = "quorum") -> ClassPath:
    """What a witness of this version runs with; fetched and compiled where it was not before.

    own: a folder with jars, or with class files, that take the place of the release's. of: the
    protocol. Raises ArtifactError, in one line: no such version, no Maven, no compiler, no classes.
    """
    check_version(version)
    component = COMPONENTS[of]
    if version != DEFAULT and not (component.since and component.since <= version):
        which = f"since {component.since}" if component.since else f"{DEFAULT} only"
        raise ArtifactError(f"a {of} of Apache Kafka {which}, not of {version}")
    of_tests = _tests(version).libraries()
    jars = [f"{folder}/*" for folder in (of_tests, broker(version).libraries())]
    if version in _MOCKS_OF:
        jars.insert(0, str(_compiled(version, _mocks(version, of_tests), jars)))
    instead = [component.instead] if component.instead else []
    before = [str(_compiled(version, _sources(version, [each]), jars)) for each in instead]
    sources = _sources(version, ["host", *component.folders])
    host = _compiled(version, sources, [*before, *jars])
    entries = (*before, *first(own), str(host), *jars)
    return ClassPath(version, entries, own, component.node, component.host)


def _tests(version: str) -> Artifacts:
    """What is driven, with the jars of its tests, or with the sources of another version's."""
    other = _MOCKS_OF.get(version)
    more = (f"-Dtests.version={other}", "-Dtests=test-sources") if other else ()
    return Artifacts("witness", _POM, _HERE / "checksums" / f"{version}.txt", version, more)


def _sources(version: str, folders: list[str]) -> dict[Path, str]:
    """Of these folders, as they are for this version."""
    return {
        path.relative_to(_SOURCES): as_of(version, path.read_text(encoding="utf-8"))
        for name in folders
        for path in sorted((_SOURCES / name).rglob("*.java"))
    }


def _mocks(version: str, folder: Path) -> dict[Path, str]:
    """Those of Kafka's own tests, from the jars of sources in that folder."""
    found = {}
    for jar in sorted(folder.glob("*-test-sources.jar")):
        with zipfile.ZipFile(jar) as packed:
            for name in (f"org/apache/kafka/{each}.java" for each in _MOCKS):
                if name in packed.namelist():
                    found[Path(name)] = as_of(version, packed.read(name).decode())
    return found


def _compiled(version: str, sources: dict[Path, str], jars: list[str]) -> Path:
    """The folder with the classes of these sources, for this version."""
    digest = hashlib.sha256()
    for path, text in sources.items():
        digest.update(f"{path}\0{text}".encode())
    classes = cache() / "witness-host" / f"{version}-{digest.hexdigest()[:16]}"
    if not classes.is_dir():
        classes.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{version}-", dir=classes.parent) as folder:
            partial = _compile(version, sources, jars, Path(folder))
            # Whoever was faster has made the same.
            if not classes.is_dir():
                partial.rename(classes)
    return classes


def as_of(version: str, text: str) -> str:
    """Rewrite a source file's imports for this version.

    The file is written for the default version; classes are elsewhere in this one.
    """
    for move in _MOVED:
        for end in [f"{name};" for name in move.get("names", ())] or [""]:
            before, now = (f"import {move[package]}.{end}" for package in ("before", "now"))
            text = rewritten(version, text, move["since"], before, now)
    return text


def rewritten(version: str, text: str, since: str, before: str, now: str) -> str:
    """Write for this version what was written otherwise before the version `since`."""
    here, first, written = (each.split(".") for each in (version, since, DEFAULT))
    if here < first <= written:
        return text.replace(now, before)
    if written < first <= here:
        return text.replace(before, now)
    return text


def _compile(version: str, sources: dict[Path, str], jars: list[str], place: Path) -> Path:
    """The folder in this place with the classes of these sources. Raises ArtifactError."""
    for path, text in sources.items():
        (place / "java" / path).parent.mkdir(parents=True, exist_ok=True)
        (place / "java" / path).write_text(text, encoding="utf-8")
    words = [*javac(), "--release", _RELEASE, "-d", str(place / "classes")]
    # Else the sources of tests that lie among the jars would be compiled, too.
    words += ["-sourcepath", str(place / "java")]
    words += ["-cp", ":".join(jars), *(str(place / "java" / path) for path in sources)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "error" in line]
        raise ArtifactError(f"javac, with Kafka {version}: {said[0] if said else 'failed'}")
    return place / "classes"


def brief_java() -> list[str]:
    """The launcher, for a program that ends soon. Raises ArtifactError: there is none."""
    return [program("java"), *BRIEF]


def javac() -> list[str]:
    """The compiler, without annotations and warnings. Raises ArtifactError: there is none."""
    return [program("javac"), *(f"-J{each}" for each in BRIEF), "-proc:none", "-nowarn"]


def program(name: str) -> str:
    """`java` as `kraftcheck.osutil.java` finds it, or the `javac` of JAVA_HOME or else of PATH.

    Raises ArtifactError: there is none.
    """
    if name == "java":
        try:
            return launcher()[0]
        except NoJava as error:
            raise ArtifactError(str(error)) from None
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(f"{home}/bin/{name}") if home else None
    found = found or shutil.which(name)
    if found is None:
        raise ArtifactError(
            f"no `{name}` command: a witness of Kafka needs a JDK, {_RELEASE} or newer"
        )
    return found
