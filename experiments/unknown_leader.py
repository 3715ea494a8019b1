"""Z202 on a real cluster: does a command to the controllers go on, once somebody leads?

    .venv/bin/python -m experiments.unknown_leader [--control] [--repeat N]

Kafka's admin client with `bootstrap.controllers` asks a controller who leads (DescribeCluster), and
sends the rest to that one. If nobody leads at that moment, it asks nobody any more.

1. Three controllers vote (kraft.version 1); the third one answers. The other two are killed, the
   one that leads among them.
2. The third one is asked for the status of the quorum (`kafka-metadata-quorum`).
3. After 25 seconds the two are started, and somebody leads. The third one is asked again, by a
   second command.

The control: the first command begins when somebody leads again.

All settings are Kafka's own.

Ends with 1 if the first command ends with a timeout although the second one, which began later, was
answered; with 0 if it ends otherwise; with 3 if it could not be tried.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import click

from experiments import evidence
from experiments.controllers import BROKER, COMMAND, SPARE, VOTERS, Quorum
from live.cluster import Cluster

ALONE_S: Final = 5.0
ASKED_S: Final = 25.0
"""By then the command has asked, though its JVM starts slowly."""
ENDS_S: Final = 150.0


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether a command that was begun while nobody led fails."""
    quorum = Quorum(cluster)
    cluster.stop(SPARE)
    first = quorum.leader(VOTERS)
    alone, other = [name for name in VOTERS if name != first]
    epoch = quorum.epoch(first)
    known = ["--bootstrap-controller", cluster.node(alone).quorum_listener]
    cluster.run_tool(BROKER, COMMAND, *known, "describe", "--status")  # it has the metadata
    for name in (first, other):
        cluster.kill(name)
    time.sleep(ALONE_S)
    begun = time.monotonic()
    early = None
    if not control:
        early = cluster.tool(BROKER, COMMAND, *known, "describe", "--status")
        time.sleep(ASKED_S)
    for name in (first, other):
        cluster.start(name, wait=False)
    leads = quorum.leader(VOTERS, above=epoch)
    click.echo(f"         {first} led, and was killed with {other}; now {leads} leads")
    if early is None:
        begun = time.monotonic()
        early = cluster.tool(BROKER, COMMAND, *known, "describe", "--status")
    again = time.monotonic()
    cluster.run_tool(BROKER, COMMAND, *known, "describe", "--status")
    click.echo(f"         the second command is answered in {time.monotonic() - again:.0f} s")
    said, _ = early.communicate(timeout=ENDS_S)
    took = time.monotonic() - begun
    told = "is answered" if early.returncode == 0 else " ".join(said.split())[:200]
    click.echo(f"         the first one, after {took:.0f} s: {told}")
    (folder / f"{alone}.log").write_text(cluster.log(alone), encoding="utf-8")
    return "TimeoutException" in said


main = evidence.experiment(
    run,
    "Try whether a command to the controllers goes on, once somebody leads.",
    control="The first command begins when somebody leads again.",
    layout="voters",
    guests=("client",),
    shown="the first command ends with a timeout",
    otherwise="it does not end with a timeout",
)


if __name__ == "__main__":
    main()
