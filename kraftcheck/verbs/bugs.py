"""Verbs on known bugs and on a change of one's own: who finds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kraftcheck import exits
from kraftcheck.screen import Screen
from kraftcheck.verbs.options import FOLDER, RUNS, SEED, Real, judged, renaming, shown, tools


@click.group()
def bugs() -> None:
    """List known bugs, explain one, or let the detectors find them.

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
    """Explain a bug: its story, what it replaces, and a counterexample.

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
    help="A detector; may be repeated; default: all that should find the bug.",
)
@click.option("--runs", type=RUNS, help="Simulate this number of runs in place of the stored runs.")
@SEED
@click.option(
    "--scenario",
    help="A scenario other than the bug's own; cluster, with --runs, uses the rules of quorum and "
    "partition.",
)
@click.option(
    "--out",
    type=FOLDER,
    default=Path("runs/bugs"),
    show_default=True,
    help="The folder for the recorded runs and found.json.",
)
@click.option(
    "--full", is_flag=True, help="TLC repeats its searches from the beginning, for hours."
)
@click.option("--stored", "only_stored", is_flag=True, help="Only repeat stored detections.")
@click.option(
    "--replay",
    is_flag=True,
    help="Print a run of each bug step by step, and draw its timeline.",
)
@tools
@judged
def bugs_run(ids: tuple[str, ...], **options: Any) -> int:
    """Let the expected detectors find the bugs again.

    \b
    Example: kraftcheck bugs run Z06 --oracle steps --oracle invariants
    """
    from kraftcheck.known_bugs import running as work

    return work.run(ids, **options)


@bugs.command("campaigns", cls=renaming({"--limit": "--runs"}))
@click.argument("ids", metavar="[ID...]", nargs=-1)
@click.option(
    "--oracle",
    "oracles",
    multiple=True,
    type=click.Choice(["tlc", "steps", "invariants", "histories"]),
    help="A detector; may be repeated; default: all that should find the bug, except tlc.",
)
@click.option(
    "--campaigns",
    "count",
    type=RUNS,
    default=20,
    show_default=True,
    help="Number of campaigns, with seeds from 1.",
)
@click.option(
    "--runs",
    "limit",
    type=RUNS,
    default=1000,
    show_default=True,
    help="Largest number of runs of a campaign.",
)
@click.option("--minutes", type=Real(0), help="Start no campaign after this time.")
@click.option("--store", is_flag=True, help="Store the figures in the kit, for `bugs matrix`.")
@click.option(
    "--out",
    type=FOLDER,
    default=Path("runs/bugs-full"),
    show_default=True,
    help="The folder for results; the same folder continues the work.",
)
@tools
@shown
def bugs_campaigns(ids: tuple[str, ...], **options: Any) -> int:
    """Measure how many runs each oracle needs to find each bug; takes hours, and can be resumed.

    \b
    Example: kraftcheck bugs campaigns Z06 --runs 50
    """
    from kraftcheck.known_bugs import campaigns as work

    return work.run(ids, **options)


@bugs.command("matrix")
@click.option("--out", type=FOLDER, help="A folder for matrix.md and matrix.html.")
@shown
def bugs_matrix(out: Path | None, screen: Screen) -> int:
    """Print which detectors should find each bug and which have.

    \b
    Example: kraftcheck bugs matrix --out runs/matrix
    """
    from kraftcheck import bugs as work

    return work.show_matrix(out, screen)


@click.command("try")
@click.option("--overlay", type=FOLDER, help="The change in TLA+, as an overlay like a bug's.")
@click.option("--rules", type=FOLDER, help="The same change in Python, as a class like a bug's.")
@click.option(
    "--tier", "tiers", multiple=True, help="Models of this tier; may be repeated; default: small."
)
@click.option("--model", "names", multiple=True, help="A model by name; may be repeated.")
@click.option(
    "--bounds",
    type=FOLDER,
    help="A TOML file with other constants for models, by the model's name.",
)
@click.option(
    "--runs", type=RUNS, default=200, show_default=True, help="Runs of each scenario's campaign."
)
@SEED
@click.option(
    "--scenario",
    "scenarios",
    multiple=True,
    help="Only runs of this scenario; may be repeated. Default: all that use the class.",
)
@click.option(
    "--option",
    "fixed",
    metavar="NAME=VALUE",
    multiple=True,
    help="Fix an option that each run would draw; may be repeated.",
)
@click.option("--fail-fast", is_flag=True, help="End with the first violation.")
@click.option(
    "--minutes",
    type=Real(0, min_open=True),
    default=10,
    show_default=True,
    help="Total time; everything unchecked by then is unknown.",
)
@click.option(
    "--out",
    type=FOLDER,
    default=Path("runs/try"),
    show_default=True,
    help="The folder for runs and cfgs.",
)
@click.option(
    "--list-rules", "listed", is_flag=True, help="Only list the rules that may be replaced."
)
@click.option(
    "--new",
    "begun",
    metavar="NAME",
    help="Only write NAME.tla and its .py here, with the correct rules, to edit.",
)
@click.option(
    "--rule", "wanted", metavar="RULE", multiple=True, help="A rule for --new; may be repeated."
)
@tools
@judged
def try_own(
    listed: bool, begun: str | None, wanted: tuple[str, ...], screen: Screen, **options: Any
) -> int:
    """Run every detector on your own change of the protocol.

    Exit code 0: nothing broken within what was explored; 1: something is broken; 2: a search did
    not end, or never reached the change, or would not find the known bugs of these rules; 3: the
    change cannot be used.

    \b
    Example: kraftcheck try --new MyChange --rule LogOk
    Example: kraftcheck try --overlay MyChange.tla --rules my_change.py
    """
    from kraftcheck import own_change as work

    if wanted and begun is None:
        raise click.UsageError("--rule names what a change of --new is to replace")
    if listed:
        return work.list_rules(screen)
    if begun is not None:
        return work.begin(begun, wanted, screen)
    with exits.from_the_start():
        return work.run(screen=screen, **options)
