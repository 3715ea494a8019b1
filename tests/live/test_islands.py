"""Network namespaces, on a kernel that is played: one set, and nobody removes another's."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kraftcheck.kafka.live import islands
from kraftcheck.kafka.live.islands import BRIDGE, IslandError, Islands


class Kernel:
    """Links and namespaces by their names, as `ip` makes and removes them."""

    def __init__(self, alias: Path) -> None:
        self.links: set[str] = set()
        self.spaces: set[str] = set()
        self._alias = alias

    def run(self, words: list[str], **_: Any) -> Any:
        match words[1:]:
            case ["link", "add", name, "type", *_]:
                if name in self.links:
                    return self._said(1, stderr="RTNETLINK answers: File exists")
                self.links.add(name)
                if name == BRIDGE:
                    self._alias.write_text("\n")
            case ["link", "set", name, "alias", said]:
                assert name == BRIDGE
                self._alias.write_text(f"{said}\n")
            case ["link", "del", name]:
                self.links.discard(name)
                if name == BRIDGE:
                    self._alias.unlink(missing_ok=True)
            case ["netns", "add", name]:
                self.spaces.add(name)
            case ["netns", "del", name]:
                self.spaces.discard(name)
            case ["netns"]:
                return self._said(stdout="".join(f"{each} (id: 0)\n" for each in self.spaces))
            case ["-br", "link"]:
                return self._said(stdout="".join(f"{each}@if2 UP\n" for each in self.links))
        return self._said()

    @staticmethod
    def _said(code: int = 0, stdout: str = "", stderr: str = "") -> Any:
        return SimpleNamespace(returncode=code, stdout=stdout, stderr=stderr)


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    alias = tmp_path / "ifalias"
    kernel = Kernel(alias)
    monkeypatch.setattr(islands, "ALIAS", alias)
    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(subprocess, "run", kernel.run)
    return kernel


def cluster(folder: Path, name: str) -> Path:
    place = folder / name
    place.mkdir()
    (place / islands.STATE).write_text("{}")
    return place


def test_two_clusters_do_not_cut_each_others_links(kernel: Kernel, tmp_path: Path) -> None:
    first, second = (cluster(tmp_path, name) for name in ("one", "two"))
    mine = Islands(first, ["b1", "b2"])
    mine.make(lasts=True)
    there = set(kernel.links), set(kernel.spaces)
    assert BRIDGE in kernel.links and len(kernel.spaces) == 2
    other = Islands(second, ["b1", "b2"])
    with pytest.raises(IslandError, match=f"of the cluster in {first} .* down {first}"):
        other.make()
    other.remove()
    assert (kernel.links, kernel.spaces) == there
    assert mine.command("b1", ["x"])[3] in kernel.spaces
    assert other.command("b1", ["x"])[3] not in kernel.spaces
    mine.make()
    assert (kernel.links, kernel.spaces - there[1]) == (there[0] | kernel.links, set())
    mine.remove()
    assert not any(each.startswith(("kc", "kraftcheck")) for each in kernel.links | kernel.spaces)
    other.make()
    assert len(kernel.spaces) == 2


def test_what_is_left_of_a_cluster_that_is_gone_is_removed(kernel: Kernel, tmp_path: Path) -> None:
    gone = cluster(tmp_path, "gone")
    Islands(gone, ["b1", "b2", "b3"]).make(lasts=True)
    (gone / islands.STATE).unlink()
    mine = Islands(cluster(tmp_path, "mine"), ["b1"])
    mine.make()
    assert kernel.spaces == {mine.command("b1", [])[3]}


def test_what_is_left_of_a_process_that_was_killed_is_removed(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster that a program starts for itself ends with it; its directory may stay."""
    first, second = (Islands(cluster(tmp_path, name), ["b1"]) for name in ("one", "two"))
    first.make()
    with pytest.raises(IslandError, match="of the cluster in"):
        second.make()
    second_pid = (1 << 22) + 1  # none is so large
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: second_pid)
        first.make()
    second.make()
    assert kernel.spaces == {second.command("b1", [])[3]}


def test_a_bridge_of_nobody_is_left_alone(kernel: Kernel, tmp_path: Path) -> None:
    kernel.run(["ip", "link", "add", BRIDGE, "type", "bridge"])
    with pytest.raises(IslandError, match=f"somebody who made {BRIDGE}"):
        Islands(cluster(tmp_path, "mine"), ["b1"]).make()
    assert BRIDGE in kernel.links


def test_names_fit_what_the_kernel_allows(kernel: Kernel, tmp_path: Path) -> None:
    Islands(cluster(tmp_path, "mine"), [f"b{at}" for at in range(99)]).make()
    assert max(map(len, kernel.links)) <= 15
