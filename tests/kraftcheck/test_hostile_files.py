"""What is no file is said to be none, by every verb, in one line and at once."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from click.testing import CliRunner

from kraftcheck.cli import cli

VERBS = {
    "check": ("check", "{}"),
    "check, format told": ("check", "--format", "jepsen", "{}"),
    "convert": ("convert", "--to", "jepsen", "--out", "x", "{}"),
    "conform": ("conform", "{}.jsonl"),
    "conform of no steps": ("conform", "{}"),
    "replay": ("replay", "{}"),
    "shrink": ("shrink", "--bug", "Z02", "{}"),
    "campaign run": ("campaign", "run", "{}", "--runs", "1", "--out", "c"),
    "try": ("try", "--overlay", "{}.tla"),
}
IN_FOLDERS = {
    "conform": (("conform", "t"), "manifest.json"),
    "replay": (("replay", "t", "--run", "0"), "manifest.json"),
    "replay of a table": (("replay", "t", "--run", "0"), "part-000000000-000002.rows.parquet"),
    "report": (("report", "t"), "summary.json"),
    "simulate": (("simulate", "--scenario", "quorum", "--runs", "4", "--out", "t"), "summary.json"),
    "compare": (("campaign", "compare", "t", "t"), "findings.json"),
    "extend": (("campaign", "extend", "t", "--runs", "1"), "campaign.json"),
    "spec list": (("spec", "list", "--specs", "t"), "models.toml"),
}
KINDS = {
    "fifo": "is a pipe: only regular files are read",
    "device": "is a device: only regular files are read",
    "socket": "is a socket: only regular files are read",
    "folder": "is a folder: only regular files are read",
    "loop": "Too many levels of symbolic links",
    "broken link": "No such file or directory",
}
GOLDEN = Path(__file__).parents[1] / "conformance" / "golden"


def planted(kind: str, path: Path) -> None:
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as own:
            own.bind(path.name)
        assert path.is_socket()
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(path if kind == "loop" else "nowhere")


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    """Whoever waits for a writer, or reads on for ever, is told to stop."""

    def too_long(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("it waits, or reads without end")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def said(*words: str) -> str:
    result = CliRunner().invoke(cli, [*words])
    assert result.exit_code == 3, result.output
    assert result.stdout == "" and result.stderr.count("\n") == 1
    assert "a defect" not in result.stderr and "waits" not in result.stderr
    return result.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="names of devices and of errors")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_path_that_is_no_file_is_refused(
    verb: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    planted(kind, Path("odd"))
    planted(kind, Path("odd.tla"))
    planted(kind, Path("odd.jsonl"))
    line = said(*(word.format("odd") for word in VERBS[verb]))
    # A folder could be a trace, and who looks for a path of such a name may say so himself.
    elsewhere = kind in ("folder", "loop", "broken link") or verb == "conform of no steps"
    assert KINDS[kind] in line or elsewhere
    assert "odd" in line or (kind, verb) in (("folder", "replay"), ("folder", "shrink"))


@pytest.mark.skipif(sys.platform != "linux", reason="names of devices and of errors")
@pytest.mark.parametrize("kind", ["fifo", "device", "socket", "folder", "loop"])
@pytest.mark.parametrize("verb", IN_FOLDERS)
def test_a_folder_with_such_a_thing_is_refused(
    verb: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(GOLDEN, tmp_path / "t")
    monkeypatch.chdir(tmp_path / "t")
    words, name = IN_FOLDERS[verb]
    Path(name).unlink(missing_ok=True)
    planted(kind, Path(name))
    monkeypatch.chdir(tmp_path)
    line = said(*words)
    assert name in line and KINDS[kind] in line


def test_a_folder_of_histories_with_a_pipe_names_it(tmp_path: Path) -> None:
    (tmp_path / "good.edn").write_text("{:process 0, :type :invoke, :f :read, :value nil}\n")
    os.mkfifo(tmp_path / "pipe.edn")
    result = CliRunner().invoke(cli, ["check", str(tmp_path)])
    assert result.exit_code == 3 and "Traceback" not in result.output
    assert f"{tmp_path / 'pipe.edn'}: {KINDS['fifo']}" in result.stderr
    assert "good.edn" in result.stdout
