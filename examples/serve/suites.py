"""Clients' own integration tests against `kraftcheck serve`: which pass, and why others do not.

    python examples/serve/suites.py kafka-python FOLDER [ARGUMENT OF PYTEST...]

FOLDER: the client's sources, of the version that is said (its source distribution, or a checkout);
the client itself is the one that is installed. The tests are copied away from it, so that they do
not import what lies beside them. Beside what `make setup` installs they need pytest-mock and
pytest-timeout (kafka-python), pytest-asyncio, urllib3, httpx, authlib, cachetools, attrs, orjson,
avro, fastavro, jsonschema, protobuf and googleapis-common-protos (confluent-kafka). Exit code: that
of pytest.

What a suite starts itself is replaced, and nothing else: aiokafka's container is a cluster at the
port that the container is asked for; the others are told of a cluster by their environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from kraftcheck.kafka.serve.admin import Process


class Suite(NamedTuple):
    tests: str
    """The folder of the sources that is copied."""
    run: tuple[str, ...]
    """What of it needs a broker."""
    serve: tuple[str, ...]
    """The options of the cluster; none: the suite starts it."""
    environment: dict[str, str]
    fakes: dict[str, str]
    """Modules in place of what would start a cluster, by path."""


_DOCKER: Final = '''
"""A container that is a served cluster of one broker."""
from types import SimpleNamespace
from kraftcheck.kafka.serve.admin import Process


class Container:
    def __init__(self, environment):
        port = str(environment["ADVERTISED_PORT"])
        options = ("--partitions", "2", "--speed", "5", "--judge", "0")
        self._process = Process("--brokers", "1", "--port", port, *options)

    def exec_run(self, *_, **__):
        return 0, b""

    def stop(self):
        self._process.close()


def from_env():
    def run(environment=None, **_):
        return Container(environment)

    containers = SimpleNamespace(run=run)
    return SimpleNamespace(containers=containers, close=lambda: None)


models = SimpleNamespace(containers=SimpleNamespace(Container=Container))
'''
_AIOKAFKA: Final = ("admin", "client", "conn", "consumer", "coordinator", "pep492", "producer")
_TRANSACTIONAL: Final = ("sender", "transactional_consumer", "transactional_producer")
_CONFLUENT: Final = ("admin", "consumer", "producer", "serialization")
SUITES: Final = {
    "kafka-python": Suite(
        "test",
        ("test/integration",),
        # Its Kafka has an authorizer.
        ("--brokers", "1", "--partitions", "4", "--super-user", "ANONYMOUS"),
        {"KAFKA_VERSION": "4.3.1", "KAFKA_URI": "kafka://{server}", "KAFKA_ROOT": "."},
        # What a source distribution leaves out.
        {"test/__init__.py": ""},
    ),
    "aiokafka": Suite(
        "tests",
        (
            *[f"tests/test_{each}.py" for each in (*_AIOKAFKA, *_TRANSACTIONAL)],
            *("--docker-image", "kafka:1_4.0.0", "--no-pull"),
        ),
        (),
        {},
        {"docker.py": _DOCKER, "tests/ssl_cert/made": "", "bin/ktutil": "#!/bin/sh\n"},
    ),
    "confluent-kafka": Suite(
        "tests",
        tuple([f"tests/integration/{each}" for each in _CONFLUENT]),
        ("--brokers", "1"),
        {"BROKERS": "{server}"},
        {"trivup/clusters/KafkaCluster.py": "class KafkaCluster: ...\n"},
    ),
}


def main(client: str, sources: str, *more: str) -> int:
    suite = SUITES[client]
    sys.stderr.write(f"{client} {version(client)}, tests of {Path(sources).resolve().name}\n")
    with TemporaryDirectory(prefix="kraftcheck-suites-") as folder:
        shutil.copytree(Path(sources, suite.tests), Path(folder, suite.tests))
        for name, text in suite.fakes.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        process = Process("--judge", "0", *suite.serve) if suite.serve else None
        server = "" if process is None else process.cluster.bootstrap_servers
        said = {name: text.format(server=server) for name, text in suite.environment.items()}
        said["PYTHONPATH"] = _with(folder, "PYTHONPATH")
        said["PATH"] = _with(f"{folder}/bin", "PATH")
        tests = ("-m", "pytest", "-q", "-rfE", "--tb=line", "-p", "no:cacheprovider", *suite.run)
        found = subprocess.run(
            [sys.executable, *tests, *more],
            cwd=folder,
            env=os.environ | said,
            check=False,
        )
        if process is not None:
            process.close()
        return found.returncode


def _with(folder: str, variable: str) -> str:
    return os.pathsep.join(filter(None, (folder, os.environ.get(variable))))


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in SUITES:
        sys.exit(f"usage: suites.py {{{'|'.join(SUITES)}}} FOLDER [ARGUMENT OF PYTEST...]")
    sys.exit(main(*sys.argv[1:]))
