"""The verbs: options in, exit code out. What a verb does is in the module of its name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from kraftcheck import artifacts, exits
from kraftcheck.screen import Screen

FOLDER = click.Path(path_type=Path)
THERE = click.Path(path_type=Path, exists=True)
"""For verbs that would otherwise ask for more before they notice that nothing is there."""
RUNS = click.IntRange(1, 10**9)


class Verbs(click.Group):
    """A group whose errors are one line each and whose exit codes are ours (see exits.py)."""

    def main(self, *args: Any, **extra: Any) -> Any:
        extra |= {"standalone_mode": False, "prog_name": extra.get("prog_name") or "kraftcheck"}

        def work() -> int | None:
            code: int | None = super(Verbs, self).main(*args, **extra)
            sys.stdout.flush()
            return code

        sys.exit(exits.guarded(work))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            # Click would exit with 1, which means something else here.
            raise exits.ReaderLeft from error


def shown(verb: Callable[..., int]) -> Callable[..., int]:
    """Gives a verb the options --json and --quiet, as one Screen."""

    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
    @click.option("--quiet", is_flag=True, help="Show no progress.")
    @wraps(verb)
    def wrapped(as_json: bool, quiet: bool, **options: Any) -> int:
        return verb(screen=Screen(json=as_json, quiet=quiet), **options)

    return wrapped


def tools(verb: Callable[..., int]) -> Callable[..., int]:
    """Gives a verb the options that choose the TLC jar and Java."""
    jar = click.option("--jar", help="The TLC jar; default: TLA2TOOLS_JAR, or the bundled one.")
    java = click.option("--java", help="The Java launcher; default: JAVA_HOME, or the one on PATH.")
    return jar(java(verb))


@click.group(
    "kraftcheck",
    cls=Verbs,
    context_settings={"help_option_names": ["--help"], "max_content_width": 99},
)
@click.version_option(artifacts.version(), "--version", message="kraftcheck %(version)s")
def cli() -> None:
    """Verify Kafka-style replicated logs in KRaft mode: specs, simulation, conformance.

    Exit codes: 0 holds, 1 violated, 2 unknown, 3 bad input.

    \b
    Example: kraftcheck verify --out runs/verify
    """


# -- spec


@cli.group()
def spec() -> None:
    """Check the TLA+ models, or list them.

    \b
    Example: kraftcheck spec check --tier small
    """


SPECS_OPTION = click.option(
    "--specs", type=FOLDER, help="The folder with models.toml; default: specs/ of this checkout."
)


@spec.command("check")
@click.option(
    "--tier",
    "tiers",
    multiple=True,
    help="A tier of models, or all; may be repeated; default: small.",
)
@click.option("--model", "names", multiple=True, help="A model by name; may be repeated.")
@click.option("--out", type=FOLDER, help="A folder for specs.json and TLC's output.")
@SPECS_OPTION
@tools
@shown
def spec_check(specs: Path | None, **options: Any) -> int:
    """Check models with TLC against their expected verdicts.

    \b
    Example: kraftcheck spec check --tier small --tier bugs
    """
    from kraftcheck import specs as work

    return work.check(specs or work.SPECS, **options)


@spec.command("list")
@SPECS_OPTION
@shown
def spec_list(specs: Path | None, screen: Screen) -> int:
    """List the models with what is expected of them.

    \b
    Example: kraftcheck spec list
    """
    from kraftcheck import specs as work

    return work.show_list(specs or work.SPECS, screen)


# -- campaigns


def placed(verb: Callable[..., int]) -> Callable[..., int]:
    """Gives a verb the options that say where the work is done, and with which Java."""
    backend = click.option(
        "--backend",
        type=click.Choice(["auto", "pool", "spark"]),
        default="auto",
        show_default=True,
        help="Processes on this machine, or Spark; auto takes Spark for long campaigns.",
    )
    master = click.option("--master", help="Spark's master, such as local[2]; implies Spark.")
    java = click.option("--java", help="The Java launcher; default: JAVA_HOME, or the one on PATH.")

    @wraps(verb)
    def wrapped(java: str | None, **options: Any) -> int:
        if java is not None:
            from kraftcheck.campaign import use_java

            use_java(java)
        return verb(**options)

    return backend(master(java(wrapped)))


@cli.command()
@click.option(
    "--scenario", default="quorum", show_default=True, help="quorum, partition or cluster."
)
@click.option("--runs", type=RUNS, required=True, help="How many runs.")
@click.option("--seed", type=int, default=1, show_default=True, help="The campaign's seed.")
@click.option("--out", type=FOLDER, required=True, help="The folder for the recorded runs.")
@click.option("--bug", "bug_id", metavar="ID", help="A known bug to have; see `bugs list`.")
@click.option(
    "--option",
    "fixed",
    metavar="NAME=VALUE",
    multiple=True,
    help="Fix an option that each run draws otherwise; again for more. A wrong one names all.",
)
@placed
@shown
def simulate(**options: Any) -> int:
    """Record runs of the reference under faults, or those still missing.

    \b
    Example: kraftcheck simulate --scenario quorum --runs 300 --seed 1 --bug Z01 --out runs/Z01
    Example: kraftcheck simulate --scenario cluster --option topics=2 --runs 20 --out runs/topics
    """
    from kraftcheck import campaign as work

    return work.simulate(**options)


@cli.command()
@click.argument("path", metavar="PATH", type=FOLDER)
@click.option("--jar", help="The TLC jar; default: TLA2TOOLS_JAR, or the bundled one.")
@placed
@shown
def conform(path: Path, **options: Any) -> int:
    """Judge every step of recorded runs against the specs.

    PATH is the folder of a campaign; a schedule of moves (docs/chaos.md); a file of JSON lines
    (.jsonl) with the steps of another implementation (docs/foreign-traces.md); or the folder of a
    recording of a real cluster (docs/real-clusters.md).

    \b
    Example: kraftcheck conform runs/Z01
    Example: kraftcheck conform examples/foreign/voter.jsonl
    """
    from kraftcheck import observing

    if observing.is_recording(path):
        return observing.conform(path, **options)
    if path.suffix == ".jsonl":
        from kraftcheck import foreign

        return foreign.conform(path, **options)
    from kraftcheck import campaign, steering

    if steering.is_schedule(path):
        path = steering.trace_of(path)
    return campaign.conform(path, **options)


# -- campaigns: everything at once


@cli.group()
def campaign() -> None:
    """Many runs of one configuration or several, judged by everything, in one report.

    \b
    Example: kraftcheck campaign run --scenario partition --runs 2000 --out runs/campaign
    """


def campaigning(verb: Callable[..., int]) -> Callable[..., int]:
    """Gives a verb the options on how a campaign is worked on, as one Place."""
    options = (
        click.option("--jar", help="The TLC jar; default: TLA2TOOLS_JAR, or the bundled one."),
        click.option(
            "--store",
            type=FOLDER,
            help="The folder of TLC's verdicts, which campaigns share; default: beside --out.",
        ),
        click.option("--fail-fast", is_flag=True, help="End at the first violation."),
        click.option(
            "--redo", is_flag=True, help="Simulate again what is damaged or missing on disk."
        ),
    )

    @wraps(verb)
    def wrapped(**given: Any) -> int:
        from kraftcheck.campaigning import Place

        own = {name: given.pop(name) for name in Place._fields}
        return verb(place=Place(**own), **given)

    placing = placed(wrapped)
    for option in reversed(options):
        placing = option(placing)
    return shown(placing)


COVERAGE_OPTION = click.option(
    "--coverage", is_flag=True, help="Say how much of the bounded graphs the runs have seen."
)


@campaign.command("run")
@click.argument("file", metavar="[FILE]", type=FOLDER, required=False)
@click.option("--scenario", help="quorum, partition or cluster, in place of a file.")
@click.option("--runs", type=RUNS, help="How many runs of each configuration.")
@click.option("--seed", type=int, help="The campaign's seed; default: the file's, or 1.")
@click.option("--out", type=FOLDER, required=True, help="The folder for all that is found.")
@click.option("--bug", "bug_id", metavar="ID", help="A known bug to have; see `bugs list`.")
@COVERAGE_OPTION
@campaigning
def campaign_run(**options: Any) -> int:
    """Simulate, judge and report; or go on where an earlier command was interrupted.

    FILE is TOML with several configurations, which are compared side by side (docs/campaigns.md).

    \b
    Example: kraftcheck campaign run --scenario partition --runs 2000 --out runs/campaign
    """
    from kraftcheck import campaigning as work

    return work.run(**options)


@campaign.command("extend")
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option("--runs", type=RUNS, required=True, help="How many more, of each configuration.")
@COVERAGE_OPTION
@campaigning
def campaign_extend(folder: Path, **options: Any) -> int:
    """Add runs to a campaign that is finished.

    \b
    Example: kraftcheck campaign extend runs/campaign --runs 1000
    """
    from kraftcheck import campaigning as work

    return work.extend(folder, **options)


@campaign.command("compare")
@click.argument("one", metavar="DIR", type=FOLDER)
@click.argument("other", metavar="DIR", type=FOLDER)
@shown
def campaign_compare(one: Path, other: Path, screen: Screen) -> int:
    """Say what changed from one campaign to another; 1 if something is violated that was not.

    \b
    Example: kraftcheck campaign compare runs/before runs/after
    """
    from kraftcheck import campaigning as work

    return work.compare(one, other, screen=screen)


# -- client histories

FORMATS = ("auto", "jepsen", "jsonlines", "knossos", "loglines", "porcupine")
FORMAT = click.option(
    "--format",
    type=click.Choice(FORMATS),
    default="auto",
    show_default=True,
    help="How histories are written; auto looks into each file.",
)
PROMISED = (
    click.option("--acks", type=click.Choice(["0", "1", "all"]), help="Of producers."),
    click.option(
        "--at-least-once",
        is_flag=True,
        help="Producers are not idempotent: a retry may append again.",
    ),
    click.option("--transactional", is_flag=True, help="Some producer is."),
    click.option(
        "--isolation",
        type=click.Choice(["read_uncommitted", "read_committed"]),
        help="Of consumers.",
    ),
    click.option(
        "--reads",
        type=click.Choice(["leader", "follower", "any"]),
        help="From which replica; follower: each consumer from one.",
    ),
    click.option(
        "--faults",
        type=click.Choice(["none", "clean", "lossy", "unclean"]),
        help="What went wrong: clean moves the leader and cuts the network, lossy loses what was"
        " not flushed, unclean elects from outside the ISR.",
    ),
    click.option("--elr/--no-elr", default=None, help="Eligible leader replicas (KIP-966)."),
    click.option("--min-insync-replicas", type=click.IntRange(1), help="Of the topic."),
)
"""Default to what is recorded beside the history, else to Kafka's own, with nothing gone wrong."""


