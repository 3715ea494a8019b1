"""The sources of Apache Kafka: fetched by name with Maven, checked against known hashes."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from kraftcheck.kafka.live.artifacts import cache, check_digest, digests, maven

VERSION: Final = "4.3.1"
TESTS: Final = "test-sources"
DIGESTS: Final = digests(Path(__file__).resolve().parent / "kafka" / "sources.sha256")
"""Of the jars of sources, and of tests' sources."""
_ARTIFACTS: Final = sorted({name.partition(f"-{VERSION}-")[0] for name in DIGESTS})
MODULES: Final = {
    **{artifact: artifact.removeprefix("kafka-") for artifact in _ARTIFACTS},
    "kafka_2.13": "core",
}
"""By artifact, the folder of its module in Kafka's repository."""


def unpack_tree(artifact: str, into: Path, tests: bool = False) -> None:
    """Unpack an artifact's sources where they are in Kafka's repository: a patch applies there.

    Generated classes, which the repository does not have, go where its build puts them.

    Args:
        tests: whether it is the sources of the artifact's tests that are unpacked.
    """
    with zipfile.ZipFile(fetched(artifact, TESTS if tests else "sources")) as packed:
        for name in packed.namelist():
            if not name.endswith("/"):
                place = place_of(artifact, name)
                target = into / (place.replace("/src/main/", "/src/test/") if tests else place)
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


def fetched(artifact: str, kind: str = "sources") -> Path:
    """The jar of an artifact's sources, or of its tests' sources. Raises ArtifactError.

    No Maven, it failed, or the jar is not the one that is known.
    """
    jar = cache() / "sources" / f"{artifact}-{VERSION}-{kind}.jar"
    if not jar.is_file():
        jar.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=jar.parent) as folder:
            what = f"org.apache.kafka:{artifact}:{VERSION}:jar:{kind}"
            maven("dependency:copy", f"-Dartifact={what}", f"-DoutputDirectory={folder}")
            shutil.move(Path(folder) / jar.name, jar)
    check_digest(jar, DIGESTS[jar.name])
    return jar
