"""What the reference predicts, and what Apache Kafka does: acks x election x fault x client API.

    .venv/bin/python -m experiments.prediction expect           the reference's side
    .venv/bin/python -m experiments.prediction run --episodes 3 Kafka's side: adds what lacks
    .venv/bin/python -m experiments.prediction page             docs/measured/predictions.md

`run` keeps what earlier runs have stored, so it can be broken off and gone on with. It ends with 1
if an outcome was seen that the reference does not allow, with 3 if no cluster could be had.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from experiments.prediction.expected import RUNS_MAX, predict
from experiments.prediction.observed import SETTINGS, Observed, Trials, observed, record
from experiments.prediction.page import page
from experiments.prediction.situations import FAULTS, SETUPS
from experiments.prediction.store import (
    FOLDER,
    Expected,
    StoreError,
    add_observed,
    read_expected,
    read_observed,
    situations,
    write_expected,
)
from live import metadata
from live.artifacts import ArtifactError, version
from live.cluster import Cluster, ClusterError
from live.islands import IslandError

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "measured" / "predictions.md"
ROUND = 10
"""So many runs of every setup before the next."""
FAILURES_MAX = 5
"""So many clusters may fail before the run does: a busy machine, once, may be chance."""


@click.group()
def cli() -> None:
    """What the reference predicts, and what Apache Kafka does."""


@cli.command("expect")
@click.option("--runs", type=click.IntRange(1, RUNS_MAX), default=60, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--minutes", type=float, help="Begin no round after so many.")
@click.option(
    "--more", is_flag=True, help="Go on from what is stored, if the reference is as it was."
)
def expect_command(runs: int, seed: int, minutes: float | None, more: bool) -> None:
    """Run the reference in every setup, round by round, and store what came of it."""
    began = time.monotonic()
    try:
        setups = dict(read_expected().setups) if more else {}
    except StoreError as error:
        click.echo(f"prediction: {error}", err=True)
        sys.exit(3)
    done = min((each.runs for each in setups.values()), default=0)
    while done < runs and (minutes is None or time.monotonic() - began < 60 * minutes):
        done = min(done + ROUND, runs)
        for setup in SETUPS:
            setups[setup.name] = predict(setup, seed, done, setups.get(setup.name))
        FOLDER.mkdir(exist_ok=True)
        write_expected(Expected(seed, done, setups))
        click.echo(f"{done} runs of each setup")


@cli.command("run")
@click.option("--episodes", type=click.IntRange(1), default=3, show_default=True)
@click.option("--partitions", type=click.IntRange(1), default=17, show_default=True)
@click.option("--per-cluster", type=click.IntRange(1), default=4, show_default=True)
@click.option("--fault", "faults", multiple=True, type=click.Choice(list(FAULTS)))
@click.option("--minutes", type=float, help="Begin no cluster after so many.")
def run_command(
    episodes: int,
    partitions: int,
    per_cluster: int,
    faults: tuple[str, ...],
    minutes: float | None,
) -> None:
    """Record trials until each fault has so many episodes, some on each cluster."""
    began = time.monotonic()
    failures = 0
    try:
        known = read_observed()
        while wanted := list(_wanted(faults or tuple(FAULTS), episodes, known))[:per_cluster]:
            if minutes is not None and time.monotonic() - began > 60 * minutes:
                break
            try:
                found = on_cluster(wanted, partitions)
            except ClusterError as error:
                failures += 1
                click.echo(f"{wanted}: {error}", err=True)
                if failures > FAILURES_MAX:
                    raise
                continue
            add_observed(found)
            known += found
        wrong = [each for each in situations(read_expected(), known) if each.forbidden]
    except (ArtifactError, IslandError, ClusterError, StoreError) as error:
        click.echo(f"prediction: {error}", err=True)
        sys.exit(3)
    for each in wrong:
        click.echo(f"not allowed: {each.setup}, {each.api}: {', '.join(each.forbidden)}")
    sys.exit(int(bool(wrong)))


def on_cluster(wanted: Sequence[tuple[str, int]], partitions: int) -> list[Observed]:
    """Some episodes on one new cluster. An episode that fails ends it; those before it count."""
    done: list[Trials] = []
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as name:
        scratch = Path(name)
        cluster = Cluster.up(scratch / "cluster", "one-controller", True, SETTINGS, patience=240)
        try:
            for fault, number in wanted:
                began = time.monotonic()
                journal = scratch / f"{fault}-{number}.jsonl"
                try:
                    done.append(record(cluster, fault, number, partitions, journal))
                except ClusterError as error:
                    if not done:
                        raise
                    click.echo(f"{fault} {number}: {error}", err=True)
                    break
                journal.unlink()
                click.echo(f"{fault} {number}: {time.monotonic() - began:.0f} s")
            records = metadata.dump(cluster)
        finally:
            cluster.down()
    about = (version(), machine(), time.strftime("%Y-%m-%d"))
    return [observed(each, records, *about) for each in done]


def machine() -> str:
    """In a few words: what it was measured on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GB, shared with other work"


def _wanted(
    faults: tuple[str, ...], episodes: int, known: Sequence[Observed]
) -> Iterator[tuple[str, int]]:
    done = {(each.fault, each.number) for each in known}
    for number in range(episodes):
        for fault in faults:
            if (fault, number) not in done:
                yield fault, number


@cli.command("page")
def page_command() -> None:
    """Write docs/measured/predictions.md from what is stored."""
    try:
        PAGE.write_text(page(read_expected(), read_observed()), encoding="utf-8")
    except (StoreError, ValueError) as error:
        click.echo(f"prediction: {error}", err=True)
        sys.exit(3)


if __name__ == "__main__":
    cli()
