"""The interceptors that record a Java application's Kafka clients, and the jar that holds them.

Its sources are a Maven project in this folder. traces/formats/clients.py reads what they write.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Final

from kraftcheck.kafka.live.artifacts import maven

SOURCES: Final = Path(__file__).resolve().parent
JAR: Final = "kraftcheck-interceptor.jar"
PRODUCER: Final = "kraftcheck.clients.ProducerRecorder"
CONSUMER: Final = "kraftcheck.clients.ConsumerRecorder"
PATH: Final = "kraftcheck.history.path"


def build(jar: Path) -> None:
    """Compile the interceptors and write the jar.

    Raises:
        ArtifactError: there is no Maven, or it failed.
        OSError: the jar cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="kraftcheck-interceptor-") as temporary:
        project = Path(temporary)
        shutil.copy(SOURCES / "pom.xml", project)
        shutil.copytree(SOURCES / "src" / "main", project / "src" / "main")
        maven("-f", str(project / "pom.xml"), "package")
        shutil.copyfile(project / "target" / JAR, jar)


def settings(interceptor: str, history: Path) -> dict[str, str]:
    """The properties of a client that is recorded.

    Args:
        interceptor: PRODUCER or CONSUMER.
    """
    return {"interceptor.classes": interceptor, PATH: str(history)}
