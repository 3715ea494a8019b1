"""Disks of whole clusters, as each release of Kafka leaves them (tests/live/disk_samples.py).

Three brokers and a controller: b3 was killed, more was written, b2, b1 and c1 were stopped.
"""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kraftcheck.cli import cli

HERE = Path(__file__).resolve().parent
VERSIONS = ("3.9.2", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0")
WITH_ELR = ("4.1.2", "4.2.1", "4.3.1", "4.4.0")
"""eligible.leader.replicas.version is 1 in a new cluster (KIP-966)."""
NODES = ("b1", "b2", "b3", "c1")
ENDS = {"plain": (30, 30, 20), "keyed": (40, 40, 40), "txn": (18, 18, 18)}


@pytest.fixture(params=VERSIONS)
def disks(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder has the version's name."""
    folder = tmp_path / str(request.param)
    with tarfile.open(HERE / f"brokers-{request.param}.tar.xz") as archive:
        archive.extractall(folder)
    return folder


def asked(folder: Path, *words: str) -> Result:
    disks = [str(folder / node) for node in NODES]
    return CliRunner().invoke(cli, ["disk", *disks, *words])


def test_what_a_release_leaves_holds(disks: Path) -> None:
    done = asked(disks, "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["directories"] == {}
    of = {each["topic"]: each for each in said["partitions"]}
    assert of.keys() == {
        "__cluster_metadata", "__consumer_offsets", "__transaction_state", *ENDS
    }  # fmt: skip
    found = [each for part in of.values() for rep in part["replicas"] for each in rep["findings"]]
    assert {each["invariant"] for each in found} <= {"LeftOver"}
    assert [each["together"] for each in of.values()] == [[]] * len(of)
    for topic, ends in ENDS.items():
        assert tuple(each["end"] for each in of[topic]["replicas"]) == ends
    assert all(each["start"] > 0 for each in of["keyed"]["replicas"]), "a cleaner was at work"
    assert [each["cleaned"] is not None for each in of["keyed"]["replicas"]] == [True] * 3
    roles = [each["role"] for each in of["plain"]["replicas"]]
    assert roles[2] == "out"
    assert "elr" in roles if disks.name in WITH_ELR else "elr" not in roles


def test_a_member_that_lacks_what_is_committed_is_found(disks: Path) -> None:
    """Planted: the disk of the broker that stayed behind, in place of that of the last one."""
    last = disks / "b1" / "plain-0"
    shutil.rmtree(last)
    shutil.copytree(disks / "b3" / "plain-0", last)
    done = asked(disks, "--topic", "plain")
    assert done.exit_code == 1, done.output
    assert "violated: WeakIsr" in done.output and "b1/plain-0 ends at 20, and 30 was" in done.output


def test_an_altered_batch_is_found(disks: Path) -> None:
    log = disks / "b2" / "txn-0" / f"{0:020}.log"
    data = log.read_bytes()
    log.write_bytes(data[:200] + bytes([data[200] ^ 1]) + data[201:])
    done = asked(disks, "--topic", "txn")
    assert done.exit_code == 1 and "damaged: BatchesWhole" in done.output
    assert "verdict  damaged: " in done.output
