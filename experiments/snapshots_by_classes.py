"""Z110 to Z112, Z122, Z125, Z126, Z128 on Kafka's own classes: what a snapshot, or a cut, comes to.

    .venv/bin/python -m experiments.snapshots_by_classes [--repeat N] [--jars DIR]

FromSnapshots.java gives classes of Apache Kafka, unpatched, a snapshot where they most often have
records, or a record right behind one, or below a tail that was cut, or a set of voters behind
records that wait; each case has its control.

Ends with 1 if any comes out otherwise than its control, with 0 if none does, with 3 if it could not
be tried.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from experiments.by_classes import Outcome, outcomes, tell
from experiments.tools import JARS, click_errors
from kraftcheck.kafka.live.artifacts import version
from kraftcheck.kafka.live.witness.jars import class_path

CASES: Final = {
    "left": "Z125: partitions that the broker is told it has left",
    "kept": "Z126: partitions that are told again, though nothing has changed",
    "reverted": "Z128: records that a controller has, which it had before it led",
    "voters": "Z111: voters that are known after the cut",
    "tail": "Z110: voters that are known of two, which came where a tail was cut",
    "held": "Z112: batches that the log can have, of two, the second a set of voters",
    "parted": "Z122: logs that begin where a snapshot ends that was downloaded",
}


def from_snapshots(jars: Path | None = None) -> list[Outcome]:
    return outcomes("FromSnapshots.java", CASES, jars, class_path(version()).entries)


@click.command()
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True)
@JARS
@click_errors("snapshots_by_classes")
def main(repeat: int, jars: Path | None) -> None:
    """Try what classes make of a snapshot, or of a cut, and of the record behind one."""
    tell(CASES, from_snapshots, repeat, jars)


if __name__ == "__main__":
    main()
