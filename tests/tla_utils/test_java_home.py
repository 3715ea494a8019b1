"""What JAVA_HOME must be for a Java: its own folder, or one that leaves an option out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tla_utils.errors import ToolError
from tla_utils.jar import Java
from tla_utils.java_home import VECTORS, java_home

LISTS = 'case "$1" in --list-modules) echo java.base@21; {more};; *) printf "%s|" "$@";; esac'


def launcher(path: Path, more: str = "true") -> Java:
    """A script that lists its modules, and tells with which words it was started."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{LISTS.format(more=more)}\n")
    path.chmod(0o755)
    return Java(str(path), 21)


def says(home: Path, *words: str) -> str:
    command = [str(home / "bin" / "java"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_whole_java_is_its_own_home(tmp_path: Path) -> None:
    java = launcher(tmp_path / "jdk" / "bin" / "java", more=f"echo {VECTORS}@21")
    assert java_home(java) == tmp_path / "jdk"


def test_a_module_that_is_not_there_is_not_asked_for(tmp_path: Path) -> None:
    java = launcher(tmp_path / "jre" / "bin" / "java")
    home = java_home(java)
    assert home != tmp_path / "jre"
    said = says(home, "-cp", "a b", f"--add-modules={VECTORS}", "", "--add-modules=other", "Main")
    assert said == "-cp|a b||--add-modules=other|Main|"


def test_a_launcher_of_another_name_gets_a_home(tmp_path: Path) -> None:
    java = launcher(tmp_path / "it's java21", more=f"echo {VECTORS}@21")
    said = says(java_home(java), f"--add-modules={VECTORS}", "", "x")
    assert said == f"--add-modules={VECTORS}||x|"


def test_a_launcher_that_lists_nothing_is_refused(tmp_path: Path) -> None:
    java = launcher(tmp_path / "bin" / "java", more="exit 1")
    with pytest.raises(ToolError, match="does not list its modules"):
        java_home(java)
