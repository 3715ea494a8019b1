"""What all tests share: Hypothesis profiles, paths, one Spark session.

Hypothesis settings live here and nowhere else, so that one option changes how hard the whole suite
searches: `--hypothesis-profile=dev`, `ci` or `chaos`. Without the option it is `ci` where CI is set
and `dev` elsewhere. `--hypothesis-profile=chaos` without a path runs the chaos search and nothing
else, for CHAOS_MINUTES (10 by default).
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

from tests.stateful.telling import Telling
from tests.steady import draw_no_local_constants

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent.parent

draw_no_local_constants()

# In a workflow of GitHub, commands annotate it: those of the tests do not.
os.environ.pop("GITHUB_ACTIONS", None)

# No profile has a deadline: a slow example on a busy machine is no failure.
settings.register_profile("dev", max_examples=50, deadline=None)
# The same examples on every machine and in every run: what is red here is red for everybody.
settings.register_profile(
    "ci",
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# A search, not a check: long schedules, fresh ones each time, and the failures are remembered in
# .hypothesis/ so that the next run starts with them.
settings.register_profile(
    "chaos",
    max_examples=5000,
    stateful_step_count=300,
    deadline=None,
    derandomize=False,
    # Named, since Hypothesis would turn it off where CI is set.
    database=DirectoryBasedExampleDatabase(ROOT / ".hypothesis" / "examples"),
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


SEARCH = "test_the_search_finds_nothing"
CORPUS = "test_corpus.py"
DEFAULT_MINUTES = "10"
SEARCHES = tuple(
    [
        f"test_{name}_machine.py"
        for name in ("quorum", "plain", "partition", "cluster", "changing_cluster")
    ]
)
"""The cheapest first: an example of a cluster may take all the time that there is."""
TELLING = pytest.StashKey[Telling]()
SEARCHES_ONLY = pytest.StashKey[bool]()
"""Whether no path was given: then this is the chaos search, and no other test is collected."""


@pytest.fixture(autouse=True)
def _nothing_is_said_for_time_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a command says is the same on a busy machine; processes of their own have --quiet."""
    monkeypatch.setattr("kraftcheck.screen.SILENCE_S", 600.0)


def missing_for_kafka() -> str:
    """Why Kafka's own classes cannot be driven here; empty if they can."""
    lacks = [name for name in ("mvn", "javac", "java") if shutil.which(name) is None]
    return f"no {', '.join(lacks)}: Kafka's own classes are not judged" if lacks else ""


def _is_chaos(config: pytest.Config) -> bool:
    return bool(config.getoption("--hypothesis-profile") == "chaos")


def _names_no_path(config: pytest.Config) -> bool:
    """Whether the command named no path; a process of xdist is told so."""
    if hasattr(config, "workerinput"):
        return bool(config.workerinput["searches_only"])
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS


def pytest_configure(config: pytest.Config) -> None:
    if _is_chaos(config):
        config.stash[SEARCHES_ONLY] = _names_no_path(config)
        if config.stash[SEARCHES_ONLY]:
            config.args[:] = [str(ROOT / "tests" / "stateful" / name) for name in SEARCHES]
            os.environ.setdefault("CHAOS_MINUTES", DEFAULT_MINUTES)
        else:
            # Thousands of examples are worth nothing if most of them were rejected.
            config.option.hypothesis_show_statistics = True
        # Late, because the other profiles need not know what was reached.
        from tests.stateful import graph_share, reached, searching

        try:
            searching.minutes()
        except searching.BadMinutes as error:
            raise pytest.UsageError(str(error)) from None
        reached.watch_decisions()
        if graph_share.asked():
            graph_share.watch()


def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    # A process of xdist has no terminal.
    if not _is_chaos(config) or hasattr(config, "workerinput"):
        return
    from tests.stateful import reached

    telling = Telling(sys.stdout.fileno(), reached.said)
    config.add_cleanup(telling.end)
    config.stash[TELLING] = telling


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """A process of xdist is given all files by name."""
    node.workerinput["searches_only"] = node.config.stash.get(SEARCHES_ONLY, False)


