"""Apache Kafka as artifacts: fetched by name with Maven, checked against known hashes.

Law of this file: nothing but names, versions and hashes is known of where artifacts come from, and
nothing is run that was not checked. The jars lie in the user's cache.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from kraftcheck.osutil.java import NoJava, launcher


class ArtifactError(Exception):
    """Kafka cannot be fetched, or is not what it should be. The text is one line."""


MAVEN_FAILED = "[ERROR]"
MAVEN_MANUAL = " -> [Help"


class Artifacts(NamedTuple):
    """What a project file asks for."""

    name: str
    """Of its folder in the cache."""
    pom: Path
    checksums: Path
    """Lines of sha256 and file name, as `sha256sum` writes them."""
    version: str
    """Of Kafka."""
    more: tuple[str, ...] = ()
    """What else Maven is told."""

    @property
    def place(self) -> Path:
        """Where this version's jars lie, or will."""
        return cache() / self.name / self.version

    def libraries(self) -> Path:
        """The folder with the jars, filled the first time and whenever it lacks one.

        Raises ArtifactError: no such version, no Maven, it failed, or a jar is not the one that is
        known.
        """
        if not self.checksums.is_file():
            known = ", ".join(sorted(path.stem for path in self.checksums.parent.glob("*.txt")))
            raise ArtifactError(
                f"no hashes for Apache Kafka {self.version}; known versions: {known}"
            )
        there = {path.name for path in self.place.glob("*.jar")}
        if not digests(self.checksums).keys() <= there:
            partial = self.place.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            _download(self, partial)
            check(partial, self.checksums)
            shutil.rmtree(self.place, ignore_errors=True)
            partial.rename(self.place)
        return self.place


def cache() -> Path:
    """Our folder in `$XDG_CACHE_HOME`, else in `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kraftcheck"


def version_of(pom: Path) -> str:
    """The version of Kafka that a project file asks for."""
    space = {"m": "http://maven.apache.org/POM/4.0.0"}
    found = ElementTree.parse(pom).find("m:properties/m:kafka.version", space)
    assert found is not None and found.text, f"{pom} names no kafka.version"
    return found.text


_HERE = Path(__file__).resolve().parent / "kafka"
POM = _HERE / "pom.xml"
KNOWN = _HERE / "checksums"


def broker(version: str) -> Artifacts:
    """The broker of this version, with its command-line tools; of a version that is known."""
    return Artifacts("kafka", POM, KNOWN / f"{version}.txt", version)


VERSION = "KRAFTCHECK_KAFKA"
"""The environment variable that names another version of Kafka for clusters, clients and tools."""
KAFKA = broker(os.environ.get(VERSION) or version_of(POM))
"""The one that clusters of ours run."""
CHECKSUMS = KAFKA.checksums


def version() -> str:
    """The version of Kafka that clusters of ours run."""
    return KAFKA.version


def place() -> Path:
    """Where the broker's jars lie, or will."""
    return KAFKA.place


def libraries() -> Path:
    """The folder with the broker's jars. Raises ArtifactError as `Artifacts.libraries` does."""
    return KAFKA.libraries()


def class_path(own: Path | None = None, of: Artifacts = KAFKA) -> str:
    """Of the broker and its tools. own: a folder with jars or classes that come before theirs.

    Raises ArtifactError as `libraries` does, or: neither is in that folder.
    """
    return ":".join([*first(own), f"{of.libraries()}/*"])


def first(own: Path | None) -> list[str]:
    """What comes first on a class path. Raises ArtifactError: no jars and no classes are there."""
    if own is None:
        return []
    if not own.is_dir():
        raise ArtifactError(f"{own}: no folder of jars")
    jars = sorted(own.glob("*.jar"))
    classes = next(own.rglob("*.class"), None)
    if not jars and classes is None:
        raise ArtifactError(f"{own}: neither jars nor class files in it")
    return [*([str(own)] if classes else []), *map(str, jars)]


def check(folder: Path, known: Path = CHECKSUMS) -> None:
    """Raises ArtifactError: a jar is missing, unknown, or has another hash."""
    expected = digests(known)
    found = {path.name: path for path in sorted(folder.glob("*.jar"))}
    for name in sorted(expected.keys() | found.keys()):
        if name not in found:
            raise ArtifactError(f"{folder}: {name} is missing")
        if name not in expected:
            raise ArtifactError(f"{folder}: {name} is not in {known.name}")
        check_digest(found[name], expected[name])


def digests(known: Path) -> dict[str, str]:
    """By file name, what a file of checksums says, as `sha256sum` writes it."""
    lines = known.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in map(str.split, lines)}


def check_digest(jar: Path, known: str) -> None:
    """Raises ArtifactError: it has another hash."""
    digest = hashlib.sha256(jar.read_bytes()).hexdigest()
    if digest != known:
        raise ArtifactError(f"{jar}: sha256 is {digest}, not {known}; remove it")


def _download(what: Artifacts, into: Path) -> None:
    maven(
        *("-f", str(what.pom), f"-Dkafka.version={what.version}", *what.more),
        *("dependency:copy-dependencies", f"-DoutputDirectory={into}"),
    )


def maven(*words: str) -> None:
    """Have Maven do something. Raises ArtifactError: there is none, or it failed; in one line."""
    if shutil.which("mvn") is None:
        raise ArtifactError("no `mvn` command: install Maven to fetch Apache Kafka")
    done = subprocess.run(
        ["mvn", "-q", "-B", *words], capture_output=True, text=True, check=False, env=_with_java()
    )
    if done.returncode:
        said = reason(done.stdout + done.stderr)
        raise ArtifactError(f"mvn: {said or f'exit code {done.returncode}'}")


def _with_java() -> dict[str, str]:
    """The environment for Maven, which itself knows of JAVA_HOME and the PATH only."""
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return {**os.environ}
    try:
        return {**os.environ, "JAVA_HOME": str(Path(launcher()[0]).parent.parent)}
    except NoJava as error:
        raise ArtifactError(str(error)) from None


def reason(said: str) -> str:
    """Say in one line why Maven failed.

    The line goes from the first that says so to where it refers to its manual; otherwise all that
    it said.
    """
    lines = [line.strip() for line in said.splitlines()]
    told: list[str] = []
    for line in lines:
        if MAVEN_FAILED in line or told:
            # Codes of colours may stand before the mark, whatever it was told of colours.
            told.append(line.rpartition(MAVEN_FAILED)[2].partition(MAVEN_MANUAL)[0].strip())
        if told and (MAVEN_MANUAL in line or not told[-1]):
            break
    return " ".join(filter(None, told or lines))
