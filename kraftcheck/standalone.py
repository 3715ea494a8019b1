"""A Spark standalone cluster on this machine: a master and two workers, processes of their own.

    python -m kraftcheck.standalone        until it is interrupted; `make cluster` does the same

For trying what a campaign does on a cluster, with `--master spark://127.0.0.1:7077`. Everything
listens on loopback; logs and scratch are in `build/spark`.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from kraftcheck import exits
from kraftcheck.exits import BadInput
from kraftcheck.traces.jobs.session import name_java

HOST, PORT = "127.0.0.1", 7077
MASTER = f"spark://{HOST}:{PORT}"
WORKERS, CORES, MEMORY = 2, 1, "2g"
SCRATCH = Path("build/spark")
WAIT_S = 120.0
POLL_S = 0.2


def processes() -> list[list[str]]:
    """The commands of the master and its workers, without the launcher."""
    package = "org.apache.spark.deploy"
    own = ["--host", HOST, "--webui-port", "0"]
    master = [f"{package}.master.Master", *own, "--port", str(PORT)]
    size = ["--cores", str(CORES), "--memory", MEMORY]
    worker = [f"{package}.worker.Worker", *own, *size]
    return [master, *[[*worker, "--work-dir", f"worker-{n}", MASTER] for n in range(WORKERS)]]


def listening() -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, PORT)) == 0


def start(launcher: Path, scratch: Path, command: Sequence[str]) -> subprocess.Popen[bytes]:
    name = command[0].rpartition(".")[2].lower()
    with (scratch / f"{name}.log").open("ab") as log:
        return subprocess.Popen(
            [str(launcher), *command],
            cwd=scratch,
            stdout=log,
            stderr=log,
            env={**os.environ, "SPARK_LOCAL_IP": HOST, "PYSPARK_PYTHON": sys.executable},
            start_new_session=True,
        )


def wait_for_master(process: subprocess.Popen[bytes], log: Path) -> None:
    """Raises BadInput: it ended, or does not listen in time."""
    deadline = time.monotonic() + WAIT_S
    while not listening():
        if process.poll() is not None:
            raise BadInput(f"Spark's master ended with {process.returncode}: {log} says why")
        if time.monotonic() > deadline:
            raise BadInput(f"Spark's master does not listen after {WAIT_S:.0f} s: see {log}")
        time.sleep(POLL_S)


def serve(scratch: Path = SCRATCH) -> int:
    """Runs the cluster until a signal, or until one of its processes ends."""
    # Late: a second of import.
    import pyspark

    if listening():
        raise BadInput(f"something listens on {HOST}:{PORT} already")
    scratch.mkdir(parents=True, exist_ok=True)
    name_java()
    launcher = Path(pyspark.__file__).parent / "bin" / "spark-class"
    running: list[subprocess.Popen[bytes]] = []
    try:
        for command in processes():
            running.append(start(launcher, scratch.resolve(), command))
            if len(running) == 1:
                wait_for_master(running[0], scratch / "master.log")
        sys.stdout.write(f"{MASTER}, {WORKERS} workers; logs in {scratch}; Ctrl-C ends it\n")
        sys.stdout.flush()
        while all(process.poll() is None for process in running):
            time.sleep(POLL_S)
        raise BadInput(f"a process of the cluster ended: see {scratch}")
    finally:
        for process in reversed(running):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        for process in running:
            process.wait()


def main() -> None:
    sys.exit(exits.guarded(serve))


if __name__ == "__main__":
    main()
