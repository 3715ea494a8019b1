"""Hosts on one machine, between which any link can be cut: network namespaces on a bridge.

Needs the right to make namespaces (root, as a rule) and Debian's iproute2. A cut link loses
packets both ways; what TCP had in flight is sent again after the link is healed, unless the
connection is gone by then.

One set of hosts at a time: the bridge is the lock, which the kernel gives to one only. Its alias
says to which directory of a cluster it belongs, and with which process the cluster ends, if it
does. All other names have that directory in them. Nothing of another's is removed, unless its
process has ended, or no cluster is in its directory any more.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

BRIDGE = "kraftcheck0"
NETWORK = "10.91.0"
STATE = "cluster.json"
"""In the directory of a cluster, as long as there is one."""
ALIAS = Path("/sys/class/net") / BRIDGE / "ifalias"
LOCK = "kraftcheck-islands.lock"


class IslandError(Exception):
    """The hosts cannot be made. The text is one line."""


def ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise IslandError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


class Islands:
    """Named hosts with an address each; the machine itself is on their network too, at .254."""

    def __init__(self, directory: Path, names: Sequence[str]) -> None:
        """directory: of the cluster whose hosts they are."""
        self._owner = str(directory.resolve())
        self._own = blake2b(self._owner.encode(), digest_size=3).hexdigest()
        self._addresses = {name: f"{NETWORK}.{at}" for at, name in enumerate(names, 1)}

    def make(self, lasts: bool = False) -> None:
        """Makes the hosts, after removing what is left of these.

        lasts: they stay when this process has ended.

        Raises IslandError: no `ip` command, no right to use it, it failed, or the hosts of another
        cluster are on this machine.
        """
        if shutil.which("ip") is None:
            raise IslandError("no `ip` command: install iproute2")
        if os.geteuid() != 0:
            raise IslandError("network namespaces need root: run as root, or in a container")
        with _alone():
            self._refuse_others()
            self._remove(self._own)
            ip("link", "add", BRIDGE, "type", "bridge")
            ip("link", "set", BRIDGE, "alias", f"{0 if lasts else os.getpid()} {self._owner}")
            ip("addr", "add", f"{NETWORK}.254/24", "dev", BRIDGE)
            ip("link", "set", BRIDGE, "up")
            for at, (name, address) in enumerate(self._addresses.items(), 1):
                outer, inner = f"kc{self._own}o{at}", f"kc{self._own}i{at}"
                ip("netns", "add", self._namespace(name))
                ip("link", "add", outer, "type", "veth", "peer", "name", inner)
                ip("link", "set", inner, "netns", self._namespace(name))
                ip("link", "set", outer, "master", BRIDGE)
                ip("link", "set", outer, "up")
                self._inside(name, "addr", "add", f"{address}/24", "dev", inner)
                self._inside(name, "link", "set", inner, "up")
                self._inside(name, "link", "set", "lo", "up")

    def _refuse_others(self) -> None:
        """Raises IslandError. What is left of a cluster that is gone is removed."""
        if (there := _owner()) is None:
            return
        process, owner = there
        if owner == self._owner:
            return
        ended = process and not Path(f"/proc/{process}").exists()
        if not owner or ((Path(owner) / STATE).exists() and not ended):
            whose = f"the cluster in {owner}" if owner else f"somebody who made {BRIDGE}"
            raise IslandError(
                f"the islands of {whose} are on this machine, which has room for one set: "
                + (f"take it down first, kraftcheck cluster down {owner}" if owner else "remove it")
            )
        self._remove(blake2b(owner.encode(), digest_size=3).hexdigest())
        subprocess.run(["ip", "link", "del", BRIDGE], capture_output=True, check=False)

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
        return f"kraftcheck-{self._own}-{name}"

    def _inside(self, name: str, *arguments: str) -> None:
        ip("-n", self._namespace(name), *arguments)

    def remove(self) -> None:
        """Removes these hosts, and nobody else's."""
        with _alone():
            self._remove(self._own)

    def _remove(self, own: str) -> None:
        """own: what is in the names of a cluster."""
        links = subprocess.run(["ip", "-br", "link"], capture_output=True, text=True, check=False)
        for line in links.stdout.splitlines():
            name = line.split()[0].partition("@")[0]
            if name.startswith(f"kc{own}") or (
                name == BRIDGE and (_owner() or (0, ""))[1] == self._owner
            ):
                subprocess.run(["ip", "link", "del", name], capture_output=True, check=False)
        spaces = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=False)
        for line in spaces.stdout.splitlines():
            if line.startswith(f"kraftcheck-{own}-"):
                words = ["ip", "netns", "del", line.split()[0]]
                subprocess.run(words, capture_output=True, check=False)


def _owner() -> tuple[int, str] | None:
    """Say whose bridge is there; None: there is no bridge.

    The process with which it ends (0: with none), and the directory of the cluster ("": it says
    none).
    """
    try:
        said = ALIAS.read_text(encoding="utf-8").strip()
    except OSError:
        return None
    process, _, directory = said.partition(" ")
    return (int(process), directory) if process.isdecimal() else (0, "")


@contextmanager
def _alone() -> Iterator[None]:
    """Nobody else makes or removes hosts meanwhile."""
    with (Path(tempfile.gettempdir()) / LOCK).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
