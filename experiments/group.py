"""A consumer group on a real cluster: its members, and what Kafka says of it."""

from __future__ import annotations

import time
from typing import Literal

import click

from experiments.tools import Partition
from live.clients import Setting, opened, poll

GROUP = "g"
JOIN_S = 10.0
"""Until a member has its partitions."""
Protocol = Literal["classic", "consumer"]


class Member:
    """A consumer of the group, and what it is given. offsets: where it begins without a commit."""

    def __init__(
        self, setting: Setting, protocol: Protocol, offsets: Literal["latest", "earliest"]
    ) -> None:
        self._setting = setting
        self._process = setting.processes.next()
        options = {"group.protocol": protocol, "auto.offset.reset": offsets}
        self.reader = opened(setting, GROUP, options)
        keys = [setting.key(at) for at in range(setting.partitions)]
        setting.journal.event(self._process, "invoke", "subscribe", keys)
        self.reader.subscribe(setting.topic)
        setting.journal.event(self._process, "ok", "subscribe", keys)

    def poll(self, seconds: float) -> int:
        """At least once. Returns how many records it was given."""
        deadline, given = time.monotonic() + seconds, 0
        while True:
            given += poll(self._setting, self._process, self.reader)
            if time.monotonic() >= deadline:
                return given


def tell(partition: Partition, asking: str, *more: str) -> None:
    """Prints what Kafka's own command says of the group, without a stack trace."""
    words = ("--describe", "--group", GROUP, *more)
    said = partition.ask("consumer.group.ConsumerGroupCommand", asking, *words)
    for line in said.splitlines():
        if line.startswith(("GROUP", GROUP, "Error")):
            click.echo(f"         {line}")
