"""Kafka's jars are what they are known to be."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from live.artifacts import CHECKSUMS, ArtifactError, check, reason, version


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


def test_the_checksums_are_of_the_version_that_is_asked_for() -> None:
    names = [line.split()[1] for line in CHECKSUMS.read_text(encoding="utf-8").splitlines()]
    assert f"kafka_2.13-{version()}.jar" in names
    assert f"kafka-tools-{version()}.jar" in names


def test_mavens_reason_is_a_line_and_whole() -> None:
    why = "Could not resolve dependencies: org.apache.kafka:kafka_2.13:jar:9.9.9 was not found"
    said = f"\x1b[0m\x1b[0m[ERROR] {why} -> [Help 1]\n[ERROR] \n[ERROR] [Help 1] http://example\n"
    assert reason(said) == why
    assert reason("\nno JAVA_HOME\n") == "no JAVA_HOME" and reason("") == ""
