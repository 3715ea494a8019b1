"""Z111, Z125, Z126, Z128 on Kafka's own classes: what a snapshot of the metadata comes to.

    .venv/bin/python -m experiments.snapshots_by_classes [--repeat N]

FromSnapshots.java gives classes of Apache Kafka, unpatched, a snapshot where they most often have
records, or a record right behind one; each case has its control.

Ends with 1 if any comes out otherwise than its control, with 0 if none does, with 3 if it could not
be tried.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import click

from experiments.tools import click_errors
from live.artifacts import libraries
from live.cluster import ClusterError
from live.witness.jars import class_path, program

FROM_SNAPSHOTS: Final = Path(__file__).resolve().parent / "FromSnapshots.java"
CASES: Final = {
    "left": "Z125: partitions that the broker is told it has left",
    "kept": "Z126: partitions that are told again, though nothing has changed",
    "reverted": "Z128: records that a controller has, which it had before it led",
    "voters": "Z111: voters that are known after the cut",
}


def outcomes() -> list[dict[str, Any]]:
    """Of each case, what came out and what its control gives. Raises ClusterError: it failed."""
    path = ":".join([f"{libraries()}/*", *class_path().entries])
    words = [program("java"), "-XX:TieredStopAtLevel=1", "-cp", path, str(FROM_SNAPSHOTS)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or [each["case"] for each in found] != [*CASES]:
        raise ClusterError(f"FromSnapshots: {' '.join(done.stderr.split())[-300:]}")
    return found


@click.command()
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True)
@click_errors("snapshots_by_classes")
def main(repeat: int) -> None:
    """Try what classes make of a snapshot, and of the record behind one."""
    runs = [outcomes() for _ in range(repeat)]
    for each in zip(*runs, strict=True):
        found, control = ({run[name] for run in each} for name in ("found", "control"))
        differs = sum(run["found"] != run["control"] for run in each)
        text = f"{CASES[each[0]['case']]}: {found}, control {control}"
        click.echo(f"{text}; otherwise in {differs} of {repeat} runs")
    sys.exit(int(any(each["found"] != each["control"] for run in runs for each in run)))


if __name__ == "__main__":
    main()
