"""Commands that are printed can be copied."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from kraftcheck.osutil.commands import PROTOCOLS, command, protocol_folders


def test_a_command_has_words_as_a_shell_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PROTOCOLS, raising=False)
    assert command("replay", Path("runs/a"), "--run", 7) == "kraftcheck replay runs/a --run 7"
    assert shlex.split(command("conform", Path("my runs"))) == ["kraftcheck", "conform", "my runs"]


def test_protocols_of_others_go_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """From here, if they lie below; whichever way they were named."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    folders = [str(tmp_path / "here" / "lease"), "", str(tmp_path / "here"), "/some where/else"]
    monkeypatch.setenv(PROTOCOLS, os.pathsep.join(folders))
    assert protocol_folders() == [folder for folder in folders if folder]
    words = shlex.split(command("conform", "runs"))
    given = ("--protocol", "lease", "--protocol", folders[2], "--protocol", folders[3])
    assert words == ["kraftcheck", *given, "conform", "runs"]
