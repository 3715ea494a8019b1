"""Z416 on Kafka's own share partition: a late acknowledgement has no error, and is not stored.

    .venv/bin/python -m experiments.late_acknowledgement [--repeat N] [--jars DIR]

Two members hold a record each, and it is the last delivery of both. The lock of the first runs out:
its record is archived, and the write of that fails. Then the first member acknowledges it. It is
told that its acknowledgement is late, as it should be; but not if the other member's has moved the
start offset past both records. The next leader hands the record out again, as its first delivery.

The control: the other member's acknowledgement is not answered yet, so the start offset has not
moved.

Two more cases, which lose nothing: the log start passes all that is cached while an acknowledgement
is written, and the start offset goes back before it. The control: it is written before.

Ends with 1 if a case comes out otherwise than its control, with 0 if none does, with 3 if it could
not be tried.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from experiments.by_classes import Outcome, outcomes, tell
from experiments.tools import JARS, click_errors

CASES: Final = {
    "late": "an acknowledgement after the lock has run out",
    "returns": "the log start passes all that is cached before an acknowledgement is stored",
    "amid": "the same, amid a fetch",
}


def run_cases(jars: Path | None) -> list[Outcome]:
    return outcomes("LateAcknowledgement.java", CASES, jars)


@click.command()
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True)
@JARS
@click_errors("late_acknowledgement")
def main(repeat: int, jars: Path | None) -> None:
    """Try whether a late acknowledgement gets an error."""
    tell(CASES, run_cases, repeat, jars)


if __name__ == "__main__":
    main()