def promised(verb: Callable[..., int]) -> Callable[..., int]:
    """Gives a verb the options that say what was promised of partition logs."""
    for option in reversed(PROMISED):
        verb = option(verb)
    return verb


RUN = click.option("--run", type=click.IntRange(0), help="Of a trace, this run alone.")


def lines(verb: Callable[..., int]) -> Callable[..., int]:
    """As `shown`, for a verb that prints a line for each of many things."""

    @click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
    @click.option("--quiet", is_flag=True, help="Show no progress.")
    @wraps(verb)
    def wrapped(as_json: bool, quiet: bool, **options: Any) -> int:
        return verb(screen=Screen(json=as_json, quiet=quiet), **options)

    return wrapped


@cli.command()
@click.argument("paths", metavar="PATH...", type=FOLDER, nargs=-1, required=True)
@FORMAT
@click.option(
    "--model",
    default="auto",
    show_default=True,
    help="What the history is of: register, cas-register, kv, counter, set, queue,"
    " unordered-queue, list-append, mutex, partition-log, or your own as module:Class.",
)
@click.option("--level", help="Hold partition logs against this level, not the promised one.")
@promised
@click.option(
    "--budget",
    type=click.FloatRange(0.001),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="For each object that needs a search; then it is unknown.",
)
@RUN
@click.option("--html", type=FOLDER, help="A folder for one page of each history.")
@lines
def check(screen: Screen, **options: Any) -> int:
    """Judge whether client histories are as consistent as was promised.

    \b
    Example: kraftcheck check traces/samples/histories --html runs/pages
    """
    from kraftcheck import checking as work
    from kraftcheck import steering

    traces = [steering.trace_of(p) if steering.is_schedule(p) else p for p in options.pop("paths")]
    return work.check_with(traces, screen=screen, **options)


