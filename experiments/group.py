"""A consumer group on a real cluster: its members, and what Kafka says of it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Literal

import click
from msgspec.structs import replace

from experiments.tools import Partition
from kraftcheck.kafka.live.artifacts import version
from kraftcheck.kafka.live.clients import Setting
from kraftcheck.kafka.live.members import Member
from kraftcheck.reference.clients.promises import Configuration

GROUP = "g"
JOIN_S = 10.0
"""Until a member has its partitions."""
OF_THREE = Configuration(
    consumers="listen",
    reset="earliest",
    one_client=False,
    goes_back=True,
    isolation="read_committed",
)
"""Of members that read what is committed of a topic with three replicas."""
CONFIGURATION = replace(OF_THREE, replication_factor=2, min_insync_replicas=1)
"""Of one with two."""
Protocol = Literal["classic", "consumer"]
NEWEST: Protocol = "classic" if version().startswith("3.") else "consumer"
"""What brokers take without being asked to: the consumer protocol (KIP-848) since 4.0."""


def joined(
    setting: Setting,
    protocol: Protocol,
    offsets: Literal["latest", "earliest"],
    *,
    commits: bool = True,
    more: Mapping[str, str] | None = None,
) -> Member:
    """A consumer of the group.

    offsets: where it begins without a commit. commits: whether it makes one of what it gives up.
    more: settings.
    """
    options = {"group.protocol": protocol, "auto.offset.reset": offsets, **(more or {})}
    return Member(setting, GROUP, options, commits=commits)


def poll(member: Member, seconds: float) -> int:
    """At least once. Returns how many records it was given."""
    deadline, given = time.monotonic() + seconds, 0
    while True:
        given += len(member.poll())
        if time.monotonic() >= deadline:
            return given


def tell(partition: Partition, asking: str, *more: str) -> None:
    """Prints what Kafka's own command says of the group, without a stack trace."""
    words = ("--describe", "--group", GROUP, *more)
    said = partition.ask("consumer.group.ConsumerGroupCommand", asking, *words)
    for line in said.splitlines():
        if line.startswith(("GROUP", GROUP, "Error")):
            click.echo(f"         {line}")
