"""Z163 on Kafka's own log, without a cluster: does a marker that comes again take a guard away?

    .venv/bin/python -m experiments.guard_by_classes [--repeat N]

LateMarker.java drives UnifiedLog of Apache Kafka, unpatched: a transaction's first batch is
verified and appended, and the marker of an earlier transaction comes again meanwhile, or is a
control. Each case has its expected end here; only in the first is a batch refused.

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

from experiments.by_classes import said
from experiments.tools import click_errors
from live.cluster import ClusterError

REFUSAL: Final = "InvalidTxnStateException"
AMID: Final = "amid"
CONTROLS: Final = {
    "never": "it does not come again",
    "before": "it comes again before the batch is verified",
    "next": "the batch is of the transaction right after the marker's (KAFKA-18575)",
    "used": "the partition had a part in the transaction between",
}


def runs(times: int, changed: Path | None = None) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The cases, each so many times, with what became of each append.

    changed: a folder with classes that take the place of Kafka's. Raises
    ClusterError: the program failed.
    """
    cases = [AMID, *CONTROLS] * times
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder:
        lines = said("LateMarker.java", [folder, *cases], changed)
    if len(lines) != len(cases):
        raise ClusterError(f"LateMarker: {len(lines)} cases of {len(cases)}")
    return zip(cases, lines, strict=True)


@click.command()
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True)
@click_errors("guard_by_classes")
def main(repeat: int) -> None:
    """Try whether the marker of an earlier transaction takes a later one's guard away."""
    refused = Counter[str]()
    for turn, (case, steps) in enumerate(runs(repeat)):
        refused[case] += steps[-1]["came"] == REFUSAL
        for step in steps if turn == 0 else ():
            click.echo(f"         {step['what']}, epoch {step['epoch']}: {step['came']}")
    click.echo(f"refused in {refused[AMID]} of {repeat} runs")
    for case, what in CONTROLS.items():
        click.echo(f"refused in {refused[case]} of {repeat} runs: {what}")
    if any(refused[case] for case in CONTROLS):
        raise ClusterError("a control is refused: nothing is shown")
    sys.exit(int(refused[AMID] > 0))


if __name__ == "__main__":
    main()
