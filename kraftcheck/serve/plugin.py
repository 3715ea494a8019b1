"""Give pytest the fixtures `kafka_cluster` and `kafka_plan`.

The first is a cluster of three brokers, fresh for every test; the second tells it of faults to
come.

One process serves all tests of a session; between two tests its cluster ends, is judged, and begins
anew. A test fails when the cluster broke a rule: the promise, where, and the command that plays the
tape again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kraftcheck.serve.admin import Cluster, Process


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kraftcheck")
    group.addoption("--kafka-brokers", type=int, help="Brokers of `kafka_cluster`; by default 3.")
    group.addoption("--kafka-seed", type=int, help="The seed of `kafka_cluster`; by default 1.")
    group.addoption("--kafka-scenario", help="What `kafka_cluster` is: a file (docs/serve.md).")
    group.addoption("--kafka-bug", default="", help="A known bug that `kafka_cluster` has.")


@pytest.fixture(scope="session")
def _kafka_process(request: pytest.FixtureRequest) -> Iterator[Process]:
    from kraftcheck.serve.admin import Process

    config = request.config
    options = ["--judge", "0"]
    for name in ("brokers", "seed", "scenario", "bug"):
        if said := config.getoption(f"--kafka-{name}"):
            options += [f"--{name}", str(said)]
    process = Process(*options)
    yield process
    process.close()


@pytest.fixture
def kafka_cluster(_kafka_process: Process) -> Iterator[Cluster]:
    """A running cluster: `bootstrap_servers`, and faults (kraftcheck.serve.admin.Cluster)."""
    cluster = _kafka_process.cluster
    yield cluster
    verdict = cluster.end()
    if verdict.verdict != "holds":
        pytest.fail(f"the cluster: {verdict}", pytrace=False)


@pytest.fixture
def kafka_plan(kafka_cluster: Cluster) -> Callable[..., list[dict[str, Any]]]:
    """Tells the test's cluster of moves: of a file, of a seed, or a list of them. Returns them."""
    return kafka_cluster.plan