def _searches_alone(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The tests beside a search hold it to account; they are for the other profiles."""
    if config.stash.get(SEARCHES_ONLY, False):
        wanted = [item for item in items if item.name == SEARCH]
        config.hook.pytest_deselected(items=[item for item in items if item not in wanted])
        items[:] = sorted(wanted, key=lambda item: SEARCHES.index(item.path.name))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Minutes bound the corpus, too; and what drives Kafka's classes is skipped without them."""
    if TELLING in item.config.stash:
        item.config.stash[TELLING].testing = f"{item.path.name}, {item.name}"
    if item.get_closest_marker("kafka") and (lacks := missing_for_kafka()):
        pytest.skip(lacks)
    if item.path.name == CORPUS and _is_chaos(item.config):
        from tests.stateful import searching

        if searching.is_corpus_over():
            pytest.skip("CHAOS_MINUTES are needed for the searches")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """A process of xdist has ended, and told what it reached."""
    if "reached" in getattr(node, "workeroutput", {}):
        from tests.stateful import coverage

        coverage.heard(node.workeroutput["reached"])


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A long search fails where it never reached something that it could have."""
    config = session.config
    if not _is_chaos(config):
        return
    if TELLING in config.stash:
        config.stash[TELLING].end()
    from tests.stateful import coverage, reached

    output = getattr(config, "workeroutput", None)
    if output is not None:
        output["reached"] = coverage.told()
    elif coverage.missing(reached.counts) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: Any, exitstatus: pytest.ExitCode, config: pytest.Config
) -> None:
    if not _is_chaos(config):
        return
    from tests.stateful import coverage, gifts, graph_share, reached

    terminalreporter.section("reached")
    told = coverage.report(reached.counts)
    if config.stash[SEARCHES_ONLY]:
        told = coverage.summary(reached.counts, gifts.KEPT)
    for line in told:
        terminalreporter.line(line)
    for line in coverage.missing(reached.counts):
        terminalreporter.line(f"FAILED: {line}", red=True)
    if graph_share.asked():
        terminalreporter.section("seen of bounded graphs")
        for line in graph_share.report(reached.counts):
            terminalreporter.line(line)
    if exitstatus == pytest.ExitCode.INTERRUPTED:
        terminalreporter.line("interrupted: the same command searches anew, past failures first")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The corpus runs first, and then what takes long: begun last, it would be waited for by all
    processes. Spark tests stay in one process under xdist: they are marked by the fixture that they
    use. A JVM for each process would cost more than the tests take.
    """
    _searches_alone(config, items)
    # Failures of the past come first.
    items.sort(
        key=lambda item: ("test_corpus" not in item.nodeid, item.get_closest_marker("slow") is None)
    )
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def repo_root() -> Path:
    """The checkout, wherever pytest was started."""
    return ROOT


@pytest.fixture(scope="session")
def specs_dir(repo_root: Path) -> Path:
    return repo_root / "specs"


@pytest.fixture(scope="session")
def corpus_dir(repo_root: Path) -> Path:
    """Shrunk failures of the past, replayed first."""
    return repo_root / "tests" / "corpus"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One local session for all tests of a run: two cores, no UI, few partitions.

    It listens on loopback only and keeps its files in pytest's folder, so it works on a machine
    without network and leaves nothing in the checkout.
    """
    # Workers would otherwise take the first python3 on PATH, which has none of our packages.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    # Late, because importing Spark takes a second that most runs of the suite need not spend.
    from pyspark.sql import SparkSession

    from kraftcheck.osutil.java import BRIEF

    scratch = tmp_path_factory.mktemp("spark")
    builder = SparkSession.builder.master("local[2]").appName("kraftcheck-tests")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": " ".join(BRIEF),
        "spark.default.parallelism": "2",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.local.dir": str(scratch / "local"),
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
