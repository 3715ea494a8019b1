"""What a cluster of ours knows without any Kafka running."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from live.cluster import STATE, Cluster, ClusterError, Node, State, began

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
