"""Verbs on a real Apache Kafka: run it, inject faults, and record what clients see."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kraftcheck.screen import Screen
from kraftcheck.verbs.options import FOLDER, PAGE, Real, Renamed, judged, renaming, shown


@click.group()
def cluster() -> None:
    """Run a real Apache Kafka cluster on this machine, with faults.

    \b
    Example: kraftcheck cluster up --dir runs/cluster
    """


CLUSTER_OPTION = click.option(
    "--dir",
    "folder",
    type=FOLDER,
    default=Path("runs/cluster"),
    show_default=True,
    help="The folder of the cluster.",
)


@cluster.command("fetch")
@shown
def cluster_fetch(**options: Any) -> int:
    """Fetch Apache Kafka once, and check every jar against its known hash.

    \b
    Example: kraftcheck cluster fetch
    """
    from kraftcheck.kafka import clusters as work

    return work.fetch(**options)


@cluster.command("up", cls=renaming({"--islands": "--namespaces"}))
@CLUSTER_OPTION
@click.option(
    "--layout",
    type=Renamed(["combined", "isolated", "one-controller", "changing"], {"apart": "isolated"}),
    default="combined",
    show_default=True,
    help="combined: three nodes of both roles; isolated: three brokers and three controllers; "
    "one-controller: three brokers; changing: four brokers, and controllers that may change.",
)
@click.option(
    "--namespaces",
    "islands",
    is_flag=True,
    help="Give each node its own network namespace (needs root).",
)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A broker's setting.")
@shown
def cluster_up(**options: Any) -> int:
    """Fetch Kafka if necessary, format, start, and wait until all nodes have started.

    \b
    Example: kraftcheck cluster up --layout isolated --set broker.session.timeout.ms=6000
    """
    from kraftcheck.kafka import clusters as work

    return work.up(**options)


@cluster.command("down")
@CLUSTER_OPTION
@shown
def cluster_down(**options: Any) -> int:
    """Stop the nodes of the folder, and remove their data.

    \b
    Example: kraftcheck cluster down
    """
    from kraftcheck.kafka import clusters as work

    return work.down(**options)


@cluster.command("status")
@CLUSTER_OPTION
@shown
def cluster_status(**options: Any) -> int:
    """Print which nodes run or are paused, and which links are cut.

    \b
    Example: kraftcheck cluster status --json
    """
    from kraftcheck.kafka import clusters as work

    return work.status(**options)


def _cluster_verb(verb: str, said: str) -> None:
    """One way to treat nodes of the cluster, as a verb of its own."""

    @cluster.command(verb, help=f"{said}\n\n\b\nExample: kraftcheck cluster {verb} n1")
    @click.argument("names", metavar="NODE...", nargs=-1, required=True)
    @CLUSTER_OPTION
    @shown
    def treat(names: tuple[str, ...], **options: Any) -> int:
        from kraftcheck.kafka import clusters as work

        return work.act(verb=verb, names=names, **options)


_cluster_verb("start", "Start nodes that are down.")
_cluster_verb("stop", "Stop nodes as an operator would (SIGTERM): leaders hand on first.")
_cluster_verb("kill", "Kill nodes (SIGKILL): what they had written stays.")
_cluster_verb("pause", "Stop nodes in their tracks (SIGSTOP); their connections stay.")
_cluster_verb("resume", "Let paused nodes go on.")
_cluster_verb("partition", "Cut the first node off the others named, or off all.")


@cluster.command("heal")
@CLUSTER_OPTION
@shown
def cluster_heal(**options: Any) -> int:
    """Heal all cut links.

    \b
    Example: kraftcheck cluster heal
    """
    from kraftcheck.kafka import clusters as work

    return work.act(verb="heal", names=(), **options)


@click.command(cls=renaming({"--faults": "--inject"}))
@click.option("--bootstrap", metavar="HOST:PORT", help="Address of any cluster.")
@click.option(
    "--cluster",
    "folder",
    metavar="DIR",
    type=FOLDER,
    help="The folder of a cluster that `cluster up` started.",
)
@click.option(
    "--workload",
    type=click.Choice(["log", "groups", "shares", "transactions"]),
    default="log",
    show_default=True,
    help="What clients do. log: consumers read all partitions; groups: they share them; "
    "shares: they are a share group (--client java); transactions: producers are transactional.",
)
@click.option(
    "--client",
    type=click.Choice(["confluent-kafka", "kafka-python", "java"]),
    default="confluent-kafka",
    show_default=True,
    help="The clients' library. java: Apache Kafka's own producers, with an epoch for each "
    "transaction (KIP-890), and librdkafka's consumers; alone with share groups (KIP-932).",
)
@click.option(
    "--api-version",
    metavar="X.Y",
    help="For kafka-python: the brokers' version, if it cannot detect it.",
)
@click.option("--topic", default="kraftcheck", show_default=True)
@click.option(
    "--existing-topic",
    is_flag=True,
    help="Write into an existing topic, after its records, with its own settings.",
)
@click.option("--partitions", type=click.IntRange(1, 1000), default=1, show_default=True)
@click.option("--replication-factor", type=click.IntRange(1), default=3, show_default=True)
@click.option("--min-insync-replicas", type=click.IntRange(1), default=2, show_default=True)
@click.option("--unclean-election", is_flag=True, help="Allow unclean elections of the topic.")
@click.option("--acks", type=click.Choice(["0", "1", "all"]), default="all", show_default=True)
@click.option("--idempotent/--no-idempotent", default=True, show_default=True)
@click.option(
    "--retries/--no-retries", default=True, help="Without idempotence: whether producers retry."
)
@click.option("--producers", type=click.IntRange(1), default=2, show_default=True)
@click.option("--consumers", type=click.IntRange(0), default=2, show_default=True)
@click.option("--time", "seconds", type=Real(0.1), default=30.0, show_default=True)
@click.option(
    "--inject",
    "faults",
    multiple=True,
    type=click.Choice(
        [
            *("kill", "stop", "pause", "partition", "power", "last", "last-power"),
            *("voter", "move", "recreate", "member-kill", "member-pause"),
        ]
    ),
    help="Kinds of faults; may be repeated. power: a kill that loses what was not flushed; last: "
    "of the last replica in sync; voter, move, recreate: a controller leaves the voters, replicas "
    "move, a topic beside is deleted; member-kill, member-pause: of a group's members; later all "
    "is as it was.",
)
@click.option(
    "--fault-command",
    default="",
    metavar="COMMAND",
    help="For any cluster: a command called with `start N`, later with `stop N`.",
)
@click.option(
    "--config",
    multiple=True,
    metavar="KEY=VALUE",
    help="A property of all clients, as librdkafka names it (TLS, SASL, ...); may be repeated.",
)
@click.option(
    "--config-file",
    "config_files",
    multiple=True,
    type=FOLDER,
    help="A file of such properties, one a line.",
)
@click.option("--rate", type=Real(0.1), help="Records a second from each producer.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the faults.")
@click.option("--observe", is_flag=True, help="Also record every broker's state, for `conform`.")
@click.option("--out", type=FOLDER, required=True, help="The folder for the history.")
@shown
def record(
    bootstrap: str | None, folder: Path | None, out: Path, screen: Screen, **plan: Any
) -> int:
    """Record what clients of a real cluster see, under faults.

    \b
    Example: kraftcheck record --cluster runs/cluster --inject kill --out runs/recorded
    Example: kraftcheck record --bootstrap HOST:9093 --config-file client.properties --out runs/own
    """
    from kraftcheck.kafka import clusters as work

    if plan["min_insync_replicas"] > plan["replication_factor"]:
        raise click.UsageError("--min-insync-replicas is above --replication-factor")
    if plan["workload"] == "transactions" and (plan["acks"] != "all" or not plan["idempotent"]):
        raise click.UsageError("--workload transactions needs --acks all, and idempotence")
    if plan["workload"] == "shares" and plan["client"] != "java":
        raise click.UsageError("--workload shares needs --client java, which has share groups")
    if plan["acks"] != "all":
        plan["idempotent"] = False
    plan["make_topic"] = not plan.pop("existing_topic")
    return work.record(bootstrap, folder, out, plan, screen)


@click.command()
@click.option("--out", type=FOLDER, required=True, help="The file to write, or a folder for it.")
@click.option(
    "--librdkafka",
    "library",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Build a plugin for this librdkafka in place of the jar.",
)
@shown
def interceptor(**options: Any) -> int:
    """Build the jar that records any Java application.

    Maven compiles it. The properties that clients need are printed. `check` judges the file that
    the jar writes (docs/interceptor.md). With --librdkafka, the C compiler builds a plugin that
    records clients of librdkafka.

    \b
    Example: kraftcheck interceptor --out kraftcheck-interceptor.jar
    Example: kraftcheck interceptor --librdkafka /usr/lib/librdkafka.so.1 --out recorder.so
    """
    from kraftcheck.kafka import clusters as work

    return work.interceptor(**options)


@click.command("disk")
@click.argument("folders", metavar="DIR...", type=FOLDER, nargs=-1, required=True)
@click.option("--topic", multiple=True, help="Only this topic; may be repeated.")
@click.option("--html", type=PAGE, help="A file for a page that draws the logs.")
@judged
def disk(folders: tuple[Path, ...], **options: Any) -> int:
    """Check the logs on brokers' disks.

    Logs are checked with their indexes, epochs, transactions and producers. DIR is a log directory
    of a broker, or the directory of one partition. Replicas of a partition are compared. Nothing is
    written.

    \b
    Example: kraftcheck disk /var/lib/kafka/data
    """
    from kraftcheck import api

    return api.disk(*folders, **options).exit_code
