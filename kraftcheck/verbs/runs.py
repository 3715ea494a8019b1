"""Verbs on runs of the reference: recorded, judged, told, made small, and reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from kraftcheck import exits
from kraftcheck.screen import Screen
from kraftcheck.verbs.options import (
    BUG,
    FOLDER,
    JAR,
    PAGE,
    RULES,
    RUNS,
    SEED,
    THERE,
    judged,
    placed,
    shown,
    tools,
)


@click.command()
@click.option(
    "--scenario",
    help="The protocol, or cluster, or a coordinator's protocol with -on-cluster; default: "
    "quorum. A wrong name lists all.",
)
@click.option("--runs", type=RUNS, required=True, help="Number of runs.")
@SEED
@click.option("--out", type=FOLDER, required=True, help="The folder for the recorded runs.")
@BUG
@RULES
@click.option(
    "--option",
    metavar="NAME=VALUE",
    multiple=True,
    help="Fix an option that each run would draw; may be repeated. A wrong name lists all.",
)
@placed
@judged
def simulate(**options: Any) -> int:
    """Record runs of the reference under faults.

    Existing runs in the folder are kept.

    \b
    Example: kraftcheck simulate --scenario quorum --runs 300 --seed 1 --bug Z01 --out runs/Z01
    Example: kraftcheck simulate --scenario cluster --option topics=2 --runs 20 --out runs/topics
    Example: kraftcheck simulate --rules my_vote.py --runs 100 --out runs/my-vote
    """
    from kraftcheck import api

    return api.simulate(**options).exit_code


def _show_schema(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from kraftcheck.traces.foreign.forms import json_schema

        click.echo(json.dumps(json_schema(), indent=1))
        context.exit()


EMITTERS = {
    "c++": "emitter.cpp",
    "go": "emitter.go",
    "java": "Emitter.java",
    "python": "emitter.py",
    "rust": "emitter.rs",
    "typescript": "emitter.ts",
}


def _show_emitter(context: click.Context, _: click.Parameter, language: str | None) -> None:
    if language is not None:
        place = Path(__file__).parents[1] / "emitters" / EMITTERS[language]
        click.echo(place.read_text("utf-8"), nl=False)
        context.exit()


def _show_fields(context: click.Context, _: click.Parameter, kind: str | None) -> None:
    if kind is not None:
        from kraftcheck.screen import Columns
        from kraftcheck.traces.foreign.describe import of_node

        with exits.refusing(ValueError):
            tables = list(of_node(kind))
        for heading, rows in tables:
            columns = Columns(("field", "what stands there", "what it means"), rows)
            click.echo(heading)
            for row in rows:
                click.echo(f"  {columns.row(row)}")
        context.exit()


@click.command()
@click.argument("paths", metavar="PATH...", type=THERE, nargs=-1, required=True)
@click.option(
    "--fields",
    metavar="NODE",
    is_eager=True,
    expose_value=False,
    callback=_show_fields,
    help="Only print the fields of a node's state, inputs and messages, such as voter or broker.",
)
@click.option(
    "--emitter",
    type=click.Choice([*EMITTERS]),
    is_eager=True,
    expose_value=False,
    callback=_show_emitter,
    help="Only print an emitter, a file that writes steps.",
)
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_schema,
    help="Only print the JSON Schema of a line of another implementation's steps.",
)
@click.option(
    "--as",
    "profile",
    metavar="NAME",
    help="For a .jsonl: also allow this version's profile, such as kafka-4.3.",
)
@click.option(
    "--html",
    type=FOLDER,
    help="For a .jsonl: write a page that draws it; for several, a folder.",
)
@JAR
@placed
@judged
def conform(paths: tuple[Path, ...], **options: Any) -> int:
    """Check every step of recorded runs against the specs.

    PATH is the folder of a campaign; a schedule of moves (docs/reference/chaos.md); a file of JSON
    lines (.jsonl) with the steps of another implementation, or a folder of such files, or several
    (docs/foreign-traces.md); or the folder of a recording of a real cluster
    (docs/real-clusters.md).

    \b
    Example: kraftcheck conform runs/Z01
    Example: kraftcheck conform examples/foreign/voter.jsonl
    """
    from kraftcheck import api

    return api.conform(*paths, **options).exit_code


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("protocol", metavar="PROTOCOL")
@click.argument("command", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--node", type=int, help="The node that the command plays; default: the first.")
@click.option(
    "--constants",
    metavar="JSON",
    help="Constants, as in the header of a trace; default: few nodes, printed at the start.",
)
@click.option(
    "--search",
    type=RUNS,
    default=10_000,
    show_default=True,
    help="Moves of the reference to search for decisions not reached yet.",
)
@SEED
@click.option("--out", type=FOLDER, required=True, help="The folder for steps and verdict.")
@judged
def drive(**options: Any) -> int:
    """Drive your own node into rare decisions, and check its steps.

    Its peers are played. COMMAND is a program that reads an input from each line of its stdin and
    answers with the line of its step, as an emitter writes it (docs/foreign-traces.md).

    \b
    Example: kraftcheck drive quorum --out runs/driven -- java examples/foreign/Voter.java --driven
    """
    from kraftcheck.drive import driving

    return driving.of_protocol(**options)


@click.command()
@click.argument("path", metavar="PATH", type=THERE)
@click.option("--run", "number", type=int, help="Number of the run.")
@click.option("--skip", is_flag=True, help="Skip impossible moves, and report them.")
@click.option("--html", "page", type=PAGE, help="A file for a page that draws the run.")
@RULES
@judged
def replay(
    path: Path,
    number: int | None,
    skip: bool,
    page: Path | None,
    rules: Path | None,
    screen: Screen,
) -> int:
    """Print a run, one line for each step, with a legend.

    PATH is the folder of a campaign, a schedule that `shrink` wrote, a schedule of moves
    (docs/reference/chaos.md), or a file with the steps of another implementation.

    \b
    Example: kraftcheck replay runs/Z01 --run 7
    Example: kraftcheck replay runs/Z01/run-7.schedule --html runs/Z01/run-7.html
    """
    from kraftcheck import schedules
    from kraftcheck.known_bugs.own_rules import within

    if rules is not None:
        if number is None or not path.is_dir():
            raise click.UsageError("--rules is of a campaign: name its folder, and --run")
        from kraftcheck import replay as work

        with within(rules):
            return work.replay(path, number, screen, page)
    if moves := schedules.schedule_of(path):
        return schedules.replay(moves, screen, skip, page)
    if path.suffix == ".jsonl":
        from kraftcheck import foreign

        return foreign.replay(path, number, screen, page)
    if not path.is_dir():
        from kraftcheck import shrink_run

        return shrink_run.replay(path, screen, page)
    if number is None:
        raise click.UsageError("of a campaign, which run? --run NUMBER")
    from kraftcheck import replay as work

    return work.replay(path, number, screen, page)


@click.command()
@click.argument("path", metavar="[PATH]", type=THERE, required=False)
@click.option("--run", "number", type=int, help="A failing run of a campaign, by its number.")
@click.option(
    "--model", metavar="NAME", help="The model of the counterexample; without PATH, TLC searches."
)
@click.option("--bug", metavar="ID", help="As --model, with the bug's first model.")
@click.option("--out", type=FOLDER, help="The schedule's file; default: DIR/run-N.schedule.")
@click.option("--attempts", type=click.IntRange(1), default=2000, show_default=True)
@tools
@judged
def shrink(
    path: Path | None, number: int | None, model: str | None, bug: str | None, **options: Any
) -> int:
    """Make a failing run small, and save it as a schedule.

    PATH is the folder of a campaign; a file with what TLC printed of a model; or a schedule of
    moves (docs/reference/chaos.md). A counterexample of TLC becomes a schedule for the reference.

    \b
    Example: kraftcheck shrink runs/Z01 --run 7
    Example: kraftcheck shrink --bug Z34
    """
    jar, java = options.pop("jar"), options.pop("java")
    if path is not None and path.is_dir():
        if number is None:
            raise click.UsageError("of a campaign, which run? --run NUMBER")
        from kraftcheck import shrink_run

        return shrink_run.shrink(path, number, **options)
    from kraftcheck import shrink_counterexample
    from kraftcheck.given import is_schedule

    if path is not None and is_schedule(path):
        return shrink_counterexample.moves(path, **options)
    screen = options.pop("screen")
    asked = shrink_counterexample.Asked(path, model, bug, **options, jar=jar, java=java)
    return shrink_counterexample.counterexample(asked, screen)


def _show_tables(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from kraftcheck import sql as work

        work.describe_tables(Screen())
        context.exit()


@click.command()
@click.argument("folder", metavar="DIR", type=THERE)
@click.argument("query", metavar="QUERY")
@click.option(
    "--tables",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_tables,
    help="Only print the tables and their columns.",
)
@click.option("--limit", type=RUNS, default=100, show_default=True, help="Rows to print.")
@click.option("--master", help="Spark's master, such as spark://HOST:7077; default: local[2].")
@shown
def sql(folder: Path, query: str, master: str | None, limit: int, screen: Screen) -> int:
    """Query recorded runs in SQL.

    DIR is the folder of recorded runs. Tables are runs, steps, messages, operations, violations,
    measures, histories, anomalies, and after `conform` classes and rejected
    (docs/reference/tables.md).

    \b
    Example: kraftcheck sql runs/Z01 "select verdict, count(*) from runs group by verdict"
    """
    from kraftcheck import sql as work

    return work.ask(folder, query, master, limit, screen)


@click.command()
@click.argument("folder", metavar="DIR", type=THERE)
@judged
def report(folder: Path, screen: Screen) -> int:
    """Write one page with the results in a folder.

    \b
    Example: kraftcheck report runs/Z01
    """
    from kraftcheck import report as work

    return work.report(folder, screen)


@click.command()
@click.option("--out", type=FOLDER, required=True, help="The folder for all results.")
@click.option("--runs", type=RUNS, default=600, show_default=True, help="Number of runs.")
@SEED
@JAR
@judged
def verify(**options: Any) -> int:
    """Run the main checks: models, runs under faults, a planted bug.

    \b
    Example: kraftcheck verify --out runs/verify
    """
    from kraftcheck import verify as work

    with exits.from_the_start():
        return work.verify(**options)


@click.command()
@click.argument("what", metavar="[PROTOCOL|FILE|BUG]", required=False)
@BUG
@click.option(
    "--option",
    metavar="NAME=VALUE",
    multiple=True,
    help="An option of the protocol, as in `simulate`; may be repeated.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8046,
    show_default=True,
    help="The page's port on this machine; 0: any free port.",
)
@shown
def explore(
    what: str | None, bug: str | None, option: tuple[str, ...], port: int, screen: Screen
) -> int:
    """Play a protocol in a browser, move by move.

    Begin with a protocol, with a schedule of moves (docs/reference/chaos.md), or with a known bug,
    whose stored schedule is opened. See docs/explore.md.

    \b
    Example: kraftcheck explore partition --bug Z28 --option acks=all
    Example: kraftcheck explore Z28
    """
    from kraftcheck.explore import server

    return server.explore(what, bug, option, port, screen)


@click.command()
@click.argument("path", metavar="FILE|DIR", type=THERE)
@click.option("--run", "number", type=int, help="Number of the run in a campaign's folder.")
@click.option(
    "--futures",
    type=RUNS,
    default=200,
    show_default=True,
    help="Number of futures for each prefix.",
)
@click.option("--html", "page", type=PAGE, help="A file for a page with the curve.")
@shown
def likelihood(
    path: Path, number: int | None, futures: int, page: Path | None, screen: Screen
) -> int:
    """Find the step at which a failure became inevitable.

    Futures are drawn from each prefix of a failing run, and the share that fails is printed. FILE
    is a schedule of moves (docs/reference/chaos.md), DIR the folder of a campaign.

    \b
    Example: kraftcheck likelihood runs/Z28.moves --html runs/Z28.html
    Example: kraftcheck likelihood runs/Z01 --run 7
    """
    from kraftcheck.explore import likelihood as work

    return work.show(path, number, futures, page, screen)
