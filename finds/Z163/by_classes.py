"""Z163 and Z188 on Kafka's own log, without a cluster: does what comes late take a guard away?

    .venv/bin/python -m finds.Z163.by_classes [--repeat N]

LateMarker.java drives UnifiedLog of Apache Kafka, unpatched: a transaction's first batch is
verified and appended, and meanwhile the marker of an earlier transaction comes again (Z163), or the
first batch of the one before (Z188), or it is a control. Two cases beside these show guards that
Kafka has, and mutants of the kit have not (Z247, Z248).

Ends with 1 if the batch of the later transaction is refused, with 0 if it is not, with 3 if it
could not be tried, or a control came out otherwise.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from experiments import by_classes
from experiments.tools import click_errors
from kraftcheck.kafka.live.cluster import ClusterError

LATE_MARKER: Final = Path(__file__).resolve().with_name("LateMarker.java")
REFUSAL: Final = "InvalidTxnStateException"
FINDS: Final = {
    "amid": "Z163: the marker of an earlier transaction comes again",
    "overtaken": "Z188: a batch comes late of the transaction before, which is being aborted",
}
OUT_OF_ORDER: Final = "OutOfOrderSequenceException"
SEQUENCES: Final = {
    "second": "Z247 without: the second batch of a transaction comes before the first",
    "higher": "Z248 without: a batch is verified before a lower one (version 1)",
}
IN_SEQUENCE: Final = {"first": "the first batch", "alone": "no lower batch has come"}
CONTROLS: Final = {
    "never": "it does not come again",
    "before": "it comes again before the batch is verified",
    "next": "the batch is of the transaction right after the marker's (KAFKA-18575)",
    "used": "the partition had a part in the transaction between",
    "in-turn": "the late batch comes before the next transaction's is verified",
}


def runs(times: int, changed: Path | None = None) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The cases, each so many times, with what became of each append."""
    cases = [*FINDS, *CONTROLS, *SEQUENCES, *IN_SEQUENCE] * times
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder:
        return by_classes.runs(LATE_MARKER, cases, changed, folder)


@click.command()
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True)
@click_errors("Z163 by_classes")
def main(repeat: int) -> None:
    """Try whether what comes late of a transaction takes a later one's guard away."""
    refused, out_of_order = Counter[str](), Counter[str]()
    for turn, (case, steps) in enumerate(runs(repeat)):
        refused[case] += steps[-1]["came"] == REFUSAL
        out_of_order[case] += steps[-1]["came"] == OUT_OF_ORDER
        for step in steps if turn < len(FINDS) else ():
            click.echo(f"         {step['what']}, epoch {step['epoch']}: {step['came']}")
    for case, what in {**FINDS, **CONTROLS}.items():
        click.echo(f"refused in {refused[case]} of {repeat} runs: {what}")
    for case, what in {**SEQUENCES, **IN_SEQUENCE}.items():
        click.echo(f"out of order in {out_of_order[case]} of {repeat} runs: {what}")
    if any(out_of_order[case] for case in IN_SEQUENCE):
        raise ClusterError("a batch that is in sequence is refused")
    if any(refused[case] for case in CONTROLS):
        raise ClusterError("a control is refused: nothing is shown")
    sys.exit(int(any(refused[case] for case in FINDS)))


if __name__ == "__main__":
    main()
