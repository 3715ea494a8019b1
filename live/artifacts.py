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
from xml.etree import ElementTree

POM = Path(__file__).resolve().parent / "kafka" / "pom.xml"
CHECKSUMS = Path(__file__).resolve().parent / "kafka" / "checksums.txt"
"""Lines of sha256 and file name, as `sha256sum` writes them."""


class ArtifactError(Exception):
    """Kafka cannot be fetched, or is not what it should be. The text is one line."""


def version() -> str:
    """The version of Kafka that the project file asks for."""
    space = {"m": "http://maven.apache.org/POM/4.0.0"}
    found = ElementTree.parse(POM).find("m:properties/m:kafka.version", space)
    assert found is not None and found.text, f"{POM} names no kafka.version"
    return found.text


def place() -> Path:
    """Where this version's jars lie, or will: in `$XDG_CACHE_HOME`, else `~/.cache`."""
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "kraftcheck" / "kafka" / version()


def libraries() -> Path:
    """The folder with Kafka's jars, filled the first time.

    Raises ArtifactError: no Maven, it failed, or a jar is not the one that is known.
    """
    folder = place()
    if not folder.is_dir():
        partial = folder.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        _download(partial)
        check(partial)
        partial.rename(folder)
    return folder


def check(folder: Path, known: Path = CHECKSUMS) -> None:
    """Raises ArtifactError: a jar is missing, unknown, or has another hash."""
    expected = {}
    for line in known.read_text(encoding="utf-8").splitlines():
        digest, name = line.split()
        expected[name] = digest
    found = {path.name: path for path in sorted(folder.glob("*.jar"))}
    for name in sorted(expected.keys() | found.keys()):
        if name not in found:
            raise ArtifactError(f"{folder}: {name} is missing")
        if name not in expected:
            raise ArtifactError(f"{folder}: {name} is not in {known.name}")
        digest = hashlib.sha256(found[name].read_bytes()).hexdigest()
        if digest != expected[name]:
            raise ArtifactError(f"{folder / name}: sha256 is {digest}, not {expected[name]}")


def _download(into: Path) -> None:
    if shutil.which("mvn") is None:
        raise ArtifactError("no `mvn` command: install Maven to fetch Apache Kafka")
    words = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies"]
    done = subprocess.run(
        [*words, f"-DoutputDirectory={into}"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise ArtifactError(f"mvn: {said[0] if said else f'exit code {done.returncode}'}")