@cli.command()
@click.argument("path", metavar="PATH", type=FOLDER)
@click.option(
    "--to",
    type=click.Choice(["jepsen", "jsonlines", "shiviz"]),
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
    from kraftcheck import converting as work

    return work.convert(**options)


@cli.command()
@click.argument("path", metavar="PATH", type=THERE)
@click.option("--run", "number", type=int, help="The run of a campaign, by its number.")
@click.option("--skip", is_flag=True, help="Leave out moves that are not possible, and say so.")
@shown
def replay(path: Path, number: int | None, skip: bool, screen: Screen) -> int:
    """Tell a run step by step, one line for each, with a legend.

    PATH is the folder of a campaign, a schedule that `shrink` wrote, or a schedule of moves
    (docs/chaos.md).

    \b
    Example: kraftcheck replay runs/Z01 --run 7
    Example: kraftcheck replay runs/Z01/run-7.schedule
    """
    from kraftcheck import steering

    if moves := steering.schedule_of(path):
        return steering.replay(moves, screen, skip)
    if path.is_file():
        from kraftcheck import shrinking

        return shrinking.replay(path, screen)
    if number is None:
        raise click.UsageError("of a campaign, which run? --run NUMBER")
    from kraftcheck import replaying as work

    return work.replay(path, number, screen)


@cli.command()
@click.argument("path", metavar="[PATH]", type=THERE, required=False)
@click.option("--run", "number", type=int, help="A failing run of a campaign, by its number.")
@click.option("--model", metavar="NAME", help="Whose counterexample; without PATH, TLC searches.")
@click.option("--bug", metavar="ID", help="As --model, with the bug's first model.")
@click.option("--out", type=FOLDER, help="The schedule's file; default: DIR/run-N.schedule.")
@click.option("--attempts", type=click.IntRange(1), default=2000, show_default=True)
@tools
@shown
def shrink(
    path: Path | None, number: int | None, model: str | None, bug: str | None, **options: Any
) -> int:
    """Make a failing run small, and keep it as a schedule.

    PATH is the folder of a campaign; a file with what TLC printed of a model; or a schedule of
    moves (docs/chaos.md). A counterexample of TLC becomes a schedule for the reference
    (docs/way-back.md).

    \b
    Example: kraftcheck shrink runs/Z01 --run 7
    Example: kraftcheck shrink --bug Z34
    """
    jar, java = options.pop("jar"), options.pop("java")
    if path is not None and path.is_dir():
        if number is None:
            raise click.UsageError("of a campaign, which run? --run NUMBER")
        from kraftcheck import shrinking

        return shrinking.shrink(path, number, **options)
    from kraftcheck import returning, steering

    if path is not None and steering.is_schedule(path):
        return returning.moves(path, **options)
    screen = options.pop("screen")
    asked = returning.Asked(path, model, bug, **options, jar=jar, java=java)
    return returning.counterexample(asked, screen)


@cli.command()
@click.argument("folder", metavar="DIR", type=THERE)
@shown
def report(folder: Path, screen: Screen) -> int:
    """Make one page of what was found in a folder.

    \b
    Example: kraftcheck report runs/Z01
    """
    from kraftcheck import reporting as work

    return work.report(folder, screen)


@cli.command()
@click.option("--out", type=FOLDER, required=True, help="The folder for all that is found.")
@click.option("--runs", type=RUNS, default=2000, show_default=True, help="How many runs.")
@click.option("--seed", type=int, default=1, show_default=True, help="The campaign's seed.")
@click.option("--jar", help="The TLC jar; default: TLA2TOOLS_JAR, or the bundled one.")
@shown
def verify(**options: Any) -> int:
    """Do the main job: models, faulty runs, their conformance, a planted bug, and the report.

    \b
    Example: kraftcheck verify --out runs/verify
    """
    from kraftcheck import verify as work

    return work.verify(**options)


# -- beyond runs: the model's graph on the code


@cli.command()
@click.option("--model", "names", multiple=True, help="A graph by name; may be repeated.")
@click.option(
    "--tier", "tiers", multiple=True, help="A tier of graphs; may be repeated; default: small."
)
@click.option("--bug", "bug_id", metavar="ID", help="A known bug that the reference is to have.")
@click.option(
    "--campaign", "folder", metavar="DIR", type=FOLDER, help="Say what these runs have seen."
)
@click.option("--fill", is_flag=True, help="Run what the campaign has not seen.")
@click.option(
    "--mutants",
    type=click.IntRange(-1, 10**7),
    default=100_000,
    show_default=True,
    help="How many mutated messages to attempt in each graph; -1: attempt no refusals.",
)
@click.option(
    "--max-edges", type=RUNS, default=5_000_000, show_default=True, help="The largest graph."
)
@click.option(
    "--max-memory",
    "memory_mb",
    type=RUNS,
    default=8192,
    show_default=True,
    help="Process size in MB.",
)
@click.option(
    "--pictures", metavar="FILE", type=FOLDER, help="Only draw life cycles from graphs, as a page."
)
@click.option("--out", type=FOLDER, help="A folder for cover.json.")
@SPECS_OPTION
@tools
@shown
def cover(specs: Path | None, **options: Any) -> int:
    """Drive every edge of TLC's state graphs through the reference.

    \b
    Example: kraftcheck cover --model quorum-one-record
    """
    from kraftcheck import cover as work

    return work.cover(specs or work.SPECS, **options)


PROVED = (
    *("ElectionSafety", "VoteOnce"),
    *("LeaderCompleteness", "CommittedSurvives", "LogMatching"),
    *("LeaderCandidateCompleteness", "PartitionLeaderCompleteness"),
)
"""What can be proved; docs/proofs.md says under which abstraction."""
SOUGHT = (*PROVED, "ValidControllerState")
"""The same, and what can only be searched for."""


@cli.command()
@click.option(
    "--property",
    "properties",
    multiple=True,
    type=click.Choice(SOUGHT),
    help="A property; may be repeated; default: all that can be proved.",
)
@click.option(
    "--nodes",
    type=click.Choice([2, 3, 5]),
    help="How many nodes; default: 3, of a search 2.",
)
@click.option("--bug", "bug_id", metavar="ID", help="A known bug that the handlers are to have.")
@click.option(
    "--timeout",
    type=click.FloatRange(0.001),
    default=60.0,
    show_default=True,
    help="Seconds for each question to the solver; what it does not answer is unknown.",
)
@click.option("--jobs", type=click.IntRange(1, 256), help="Processes; default: one per processor.")
@click.option(
    "--search",
    type=click.IntRange(1, 100),
    metavar="STEPS",
    help="Prove nothing; look for a reachable counterexample of at most so many steps.",
)
@click.option(
    "--search-limit",
    type=click.FloatRange(0.001),
    default=600.0,
    show_default=True,
    help="Seconds for the search.",
)
@click.option("--out", type=FOLDER, help="A folder for proof.json.")
@shown
def prove(**options: Any) -> int:
    """Prove safety for any number of epochs, records and messages.

    Of elections and logs in the quorum; of the high watermark in a partition. docs/proofs.md says
    exactly what is proved.

    \b
    Example: kraftcheck prove --property ElectionSafety --nodes 3
    """
    from kraftcheck import prove as work

    return work.prove(**options)


# -- real clusters


@cli.group()
def cluster() -> None:
    """Run a real Apache Kafka cluster on this machine, and hurt it.

    \b
    Example: kraftcheck cluster up --dir runs/cluster
    """


CLUSTER_OPTION = click.option(
    "--dir",
    "folder",
    type=FOLDER,
    default=Path("runs/cluster"),
    show_default=True,
    help="Where the cluster lies.",
)


@cluster.command("fetch")
@shown
def cluster_fetch(**options: Any) -> int:
    """Fetch Apache Kafka once, and check every jar against its known hash.

    \b
    Example: kraftcheck cluster fetch
    """
    from kraftcheck import clusters as work

    return work.fetch(**options)


@cluster.command("up")
@CLUSTER_OPTION
@click.option(
    "--layout",
    type=click.Choice(["combined", "apart", "one-controller"]),
    default="combined",
    show_default=True,
    help="Three nodes of both roles; three brokers and three controllers; or one controller.",
)
@click.option("--islands", is_flag=True, help="Each node on a host of its own (needs root).")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A broker's setting.")
@shown
def cluster_up(**options: Any) -> int:
    """Fetch Kafka if need be, format, start, and wait until all have started.

    \b
    Example: kraftcheck cluster up --layout apart --set broker.session.timeout.ms=6000
    """
    from kraftcheck import clusters as work

    return work.up(**options)


@cluster.command("down")
@CLUSTER_OPTION
@shown
def cluster_down(**options: Any) -> int:
    """Stop what was started from the folder, and remove its data.

    \b
    Example: kraftcheck cluster down
    """
    from kraftcheck import clusters as work

    return work.down(**options)


@cluster.command("status")
@CLUSTER_OPTION
@shown
def cluster_status(**options: Any) -> int:
    """Tell who runs, who is paused, and which links are cut.

    \b
    Example: kraftcheck cluster status --json
    """
    from kraftcheck import clusters as work

    return work.status(**options)


def _cluster_verb(verb: str, said: str) -> None:
    """One way to treat nodes of the cluster, as a verb of its own."""

    @cluster.command(verb, help=f"{said}\n\n\b\nExample: kraftcheck cluster {verb} n1")
    @click.argument("names", metavar="NODE...", nargs=-1, required=True)
    @CLUSTER_OPTION
    @shown
    def treat(names: tuple[str, ...], **options: Any) -> int:
        from kraftcheck import clusters as work

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
    """Heal all links that were cut.

    \b
    Example: kraftcheck cluster heal
    """
    from kraftcheck import clusters as work

    return work.act(verb="heal", names=(), **options)


@cli.command()
@click.option("--bootstrap", metavar="HOST:PORT", help="Where a cluster is, whoever runs it.")
@click.option("--cluster", "folder", metavar="DIR", type=FOLDER, help="A cluster of ours.")
@click.option(
    "--workload",
    type=click.Choice(["log", "groups", "txn"]),
    default="log",
    show_default=True,
    help="What clients do. log: consumers read all; groups: they share it; txn: transactions.",
)
@click.option(
    "--client",
    type=click.Choice(["confluent-kafka", "kafka-python"]),
    default="confluent-kafka",
    show_default=True,
    help="Whose producers and consumers they are: two libraries are two opinions.",
)
@click.option(
    "--api-version",
    metavar="X.Y",
    help="Of kafka-python: what the brokers speak, where it cannot ask them.",
)
@click.option("--topic", default="kraftcheck", show_default=True)
@click.option("--existing-topic", is_flag=True, help="Do not make the topic; it is as described.")
@click.option("--partitions", type=click.IntRange(1, 1000), default=1, show_default=True)
@click.option("--replication-factor", type=click.IntRange(1), default=3, show_default=True)
@click.option("--min-insync-replicas", type=click.IntRange(1), default=2, show_default=True)
@click.option("--unclean-election", is_flag=True, help="Allow unclean elections of the topic.")
@click.option("--acks", type=click.Choice(["0", "1", "all"]), default="all", show_default=True)
@click.option("--idempotent/--no-idempotent", default=True, show_default=True)
@click.option("--retries/--no-retries", default=True, help="Without idempotence, send again.")
@click.option("--producers", type=click.IntRange(1), default=2, show_default=True)
@click.option("--consumers", type=click.IntRange(0), default=2, show_default=True)
@click.option("--time", "seconds", type=click.FloatRange(0.1), default=30.0, show_default=True)
@click.option(
    "--faults",
    multiple=True,
    type=click.Choice(["kill", "stop", "pause", "partition", "power", "last", "last-power"]),
    help="Kinds of faults; may be repeated. power: a kill that loses what was not flushed; last: "
    "of the last replica in sync.",
)
@click.option("--rate", type=click.FloatRange(0.1), help="Records a second from each producer.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the faults.")
@click.option(
    "--observe", is_flag=True, help="Ask every broker meanwhile what it knows: for `conform`."
)
@click.option("--out", type=FOLDER, required=True, help="The folder for the history.")
@shown
def record(
    bootstrap: str | None, folder: Path | None, out: Path, screen: Screen, **plan: Any
) -> int:
    """Record what clients of a real cluster ask and are told, under faults.

    \b
    Example: kraftcheck record --cluster runs/cluster --faults kill --out runs/recorded
    """
    from kraftcheck import clusters as work

    if plan["min_insync_replicas"] > plan["replication_factor"]:
        raise click.UsageError("--min-insync-replicas is above --replication-factor")
    if plan["workload"] == "txn" and (plan["acks"] != "all" or not plan["idempotent"]):
        raise click.UsageError("--workload txn needs --acks all, and idempotence")
    if plan["acks"] != "all":
        plan["idempotent"] = False
    plan["make_topic"] = not plan.pop("existing_topic")
    return work.record(bootstrap, folder, out, plan, screen)


# -- bugs


@cli.group()
def bugs() -> None:
    """List the known bugs, tell about one, or have them found again.

    \b
    Example: kraftcheck bugs show Z01
    """


@bugs.command("list")
@shown
def bugs_list(screen: Screen) -> int:
    """List the known bugs with the property that each breaks.

    \b
    Example: kraftcheck bugs list
    """
    from kraftcheck import bugs as work

    return work.show_list(screen)


@bugs.command("show")
@click.argument("bug", metavar="ID")
@shown
def bugs_show(bug: str, screen: Screen) -> int:
    """Tell a bug's story, what it replaces on both sides, and a counterexample by messages.

    \b
    Example: kraftcheck bugs show Z01
    """
    from kraftcheck import bugs as work

    return work.show(bug, screen)


@bugs.command("run")
@click.argument("ids", metavar="[ID...]", nargs=-1)
@click.option(
    "--oracle",
    "oracles",
    multiple=True,
    type=click.Choice(["tlc", "steps", "invariants", "histories", "progress"]),
    help="Who is asked; may be repeated; default: all that the catalogue expects.",
)
@click.option("--runs", type=RUNS, help="A campaign of so many runs, not the stored runs.")
@click.option("--seed", type=int, default=1, show_default=True, help="The campaign's seed.")
@click.option(
    "--scenario",
    help="Another scenario than the one of the bug's own protocol; cluster, with --runs, asks the "
    "rules of both protocols.",
)
@click.option(
    "--out",
    type=FOLDER,
    default=Path("runs/bugs"),
    show_default=True,
    help="The folder for the recorded runs and found.json.",
)
@click.option("--full", is_flag=True, help="TLC searches from the beginning, for hours.")
@click.option(
    "--stored", "only_stored", is_flag=True, help="Only what was found before and is stored."
)
@click.option(
    "--replay",
    is_flag=True,
    help="Tell a run of each bug step by step, with a page of its timeline.",
)
@tools
@shown
def bugs_run(ids: tuple[str, ...], **options: Any) -> int:
    """Have bugs found again by everybody who is expected to find them.

    \b
    Example: kraftcheck bugs run Z06 --oracle steps --oracle invariants
    """
    from kraftcheck.zoo import running as work

    return work.run(ids, **options)


@bugs.command("campaigns")
@click.argument("ids", metavar="[ID...]", nargs=-1)
@click.option(
    "--oracle",
    "oracles",
    multiple=True,
    type=click.Choice(["tlc", "steps", "invariants", "histories"]),
    help="Who is asked; may be repeated; default: all that the catalogue expects, but for tlc.",
)
@click.option(
    "--campaigns", "count", type=RUNS, default=20, show_default=True, help="Seeds, from 1 on."
)
@click.option("--limit", type=RUNS, default=1000, show_default=True, help="Runs of a campaign.")
@click.option("--minutes", type=click.FloatRange(0), help="Begin no campaign after so long.")
@click.option("--store", is_flag=True, help="Store the figures in the kit, for `bugs matrix`.")
@click.option(
    "--out",
    type=FOLDER,
    default=Path("runs/bugs-full"),
    show_default=True,
    help="The folder for what is done; with the same folder the work goes on.",
)
@tools
@shown
def bugs_campaigns(ids: tuple[str, ...], **options: Any) -> int:
    """Measure how many runs each oracle needs to find each bug; takes hours, and can be resumed.

    \b
    Example: kraftcheck bugs campaigns Z06 --limit 50
    """
    from kraftcheck.zoo import measuring as work

    return work.run(ids, **options)


@bugs.command("mutants")
@click.option(
    "--module",
    "modules",
    multiple=True,
    type=click.Choice(["QuorumRules", "PartitionRules"]),
    help="The mutants of this module; may be repeated; default: all.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(0),
    default=0,
    show_default=True,
    help="Judge mutants that are not judged yet, for so long.",
)
@click.option("--store", is_flag=True, help="Store in the kit what comes of them.")
@tools
@shown
def bugs_mutants(modules: tuple[str, ...], **options: Any) -> int:
    """List the specs' mutants, each a guard dropped or fixed, with what models and steps say.

    \b
    Example: kraftcheck bugs mutants --module QuorumRules --minutes 10
    """
    from kraftcheck.zoo import mutating as work

    return work.run(modules, **options)


@bugs.command("matrix")
@click.option("--out", type=FOLDER, help="A folder for matrix.md and matrix.html.")
@shown
def bugs_matrix(out: Path | None, screen: Screen) -> int:
    """Tell who is expected to find each bug and who has, from what is stored.

    \b
    Example: kraftcheck bugs matrix --out runs/matrix
    """
    from kraftcheck import bugs as work

    return work.show_matrix(out, screen)


# -- try


@cli.command("try")
@click.option("--overlay", type=FOLDER, help="The change in TLA+, as an overlay like a bug's.")
@click.option("--rules", type=FOLDER, help="The same change in Python, as a class like a bug's.")
@click.option(
    "--tier", "tiers", multiple=True, help="Models of this tier; may be repeated; default: small."
)
@click.option("--model", "names", multiple=True, help="A model by name; may be repeated.")
@click.option("--runs", type=RUNS, default=200, show_default=True, help="Runs of the campaign.")
@click.option("--seed", type=int, default=1, show_default=True, help="The campaign's seed.")
@click.option(
    "--timeout", type=click.FloatRange(1), default=300, show_default=True, help="Seconds a model."
)
@click.option(
    "--out",
    type=FOLDER,
    default=Path("runs/try"),
    show_default=True,
    help="The folder for runs and cfgs.",
)
@tools
@shown
def try_own(**options: Any) -> int:
    """Ask every detector about a change of your own to the protocol.

    Exit code 0: no difference found within what was explored; 1: something is broken; 2: a search
    did not end, or the change was never there; 3: the change cannot be used.

    \b
    Example: kraftcheck try --overlay my.tla --rules my.py
    """
    from kraftcheck import trying as work

    return work.run(**options)


def main() -> None:
    """The console script."""
    try:
        cli()
    except SystemExit as end:
        exits.leave(int(end.code or exits.HOLDS))


if __name__ == "__main__":
    main()
