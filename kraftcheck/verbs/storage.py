"""Verbs on the storage engine: judged by what crashes leave, and by Kafka's own classes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from kraftcheck.screen import Screen
from kraftcheck.verbs.options import BUG, RULES, SEED, judged


@click.group()
def storage() -> None:
    """Check what crashes leave of a log on disk.

    \b
    Example: kraftcheck storage crash --states 10000
    """


@storage.command()
@click.option(
    "--states",
    type=click.IntRange(1),
    default=2000,
    show_default=True,
    help="Number of states to check.",
)
@click.option("--as-kafka", is_flag=True, help="Use the decisions of Apache Kafka 4.3.1.")
@click.option(
    "--mode",
    type=click.Choice(("ordered", "free")),
    default="ordered",
    show_default=True,
    help="After a crash a prefix of the renames is durable (ordered), or any subset (free).",
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
    """Start from what crashes and failing disks leave, and check the recovery.

    \b
    Example: kraftcheck storage crash --states 10000
    """
    from kraftcheck import storage as work

    return work.crash(states, seed, as_kafka, mode, bug, rules, screen)


@storage.command()
@click.option(
    "--histories",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Number of histories.",
)
@click.option(
    "--crashes",
    type=click.IntRange(0),
    default=5,
    help="Number of crashes to recover from in each history.",
)
@SEED
@judged
def kafka(histories: int, seed: int, crashes: int, screen: Screen) -> int:
    """Compare the engine with Kafka's log: equal states, and equal bytes.

    \b
    Example: kraftcheck storage kafka --histories 2000
    """
    from kraftcheck import storage as work

    return work.kafka(histories, seed, crashes, screen)
