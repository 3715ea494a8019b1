"""Verbs on the storage engine: judged by what crashes leave, and by Kafka's own classes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from kraftcheck.screen import Screen
from kraftcheck.verbs.options import BUG, RULES, SEED, judged


@click.group()
def storage() -> None:
    """What crashes leave of a log on disk, and what Kafka does.

    \b
    Example: kraftcheck storage crash --states 10000
    """


@storage.command()
@click.option(
    "--states", type=click.IntRange(1), default=2000, show_default=True, help="How many are judged."
)
@click.option("--as-kafka", is_flag=True, help="Decide as Apache Kafka 4.3.1 does.")
@click.option(
    "--mode",
    type=click.Choice(("ordered", "free")),
    default="ordered",
    show_default=True,
    help="Of changes of names a prefix has happened, or any of them.",
)
@SEED
@BUG
@RULES
@judged
def crash(
    states: int,
    seed: int,
    as_kafka: bool,
    mode: Literal["ordered", "free"],
    bug: str | None,
    rules: Path | None,
    screen: Screen,
) -> int:
    """Start from what crashes and failing disks leave, and judge what was recovered.

    \b
    Example: kraftcheck storage crash --states 10000
    """
    from kraftcheck import storage as work

    return work.crash(states, seed, as_kafka, mode, bug, rules, screen)


@storage.command()
@click.option(
    "--histories", type=click.IntRange(1), default=100, show_default=True, help="How many."
)
@click.option(
    "--crashes", type=click.IntRange(0), default=5, help="Of each history so many are recovered."
)
@SEED
@judged
def kafka(histories: int, seed: int, crashes: int, screen: Screen) -> int:
    """The same operations on the engine and on Kafka's log: equal states, and equal bytes.

    \b
    Example: kraftcheck storage kafka --histories 2000
    """
    from kraftcheck import storage as work

    return work.kafka(histories, seed, crashes, screen)
