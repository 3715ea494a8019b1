"""Verbs on Kafka's own classes: driven by our schedules, and judged."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from kraftcheck.verbs.models import SPECS_OPTION
from kraftcheck.verbs.options import FOLDER, JAR, PAGE, RUNS, SEED, THERE, judged, renaming

DIFFERENTIAL = click.option(
    "--differential",
    is_flag=True,
    help="Compare each step with the reference; TLC checks only differing steps.",
)


class _Witnesses(click.Group):
    """Beside its own verbs it has one for each protocol whose steps classes of Kafka take.

    Which those are is asked late: --protocol comes before.
    """

    def list_commands(self, context: click.Context) -> list[str]:
        from kraftcheck.kafka.witness.kafka import witnessed

        return sorted([*super().list_commands(context), *witnessed()])

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        from kraftcheck.kafka.witness.kafka import witnessed

        protocol = witnessed().get(name)
        return super().get_command(context, name) if protocol is None else _by_chance(protocol)


@click.group(cls=_Witnesses)
def witness() -> None:
    """Drive Apache Kafka's own classes, and check every step.

    \b
    Example: kraftcheck witness quorum --runs 30 --out runs/witness
    """


def kafka(verb: Callable[..., int]) -> Callable[..., int]:
    """Gives a verb the options that say which classes are driven, as one Kafka."""

    @click.option(
        "--kafka", "version", metavar="VERSION", help="Version of Apache Kafka; default: 4.3.1."
    )
    @click.option("--jars", type=FOLDER, help="Your own jars or classes, before the release's.")
    @click.option(
        "--as",
        "profile",
        metavar="NAME",
        default="",
        help="The profile to allow; default: that of the version; specs: none.",
    )
    @click.option(
        "--log",
        type=click.Choice(["files", "memory"]),
        default="files",
        show_default=True,
        help="A voter's log: Kafka's, or that of its tests.",
    )
    @wraps(verb)
    def wrapped(
        version: str | None, jars: Path | None, profile: str, log: str, **options: Any
    ) -> int:
        from kraftcheck.kafka.live.witness.jars import DEFAULT
        from kraftcheck.kafka.witness.kafka import Kafka

        return verb(kafka=Kafka(version or DEFAULT, jars, profile, log == "files"), **options)

    return wrapped


def _by_chance(protocol: Any) -> click.Command:
    """The verb that drives the classes which take a protocol's steps."""
    name, nodes, classes = protocol.name, protocol.alike, protocol.witness
    example = f"Example: kraftcheck witness {name} --runs 300"

    @click.command(
        name,
        cls=renaming({"--set": "--option"}),
        help=f"""Drive Kafka's {name} by chance: {classes.classes}.

        \b
        {example} --seed 7 --out runs/witness
        {example} --jars build/my-kafka --out runs/my-kafka
        """,
    )
    @click.option("--runs", type=RUNS, required=True, help="Number of runs.")
    @SEED
    @click.option("--moves", type=RUNS, default=300, show_default=True, help="Moves of each run.")
    @click.option(
        f"--{nodes}",
        "nodes",
        type=click.IntRange(classes.fewest, classes.most),
        default=classes.usual,
        show_default=True,
        help=f"Number of {nodes}.",
    )
    @click.option(
        "--option",
        "given",
        multiple=True,
        metavar="NAME=VALUE",
        help="An option of all runs, as in a schedule, such as version=1; may be repeated.",
    )
    @click.option("--out", type=FOLDER, required=True, help="The folder for steps and findings.")
    @DIFFERENTIAL
    @kafka
    @JAR
    @judged
    def by_chance(kafka: Any, given: tuple[str, ...], **options: Any) -> int:
        from kraftcheck.kafka.witness import driving
        from kraftcheck.kafka.witness.kafka import driver, given_options

        options |= {"given": given_options(given)}
        return driving.by_chance(driver(name, name).component(kafka), kafka=kafka, **options)

    return by_chance


