"""The sources of Apache Kafka: fetched by name with Maven, checked against known hashes."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from kraftcheck.kafka.live.artifacts import ArtifactError, cache, maven

VERSION: Final = "4.3.1"
SOURCES: Final = {
    "kafka-clients": "074a971220d7dd862a2485eda8d9f2530bff977bd1e74ea944d8cc80b34b0d2e",
    "kafka-coordinator-common": "e08d6346c32630c186871722f11ceac1a4d5b176fbb6f8c8585eb49ff4ed7e12",
    "kafka-group-coordinator": "58ae90dd89874b64f1a52f59f14ec49fdf1f1f72499c047270e4ce92a6724937",
    "kafka-metadata": "9fe4862c73e501e4e35dc9acb161acab1c77114ed73948f5405337aab74afcce",
    "kafka-raft": "62a12abd61b24dba55fdc7a6bb3544432f3f8a3753ffc6efddf1a04b208460cb",
    "kafka-server": "d102d63fdd7d05e2f216140b3542d2d70b26d55d8c753d49304892dfc7f027ee",
    "kafka-share-coordinator": "1adff3dc57dda5bc1dc959f3fe252efad83de554c7e007b1aaa327afcc31b902",
    "kafka-storage": "5f59832cad1f03045555fd12f333cd21cfebab5e1255128a753f4073fba10fad",
    "kafka-transaction-coordinator": (
        "c19154367843fc79eabab6b4fa2c37832f8e055624704365ce64538d23cfcb77"
    ),
    "kafka_2.13": "8cd3f8bff5c95bdb90552a8d5ad179efb686017ecf8562467b27991af1fd7056",
}
"""Of the jars, sha256."""
TESTS: Final = "test-sources"
TEST_SOURCES: Final = {
    "kafka-clients": "0ea2047b51a9f778965fecfe48ffcdaaece9d4b540cc7300f0eba733d1f69f74",
    "kafka-coordinator-common": "d5567905c703e8425bd9ac09bb45b4aeb7f4ec8c00ba5e09d0bca80a6b663e60",
    "kafka-group-coordinator": "f9c827be560db065647c432ceb64e66d9c120ef74391ec62dff870c7fc5ed5db",
    "kafka-metadata": "528daa056bcaaf5a346ad427eb6967f08fc8166aad7c1f459288d47fe500385c",
    "kafka-raft": "d0964e3716af496b568fef7757cbb754f8111e44a22690e393a2a94d11f4de65",
    "kafka-server": "f7af49568475c7a0da22297cca27a5fec654d75480cc0284a145bd7858957370",
    "kafka-storage": "5687fd874da1c35d12b503a33fb8de30058e7e8a7ef02e5b17e7b4f7b43182e0",
    "kafka-transaction-coordinator": (
        "1af8329499691c731a77587702292d672824540da295dda0840789eb41781604"
    ),
    "kafka_2.13": "f82afdec57dc810edfa62c7aad5d76a5a397e6896900dfc391598bbe4913ee21",
}
"""Of the jars of the tests' sources, sha256."""
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


def unpack_tree(artifact: str, into: Path, tests: bool = False) -> None:
    """As `unpack`, but each file where it is in Kafka's repository, so that a patch applies there.

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
    """The jar of an artifact's sources, or of its tests' sources. Raises ArtifactError."""
    jar = cache() / "sources" / f"{artifact}-{VERSION}-{kind}.jar"
    if not jar.is_file():
        jar.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=jar.parent) as folder:
            what = f"org.apache.kafka:{artifact}:{VERSION}:jar:{kind}"
            maven("dependency:copy", f"-Dartifact={what}", f"-DoutputDirectory={folder}")
            shutil.move(Path(folder) / jar.name, jar)
    digest = hashlib.sha256(jar.read_bytes()).hexdigest()
    known = (SOURCES if kind == "sources" else TEST_SOURCES)[artifact]
    if digest != known:
        raise ArtifactError(f"{jar}: sha256 is {digest}, not {known}; remove it")
    return jar
