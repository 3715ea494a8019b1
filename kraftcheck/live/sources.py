"""The sources of Apache Kafka: fetched by name with Maven, checked against known hashes."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from kraftcheck.live.artifacts import ArtifactError, cache, maven

VERSION: Final = "4.3.1"
SOURCES: Final = {
    "kafka-clients": "074a971220d7dd862a2485eda8d9f2530bff977bd1e74ea944d8cc80b34b0d2e",
    "kafka-coordinator-common": "e08d6346c32630c186871722f11ceac1a4d5b176fbb6f8c8585eb49ff4ed7e12",
    "kafka-group-coordinator": "58ae90dd89874b64f1a52f59f14ec49fdf1f1f72499c047270e4ce92a6724937",
    "kafka-metadata": "9fe4862c73e501e4e35dc9acb161acab1c77114ed73948f5405337aab74afcce",
    "kafka-raft": "62a12abd61b24dba55fdc7a6bb3544432f3f8a3753ffc6efddf1a04b208460cb",
    "kafka-server": "d102d63fdd7d05e2f216140b3542d2d70b26d55d8c753d49304892dfc7f027ee",
    "kafka-storage": "5f59832cad1f03045555fd12f333cd21cfebab5e1255128a753f4073fba10fad",
    "kafka-transaction-coordinator": (
        "c19154367843fc79eabab6b4fa2c37832f8e055624704365ce64538d23cfcb77"
    ),
    "kafka_2.13": "8cd3f8bff5c95bdb90552a8d5ad179efb686017ecf8562467b27991af1fd7056",
}
"""Of the jars, sha256."""
MODULES: Final = {
    **{artifact: artifact.removeprefix("kafka-") for artifact in SOURCES},
    "kafka_2.13": "core",
}
"""By artifact, the folder of its module in Kafka's repository."""


def unpack(artifact: str, into: Path) -> None:
    """The sources of that artifact in a folder; fetched into the cache the first time.

    Raises ArtifactError: no Maven, it failed, or the jar is not the one that is known.
    """
    with zipfile.ZipFile(fetched(artifact)) as packed:
        packed.extractall(into)


def unpack_tree(artifact: str, into: Path) -> None:
    """As `unpack`, but each file where it is in Kafka's repository, so that a patch applies there.

    Generated classes, which the repository does not have, go where its build puts them.
    """
    with zipfile.ZipFile(fetched(artifact)) as packed:
        for name in packed.namelist():
            if not name.endswith("/"):
                target = into / place_of(artifact, name)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(packed.read(name))


def place_of(artifact: str, name: str) -> str:
    """Where a file of a jar of sources is in Kafka's repository."""
    if not name.endswith((".java", ".scala")):
        return f"{MODULES[artifact]}/src/main/resources/{name}"
    is_generated = "/generated/" in name or name.startswith("org/apache/kafka/common/message/")
    kind = "generated" if is_generated else "main"
    language = "scala" if name.endswith(".scala") else "java"
    return f"{MODULES[artifact]}/src/{kind}/{language}/{name}"


def fetched(artifact: str) -> Path:
    """The jar of an artifact's sources. Raises ArtifactError."""
    jar = cache() / "sources" / f"{artifact}-{VERSION}-sources.jar"
    if not jar.is_file():
        jar.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=jar.parent) as folder:
            what = f"org.apache.kafka:{artifact}:{VERSION}:jar:sources"
            maven("dependency:copy", f"-Dartifact={what}", f"-DoutputDirectory={folder}")
            shutil.move(Path(folder) / jar.name, jar)
    digest = hashlib.sha256(jar.read_bytes()).hexdigest()
    if digest != SOURCES[artifact]:
        raise ArtifactError(f"{jar}: sha256 is {digest}, not {SOURCES[artifact]}; remove it")
    return jar
