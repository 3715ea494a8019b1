"""Kafka's classes with the smallest change that mends a find, compiled from its own sources.

    .venv/bin/python -m experiments.changed Z166 DIR
    .venv/bin/python -m finds.Z166.run --jars DIR

The change of a find is `fix.patch` in its folder below finds, as `git apply` takes it in a checkout
of Kafka. Where it changes the definition of a message, `generated.patch` beside it changes the
class that Kafka's build generates from it. DIR is given the classes of the files that are changed.
With DIR first on the class path the experiment should not show the find any more.

Ends with 0, or with 3 if it could not be done.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from experiments.tools import click_errors
from kraftcheck.kafka.live.artifacts import Artifacts, libraries, version
from kraftcheck.kafka.live.cluster import ClusterError
from kraftcheck.kafka.live.sources import MODULES, unpack_tree
from kraftcheck.kafka.live.witness.jars import brief_java, javac

FINDS: Final = Path(__file__).resolve().parents[1] / "finds"
KNOWN: Final = sorted(path.parent.name for path in FINDS.glob("*/fix.patch"))
_SCALA: Final = Path(__file__).resolve().parent / "scala"
_FILE: Final = re.compile(r"^\+\+\+ b/(\S+)", re.MULTILINE)


def classes(name: str, into: Path) -> Path:
    """The folder with the changed classes. Raises ArtifactError, ClusterError."""
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder:
        files = patched(name, Path(folder))
        compiled([each for each in files if "/src/test/" not in each.as_posix()], into)
    return into


def patched(name: str, tree: Path) -> list[Path]:
    """Rebuilds the part of Kafka's repository that a find's patches touch, and applies them.

    Returns the files that were changed. Raises ArtifactError, ClusterError.
    """
    changes = sorted((FINDS / name).glob("*.patch"))
    files = [file for each in changes for file in _FILE.findall(each.read_text(encoding="utf-8"))]
    artifacts = {module: artifact for artifact, module in MODULES.items()}
    for module, tests in sorted({(f.partition("/")[0], "/src/test/" in f) for f in files}):
        unpack_tree(artifacts[module], tree, tests)
    # A repository of its own: inside another one, git would look for the files at that one's root.
    _run(["git", "init", "-q", str(tree)])
    for each in changes:
        _run(["git", "-C", str(tree), "apply", str(each)])
    return [tree / file for file in files]


def compiled(sources: Sequence[Path], into: Path, path: Sequence[str] = ()) -> None:
    """Compiles sources, those in Scala also against what was compiled of Java's before.

    Args:
        path: what to compile against; by default, Kafka's jars.

    Raises:
        ArtifactError, ClusterError.
    """
    into.mkdir(parents=True, exist_ok=True)
    own = [str(jar) for jar in sorted(libraries().glob("*.jar"))]
    jars = ":".join([str(into), *(path or own)])
    for language, compiler in ((".java", javac), (".scala", _scalac)):
        of = [str(source) for source in sources if source.suffix == language]
        if of:
            _run([*compiler(), "-cp", jars, "-d", str(into), *of])


def _scalac() -> list[str]:
    """Of the version that Kafka was compiled with."""
    scala = Artifacts("scala", _SCALA / "pom.xml", _SCALA / "checksums.txt", version())
    path = f"{scala.libraries()}/*"
    return [*brief_java(), "-cp", path, "scala.tools.nsc.Main", "-nowarn"]


def _run(words: Sequence[str]) -> None:
    if shutil.which(words[0]) is None:
        raise ClusterError(f"no `{words[0]}` command: a change of Kafka's sources needs it")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        said = " ".join((done.stdout + done.stderr).split())
        raise ClusterError(f"{Path(words[0]).name}: {said[:300]}")


@click.command()
@click.argument("name", type=click.Choice(KNOWN))
@click.argument("into", type=click.Path(path_type=Path, file_okay=False))
@click_errors("changed")
def main(name: str, into: Path) -> None:
    """Compile what mends a find into a folder."""
    into.mkdir(parents=True, exist_ok=True)
    classes(name, into)
    click.echo(f"{sum(1 for _ in into.rglob('*.class'))} classes in {into}")


if __name__ == "__main__":
    main()
