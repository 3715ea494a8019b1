"""Z72, Z75, Z87, Z140, Z200, H10, K6, K10 on Kafka's own classes: what comes late, or all at once.

    .venv/bin/python -m experiments.transactions_by_classes [--repeat N] [--jars DIR]

LateForTransactions.java drives classes of Apache Kafka, unpatched; each case has its control, in
which nothing is late, each transaction has an epoch of its own, or one is copied after the other.

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
    "young": "Z200: a transaction that has just begun, whose predecessor took too long",
    "ended": "Z200: two that took too long, of which one ends by itself",
    "gap": "H10: a commit amid the abort of a transaction that took too long",
    "offsets": "Z87: what a group has after commits of 10 and of 20 in one transaction",
    "marker": "Z75, version 1 and 2: a marker comes again while the next transaction is open",
    "batch": "Z72, version 1 and 2: a batch is let in after the marker of its transaction",
    "bulk": "Z140: the last stable offset by the index, of an abort at 10 with a successor at 11",
    "tombstone": "K6: a producer initialises while an expired id's tombstone waits, in a new epoch",
    "absent": "K6: the same, and nobody initialises",
    "mixed": "K10: the error of a client whose transaction is not there, beside an old client",
}


def late_for_transactions(jars: Path | None = None) -> list[Outcome]:
    return outcomes("LateForTransactions.java", CASES, jars)


@click.command()
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True)
@JARS
@click_errors("transactions_by_classes")
def main(repeat: int, jars: Path | None) -> None:
    """Try what classes make of an end, or of a commit of offsets, that comes late."""
    tell(CASES, late_for_transactions, repeat, jars)


if __name__ == "__main__":
    main()
