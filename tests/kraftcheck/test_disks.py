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
from tests.traces.disks.written import SECOND, Told, write_broker, write_lines, write_segment

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
        archive.extractall(folder)
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
    assert done.exit_code == 2 and f"{index}: is a folder" in done.output


def test_an_empty_partition_holds_nothing_that_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / f"{0:020}.log").touch()
    done = asked(tmp_path)
    assert done.exit_code == 2 and "nothing was there to be judged" in done.output


def parted(folder: Path) -> list[Path]:
    """Two brokers, the second with another record where the first has a committed one."""
    for name in ("b1", "b2"):
        write_broker(folder / name)
    write_segment(folder / "b2" / "t-0", 7, [*SECOND[:3], Told(10, epoch=4)])
    write_lines(folder / "b1" / "log-start-offset-checkpoint", ["t 0 3"])
    return [folder / name for name in ("b1", "b2")]


def test_a_page_shows_where_replicas_part(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = asked(*parted(tmp_path / "brokers"), "--html", page)
    text = page.read_text()
    assert done.exit_code == 1
    assert text.count("part at 10</text>") == 1 and "epochs 3 and 4" in text
    for words in ("segment 00000000000000000007: up to 12", "leader epoch 4", "log start 3"):
        assert words in text
    assert text.count("transaction of producer 7, aborted: 3 up to 7") == 2
    assert "violated</b>" in text and "LogMatching" in text
    assert "<script" not in text and "http://" not in text
    again = tmp_path / "again.html"
    asked(*[tmp_path / "brokers" / name for name in ("b1", "b2")], "--html", again)
    assert again.read_text() == text


def test_a_page_of_equal_replicas_has_no_place_where_they_part(tmp_path: Path) -> None:
    for name in ("b1", "b2"):
        write_broker(tmp_path / name)
    page = tmp_path / "page.html"
    done = asked(tmp_path / "b1", tmp_path / "b2", "--html", page)
    assert done.exit_code == 0 and "part at" not in page.read_text()


def test_names_of_folders_are_escaped_on_the_page(tmp_path: Path) -> None:
    write_broker(tmp_path / "<b>1")
    page = tmp_path / "page.html"
    asked(tmp_path / "<b>1", "--html", page)
    assert "<b>1" not in page.read_text() and "&lt;b&gt;1" in page.read_text()


def test_no_page_is_written_to_what_is_judged(tmp_path: Path) -> None:
    write_broker(tmp_path / "b")
    before = listing(tmp_path)
    done = asked(tmp_path / "b", "--html", tmp_path / "b" / "page.html")
    assert done.exit_code == 3 and "name another" in done.output
    assert listing(tmp_path) == before


def test_of_many_partitions_those_in_which_something_is_wrong_are_drawn(tmp_path: Path) -> None:
    for number in range(45):
        partition = write_broker(tmp_path / f"b{number}")
        partition.rename(tmp_path / f"t-{number}")
    (tmp_path / "t-44" / f"{0:020}.txnindex").unlink()
    page = tmp_path.parent / f"{tmp_path.name}.html"
    done = asked(tmp_path, "--html", page)
    text = page.read_text()
    assert done.exit_code == 1 and "5 more partitions were judged" in text
    assert "t-44 <b" in text and text.count("<svg") == 40
