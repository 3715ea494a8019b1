"""Hosts on one machine, between which any link can be cut: network namespaces on a bridge.

Needs the right to make namespaces (root, as a rule) and Debian's iproute2. A cut link loses
packets both ways; what TCP had in flight is sent again after the link is healed, unless the
connection is gone by then. One set of hosts at a time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

BRIDGE = "kraftcheck0"
NETWORK = "10.91.0"
PREFIX = "kraftcheck-"
VETH = "kc-out"


class IslandError(Exception):
    """The hosts cannot be made. The text is one line."""


def ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise IslandError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


class Islands:
    """Named hosts with an address each; the machine itself is on their network too, at .254."""

    def __init__(self, names: Sequence[str]) -> None:
        self._addresses = {name: f"{NETWORK}.{at}" for at, name in enumerate(names, 1)}

    def make(self) -> None:
        """Makes the hosts, after removing those of the same names.

        Raises IslandError: no `ip` command, no right to use it, or it failed.
        """
        if shutil.which("ip") is None:
            raise IslandError("no `ip` command: install iproute2")
        if os.geteuid() != 0:
            raise IslandError("network namespaces need root: run as root, or in a container")
        self.remove()
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("addr", "add", f"{NETWORK}.254/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        for at, (name, address) in enumerate(self._addresses.items(), 1):
            outer, inner = f"{VETH}{at}", f"kc-in{at}"
            ip("netns", "add", self._namespace(name))
            ip("link", "add", outer, "type", "veth", "peer", "name", inner)
            ip("link", "set", inner, "netns", self._namespace(name))
            ip("link", "set", outer, "master", BRIDGE)
            ip("link", "set", outer, "up")
            self._inside(name, "addr", "add", f"{address}/24", "dev", inner)
            self._inside(name, "link", "set", inner, "up")
            self._inside(name, "link", "set", "lo", "up")

    def address(self, name: str) -> str:
        return self._addresses[name]

    def command(self, name: str, words: Sequence[str]) -> list[str]:
        """The same command, run on that host."""
        return ["ip", "netns", "exec", self._namespace(name), *words]

    def cut(self, a: str, b: str) -> None:
        for here, there in ((a, b), (b, a)):
            self._inside(here, "route", "add", "blackhole", f"{self.address(there)}/32")

    def heal(self, a: str, b: str) -> None:
        for here, there in ((a, b), (b, a)):
            self._inside(here, "route", "del", "blackhole", f"{self.address(there)}/32")

    def _namespace(self, name: str) -> str:
        return PREFIX + name

    def _inside(self, name: str, *arguments: str) -> None:
        ip("-n", self._namespace(name), *arguments)

    def remove(self) -> None:
        """Removes whatever is left of hosts on this network, whoever named them."""
        links = subprocess.run(["ip", "-br", "link"], capture_output=True, text=True, check=False)
        for line in links.stdout.splitlines():
            name = line.split()[0].partition("@")[0]
            if name == BRIDGE or name.startswith(VETH):
                subprocess.run(["ip", "link", "del", name], capture_output=True, check=False)
        spaces = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=False)
        for line in spaces.stdout.splitlines():
            if line.startswith(PREFIX):
                words = ["ip", "netns", "del", line.split()[0]]
                subprocess.run(words, capture_output=True, check=False)
