"""A cluster of Spark loses workers, and what it answers is what the pool answers.

The cluster is one of this machine (`kraftcheck.standalone`), on a port of its own. While it works
on a campaign, an executor is killed, then a worker's Python, and a third is stopped: a straggler,
whose task Spark repeats on the other host, since speculation is on. A stand-in for TLC judges.
While TLC judges step traces of others, an executor and a worker are killed. All are of one host:
Spark repeats a straggler only on a host where its task was not tried, be it long ago and in vain.
"""

from __future__ import annotations

import json
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

from tests.kraftcheck.test_foreign import several
from tests.traces.jobs.small_campaigns import contents

pytestmark = [
    *(pytest.mark.slow, pytest.mark.spark, pytest.mark.xdist_group("spark")),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc"),
]

ROOT = Path(__file__).parents[2]
RUNS, SEED = 120, 5
SPARED, STRUCK = "127.0.0.1", "127.0.0.2"
WAIT_S = 240.0
RESCUE_S = 400.0
"""The campaign ends 20 s after the worker is stopped on a quiet machine, 75 s at a load of 30."""
END_S = 60.0
CLUSTER = f"""
import sys
from pathlib import Path
from kraftcheck import standalone
standalone.PORT, standalone.MASTER = int(sys.argv[1]), "spark://127.0.0.1:" + sys.argv[1]
*others, last = standalone.processes()
last[last.index("--host") + 1] = "{STRUCK}"
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
CONFORM = """
import sys
from kraftcheck.cli import cli
sys.stdout = open("found", "w")
cli()
"""
EAGER = """
spark.speculation true
spark.speculation.interval 100ms
spark.speculation.quantile 0.1
spark.speculation.multiplier 2
spark.speculation.minTaskRuntime 3s
spark.speculation.task.duration.threshold 30s
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


def executors(top: int, host: str = STRUCK) -> list[int]:
    return below(top, f"--hostname {host} ")


def workers(top: int, host: str = STRUCK) -> list[int]:
    """Python's workers that judge: what the executors' daemons have forked."""
    daemons = {pid for each in executors(top, host) for pid in below(each, "pyspark.daemon")}
    there = commands()
    return sorted(pid for pid in daemons if there.get(pid, (0, ""))[0] in daemons)


def wait_for(what: Callable[[], object], process: Running) -> None:
    deadline = time.monotonic() + WAIT_S
    while not what():
        assert process.poll() is None, "it ended before"
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.05)


def strike(victims: Callable[[int], list[int]], top: int, how: int, process: Running) -> None:
    """The last of them gets the signal, once there is one: they come and go."""

    def struck() -> bool:
        with suppress(IndexError, ProcessLookupError):
            os.kill(victims(top)[-1], how)
            return True
        return False

    wait_for(struck, process)


def send(how: int, pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, how)


@contextmanager
def held(which: Callable[[], list[int]], process: Running) -> Iterator[None]:
    """They wait meanwhile: they could do all that is left before the others are there again."""
    wait_for(which, process)
    send(signal.SIGSTOP, waiting := which())
    yield
    send(signal.SIGCONT, waiting)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Running]]:
    """Its address, and the process that started it."""
    port, folder = free_port(), tmp_path_factory.mktemp("cluster") / "own"
    with ours(folder, CLUSTER, str(port)) as process:
        wait_for(lambda: b"workers; logs" in (folder / "log").read_bytes(), process)
        yield f"spark://127.0.0.1:{port}", process


def test_a_campaign_outlives_its_workers(tmp_path: Path, cluster: tuple[str, Running]) -> None:
    master, started = cluster
    (tmp_path / "spark-defaults.conf").write_text(EAGER, encoding="utf-8")
    with ours(tmp_path / "here", CAMPAIGN) as process:
        assert process.wait() == 0, (tmp_path / "here" / "log").read_text()
    place = tmp_path / "there"

    def done() -> int:
        return len([*place.glob("c/partition/judged/*.range.json")])

    with ours(place, CAMPAIGN, master, SPARK_CONF_DIR=str(tmp_path)) as process:
        wait_for(lambda: done() >= 1, process)
        with held(lambda: workers(started.pid, SPARED), process):
            for victims, how in (
                (executors, signal.SIGKILL),
                (workers, signal.SIGKILL),
                (workers, signal.SIGSTOP),
            ):
                strike(victims, started.pid, how, process)
        with suppress(subprocess.TimeoutExpired):
            process.wait(RESCUE_S)
        said = (place / "log").read_text()
        waits = f"after {RESCUE_S:.0f} s {done()} ranges are done: nobody repeats the rest"
        assert process.returncode == 0, said if process.poll() is not None else waits
    assert said.splitlines()[-1] == "holds"
    assert "Traceback" not in said
    assert contents(place / "c") == contents(tmp_path / "here" / "c")


@pytest.mark.tlc
def test_planted_steps_are_found_though_workers_are_killed(
    tmp_path: Path, cluster: tuple[str, Running]
) -> None:
    """Of eight files two have a wrong step; each is found there, and nothing else."""
    master, started = cluster
    folder, place = several(tmp_path / "steps", 8, (2, 5)), tmp_path / "there"

    def judging(top: int = started.pid) -> list[int]:
        """Workers that wait for TLC."""
        return [pid for pid in workers(top) if below(pid, "tlc2.TLC")]

    words = ("conform", str(folder), "--master", master, "--json", "--quiet")
    with ours(place, CONFORM, *words) as process:
        for victims in (executors, judging):
            wait_for(judging, process)
            strike(victims, started.pid, signal.SIGKILL, process)
        process.wait(RESCUE_S)
    said = (place / "log").read_text()
    assert process.returncode == 1 and "Traceback" not in said, said
    traces = json.loads((place / "found").read_text())["traces"]
    found = {(Path(each["file"]).name, r["line"]) for each in traces for r in each["rejections"]}
    assert len(traces) == 8 and found == {("0002.jsonl", 21), ("0005.jsonl", 21)}
    assert sorted(each["verdict"] for each in traces) == ["holds"] * 6 + ["violated"] * 2
