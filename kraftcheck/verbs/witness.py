"""Verbs on Kafka's own classes: driven by our schedules, and judged."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from kraftcheck.verbs.models import SPECS_OPTION
from kraftcheck.verbs.options import FOLDER, JAR, RUNS, SEED, THERE, shown


@click.group()
def witness() -> None:
    """Drive Apache Kafka's own classes, and have every step judged (docs/witness.md).

    \b
    Example: kraftcheck witness quorum --runs 30 --out runs/witness
    """


def kafka(verb: Callable[..., int]) -> Callable[..., int]:
    """Gives a verb the options that say which classes are driven, as one Kafka."""

    @click.option("--kafka", "version", metavar="VERSION", help="Of Apache Kafka; default: 4.3.1.")
    @click.option(
        "--jars", type=FOLDER, help="Jars or classes of your own, in place of the release's."
    )
    @click.option(
        "--as",
        "profile",
        metavar="NAME",
        default="",
        help="What else is allowed; default: the profile of the version; specs: nothing.",
    )
    @click.option(
        "--log",
        type=click.Choice(["files", "memory"]),
        help="Kafka's log, or that of its tests; default: Kafka's, where it is Java (4.3).",
    )
    @wraps(verb)
    def wrapped(
        version: str | None, jars: Path | None, profile: str, log: str | None, **options: Any
    ) -> int:
        from kraftcheck.witness.work import Kafka
        from live.witness.jars import DEFAULT, has_log

        chosen = version or DEFAULT
        files = has_log(chosen) if log is None else log == "files"
        return verb(kafka=Kafka(chosen, jars, profile, files), **options)

    return wrapped


@witness.command("quorum")
@click.option("--runs", type=RUNS, required=True, help="How many runs.")
@SEED
@click.option("--moves", type=RUNS, default=300, show_default=True, help="Of each run.")
@click.option(
    "--voters", type=click.IntRange(2, 9), default=3, show_default=True, help="How many voters."
)
@click.option("--out", type=FOLDER, required=True, help="The folder for steps and findings.")
@kafka
@JAR
@shown
def witness_quorum(**options: Any) -> int:
    """Drive a quorum of KafkaRaftClients by chance.

    \b
    Example: kraftcheck witness quorum --runs 300 --seed 7 --out runs/witness
    Example: kraftcheck witness quorum --runs 300 --jars build/my-kafka --out runs/my-kafka
    """
    from kraftcheck.witness import work

    return work.quorum(**options)


@witness.command("replay")
@click.argument("path", metavar="FILE", type=THERE)
@click.option("--out", type=FOLDER, help="A folder for steps and findings.")
@kafka
@JAR
@shown
def witness_replay(path: Path, **options: Any) -> int:
    """Follow a schedule of moves: of the corpus, of a bug, of TLC, of a run that was refused.

    \b
    Example: kraftcheck witness replay runs/witness/run-7.moves
    """
    from kraftcheck.witness import work

    return work.replay(path, **options)


@witness.command("cover")
@click.argument("names", metavar="[GRAPH]...", nargs=-1)
@click.option("--tier", "tiers", multiple=True, help="A tier of graphs; may be repeated.")
@click.option("--out", type=FOLDER, help="A folder for witness.json.")
@SPECS_OPTION
@kafka
@JAR
@shown
def witness_cover(**options: Any) -> int:
    """Have Kafka take every edge of TLC's graphs, and say of each that it does not take why.

    \b
    Example: kraftcheck witness cover quorum-few-votes quorum-handover
    """
    from kraftcheck.witness import work

    return work.cover(**options)
