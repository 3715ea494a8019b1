"""kill -9 leaves nothing behind: no worker that waits for work, and no JVM that searches on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from uuid import uuid4

import pytest

from kraftcheck.kafka.live.cluster import Cluster
from kraftcheck.osutil import children

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc who is there")

GONE_S = 10.0
"""On a busy machine; the pipes tell at once."""
MARK = "KRAFTCHECK_TEST_FAMILY"


@pytest.fixture
def family() -> Iterator[str]:
    """A word in the environment of all that descends from a process, whoever is its parent now."""
    name = uuid4().hex
    yield name
    for pid in members(name):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _is_deaf() -> bool:
    """Whether this process does not hear Ctrl-C."""
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_worker_does_not_answer_what_is_said_to_who_started_it() -> None:
    """It would with a traceback, in the middle of its imports; and the twin does hear it."""
    with ProcessPoolExecutor(1, children.WORKERS, children.end_with_parent) as pool:
        assert pool.submit(_is_deaf).result()
    assert not _is_deaf()
    with ProcessPoolExecutor(1, get_context("spawn"), children.end_with_parent) as pool:
        assert not pool.submit(_is_deaf).result()


def members(family: str) -> dict[int, str]:
    """The command lines of those that live, by their ids."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended since, or is somebody else's
            if f"{MARK}={family}\0".encode() in (path / "environ").read_bytes():
                line = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                found[int(path.name)] = line
    return found


def begun(family: str, cwd: Path, repo_root: Path, *words: str) -> subprocess.Popen[bytes]:
    env = {**os.environ, MARK: family, "PYTHONPATH": str(repo_root)}
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=cwd,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def wait_for(family: str, what: str, count: int = 1) -> None:
    deadline = time.monotonic() + 90
    while sum(what in line for line in members(family).values()) < count:
        assert time.monotonic() < deadline, f"{what} never began: {members(family)}"
        time.sleep(0.05)


