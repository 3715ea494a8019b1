"""What the promises predict, against what Apache Kafka does: acks x election x fault x API.

    .venv/bin/python -m experiments.predictions run --episodes 10 --out runs/predictions
    .venv/bin/python -m experiments.predictions table runs/predictions

`run` adds trials to those that the folder holds (episodes of each fault; 45 trials in each), so it
can be broken off and gone on with. `table` prints the page docs/predictions.md from the trials.
Ends with 1 if an outcome was seen that is not allowed, with 3 if no cluster could be had.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from experiments.outcomes import Trial, trials_of
from experiments.predictions_page import page
from live.artifacts import ArtifactError, version
from live.cluster import Cluster, ClusterError
from live.episode import Lane, run
from live.islands import IslandError

TRIALS = "trials.jsonl"
SETTINGS = {
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "3000",
    "offsets.topic.num.partitions": "1",
    "auto.leader.rebalance.enable": "false",
}
FAULTS = ("none", "kill", "stop", "pause", "partition", "power", "last", "last-power")
ELECTIONS = {"clean-2": (2, False), "clean-1": (1, False), "unclean-1": (1, True)}
"""By name: min.insync.replicas, and whether unclean elections are allowed."""
PARTITIONS = 5
FAILURES_MAX = 5
"""So many episodes may fail before the run does."""


def lanes(prefix: str) -> list[Lane]:
    return [
        Lane(f"{prefix}-{election}-acks-{acks}", acks, *how, PARTITIONS)
        for election, how in ELECTIONS.items()
        for acks in ("0", "1", "all")
    ]


def record(fault: str, episode: int, scratch: Path) -> list[Trial]:
    """One episode of a fault on a cluster of its own; the victim is another each time."""
    cluster = Cluster.up(scratch / "cluster", "one-controller", True, SETTINGS, patience=240)
    try:
        kind = None if fault == "none" else fault
        journal = scratch / f"{fault}-{episode}.jsonl"
        found = run(cluster, lanes(f"{fault}-{episode}"), kind, f"b{episode % 3 + 1}", journal)
    finally:
        cluster.down()
    return trials_of(found, fault, journal)


def load(folder: Path) -> list[Trial]:
    decode = msgspec.json.Decoder(Trial).decode
    file = folder / TRIALS
    return [decode(line) for line in file.read_bytes().splitlines()] if file.exists() else []


@click.group()
def cli() -> None:
    """What is promised, against what Apache Kafka does."""


@cli.command("run")
@click.option("--episodes", type=click.IntRange(1), default=10, show_default=True)
@click.option("--fault", "faults", multiple=True, type=click.Choice(FAULTS))
@click.option("--out", type=click.Path(path_type=Path), required=True)
def run_command(episodes: int, faults: tuple[str, ...], out: Path) -> None:
    """Record trials until each fault has so many episodes."""
    out.mkdir(parents=True, exist_ok=True)
    done = {(trial.fault, trial.episode) for trial in load(out)}
    forbidden = 0
    failures = 0
    try:
        for fault, episode in _wanted(faults or FAULTS, episodes, done):
            try:
                with tempfile.TemporaryDirectory(prefix="kraftcheck-") as scratch:
                    trials = record(fault, episode, Path(scratch))
            except ClusterError as error:  # a busy machine: once may be chance
                failures += 1
                click.echo(f"{fault} {episode}: {error}", err=True)
                if failures > FAILURES_MAX:
                    raise
                continue
            with open(out / TRIALS, "ab") as file:
                file.writelines(msgspec.json.encode(trial) + b"\n" for trial in trials)
            bad = [trial for trial in trials if trial.forbidden]
            forbidden += len(bad)
            click.echo(f"{fault} {episode}: {len(trials)} trials, {len(bad)} not allowed")
    except (ArtifactError, IslandError, ClusterError) as error:
        click.echo(f"predictions: {error}", err=True)
        sys.exit(3)
    sys.exit(int(forbidden > 0))


def _wanted(
    faults: tuple[str, ...], episodes: int, done: set[tuple[str, int]]
) -> Iterator[tuple[str, int]]:
    for episode in range(episodes):
        for fault in faults:
            if (fault, episode) not in done:
                yield fault, episode


@cli.command("table")
@click.argument("folder", type=click.Path(path_type=Path))
def table_command(folder: Path) -> None:
    """Print the page from the trials in a folder."""
    trials = load(folder)
    click.echo(page(trials, version()), nl=False)
    sys.exit(int(any(trial.forbidden for trial in trials)))


if __name__ == "__main__":
    cli()
