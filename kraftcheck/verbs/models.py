"""Verbs on all states, not on runs: TLC's models, their graphs on the code, and proofs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kraftcheck import exits
from kraftcheck.osutil.commands import protocol_folders
from kraftcheck.screen import Screen
from kraftcheck.specs import SPECS
from kraftcheck.verbs.options import FOLDER, PAGE, RULES, RUNS, Real, judged, renaming, shown, tools


@click.group()
def spec() -> None:
    """Check the TLA+ models, list them, or write them as files.

    \b
    Example: kraftcheck spec check --tier small
    """


SPECS_OPTION = click.option(
    "--specs",
    type=FOLDER,
    default=lambda: Path(next(iter(protocol_folders()), SPECS)),
    help="The folder with models.toml; default: that of --protocol, or the kit's.",
)


@spec.command("check")
@click.option(
    "--tier",
    multiple=True,
    help="A tier of models, or all; may be repeated; default: small.",
)
@click.option("--model", "names", multiple=True, help="A model by name; may be repeated.")
@click.option("--out", type=FOLDER, help="A folder for specs.json and TLC's output.")
@SPECS_OPTION
@tools
@judged
def spec_check(names: tuple[str, ...], **options: Any) -> int:
    """Check models with TLC against their expected verdicts.

    \b
    Example: kraftcheck spec check --tier small --tier bugs
    """
    from kraftcheck import api

    return api.model(*names, **options).exit_code


@spec.command("list")
@SPECS_OPTION
@shown
def spec_list(specs: Path, screen: Screen) -> int:
    """List the models with their expected verdicts.

    \b
    Example: kraftcheck spec list
    """
    from kraftcheck import spec_checks as work

    return work.show_list(specs, screen)


@spec.command("render")
@click.argument("name")
@click.option(
    "--out", metavar="DIR", type=FOLDER, help="A folder for the cfg and the modules it needs."
)
@SPECS_OPTION
@shown
def spec_render(specs: Path, **options: Any) -> int:
    """Write a model as a cfg that is named after its module, or print it.

    \b
    Example: kraftcheck spec render quorum-vote --out runs/quorum-vote
    """
    from kraftcheck import spec_files as work

    return work.render(specs, **options)


@spec.command("explore", cls=renaming({"--moves": "--out"}))
@click.argument("name", metavar="GRAPH")
@click.option("--html", "page", type=PAGE, help="The page's file; default: GRAPH.html.")
@click.option("--state", type=int, help="A state's number on the page; with --out.")
@click.option("--out", "moves", type=PAGE, help="A file for a schedule of moves to the state.")
@SPECS_OPTION
@tools
@shown
def spec_explore(name: str, state: int | None, moves: Path | None, **options: Any) -> int:
    """Draw the state graph of a small model as a page: search states, and see a path to each.

    GRAPH is one of the graphs of `cover` with up to 2,000 states. See docs/explore.md.

    \b
    Example: kraftcheck spec explore groups-join --html groups-join.html
    Example: kraftcheck spec explore partition-isr --state 137 --out isr.moves
    """
    from kraftcheck.explore import graph as work

    if (state is None) != (moves is None):
        raise click.UsageError("--state and --out go together")
    to = None if state is None or moves is None else (state, moves)
    return work.show(name, moves=to, **options)


@spec.command("export")
@click.option(
    "--tier",
    "tiers",
    multiple=True,
    help="A tier of models, or all; may be repeated; default: small.",
)
@click.option("--model", "names", multiple=True, help="A model by name; may be repeated.")
@click.option("--out", metavar="DIR", type=FOLDER, required=True, help="A folder for the models.")
@SPECS_OPTION
@shown
def spec_export(specs: Path, **options: Any) -> int:
    """Write models as folders with a manifest.json, in the form of tlaplus/Examples.

    \b
    Example: kraftcheck spec export --tier small --out runs/examples
    """
    from kraftcheck import spec_files as work

    return work.export(specs, **options)


@click.command(cls=renaming({"--model": "--graph"}))
@click.option("--graph", "names", multiple=True, help="A graph by name; may be repeated.")
@click.option(
    "--tier", "tiers", multiple=True, help="A tier of graphs; may be repeated; default: small."
)
@click.option("--bug", "bug_id", metavar="ID", help="Run the reference with this known bug.")
@RULES
@click.option(
    "--campaign",
    "folder",
    metavar="DIR",
    type=FOLDER,
    help="Report the edges that these runs have seen.",
)
@click.option("--fill", is_flag=True, help="Run the edges that the campaign has not seen.")
@click.option(
    "--mutants",
    type=click.IntRange(-1, 10**7),
    default=100_000,
    show_default=True,
    help="Number of mutated messages to attempt in each graph; -1: check no refusals.",
)
@click.option(
    "--max-edges",
    type=RUNS,
    default=5_000_000,
    show_default=True,
    help="Largest number of edges of a graph.",
)
@click.option(
    "--max-memory",
    "memory_mb",
    type=RUNS,
    default=8192,
    show_default=True,
    help="Memory limit of the process in MB.",
)
@click.option(
    "--pictures", metavar="FILE", type=FOLDER, help="Only draw life cycles from graphs, as a page."
)
@click.option("--out", type=FOLDER, help="A folder for cover.json.")
@SPECS_OPTION
@tools
@judged
def cover(specs: Path, **options: Any) -> int:
    """Drive every edge of TLC's state graphs through the reference.

    \b
    Example: kraftcheck cover --graph quorum-one-record
    """
    from kraftcheck import cover as work

    return work.cover(specs, **options)


PROVED = (
    *("ElectionSafety", "VoteOnce"),
    *("LeaderCompleteness", "CommittedSurvives", "LogMatching"),
    *("LeaderCandidateCompleteness", "PartitionLeaderCompleteness"),
)
"""What can be proved; docs/reference/proofs.md says under which abstraction."""


@click.command(cls=renaming({"--timeout": "--budget"}))
@click.option(
    "--property",
    "properties",
    multiple=True,
    type=click.Choice(PROVED),
    help="A property; may be repeated; default: all.",
)
@click.option(
    "--nodes",
    type=click.Choice([2, 3, 5]),
    default=3,
    show_default=True,
    help="Number of nodes.",
)
@click.option("--bug", "bug_id", metavar="ID", help="Prove the handlers with this known bug.")
@RULES
@click.option(
    "--budget",
    "timeout",
    type=Real(0.001),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Time limit of the solver for each query; after it the verdict is unknown.",
)
@click.option("--jobs", type=click.IntRange(1, 256), help="Processes; default: one per processor.")
@click.option("--out", type=FOLDER, help="A folder for proof.json.")
@judged
def prove(**options: Any) -> int:
    """Prove safety for any number of epochs, records and messages.

    It covers elections and logs in the quorum, also with changing voters, and the high watermark of
    a partition. docs/reference/proofs.md has the exact statements.

    \b
    Example: kraftcheck prove --property ElectionSafety --nodes 3
    """
    from kraftcheck import prove as work

    with exits.from_the_start():
        return work.prove(**options)
