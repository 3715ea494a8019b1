"""What Kafka's log manager makes, at a start, of a replica that has two directories.

    .venv/bin/python -m experiments.directories_by_classes [--repeat N] [--jars DIR]

Directories.java drives LogManager of Apache Kafka, unpatched; each case has its control.

Ends with 1 if any comes out otherwise than its control, with 0 if none does, with 3 if it could not
be tried.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from experiments.by_classes import Outcome, outcomes, tell
from experiments.tools import JARS, click_errors

CASES: Final = {
    "abandoned": "a replica of ten records whose future log, of six, is the assigned one (Z301)",
    "unassigned": "a replica of ten records in an offline directory, which counts as new (Z137)",
}


def run_cases(jars: Path | None = None) -> list[Outcome]:
    return outcomes("Directories.java", CASES, jars)


@click.command()
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True)
@JARS
@click_errors("directories_by_classes")
def main(repeat: int, jars: Path | None) -> None:
    """Try what a start makes of a replica that has two directories."""
    tell(CASES, run_cases, repeat, jars)


if __name__ == "__main__":
    main()
