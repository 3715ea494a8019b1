"""A folder that can be JAVA_HOME for a given launcher, made where the launcher has none.

Spark starts `$JAVA_HOME/bin/java`, and nothing else can tell it which Java to take. A launcher that
is not called that, and a runtime without a module that Spark's launcher asks for, get a folder of
their own with a script in it.

Law of this file: what is made lives as long as this process.
"""

from __future__ import annotations

import atexit
import shlex
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Final

from tla_utils.errors import ToolError
from tla_utils.jar import JAVA_ANSWER_S, Java

VECTORS: Final = "jdk.incubator.vector"
"""Spark 4's launcher adds this module unasked (its `JavaModuleOptions`), and a
runtime without it does not start. Nothing but speed of some columns depends on it."""


def java_home(java: Java, unasked: str = VECTORS) -> Path:
    """Give a folder whose `bin/java` starts this Java without `--add-modules` of a missing module.

    The module is one that it does not have (`unasked`).

    Raises ToolError when the launcher does not tell its modules.
    """
    launcher = Path(java.path).resolve()
    lacks = unasked not in _modules(java.path)
    if launcher.name == "java" and launcher.parent.name == "bin" and not lacks:
        return launcher.parent.parent
    return _made(str(launcher), f"--add-modules={unasked}" if lacks else "")


@lru_cache(maxsize=16)
def _modules(launcher: str) -> frozenset[str]:
    try:
        answer = subprocess.run(
            [launcher, "--list-modules"],
            capture_output=True,
            text=True,
            timeout=JAVA_ANSWER_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolError(f"{launcher} does not list its modules: {error}") from None
    return frozenset(line.partition("@")[0] for line in answer.stdout.splitlines())


@lru_cache(maxsize=16)
def _made(launcher: str, dropped: str) -> Path:
    home = Path(tempfile.mkdtemp(prefix="kraftcheck-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    script = home / "bin" / "java"
    script.parent.mkdir()
    filtered = (
        "# Takes one option away: this Java has no such module.\n"
        "for word; do\n"
        "    shift\n"
        f'    [ "$word" = {shlex.quote(dropped)} ] || set -- "$@" "$word"\n'
        "done\n"
    )
    script.write_text(
        f'#!/bin/sh\n{filtered if dropped else ""}exec {shlex.quote(launcher)} "$@"\n',
        encoding="utf-8",
    )
    script.chmod(0o755)
    return home
