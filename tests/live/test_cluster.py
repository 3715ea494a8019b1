"""What a cluster of ours knows without any Kafka running."""

from __future__ import annotations

import filecmp
import os
import platform
import struct
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from kraftcheck.cli import cli
from kraftcheck.kafka.live.cluster import (
    STATE,
    Cluster,
    ClusterError,
    Node,
    State,
    began,
    lose_unflushed,
)
from kraftcheck.kafka.live.metadata import dump_tool
from tests.kafka.disks.written import write_broker

NODE = Node("n1", 1, ("broker", "controller"), "127.0.0.1")


def cluster_in(folder: Path, node: Node = NODE) -> Cluster:
    state = State("4.3.1", "combined", False, {}, (node,))
    (folder / STATE).write_bytes(msgspec.json.encode(state))
    return Cluster.load(folder)


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    cluster = cluster_in(tmp_path)
    assert cluster.node("n1") == NODE
    assert cluster.bootstrap == "127.0.0.1:29091"
    assert not cluster.is_running("n1")


def test_the_tool_for_dumps_is_where_its_version_has_it(tmp_path: Path) -> None:
    cluster = cluster_in(tmp_path)
    assert dump_tool(cluster) == "org.apache.kafka.tools.DumpLogSegments"
    older = msgspec.structs.replace(cluster.state, version="3.9.2")
    (tmp_path / STATE).write_bytes(msgspec.json.encode(older))
    assert dump_tool(Cluster.load(tmp_path)) == "kafka.tools.DumpLogSegments"


def test_no_cluster_and_a_damaged_one_are_one_line_each(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="no cluster was started there"):
        Cluster.load(tmp_path)
    (tmp_path / STATE).write_text("{", encoding="utf-8")
    with pytest.raises(ClusterError, match="damaged"):
        Cluster.load(tmp_path)


def test_an_unknown_node_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="no node 'n9': there are n1"):
        cluster_in(tmp_path).node("n9")


def test_links_need_islands(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="islands"):
        cluster_in(tmp_path).cut("n1", "n2")


def test_only_what_was_started_from_here_is_killed(tmp_path: Path) -> None:
    """A process id that was used again belongs to somebody else."""
    sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
    with subprocess.Popen(sleeper) as process:
        try:
            start = began(process.pid)
            assert start is not None
            stranger = msgspec.structs.replace(NODE, pid=process.pid, began=start - 1)
            with pytest.raises(ClusterError, match="n1 is not running"):
                cluster_in(tmp_path, stranger).kill("n1")
            assert process.poll() is None
            ours = msgspec.structs.replace(NODE, pid=process.pid, began=start)
            cluster = cluster_in(tmp_path, ours)
            cluster.pause("n1")
            assert "n1" in cluster.state.paused
            cluster.kill("n1")
            assert not cluster.is_running("n1")
            assert not cluster.state.paused
        finally:
            process.kill()


def test_the_dead_have_no_beginning() -> None:
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    assert began(process.pid) is None
    assert began(os.getpid()) is not None


def test_who_has_lost_its_first_thread_only_is_not_dead() -> None:
    """As a broker that is killed amid a sync: its ports and files are taken."""
    lines = (
        "import ctypes, threading, time",
        "threading.Thread(target=time.sleep, args=(60,)).start()",
        "libc = ctypes.CDLL(None)",
        "libc.syscall(60, 0)",  # exit, of x86-64: this thread only
    )
    if platform.machine() != "x86_64":
        pytest.skip("the number of a system call is known of x86-64 only")
    process = subprocess.Popen([sys.executable, "-c", "\n".join(lines)])
    try:
        deadline = time.monotonic() + 30
        stat = Path(f"/proc/{process.pid}/stat")
        while stat.read_text("utf-8").rpartition(")")[2].split()[0] != "Z":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert began(process.pid) is not None
    finally:
        process.kill()
        process.wait()
    assert began(process.pid) is None


def batch(offset: int, size: int) -> bytes:
    return struct.pack(">qi", offset, size) + b"x" * size


@pytest.mark.parametrize(
    ("checkpoint", "left"),
    [(None, 0), (0, 0), (2, 1), (1, 1), (5, 2), (9, 2)],
    ids=["no checkpoint", "nothing flushed", "the first", "amid a batch", "all", "more"],
)
def test_a_power_failure_takes_what_was_not_flushed(
    tmp_path: Path, checkpoint: int | None, left: int
) -> None:
    whole = [batch(0, 30), batch(2, 40)]
    for name in ("t-0", "t-x-0", "other-0"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{0:020}.log").write_bytes(b"".join(whole))
    if checkpoint is not None:
        text = f"0\n2\nt 0 {checkpoint}\nother 0 1\n"
        (tmp_path / "recovery-point-offset-checkpoint").write_text(text, encoding="utf-8")
    lose_unflushed(tmp_path, "t")
    assert (tmp_path / "t-0" / f"{0:020}.log").read_bytes() == b"".join(whole[:left])
    for name in ("t-x-0", "other-0"):
        assert (tmp_path / name / f"{0:020}.log").read_bytes() == b"".join(whole)


def test_what_a_topic_has_on_a_disk_is_kept_and_judged(tmp_path: Path) -> None:
    """The room of an open index is a hole in the copy; other topics and the lock stay."""
    write_broker(tmp_path / "n1")
    index = tmp_path / "n1" / "t-0" / f"{7:020}.index"
    index.write_bytes(index.read_bytes() + bytes(10 << 20))
    (tmp_path / "n1" / ".lock").touch()
    write_broker(tmp_path / "n1" / "more")
    (tmp_path / "n1" / "more" / "t-0").rename(tmp_path / "n1" / "u-t-0")
    kept = tmp_path / "kept"
    cluster_in(tmp_path).keep_logs("n1", "t", kept)
    same = filecmp.dircmp(tmp_path / "n1", kept)
    assert same.right_only == [] and set(same.left_only) == {".lock", "more", "u-t-0"}
    assert filecmp.cmpfiles(same.left, same.right, same.common_files, shallow=False)[1:] == ([], [])
    for name in os.listdir(tmp_path / "n1" / "t-0"):
        copy = kept / "t-0" / name
        assert copy.read_bytes() == (tmp_path / "n1" / "t-0" / name).read_bytes()
    assert (kept / "t-0" / index.name).stat().st_blocks * 512 < 1 << 20
    done = CliRunner().invoke(cli, ["disk", str(kept)])
    assert done.exit_code == 0, done.output


def test_who_does_not_stop_in_time_is_killed_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True)"
    words = [sys.executable, "-c", f"{deaf}; time.sleep(60)"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline()
        ours = msgspec.structs.replace(NODE, pid=process.pid, began=began(process.pid))
        cluster = cluster_in(tmp_path, ours)
        monkeypatch.setattr("kraftcheck.kafka.live.cluster.STOP_SECONDS", 0.1)
        with pytest.raises(ClusterError, match="n1 did not stop within"):
            cluster.stop("n1")
        assert not cluster.is_running("n1")
