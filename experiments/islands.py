"""Hosts on one machine, between which any link can be cut: network namespaces on a bridge.

Needs the right to make namespaces (root, as a rule) and Debian's iproute2. A cut link loses
packets both ways; what TCP had in flight is sent again after the link is healed, unless the
connection is gone by then. Everything is removed at the end.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from types import TracebackType

BRIDGE = "kraftcheck0"
NETWORK = "10.91.0"


class IslandError(Exception):
    """The hosts cannot be made. The text is one line."""


def ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise IslandError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


class Islands:
    """Named hosts with an address each; use as a context."""

    def __init__(self, names: Sequence[str]) -> None:
        self._addresses = {name: f"{NETWORK}.{at}" for at, name in enumerate(names, 1)}

    def __enter__(self) -> Islands:
        if shutil.which("ip") is None:
            raise IslandError("no `ip` command: install iproute2")
        if os.geteuid() != 0:
            raise IslandError("network namespaces need root: run as root, or in a container")
        self._remove()
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("link", "set", BRIDGE, "up")
        for at, (name, address) in enumerate(self._addresses.items(), 1):
            outer, inner = f"kc-out{at}", f"kc-in{at}"
            ip("netns", "add", self._namespace(name))
            ip("link", "add", outer, "type", "veth", "peer", "name", inner)
            ip("link", "set", inner, "netns", self._namespace(name))
            ip("link", "set", outer, "master", BRIDGE)
            ip("link", "set", outer, "up")
            self._inside(name, "addr", "add", f"{address}/24", "dev", inner)
            self._inside(name, "link", "set", inner, "up")
            self._inside(name, "link", "set", "lo", "up")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._remove()

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
        return f"kraftcheck-{name}"

    def _inside(self, name: str, *arguments: str) -> None:
        ip("-n", self._namespace(name), *arguments)

    def _remove(self) -> None:
        """Whatever is left of these hosts, from this run or one that was killed."""
        for at, name in enumerate(self._addresses, 1):
            for words in (["link", "del", f"kc-out{at}"], ["netns", "del", self._namespace(name)]):
                subprocess.run(["ip", *words], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", BRIDGE], capture_output=True, check=False)
