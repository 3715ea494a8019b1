"""The interceptors that record an application's Kafka clients, by configuration.

For Java they are a jar, whose sources are a Maven project in this folder; for clients of
librdkafka they are a plugin in C. traces/formats/clients.py reads what both write.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from kraftcheck.kafka.live.artifacts import ArtifactError, maven

SOURCES: Final = Path(__file__).resolve().parent
JAR: Final = "kraftcheck-interceptor.jar"
PLUGIN: Final = "kraftcheck-recorder.so"
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


def build_plugin(library: Path, plugin: Path) -> None:
    """Compile the plugin of librdkafka.

    Args:
        library: the librdkafka that the application loads. The plugin names it, since functions of
            a library that Python's client loads are not visible to others.

    Raises:
        ArtifactError: there is no C compiler or no header, or it failed.
    """
    if shutil.which("cc") is None:
        raise ArtifactError("no `cc` command: install a C compiler")
    source = SOURCES / "librdkafka.c"
    call = ["cc", "-O2", "-shared", "-fPIC", "-pthread", "-o", str(plugin), str(source)]
    # What the library itself needs is beside it, and is found when it is loaded.
    call += [str(library), "-Wl,--allow-shlib-undefined"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if "rdkafka.h: No such file" in done.stderr:
        raise ArtifactError("no librdkafka/rdkafka.h: install librdkafka-dev, or set CPATH")
    if done.returncode:
        raise ArtifactError(f"cc: {(done.stderr.splitlines() or ['it failed'])[0]}")


def settings(interceptor: str, history: Path) -> dict[str, str]:
    """The properties of a client that is recorded.

    Args:
        interceptor: PRODUCER or CONSUMER.
    """
    return {"interceptor.classes": interceptor, PATH: str(history)}