@witness.command("replay")
@click.argument("path", metavar="FILE", type=THERE)
@click.option("--out", type=FOLDER, help="A folder for steps and findings.")
@DIFFERENTIAL
@kafka
@JAR
@judged
def witness_replay(path: Path, kafka: Any, **options: Any) -> int:
    """Follow a schedule of moves: of the corpus, a bug, TLC, or a refused run.

    \b
    Example: kraftcheck witness replay runs/witness/run-7.moves
    """
    from kraftcheck.kafka.witness import replaying

    component, script = _scheduled(path, kafka)
    return replaying.replay(component, script, path, kafka=kafka, **options)


@witness.command("shrink")
@click.argument("path", metavar="FILE", type=THERE)
@click.option("--out", type=FOLDER, help="The smaller schedule; default: FILE.small.moves.")
@click.option("--attempts", type=click.IntRange(1), default=500, show_default=True)
@click.option(
    "--junit-test",
    type=PAGE,
    metavar="FILE.java",
    help="Of a quorum or partition: also write a JUnit test over Kafka's own test context.",
)
@kafka
@JAR
@judged
def witness_shrink(path: Path, kafka: Any, **options: Any) -> int:
    """Make a schedule small on which Kafka fails, and save it.

    What remains violates the same property, or has a step of the same action refused. If the
    profile allows all, its bugs are not allowed: so known bugs are made small, too.

    \b
    Example: kraftcheck witness shrink runs/witness/run-7.moves
    """
    from kraftcheck.kafka.witness import shrinking

    component, script = _scheduled(path, kafka)
    return shrinking.shrink(component, script, path, kafka=kafka, **options)


def _scheduled(path: Path, kafka: Any) -> tuple[Any, Any]:
    """What drives the classes that a schedule moves, and the schedule."""
    from kraftcheck.kafka.witness import replaying

    return replaying.scheduled(path, kafka)


@witness.command("bugs")
@click.argument("names", metavar="PROTOCOL|FILE...", nargs=-1, required=True)
@click.option(
    "--out", type=FOLDER, required=True, help="The folder for steps, witness.json and schedules.md."
)
@DIFFERENTIAL
@kafka
@JAR
@judged
def witness_bugs(names: tuple[str, ...], **options: Any) -> int:
    """Follow every stored schedule of a protocol's bugs, or those of files, on Kafka.

    Say which of the bugs Kafka has.

    
    Example: kraftcheck witness bugs partition --out runs/bugs
    Example: kraftcheck witness bugs tests/corpus/tlc-Z7*.schedule --out runs/bugs
    """
    from kraftcheck.kafka.witness import replaying

    return replaying.bugs(names, **options)


@witness.command("cover")
@click.argument("names", metavar="[GRAPH]...", nargs=-1)
@click.option("--tier", "tiers", multiple=True, help="A tier of graphs; may be repeated.")
@click.option(
    "--out", type=FOLDER, help="A folder for witness.json and, by graph, the edges not taken."
)
@click.option(
    "--mutants",
    type=click.IntRange(-1),
    default=1000,
    show_default=True,
    help="Number of mutated messages to attempt besides all that may arrive; for a controller "
    "only, because it can be brought to any row; -1: check no refusals.",
)
@SPECS_OPTION
@kafka
@JAR
@judged
def witness_cover(specs: Path, names: list[str], tiers: list[str], **options: Any) -> int:
    """Take Kafka through every edge of TLC's graphs, and explain missing ones.

    \b
    Example: kraftcheck witness cover quorum-few-votes quorum-handover
    """
    from kraftcheck.kafka.witness.kafka import graphs

    found, chosen = graphs(specs, names, tiers)
    return int(found.cover(chosen, specs, **options))


@witness.command("versions")
@click.option(
    "--kafka", "releases", metavar="VERSION", multiple=True, help="A release; default: all known."
)
@click.option(
    "--runs", type=RUNS, default=6, show_default=True, help="Number of runs of each kind."
)
@SEED
@click.option("--moves", type=RUNS, default=120, show_default=True, help="Moves of each run.")
@click.option(
    "--out", type=FOLDER, required=True, help="The folder for steps, versions.json and versions.md."
)
@JAR
@judged
def witness_versions(**options: Any) -> int:
    """Compare releases of Kafka: differing steps, and the finds of each.

    \b
    Example: kraftcheck witness versions --seed 1 --out runs/versions
    """
    from kraftcheck.kafka.witness.releases import beside

    return beside(**options)
