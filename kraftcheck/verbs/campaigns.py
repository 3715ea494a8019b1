"""`campaign`: many runs, judged by everything, in one report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from kraftcheck.screen import Screen
from kraftcheck.verbs.options import BUG, FOLDER, JAR, RUNS, judged, placed


@click.group()
def campaign() -> None:
    """Check many runs in every way, with one report.

    \b
    Example: kraftcheck campaign run --scenario partition --runs 2000 --out runs/campaign
    """


def campaigning(verb: Callable[..., int]) -> Callable[..., int]:
    """Gives a verb the options on how a campaign is worked on."""
    options = (
        JAR,
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

    placing = placed(verb)
    for option in reversed(options):
        placing = option(placing)
    return judged(placing)


COVERAGE_OPTION = click.option(
    "--coverage", is_flag=True, help="Report how much of the bounded graphs the runs have seen."
)


@campaign.command("run")
@click.argument("file", metavar="[FILE]", type=FOLDER, required=False)
@click.option(
    "--scenario",
    help="As of `simulate`; not with FILE.",
)
@click.option("--runs", type=RUNS, help="Number of runs of each configuration.")
@click.option("--seed", type=int, help="The campaign's seed; default: the file's, or 1.")
@click.option("--out", type=FOLDER, required=True, help="The folder for all results.")
@BUG
@click.option(
    "--guided", is_flag=True, help="Derive half of the runs from those that reached something new."
)
@COVERAGE_OPTION
@campaigning
def campaign_run(**options: Any) -> int:
    """Simulate, check and report; an interrupted campaign continues.

    FILE is TOML with several configurations, which are compared side by side (docs/campaigns.md).

    \b
    Example: kraftcheck campaign run --scenario partition --runs 2000 --out runs/campaign
    """
    from kraftcheck import api

    return api.campaign(**options).exit_code


@campaign.command("extend")
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option(
    "--runs", type=RUNS, required=True, help="Number of further runs of each configuration."
)
@COVERAGE_OPTION
@campaigning
def campaign_extend(folder: Path, java: str | None, **options: Any) -> int:
    """Add runs to a campaign that is finished.

    \b
    Example: kraftcheck campaign extend runs/campaign --runs 1000
    """
    from kraftcheck import campaigns as work, conformance

    if java is not None:
        conformance.use_java(java)
    place = work.Place(**{name: options.pop(name) for name in work.Place._fields})
    return work.extend(folder, place=place, **options)


@campaign.command("compare")
@click.argument("one", metavar="DIR", type=FOLDER)
@click.argument("other", metavar="DIR", type=FOLDER)
@judged
def campaign_compare(one: Path, other: Path, screen: Screen) -> int:
    """Report what changed between two campaigns; exit code 1: a new violation.

    \b
    Example: kraftcheck campaign compare runs/before runs/after
    """
    from kraftcheck import campaigns as work

    return work.compare(one, other, screen=screen)
