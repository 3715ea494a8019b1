"""A campaign on a cluster of Spark loses workers, and leaves the same bytes as without Spark.

The cluster is one of this machine (`kraftcheck.standalone`), on a port of its own. While it works,
an executor is killed, then a worker's Python, and a third is stopped: a straggler, whose task Spark
repeats on the other host, since speculation is on. A stand-in for TLC judges.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.traces.jobs.small_campaigns import contents

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.xdist_group("spark")]

ROOT = Path(__file__).parents[2]
RUNS, SEED = 160, 5
WAIT_S = 240.0
RESCUE_S = 400.0
"""The campaign ends 20 s after the worker is stopped on a quiet machine, 75 s at a load of 30."""
END_S = 60.0
CLUSTER = """
import sys
from pathlib import Path
from kraftcheck import standalone
standalone.PORT, standalone.MASTER = int(sys.argv[1]), f"spark://127.0.0.1:{sys.argv[1]}"
*others, last = standalone.processes()
last[last.index("--host") + 1] = "127.0.0.2"  # Spark repeats no task on its own host
standalone.processes = lambda: [*others, last]
standalone.serve(Path("."))
"""
CAMPAIGN = f"""
import sys
from pathlib import Path
from unittest import mock
from kraftcheck.traces.jobs import campaigns
from kraftcheck.traces.jobs.backends import Pool, Spark
from kraftcheck.traces.jobs.plan import Configuration, begin, plan_of
from kraftcheck.traces.jobs.session import spark_session
from tests.traces.jobs.small_campaigns import StandIn
backend = Spark(spark_session(sys.argv[1])) if sys.argv[1:] else Pool(1)
plan = plan_of((Configuration(name="partition", scenario="partition"),), {RUNS}, {SEED})
with mock.patch.object(campaigns, "judge", StandIn()):
    found = campaigns.run_campaign(
        Path("c"), begin(Path("c"), plan), campaigns.Options(backend=backend)
    )
if sys.argv[1:]:
    backend.session.stop()
print(found["verdict"])
"""
EAGER = """
spark.speculation true
spark.speculation.interval 100ms
spark.speculation.quantile 0.1
spark.speculation.multiplier 2
spark.speculation.minTaskRuntime 3s
spark.executor.memory 512m
"""


Running = subprocess.Popen[bytes]


@contextmanager
def ours(folder: Path, script: str, *words: str, **variables: str) -> Iterator[Running]:
    folder.mkdir()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", script, *words],
            cwd=folder,
            stdout=log,
            stderr=log,
            env={**os.environ, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1", **variables},
            start_new_session=True,
        )
        try:
            yield process
        finally:
            # As the terminal would: what it started ends first.
            started = below(process.pid, "")
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_S)
            for pid in (process.pid, *started):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()


def commands() -> dict[int, tuple[int, str]]:
    """Parent and command of each process."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            found[int(folder.name)] = int(parent), words
    return found


def below(top: int, name: str) -> list[int]:
    """The processes with this name that the process, or one that it started, has started."""
    there = commands()
    own = {top}
    while more := {pid for pid, (parent, _) in there.items() if parent in own} - own:
        own |= more
    return sorted(pid for pid in own if pid != top and name in there[pid][1])


def executors(top: int) -> list[int]:
    return below(top, "CoarseGrainedExecutorBackend")


def workers(top: int) -> list[int]:
    """Python's workers that judge: what their daemons have forked."""
    daemons = {*below(top, "pyspark.daemon")}
    there = commands()
    return sorted(pid for pid in daemons if there.get(pid, (0, ""))[0] in daemons)


def wait_for(what: Callable[[], object], process: Running) -> None:
    deadline = time.monotonic() + WAIT_S
    while not what():
        assert process.poll() is None, "it ended before"
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")
def test_a_campaign_outlives_its_workers(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "spark-defaults.conf").write_text(EAGER, encoding="utf-8")
    with ours(tmp_path / "here", CAMPAIGN) as process:
        assert process.wait() == 0, (tmp_path / "here" / "log").read_text()
    place = tmp_path / "there"

    def done() -> int:
        return len([*place.glob("c/partition/judged/*.range.json")])

    with ours(tmp_path / "cluster", CLUSTER, str(port)) as cluster:
        wait_for(lambda: b"workers; logs" in (tmp_path / "cluster" / "log").read_bytes(), cluster)
        master = f"spark://127.0.0.1:{port}"
        with ours(place, CAMPAIGN, master, SPARK_CONF_DIR=str(tmp_path)) as process:
            for least, victims, how in (
                (1, executors, signal.SIGKILL),
                (2, workers, signal.SIGKILL),
                (3, workers, signal.SIGSTOP),
            ):
                wait_for(lambda: done() >= least and victims(cluster.pid), process)  # noqa: B023
                os.kill(victims(cluster.pid)[-1], how)
            with suppress(subprocess.TimeoutExpired):
                process.wait(RESCUE_S)
            said = (place / "log").read_text()
            waits = (
                f"after {RESCUE_S:.0f} s {done()} of 16 ranges are done: nobody repeats the rest"
            )
            assert process.returncode == 0, said if process.poll() is not None else waits
    assert said.splitlines()[-1] == "holds"
    assert "Traceback" not in said
    assert contents(place / "c") == contents(tmp_path / "here" / "c")
