"""Verbs on what clients saw: whether it is consistent, and in which format it is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from kraftcheck.screen import Screen
from kraftcheck.verbs.options import FOLDER, MASTER, Real, lines, renaming, shown

FORMATS = (
    *("auto", "clients", "columns", "jepsen", "jsonlines", "knossos", "loglines", "parquet"),
    *("porcupine", "records", "verifiable"),
)
FORMAT = click.option(
    "--format",
    type=click.Choice(FORMATS),
    default="auto",
    show_default=True,
    help="Format of the histories; auto detects it for each file.",
)
PROMISED = (
    click.option("--acks", type=click.Choice(["0", "1", "all"]), help="Acks of the producers."),
    click.option(
        "--idempotent/--no-idempotent",
        default=None,
        help="Whether producers are idempotent; otherwise a retry may append a copy.",
    ),
    click.option("--transactional", is_flag=True, help="Some producers are transactional."),
    click.option(
        "--late-requests",
        is_flag=True,
        help="Transactional producers use TV1 and continue after a request without a response.",
    ),
    click.option(
        "--isolation",
        type=click.Choice(["read_uncommitted", "read_committed"]),
        help="Isolation level of the consumers.",
    ),
    click.option(
        "--compaction",
        type=click.Choice(["none", "keys-unknown", "keyed"]),
        help="The topic is compacted; keyed: each value is a pair [key value].",
    ),
    click.option(
        "--reads",
        type=click.Choice(["leader", "follower", "any"]),
        help="The replica that serves reads; follower: one for each consumer.",
    ),
    click.option(
        "--faults",
        type=click.Choice(["none", "clean", "lossy", "unclean"]),
        help="What went wrong: clean moves the leader and cuts the network, lossy loses what was"
        " not flushed, unclean elects from outside the ISR.",
    ),
    click.option("--elr/--no-elr", default=None, help="Eligible leader replicas (KIP-966)."),
    click.option(
        "--min-insync-replicas", type=click.IntRange(1), help="The topic's min.insync.replicas."
    ),
    click.option(
        "--complete/--no-complete",
        default=None,
        help="Whether consumers read every partition to its end. If so, an acknowledged record that"
        " nobody read is lost; if not, it is ignored. By default it makes the verdict unknown.",
    ),
)
"""Default to what is recorded beside the history, else to Kafka's own, with nothing gone wrong."""


def promised(verb: Callable[..., int]) -> Callable[..., int]:
    """Gives a verb the options that say what was promised of partition logs."""
    for option in reversed(PROMISED):
        verb = option(verb)
    return verb


RUN = click.option("--run", type=click.IntRange(0), help="Only this run of a trace.")


@click.command(cls=renaming({"--at-least-once": "--no-idempotent"}))
@click.argument("paths", metavar="PATH...", type=FOLDER, nargs=-1, required=True)
@FORMAT
@click.option(
    "--model",
    default="auto",
    show_default=True,
    help="Model of the history: register, cas-register, kv, counter, set, queue,"
    " unordered-queue, list-append, mutex, multi-register, multi-list, partition-log, or your own"
    " as module:Class; or a property: bank, bank-negative, set-full, unique-ids, total-queue,"
    " comments.",
)
@click.option(
    "--level",
    "--consistency",
    "level",
    help="Check against this level in place of the guarantee: for partition logs a level,"
    " for transactions over lists and registers a consistency model (strict-serializable).",
)
@promised
@click.option(
    "--budget",
    type=Real(0.001),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Time limit of the search for each object; after it the verdict is unknown.",
)
@click.option(
    "--failed-cas",
    type=click.Choice(["compared", "unknown"]),
    help="A failed compare-and-set found another value (compared), or perhaps never ran (unknown)."
    " Default: compared in log lines, unknown elsewhere.",
)
@click.option(
    "--initial",
    metavar="VALUE",
    help="First value of registers, or total of a bank; as EDN.",
)
@RUN
@click.option("--html", type=FOLDER, help="A folder for one page of each history.")
@MASTER
@lines
def check(paths: tuple[Path, ...], screen: Screen, **options: Any) -> int:
    """Check client histories against what Kafka guarantees.

    \b
    Example: kraftcheck check traces/samples/histories --faults clean --html runs/pages
    """
    from kraftcheck import api

    return api.check(*paths, screen=screen, **options).exit_code


@click.command()
@click.argument("path", metavar="PATH", type=FOLDER)
@click.option(
    "--to",
    type=click.Choice(["columns", "jepsen", "jsonlines", "parquet", "shiviz"]),
    required=True,
    help="The format to write.",
)
@click.option("--out", type=FOLDER, required=True, help="The file to write.")
@FORMAT
@RUN
@shown
def convert(**options: Any) -> int:
    """Write a client history in another format.

    \b
    Example: kraftcheck convert runs/Z01 --run 7 --to shiviz --out runs/Z01-7.log
    """
    from kraftcheck import convert as work

    return work.convert(**options)
