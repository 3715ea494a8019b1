"""Where Java, the registry, network namespaces or a disk are missing, each script says so."""

from __future__ import annotations

import re
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import click
import pytest
from click.testing import CliRunner, Result

from experiments.tools import NO_JAVA, WITHOUT, name_of
from kraftcheck.kafka.live.artifacts import ArtifactError, Artifacts
from kraftcheck.kafka.live.cluster import Cluster, ClusterError

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path
    for path in sorted([*ROOT.glob("experiments/*.py"), *ROOT.glob("finds/*/*.py")])
    if re.search(r"^(main = |def main\()", path.read_text(encoding="utf-8"), re.MULTILINE)
}
"""By module."""
NO_KAFKA = {"experiments.written_back"}
"""They ask a file system only."""
NO_CLUSTER = {"experiments.changed", "experiments.kafka_tests", "finds.Z416.run"}
"""They run Kafka's classes without one, and are not called so."""
REGISTRY, STARTED = "no `mvn` command: install Maven", "as far as the first node"


def told(name: str, folder: Path) -> Result:
    main = import_module(name).main
    assert isinstance(main, click.Command)
    words = {"changed": ["Z166", str(folder)], "kafka_tests": ["Z133"]}
    return CliRunner().invoke(main, words.get(SCRIPTS[name].stem, []))


def one_line(result: Result, name: str) -> str:
    """What keeps it from being tried."""
    assert result.exit_code == 3, result.output
    (line,) = result.stderr.splitlines()
    called, _, rest = line.partition(": ")
    assert called == name_of(SCRIPTS[name])
    return rest


@pytest.mark.parametrize("name", SCRIPTS)
def test_without_java(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda *_: None)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    line = one_line(told(name, tmp_path), name)
    assert line.endswith(WITHOUT)
    assert (NO_JAVA in line) is (name not in NO_KAFKA)


def no_registry(_: Artifacts) -> NoReturn:
    raise ArtifactError(REGISTRY)


@pytest.mark.parametrize("name", sorted({*SCRIPTS} - NO_KAFKA))
def test_without_a_registry(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda *_: "/there")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("experiments.evidence.disk", lambda _: nullcontext())
    monkeypatch.setattr(Artifacts, "libraries", no_registry)
    assert one_line(told(name, tmp_path), name) == f"{REGISTRY}; {WITHOUT}"


@pytest.mark.slow
def test_without_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that need it are the ones of which the page says so; the others go on."""

    def started(*_: object) -> NoReturn:
        raise ClusterError(STARTED)

    monkeypatch.setattr("shutil.which", lambda *_: "/there")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(Artifacts, "libraries", lambda _: tmp_path)
    monkeypatch.setattr(Cluster, "_format", started)
    monkeypatch.setattr(Cluster, "_refuse_taken_ports", lambda _: None)
    monkeypatch.setattr("experiments.changed.compiled", lambda _, at: (at / "A.class").touch())
    page = (ROOT / "experiments/README.md").read_text(encoding="utf-8")
    (needed,) = re.findall(r"Root is needed by ([^.]*)\. ", " ".join(page.split()))
    asked = {}
    for name in SCRIPTS:
        if name.endswith("by_classes") or name in NO_CLUSTER:
            continue
        line = one_line(told(name, tmp_path / name), name)
        if line != STARTED:
            assert line.endswith(WITHOUT)
            asked[name_of(SCRIPTS[name])] = line
    assert {*asked} == {*re.findall(r"\w+_\w+|Z\d+|DR", needed)}