def all_gone(driver: subprocess.Popen[bytes], family: str) -> None:
    """Kills the driver, and sees the others end."""
    assert len(members(family)) > 1 and driver.poll() is None
    driver.kill()
    driver.wait()
    deadline = time.monotonic() + GONE_S
    while left := members(family):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "backend", "worker", "runs"),
    [
        ("simulate", "pool", "spawn_main", 1600),
        ("campaign run", "pool", "spawn_main", 1600),
        ("simulate", "spark", "pyspark.daemon", 6400),
    ],
)
def test_workers_end_with_their_driver(
    verb: str, backend: str, worker: str, runs: int, family: str, tmp_path: Path, repo_root: Path
) -> None:
    words = ["-m", "kraftcheck.cli", *verb.split(), "--scenario", "partition", "--runs", f"{runs}"]
    driver = begun(family, tmp_path, repo_root, *words, "--out", "out", "--backend", backend)
    wait_for(family, worker, 2)
    # Not before they have begun to work: until then they are ended by their empty pipes.
    deadline = time.monotonic() + 90
    while not list((tmp_path / "out").glob("**/part-*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    all_gone(driver, family)


IDLE = """
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from kraftcheck.osutil.children import end_with_parent
if __name__ == "__main__":
    with ProcessPoolExecutor(2, get_context("spawn"), end_with_parent) as pool:
        list(pool.map(time.sleep, [0.5, 0.5]))
        time.sleep(600)
"""


def test_a_worker_that_waits_for_work_ends(family: str, tmp_path: Path, repo_root: Path) -> None:
    """It would never read the end of the queue: the other worker holds it open."""
    path = tmp_path / "idle.py"
    path.write_text(IDLE, encoding="utf-8")
    driver = begun(family, tmp_path, repo_root, str(path))
    wait_for(family, "spawn_main", 2)
    time.sleep(2)
    all_gone(driver, family)


ENDLESS = r"""
from tla_utils import ModuleText, TlcJob, run_tlc
lines = ["---- MODULE Endless ----", "EXTENDS Integers", "VARIABLE n"]
lines += ["Spec == n = 0 /\\ [][n' = n + 1]_n", "===="]
run_tlc(TlcJob(ModuleText("Endless", "\n".join(lines) + "\n"), "SPECIFICATION Spec\n"))
"""


@pytest.mark.tlc
def test_a_jvm_ends_with_its_driver(family: str, tmp_path: Path, repo_root: Path) -> None:
    driver = begun(family, tmp_path, repo_root, "-c", ENDLESS)
    wait_for(family, "tlc2.TLC")
    time.sleep(2)
    all_gone(driver, family)


@pytest.mark.slow
@pytest.mark.tlc
def test_the_jvm_of_conform_ends_with_its_driver(
    family: str, tmp_path: Path, repo_root: Path
) -> None:
    words = ["-m", "kraftcheck.cli", "simulate", "--scenario", "partition", "--runs", "60"]
    assert begun(family, tmp_path, repo_root, *words, "--out", "t").wait() == 0
    driver = begun(family, tmp_path, repo_root, "-m", "kraftcheck.cli", "conform", "t")
    wait_for(family, "tlc2.TLC")
    # It would end soon by itself.
    for pid in [pid for pid, line in members(family).items() if "tlc2.TLC" in line]:
        os.kill(pid, signal.SIGSTOP)
    all_gone(driver, family)


# A broker that has started, as far as anybody can tell.
BROKER = """
case "$*" in *kafka.Kafka*) echo Kafka Server started; exec sleep 600 ;; esac
"""
CLUSTER = f"""
import sys, time
from pathlib import Path
from kraftcheck.kafka.live import cluster
cluster.JVM, cluster.program = ("-c", {BROKER!r}), lambda name: "sh"
cluster.libraries = lambda: Path("jars")
cluster.Cluster._refuse_taken_ports = lambda self: None
here = cluster.Cluster.up(Path("here"), "combined", lasts="lasts" in sys.argv)
here.kill("n2")
here.start("n2")
here.kill("n3")
Path("up").touch()
time.sleep(600)
"""


@pytest.mark.parametrize("lasts", ["", "lasts"])
def test_nodes_of_a_cluster_end_with_their_driver_unless_they_are_to_last(
    lasts: str, family: str, tmp_path: Path, repo_root: Path
) -> None:
    """As those of `kraftcheck cluster up`: any later process can take them down."""
    driver = begun(family, tmp_path, repo_root, "-c", CLUSTER, lasts)
    deadline = time.monotonic() + 90
    while not (tmp_path / "up").exists():
        assert time.monotonic() < deadline and driver.poll() is None
        time.sleep(0.05)
    if lasts:
        driver.kill()
        driver.wait()
        time.sleep(1)
        left = Cluster.load(tmp_path / "here")
        running = {node.pid for node in left.state.nodes if left.is_running(node.name)}
        assert len(running) == 2 and running == set(members(family))
        left.down()
        assert not members(family)
    else:
        all_gone(driver, family)


# -- The guard


GUARDED = """
import subprocess, sys, time
from kraftcheck.osutil import children
def sleeper():
    return children.started(["sleep", "600"], stdout=subprocess.DEVNULL)
with sleeper() as kept:
    with sleeper() as let_go:
        time.sleep(0.5)  # until it has said that it has begun
        if "guard" in sys.argv:
            children._guard.kill()
            children._guard.wait()
    with sleeper() as again:
        print(kept.pid, let_go.pid, again.pid, flush=True)
        sys.stdin.read()
"""


@pytest.mark.parametrize("killed", ["", "guard"])
def test_the_guard_kills_what_is_left_and_no_other(
    killed: str, family: str, repo_root: Path
) -> None:
    """Whether or not somebody kills the guard itself meanwhile."""
    driver = subprocess.Popen(
        [sys.executable, "-c", GUARDED, killed],
        cwd=repo_root,
        env={**os.environ, MARK: family},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert driver.stdout is not None
    kept, let_go, again = map(int, driver.stdout.readline().split())
    driver.kill()
    driver.communicate()
    deadline = time.monotonic() + GONE_S
    while {kept, again} & set(members(family)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.2)
    assert set(members(family)) == {let_go}


AT_ONCE = """
import os
from kraftcheck.osutil import children
with children.started(["sleep", "600"]):
    os.kill(os.getpid(), 9)
"""


def test_there_is_no_moment_without_a_guard(family: str, tmp_path: Path, repo_root: Path) -> None:
    for _ in range(10):
        begun(family, tmp_path, repo_root, "-c", AT_ONCE).wait()
    deadline = time.monotonic() + GONE_S
    while left := members(family):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def test_a_child_is_what_was_asked_for(tmp_path: Path) -> None:
    said = tmp_path / "said"
    with (
        said.open("wb") as sink,
        children.started(["sh", "-c", "cat; pwd"], stdout=sink, cwd=tmp_path) as child,
    ):
        assert child.wait() == 0
    assert said.read_text() == f"{tmp_path}\n"
    with children.started(["/nowhere"], stderr=subprocess.DEVNULL) as child:
        assert child.wait() == 127


def test_a_child_is_known_only_as_long_as_the_block_lasts() -> None:
    with pytest.raises(ZeroDivisionError), children.started(["sleep", "600"]) as child:
        assert children._groups == {child.pid}
        child.kill()
        child.wait()
        raise ZeroDivisionError
    assert not children._groups


def test_a_child_that_is_fed_reads_what_is_written() -> None:
    with children.started(["cat"], fed=True, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"one\ntwo\n")
        child.stdin.close()
        assert child.stdout.read() == b"one\ntwo\n"
        child.stdout.close()
        assert child.wait() == 0


def test_a_block_that_is_never_left_ends_with_the_process_and_says_nothing() -> None:
    """As of a generator that holds a child: it is closed when there is no guard left to tell."""
    code = (
        "from kraftcheck.osutil import children\n"
        "def held():\n"
        "    with children.started(['sleep', '600']) as child:\n"
        "        yield child\n"
        "kept = held()\n"
        "next(kept)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0
    assert done.stderr == ""
