"""Z170 on Kafka's own partition: does a fetch of an old leadership count in a later one?

See README.md for the story, the settings and the control.

--unforced N: nobody holds the fetch; it begins beside two changes of leader, one right behind the
other, N times.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import click

from experiments import by_classes
from experiments.tools import JARS, click_errors
from kraftcheck.kafka.live.cluster import ClusterError

OLD_REPLICA: Final = Path(__file__).resolve().with_name("OldReplica.java")
FOLLOWER: Final = 2
BEHIND: Final = "behind"
RACED: Final = "raced"
CONTROLS: Final = {
    "before": "the fetch is noted before the leader stops leading",
    "unasked": "the follower has not fetched in the later leadership",
}


def runs(cases: Sequence[str], jars: Path | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """The cases, with what the leader asked for."""
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder:
        return by_classes.runs(OLD_REPLICA, cases, jars, folder)


def lets_in(came: dict[str, Any]) -> bool:
    """Whether a replica is asked for that lacks what is committed."""
    return FOLLOWER in came["asked"] and came["follower"] < came["highWatermark"]


@click.command()
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True)
@click.option("--unforced", type=click.IntRange(1), help="How often, with nobody held.")
@JARS
@click_errors("Z170 by_classes")
def main(repeat: int, unforced: int | None, jars: Path | None) -> None:
    """Try whether a fetch of an old leadership lets a replica in that lacks what is committed."""
    if unforced:
        count = sum(lets_in(came) for _, came in runs([RACED] * unforced, jars))
        click.echo(f"let in in {count} of {unforced}, with nobody held")
        sys.exit(int(count > 0))
    shown = Counter[str]()
    for turn, (case, came) in enumerate(runs([BEHIND, *CONTROLS] * repeat, jars)):
        shown[case] += lets_in(came)
        if turn == 0:
            click.echo(
                f"         asked for: {came['asked']}; high watermark {came['highWatermark']}, "
                f"replica {FOLLOWER} ends at {came['follower']}"
            )
    click.echo(f"let in in {shown[BEHIND]} of {repeat} runs")
    for case, what in CONTROLS.items():
        click.echo(f"let in in {shown[case]} of {repeat} runs: {what}")
    if any(shown[case] for case in CONTROLS):
        raise ClusterError("a control lets it in: nothing is shown")
    sys.exit(int(shown[BEHIND] > 0))


if __name__ == "__main__":
    main()
