"""`disk`: logs of real brokers, and what it says of folders that are none.

z140.tar.xz has the partition of a run of experiments/bulk_copy.py on Apache Kafka 4.3.1, from two
of its brokers, stopped cleanly: b2 copied several transactions at once (docs/finds/Z140.md).
"""

from __future__ import annotations

import fcntl
import json
import struct
import sys
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kraftcheck.cli import cli
from tests.traces.disks.written import SECOND, Told, write_broker, write_segment

F_OFD_SETLK = 37
"""Of Linux: a lock of the open file."""
SAMPLE = Path(__file__).resolve().parents[1] / "traces/disks/z140.tar.xz"


def asked(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, ["disk", *map(str, words)])


def listing(folder: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kafka")
    with tarfile.open(SAMPLE) as archive:
        archive.extractall(folder, filter="data")
    return folder


def test_what_kafkas_leader_wrote_holds(kafka: Path) -> None:
    done = asked(kafka / "b1")
    assert done.exit_code == 0 and "verdict  holds: 1 directories of 1 partitions" in done.output


def test_z140_is_seen_on_the_disk_of_the_follower(kafka: Path) -> None:
    before = listing(kafka)
    done = asked(kafka / "b1", kafka / "b2", "--json")
    assert done.exit_code == 1
    said = json.loads(done.stdout)
    (partition,) = said["partitions"]
    leader, follower = partition["replicas"]
    assert partition["together"] == [] and leader["findings"] == []
    (finding,) = follower["findings"]
    assert (finding["weight"], finding["invariant"]) == ("violated", "TxnIndexExact")
    assert "from 9 to 10 has the last stable offset 15, by the log 11" in finding["said"]
    assert (follower["start"], follower["end"]) == (0, 18)
    assert listing(kafka) == before


def test_of_many_alike_the_first_are_told(tmp_path: Path) -> None:
    partition = write_broker(tmp_path)
    write_segment(partition, 7, [*SECOND, *[Told(12 + 2 * i, epoch=3) for i in range(1, 20)]])
    done = asked(tmp_path)
    assert done.exit_code == 1 and done.output.count("NoHole") == 6
    assert "and 14 more of NoHole in" in done.output


def test_a_partitions_own_directory_is_enough(kafka: Path) -> None:
    done = asked(kafka / "b2" / "t-0")
    assert done.exit_code == 1 and "violated: TxnIndexExact" in done.output


@pytest.mark.skipif(sys.platform != "linux", reason="locks are asked of Linux only")
def test_a_broker_that_is_at_work_makes_it_unknown(tmp_path: Path) -> None:
    write_broker(tmp_path)
    with (tmp_path / ".lock").open("w") as held:
        # Kafka's is a lock of its process. One of ours would not stand against us.
        whole = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
        fcntl.fcntl(held, F_OFD_SETLK, whole)
        done = asked(tmp_path)
    assert done.exit_code == 2 and f"a broker is at work in {tmp_path}" in done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("none",), "none is no folder"),
        (("empty",), "empty is no log directory of Kafka's"),
        (("b", "--topic", "x"), "no partition of x is there"),
        ((), "DIR"),
    ],
)
def test_what_is_no_log_is_refused(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_broker(tmp_path / "b")
    (tmp_path / "empty").mkdir()
    done = asked(*words)
    assert done.exit_code == 3 and said in done.output


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    partition = write_broker(tmp_path)
    index = partition / f"{0:020}.txnindex"
    index.unlink()
    index.mkdir()
    done = asked(tmp_path)
    assert done.exit_code == 3 and f"{index}" in done.output and "a folder" in done.output


def test_an_empty_partition_holds_nothing_that_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / f"{0:020}.log").touch()
    done = asked(tmp_path)
    assert done.exit_code == 2 and "nothing was there to be judged" in done.output
