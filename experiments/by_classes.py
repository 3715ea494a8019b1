"""What Kafka's own classes make of a case and of its control, as a program in Java tells it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from live.artifacts import class_path
from live.cluster import ClusterError
from live.witness.jars import program

Outcome = Mapping[str, Any]
"""case, found, control."""


def outcomes(
    java: str, cases: Mapping[str, str], jars: Path | None, entries: Sequence[str] = ()
) -> list[Outcome]:
    """Of each case, what came out and what its control gives.

    java: a file of this folder, which says one line of JSON for each case. cases: by name, what
    they are. jars: what comes before Kafka's. entries: of the class path, beside the broker's jars.
    Raises ClusterError: it failed.
    """
    path = ":".join([class_path(jars), *entries])
    source = str(Path(__file__).resolve().parent / java)
    words = [program("java"), "-XX:TieredStopAtLevel=1", "-cp", path, source]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or [each["case"] for each in found] != [*cases]:
        raise ClusterError(f"{java}: {' '.join(done.stderr.split())[-300:]}")
    return found


def tell(
    cases: Mapping[str, str],
    of: Callable[[Path | None], list[Outcome]],
    repeat: int,
    jars: Path | None,
) -> NoReturn:
    """Says each case, and ends with 1 if any came out otherwise than its control."""
    runs = [of(jars) for _ in range(repeat)]
    for each in zip(*runs, strict=True):
        found, control = ({run[name] for run in each} for name in ("found", "control"))
        differs = sum(run["found"] != run["control"] for run in each)
        text = f"{cases[each[0]['case']]}: {found}, control {control}"
        click.echo(f"{text}; otherwise in {differs} of {repeat} runs")
    sys.exit(int(any(each["found"] != each["control"] for run in runs for each in run)))
