"""The controllers of a real cluster whose voters change (KIP-853), by Kafka's own commands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import click

from experiments.tools import TOOLS, Program, until, within
from kraftcheck.live.cluster import Cluster, ClusterError

BROKER = "b1"
VOTERS = ("c1", "c2", "c3")
SPARE = "c4"
"""Hosts of the layout `voters`. SPARE does not vote at first."""
LEADS = re.compile(r"Completed transition to Leader\(.*?epoch=(\d+)")
FATAL = re.compile(r"The leader requested truncation to offset \d+, which is below [^(]*")
KEY = re.compile(r"ReplicaKey\(id=(\d+)")
SET = re.compile(r"Latest set of voters is (.*) at offset (\d+)")
REMOVE = Path(__file__).with_name("Remove.java")
COMMAND = f"{TOOLS}.MetadataQuorumCommand"
ENDS_S = 15


class Quorum:
    """The controllers, by what their logs say, and as they answer a broker's host."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def leader(self, of: Sequence[str], seconds: float = 30, above: int = 0) -> str:
        """Which of these became leader last. above: an epoch that it must exceed.

        Raises ClusterError: none of them, in that time.
        """

        def last() -> tuple[int, str]:
            return max((self.epoch(name), name) for name in of)

        if not within(lambda: last()[0] > above, seconds):
            raise ClusterError(f"nobody of {', '.join(of)} leads after {seconds:.0f} seconds")
        return last()[1]

    def epoch(self, name: str) -> int:
        """The last one in which it began to lead, by its own log; 0: none since it started."""
        return max((int(epoch) for epoch in LEADS.findall(self._cluster.log(name))), default=0)

    def awaited(self, name: str, line: re.Pattern[str], otherwise: str) -> re.Match[str]:
        """A line in its log. Raises ClusterError: it is not there after half a minute."""
        within(lambda: line.search(self._cluster.log(name)) is not None, 30)
        if found := line.search(self._cluster.log(name)):
            return found
        raise ClusterError(f"{name}: {otherwise}")

    def add(self, name: str, leader: str) -> None:
        config = str(self._cluster.directory / f"{name}.properties")
        self._ask(leader, ["--command-config", config], "add-controller")

    def remove(self, name: str, leader: str) -> None:
        node = self._cluster.node(name)
        which = ["--controller-id", str(node.number)]
        which += ["--controller-directory-id", node.directory_id]
        self._ask(leader, [], "remove-controller", *which)

    def remover(self, name: str, leader: str) -> Program:
        """One that asks for that removal when it is told to (Remove.java)."""
        node, known = self._cluster.node(name), self._cluster.node(leader).quorum_listener
        words = [known, str(node.number), node.directory_id]
        return Program(self._cluster.tool(BROKER, str(REMOVE), *words))

    def voters(self, name: str) -> tuple[list[str], int]:
        """Give the last set of voters that it has read by its log, and at which metadata offset.

        For one that has just started: none, and -1.
        """
        told, at = (SET.findall(self._cluster.log(name)) or [("", "-1")])[-1]
        numbers = {int(number) for number in KEY.findall(told)}
        return [n.name for n in self._cluster.state.nodes if n.number in numbers], int(at)

    def await_voters(self, name: str, wanted: Sequence[str], seconds: float = 30) -> int:
        """Until these are the last ones that it has read. Returns their offset in the metadata.

        Raises ClusterError: they are not after that time.
        """
        known = f"{name} knows of voters {', '.join(wanted)}"
        until(lambda: {*self.voters(name)[0]} == {*wanted}, known, seconds)
        return self.voters(name)[1]

    def status(self, name: str) -> None:
        """Prints what it says of itself; a leader is asked on its own host."""
        try:
            said = self._ask(name, [], "describe", "--status", host=name)
        except ClusterError as error:
            said = str(error)
        wanted = ("LeaderId", "LeaderEpoch", "HighWatermark:", "CurrentVoters")
        lines = [" ".join(line.split()) for line in said.splitlines() if line.startswith(wanted)]
        click.echo(f"         {name}: {'; '.join(lines)[:300]}")

    def restart(self, names: Sequence[str]) -> None:
        """Start those whose processes have ended meanwhile.

        They end if what was committed is to be cut.
        """
        within(lambda: not any(map(self._cluster.is_running, names)), ENDS_S)
        for name in names:
            if not self._cluster.is_running(name):
                said = FATAL.search(self._cluster.log(name))
                click.echo(f"         {name} has ended: {said[0] if said else 'why is not known'}")
                self._cluster.start(name)

    def _ask(self, of: str, options: list[str], *words: str, host: str = BROKER) -> str:
        known = ["--bootstrap-controller", self._cluster.node(of).quorum_listener]
        return self._cluster.run_tool(host, COMMAND, *options, *known, *words)
