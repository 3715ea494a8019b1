"""Verbs on known bugs and on a change of one's own: who finds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kraftcheck import exits
from kraftcheck.screen import Screen
from kraftcheck.verbs.options import FOLDER, RUNS, SEED, Real, judged, shown, tools


@click.group()
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
@SEED
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
@judged
def bugs_run(ids: tuple[str, ...], **options: Any) -> int:
    """Have bugs found again by everybody who is expected to find them.

    \b
    Example: kraftcheck bugs run Z06 --oracle steps --oracle invariants
    """
    from kraftcheck.known_bugs import running as work

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
@click.option("--minutes", type=Real(0), help="Begin no campaign after so long.")
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
    from kraftcheck.known_bugs import campaigns as work

    return work.run(ids, **options)


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
    help="A TOML file: stock models by name, each with constants that have other values.",
)
@click.option(
    "--runs", type=RUNS, default=200, show_default=True, help="Runs of each scenario's campaign."
)
@SEED
@click.option(
    "--scenario",
    "scenarios",
    multiple=True,
    help="Runs of this one; again for more. Default: of all protocols that ask the class.",
)
@click.option(
    "--option",
    "fixed",
    metavar="NAME=VALUE",
    multiple=True,
    help="Fix an option that each run draws otherwise; again for more.",
)
@click.option("--fail-fast", is_flag=True, help="End with the first violation.")
@click.option(
    "--minutes",
    type=Real(0, min_open=True),
    default=10,
    show_default=True,
    help="For all of it: what is not judged by then is unknown.",
)
@click.option(
    "--out",
    type=FOLDER,
    default=Path("runs/try"),
    show_default=True,
    help="The folder for runs and cfgs.",
)
@click.option("--list-rules", "listed", is_flag=True, help="Only list what may be replaced.")
@click.option(
    "--new",
    "begun",
    metavar="NAME",
    help="Only write NAME.tla and its .py here, with the correct rules in them, to be edited.",
)
@click.option("--rule", "wanted", metavar="RULE", multiple=True, help="Of --new; again for more.")
@tools
@judged
def try_own(
    listed: bool, begun: str | None, wanted: tuple[str, ...], screen: Screen, **options: Any
) -> int:
    """Ask every detector about a change of your own to the protocol.

    Exit code 0: nothing broken within what was explored; 1: something is broken; 2: a search did
    not end, or never met the change, or would not find the known bugs of these rules; 3: the change
    cannot be used.

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
