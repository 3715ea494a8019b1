"""What Kafka's own classes make of a case and of its control, as a program in Java tells it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from experiments.tools import JARS, click_errors
from kraftcheck.kafka.live.artifacts import class_path, version
from kraftcheck.kafka.live.cluster import ClusterError
from kraftcheck.kafka.live.witness.jars import (
    as_of,
    brief_java,
    class_path as witness_path,
    rewritten,
)

Outcome = Mapping[str, Any]
"""case, found, control."""
HERE: Final = Path(__file__).resolve().parent
TABLE: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
"""By script, the cases of its program; and calls that changed (`called`)."""


def run_java(
    java: str | Path, words: Sequence[str], jars: Path | None, entries: Sequence[str] = ()
) -> list[Any]:
    """Run a program against a version of Kafka; give what it says in JSON.

    java: its file, seen from this folder. words: its arguments. jars: what comes before Kafka's.
    entries: of the class path, beside the broker's jars. Raises ClusterError: it failed.
    """
    program_file = HERE / java
    text = as_of(version(), program_file.read_text(encoding="utf-8"))
    for each in TABLE["called"]:
        text = rewritten(version(), text, each["since"], each["before"], each["now"])
    path = ":".join([class_path(jars), *entries])
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder:
        source = Path(folder) / program_file.name
        source.write_text(text, encoding="utf-8")
        options = [f"-Djava.io.tmpdir={folder}", "-cp", path]
        call = [*brief_java(), *options, str(source), *words]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"{program_file.name}: {' '.join(done.stderr.split())[-300:]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(("{", "[{"))]


def runs(
    java: str | Path, cases: Sequence[str], jars: Path | None, *words: str
) -> Iterator[tuple[str, Any]]:
    """The cases, each with what came of it. words: before them. The rest as `run_java` has it."""
    lines = run_java(java, [*words, *cases], jars)
    if len(lines) != len(cases):
        raise ClusterError(f"{Path(java).name}: {len(lines)} cases of {len(cases)}")
    return zip(cases, lines, strict=True)


def outcomes(script: str, jars: Path | None = None) -> list[Outcome]:
    """Of each case of a script, what came out and what its control gives.

    jars: what comes before Kafka's. Raises ClusterError: the program failed.
    """
    own = TABLE[script]
    entries = witness_path(version()).entries if own.get("witness") else ()
    found = run_java(own["java"], [], jars, entries)
    if [each["case"] for each in found] != [*own["cases"]]:
        raise ClusterError(f"{own['java']}: other cases than {', '.join(own['cases'])}")
    return found


def compared(script: str, says: str) -> click.Command:
    """The command of a script whose cases have a control each; it ends with 1 if any differs."""

    @click.command(help=says)
    @click.option("--repeat", type=click.IntRange(1), default=1, show_default=True)
    @JARS
    @click_errors(script)
    def main(repeat: int, jars: Path | None) -> None:
        turns = [outcomes(script, jars) for _ in range(repeat)]
        for each in zip(*turns, strict=True):
            found, control = ({run[name] for run in each} for name in ("found", "control"))
            differs = sum(run["found"] != run["control"] for run in each)
            text = f"{TABLE[script]['cases'][each[0]['case']]}: {found}, control {control}"
            click.echo(f"{text}; otherwise in {differs} of {repeat} runs")
        sys.exit(int(any(each["found"] != each["control"] for turn in turns for each in turn)))

    return main
