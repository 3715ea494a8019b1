"""Java and the jar are only used after they have shown what they are."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from tla_utils.errors import ToolError
from tla_utils.jar import JAR_VARIABLE, find_jar, find_java


def script(folder: Path, body: str) -> str:
    """An executable `java` with this shell body."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "java"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def says(version: str) -> str:
    return f"echo 'openjdk version \"{version}\" 2024-01-01' >&2"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv(JAR_VARIABLE, raising=False)


@pytest.mark.parametrize(
    ("printed", "major"), [("17.0.15", 17), ("21", 21), ("25-ea", 25), ("1.8.0_292", 8)]
)
def test_versions_are_understood(tmp_path: Path, printed: str, major: int) -> None:
    assert find_java(script(tmp_path, says(printed)), minimum=8).version == major


def test_old_java_is_refused(tmp_path: Path) -> None:
    old = script(tmp_path, says("11.0.2"))
    with pytest.raises(ToolError, match=r"is version 11, but 17 or newer is needed") as refused:
        find_java(old)
    assert old in str(refused.value) and "\n" not in str(refused.value)


def test_what_does_not_answer_like_java_is_refused(tmp_path: Path) -> None:
    for number, body in enumerate(["echo hello", f"{says('17.0.1')}\nexit 1", "exit 0"]):
        with pytest.raises(ToolError, match="not a Java launcher"):
            find_java(script(tmp_path / str(number), body))


def test_missing_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToolError, match="no Java launcher at"):
        find_java(str(tmp_path / "nowhere"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ToolError, match="no Java found"):
        find_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ToolError, match="JAVA_HOME is"):
        find_java()


def test_order_of_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    explicit = script(tmp_path / "explicit", says("18"))
    home = script(tmp_path / "home" / "bin", says("19"))
    script(tmp_path / "path", says("20"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}{os.pathsep}{os.environ['PATH']}")
    assert find_java().version == 20
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java().path == home
    assert find_java(explicit).path == explicit


def test_bundled_jar_is_found() -> None:
    jar = find_jar()
    assert jar.path.name == "tla2tools.jar" and "d5b5a7f" in jar.version


def test_what_is_not_tlc_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToolError, match="no file at"):
        find_jar(tmp_path / "none.jar")
    text = tmp_path / "text.jar"
    text.write_text("hello")
    with pytest.raises(ToolError, match="is not a jar"):
        find_jar(text)
    other = tmp_path / "other.jar"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("Main.class", "")
    monkeypatch.setenv(JAR_VARIABLE, str(other))
    with pytest.raises(ToolError, match=r"\(from TLA2TOOLS_JAR\) is a jar without TLC"):
        find_jar()


def test_a_jar_needs_no_manifest(tmp_path: Path) -> None:
    bare = tmp_path / "bare.jar"
    with zipfile.ZipFile(bare, "w") as archive:
        archive.writestr("tlc2/TLC.class", "")
    assert find_jar(bare).version == "unknown"


def test_no_jar_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ToolError, match="no TLC jar found"):
        find_jar()
