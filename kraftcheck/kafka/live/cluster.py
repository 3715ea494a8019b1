"""A real Apache Kafka cluster in KRaft mode on one machine: start it, hurt it, stop it.

Nodes listen on loopback ports or, with islands, each on a host of its own (network namespaces),
between which links can be cut. Everything lies in one directory, which also holds `cluster.json`:
so any later process can take the cluster up again, and only what was started from it is stopped. A
process is known by its id and the time it began, so that an id that was used again is left alone.

Nodes end with the process that started the cluster, also where that is killed with -9, unless they
are to last (`kraftcheck cluster up`).
"""

from __future__ import annotations

import base64
import os
import shutil
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self

import msgspec

from kraftcheck.kafka.live.artifacts import broker, class_path, version
from kraftcheck.kafka.live.islands import Islands
from kraftcheck.kafka.live.witness.jars import program
from kraftcheck.osutil import children
from kraftcheck.osutil.java import BRIEF

STATE = "cluster.json"
CLUSTER_ID = "a3JhZnRjaGVjazAwMDAwMA"
JVM = ("-Xmx256m", *BRIEF)
STARTED = "Kafka Server started"
LOCK = ".lock"
BLOCK = 1 << 16
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOGGING = Path(__file__).resolve().parent / "kafka" / "log4j2.xml"
BROKER_PORT, CONTROLLER_PORT = 29090, 19090
START_SECONDS, STOP_SECONDS, TOOL_SECONDS = 60.0, 30.0, 180.0
SESSION_MS, LAG_MS = 9000, 30000
"""Kafka's own broker.session.timeout.ms and replica.lag.time.max.ms."""

LAYOUTS: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "combined": tuple((f"n{i}", ("broker", "controller")) for i in (1, 2, 3)),
    "isolated": (
        *((f"b{i}", ("broker",)) for i in (1, 2, 3)),
        *((f"c{i}", ("controller",)) for i in (1, 2, 3)),
    ),
    "one-controller": (*((f"b{i}", ("broker",)) for i in (1, 2, 3)), ("c1", ("controller",))),
    "spare": (*((f"b{i}", ("broker",)) for i in (1, 2, 3, 4)), ("c1", ("controller",))),
    "single": (("n1", ("broker", "controller")),),
    "voters": (("b1", ("broker",)), *((f"c{i}", ("controller",)) for i in (1, 2, 3, 4))),
    "changing": (
        *((f"b{i}", ("broker",)) for i in (1, 2, 3, 4)),
        *((f"c{i}", ("controller",)) for i in (1, 2, 3)),
    ),
}
"""Nodes by name, with their roles. Numbers are places in the list, from 1."""
FIRST_VOTERS: Mapping[str, tuple[str, ...]] = {
    "voters": ("c1", "c2", "c3"),
    "changing": ("c1", "c2", "c3"),
}
"""By layout, the controllers that vote at first, where that may change (KIP-853). Others are of
kraft.version 0: all controllers vote."""


class ClusterError(Exception):
    """The cluster cannot be started, found or asked. The text is one line."""


class Node(msgspec.Struct, frozen=True):
    """One Kafka process. `began`: when it did, in ticks of the machine's clock; None: down."""

    name: str
    number: int
    roles: tuple[str, ...]
    address: str
    pid: int | None = None
    began: int | None = None

    @property
    def listener(self) -> str:
        return f"{self.address}:{BROKER_PORT + self.number}"

    @property
    def directory_id(self) -> str:
        """Of its log directory, where voters are told by it."""
        return base64.urlsafe_b64encode(f"kraftcheck{self.number:06}".encode()).decode()[:22]

    @property
    def quorum_port(self) -> int:
        return CONTROLLER_PORT + self.number

    @property
    def quorum_listener(self) -> str:
        return f"{self.address}:{self.quorum_port}"


class State(msgspec.Struct, frozen=True):
    """What `cluster.json` holds.

    guests, paused: names of hosts.
    """

    version: str
    layout: str
    islands: bool
    settings: dict[str, str]
    nodes: tuple[Node, ...]
    guests: tuple[str, ...] = ()
    paused: tuple[str, ...] = ()
    cuts: tuple[tuple[str, str], ...] = ()
    """Pairs of them."""
    own: str | None = None
    """A folder with jars or classes that come before Kafka's."""


class Cluster:
    """A cluster by its directory. Use `up` or `load`."""

    def __init__(self, directory: Path, state: State) -> None:
        self.directory = directory
        self.patience = START_SECONDS
        """Seconds that a node may take to start."""
        self._state = state
        self._lasts = True
        self._guarded: dict[str, ExitStack] = {}

    @classmethod
    def up(
        cls,
        directory: Path,
        layout: str = "combined",
        islands: bool = False,
        settings: Mapping[str, str] | None = None,
        guests: Sequence[str] = (),
        patience: float = START_SECONDS,
        lasts: bool = False,
        own: Path | None = None,
    ) -> Self:
        """Formats and starts a new cluster, and waits until every node has started.

        guests: further hosts on the islands' network, for clients. patience: seconds that a node
        may take to start. lasts: nodes go on when this process has ended. own: jars or classes
        that come before Kafka's. Raises ClusterError, ArtifactError, IslandError; nothing is left
        running then.
        """
        if (directory / STATE).exists():
            raise ClusterError(f"{directory / STATE}: there is a cluster; take it down first")
        hosts = Islands(directory, [*(name for name, _ in LAYOUTS[layout]), *guests])
        nodes = [
            Node(name, at, roles, hosts.address(name) if islands else "127.0.0.1")
            for at, (name, roles) in enumerate(LAYOUTS[layout], 1)
        ]
        directory.mkdir(parents=True, exist_ok=True)
        more = dict(settings or {})
        state = State(version(), layout, islands, more, tuple(nodes), tuple(guests))
        if own is not None:
            state = msgspec.structs.replace(state, own=str(own.resolve()))
        cluster = cls(directory, state)
        cluster.patience, cluster._lasts = patience, lasts
        cluster._class_path()
        cluster._refuse_taken_ports()
        try:
            # First: by it others know that the islands are a cluster's.
            cluster._save(state)
            if islands:
                hosts.make(lasts)
            for node in nodes:
                cluster._format(node)
            for node in nodes:
                cluster.start(node.name, wait=False)
            cluster._await_start()
        except BaseException:
            cluster.down()
            raise
        return cluster

    @classmethod
    def load(cls, directory: Path) -> Cluster:
        """The cluster of that directory. Raises ClusterError: there is none."""
        try:
            data = (directory / STATE).read_bytes()
            return cls(directory, msgspec.json.decode(data, type=State))
        except OSError:
            raise ClusterError(f"{directory / STATE}: no cluster was started there") from None
        except msgspec.DecodeError as error:
            raise ClusterError(f"{directory / STATE}: damaged: {error}") from None

    # -- What there is

    @property
    def state(self) -> State:
        return self._state

    @property
    def bootstrap(self) -> str:
        return ",".join(node.listener for node in self._state.nodes if "broker" in node.roles)

    @property
    def session_ms(self) -> int:
        """After so long without a heartbeat a broker is fenced."""
        return int(self._state.settings.get("broker.session.timeout.ms", SESSION_MS))

    @property
    def lag_ms(self) -> int:
        """After so long without having caught up a replica leaves the ISR."""
        return int(self._state.settings.get("replica.lag.time.max.ms", LAG_MS))

    def node(self, name: str) -> Node:
        for node in self._state.nodes:
            if node.name == name:
                return node
        known = ", ".join(node.name for node in self._state.nodes)
        raise ClusterError(f"no node {name!r}: there are {known}")

    def is_running(self, name: str) -> bool:
        node = self.node(name)
        return node.pid is not None and began(node.pid) == node.began

    def log(self, name: str) -> str:
        """What the node has written to its log since it last started."""
        return self._path(name, "log").read_text(encoding="utf-8", errors="replace")

    def partition_file(self, name: str, partition: str, file: str) -> Path:
        return self.directory / name / partition / file

    def keep_logs(self, name: str, topic: str, folder: Path) -> None:
        """Copy what is on a node's disk of a topic, as a log directory.

        While the node runs, only what nobody writes to. Raises OSError.
        """
        for path in sorted((self.directory / name).iterdir()):
            if path.is_dir() and path.name.rpartition("-")[0] == topic:
                # Logs last, so that no index knows more than is in them.
                for file in sorted(path.iterdir(), key=lambda each: each.suffix == ".log"):
                    _copy(file, folder / path.name / file.name)
            elif path.is_file() and path.name != LOCK:
                _copy(path, folder / path.name)

    # -- Faults

    def start(self, name: str, *, wait: bool = True, jvm: Sequence[str] = ()) -> None:
        """Starts a node that is down, with what is on its disk.

        jvm: more options of Java, this time.
        """
        if self.is_running(name):
            raise ClusterError(f"{name} is running")
        logging = f"-Dlog4j2.configurationFile={LOGGING}"
        words = [program("java"), *JVM, *jvm, logging, "-cp", self._class_path(), "kafka.Kafka"]
        command = self.on(name, [*words, str(self._path(name, "properties"))])
        with open(self._path(name, "log"), "wb") as log:
            process = self._started(name, command, stdout=log, stderr=subprocess.STDOUT)
        self._change_node(name, pid=process.pid, began=began(process.pid))
        if wait:
            self._await_start(name)

    def _started(self, name: str, command: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
        if self._lasts:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, start_new_session=True, **how
            )
        self._unguard(name)
        self._guarded[name] = guarded = ExitStack()
        return guarded.enter_context(children.started(command, **how))

    def _unguard(self, name: str) -> None:
        """Once a node has ended, its id may be somebody else's."""
        self._guarded.pop(name, ExitStack()).close()

    def kill(self, name: str) -> None:
        """SIGKILL: what was in the page cache stays."""
        self._end(name, signal.SIGKILL, STOP_SECONDS)

    def stop(self, name: str) -> None:
        """SIGTERM, upon which a broker hands its partitions on; one that takes too long is killed.

        Raises ClusterError: it had to be killed.
        """
        self._end(name, signal.SIGTERM, STOP_SECONDS)

    def cut_power(self, name: str, topics: Collection[str]) -> None:
        """As `kill`, and what was not flushed of these topics is gone.

        Only those: the metadata log is flushed before it counts.
        """
        self.kill(name)
        for topic in topics:
            lose_unflushed(self.directory / name, topic)

    def pause(self, name: str) -> None:
        """SIGSTOP: the process does nothing, its connections stay."""
        self._signal(name, signal.SIGSTOP)
        self._change(paused=tuple(sorted({*self._state.paused, name})))

    def resume(self, name: str) -> None:
        self._signal(name, signal.SIGCONT)
        self._change(paused=tuple(n for n in self._state.paused if n != name))

    def _end(self, name: str, how: signal.Signals, seconds: float) -> None:
        self._signal(name, how)
        node = self.node(name)
        assert node.pid is not None
        deadline = time.monotonic() + seconds
        late = False
        while began(node.pid) == node.began:
            with suppress(ChildProcessError):
                os.waitpid(node.pid, os.WNOHANG)
            if time.monotonic() > deadline and not late:
                late = True
                self._signal(name, signal.SIGKILL)
            time.sleep(0.01)
        self._unguard(name)
        self._change_node(name, pid=None, began=None)
        self._change(paused=tuple(n for n in self._state.paused if n != name))
        if late:
            raise ClusterError(f"{name} did not stop within {seconds:.0f} seconds, and was killed")

    def cut(self, a: str, b: str) -> None:
        """Cuts the link between two hosts, both ways. Raises ClusterError without islands."""
        self._hosts().cut(a, b)
        self._change(cuts=(*self._state.cuts, (a, b)))

    def heal(self, a: str | None = None, b: str | None = None) -> None:
        """Heals one link, all of a host, or all. Raises ClusterError: the link is not cut."""
        wanted = {host for host in (a, b) if host is not None}
        chosen = tuple(cut for cut in self._state.cuts if wanted <= {*cut})
        if b is not None and not chosen:
            raise ClusterError(f"the link between {a} and {b} is not cut")
        for cut in chosen:
            self._hosts().heal(*cut)
        self._change(cuts=tuple(cut for cut in self._state.cuts if cut not in chosen))

    def down(self) -> None:
        """Stops what runs and removes the data; logs of the nodes stay."""
        for node in self._state.nodes:
            if self.is_running(node.name):
                self.kill(node.name)
            shutil.rmtree(self.directory / node.name, ignore_errors=True)
        if self._state.islands:
            self._hosts().remove()
        (self.directory / STATE).unlink(missing_ok=True)

    # -- Commands on a node's host

    def on(self, host: str, words: Sequence[str]) -> list[str]:
        """The same command, run on that host: a node or, with islands, a guest."""
        return self._hosts().command(host, words) if self._state.islands else list(words)

    def tool(self, host: str, main: str, *arguments: str) -> subprocess.Popen[str]:
        """One of Kafka's own commands, started on that host; its input and output are pipes."""
        words = [program("java"), *JVM, "-cp", self._class_path(), main, *arguments]
        return subprocess.Popen(
            self.on(host, words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run_tool(self, host: str, main: str, *arguments: str) -> str:
        """As `tool`, to its end. Raises ClusterError: it failed, or took over three minutes."""
        process = self.tool(host, main, *arguments)
        try:
            output, _ = process.communicate(timeout=TOOL_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise ClusterError(f"{main}: no answer after {TOOL_SECONDS:.0f} seconds") from None
        if process.returncode:
            raise ClusterError(f"{main}: {' '.join(output.split())[:300]}")
        return output

    # -- Inside

    def _hosts(self) -> Islands:
        if not self._state.islands:
            raise ClusterError("links can be cut between islands only: start with islands")
        names = [*(node.name for node in self._state.nodes), *self._state.guests]
        return Islands(self.directory, names)

    def _path(self, name: str, suffix: str) -> Path:
        return self.directory / f"{name}.{suffix}"

    def _class_path(self) -> str:
        own = self._state.own
        return class_path(Path(own) if own else None, broker(self._state.version))

    def _save(self, state: State) -> None:
        self._state = state
        data = msgspec.json.format(msgspec.json.encode(state), indent=1)
        temporary = self.directory / f".{STATE}"
        temporary.write_bytes(data)
        temporary.replace(self.directory / STATE)

    def _change(self, **fields: Any) -> None:
        self._save(msgspec.structs.replace(self._state, **fields))

    def _change_node(self, name: str, **fields: int | None) -> None:
        nodes = tuple(
            msgspec.structs.replace(node, **fields) if node.name == name else node
            for node in self._state.nodes
        )
        self._change(nodes=nodes)

    def _signal(self, name: str, what: signal.Signals) -> None:
        node = self.node(name)
        if node.pid is None or not self.is_running(name):
            raise ClusterError(f"{name} is not running")
        os.kill(node.pid, what)

    def _refuse_taken_ports(self) -> None:
        if self._state.islands:
            return
        for node in self._state.nodes:
            for port in (BROKER_PORT + node.number, CONTROLLER_PORT + node.number):
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    try:
                        probe.bind((node.address, port))
                    except OSError:
                        raise ClusterError(f"port {port} is taken") from None

    def _format(self, node: Node) -> None:
        lines = [f"{key}={value}\n" for key, value in self._properties(node).items()]
        file = self._path(node.name, "properties")
        file.write_text("".join(lines), encoding="utf-8")
        words = ["format", "-t", CLUSTER_ID, "-c", str(file)]
        voters = [self.node(name) for name in FIRST_VOTERS.get(self._state.layout, ())]
        if node in voters:
            told = (f"{n.number}@{n.quorum_listener}:{n.directory_id}" for n in voters)
            words += ["--initial-controllers", ",".join(told)]
        elif voters and "controller" in node.roles:
            words += ["--no-initial-controllers"]
        self.run_tool(node.name, "kafka.tools.StorageTool", *words)

    def _properties(self, node: Node) -> dict[str, str]:
        controllers = [n for n in self._state.nodes if "controller" in n.roles]
        voters = FIRST_VOTERS.get(self._state.layout)
        quorum = (
            ("voters", (f"{n.number}@{n.quorum_listener}" for n in controllers))
            if voters is None
            else ("bootstrap.servers", (self.node(name).quorum_listener for name in voters))
        )
        listeners = {
            "broker": f"PLAINTEXT://{node.listener}",
            "controller": f"CONTROLLER://{node.quorum_listener}",
        }
        properties = {
            "node.id": str(node.number),
            "process.roles": ",".join(node.roles),
            f"controller.quorum.{quorum[0]}": ",".join(quorum[1]),
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "listeners": ",".join(listeners[role] for role in node.roles),
            "log.dirs": str(self.directory / node.name),
        }
        if "broker" in node.roles:
            properties["advertised.listeners"] = listeners["broker"]
            properties["inter.broker.listener.name"] = "PLAINTEXT"
        return {**properties, **self._state.settings}

    def _await_start(self, *names: str) -> None:
        deadline = time.monotonic() + self.patience
        for name in names or [node.name for node in self._state.nodes]:
            while STARTED not in self.log(name):
                if not self.is_running(name):
                    raise ClusterError(f"{name} did not start: see {self._path(name, 'log')}")
                if time.monotonic() > deadline:
                    raise ClusterError(f"{name} did not start within {self.patience:.0f} seconds")
                time.sleep(0.2)


def _copy(source: Path, target: Path) -> None:
    """But for the room that indexes have: megabytes of zeros, which become a hole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    # What Kafka renames or deletes meanwhile is a file that it writes anew, or none of the log.
    with suppress(FileNotFoundError), source.open("rb") as read, target.open("wb") as written:
        while block := read.read(BLOCK):
            if block != bytes(len(block)):
                written.write(block)
            else:
                written.seek(len(block), os.SEEK_CUR)
        written.truncate(read.tell())


def lose_unflushed(folder: Path, topic: str) -> None:
    """Cuts the topic's logs in a broker's folder where they were flushed last.

    Kafka notes that place in `recovery-point-offset-checkpoint`: a line with its version, one with
    the number of partitions, and then topic, partition and offset of each.
    """
    flushed: dict[str, int] = {}
    with suppress(OSError):
        lines = (folder / RECOVERY_POINTS).read_text(encoding="utf-8").splitlines()[2:]
        flushed = {f"{of}-{at}": int(offset) for of, at, offset in map(str.split, lines)}
    for directory in folder.glob(f"{topic}-*"):
        if directory.name.rpartition("-")[0] != topic or not directory.is_dir():
            continue
        point = flushed.get(directory.name, 0)
        for segment in directory.glob("*.log"):
            with open(segment, "r+b") as file:
                file.truncate(_position(file.read(), point))


def _position(segment: bytes, offset: int) -> int:
    """Where the first batch with that offset or a later one begins.

    A batch is its first offset (8 bytes), its length after itself (4 bytes), and so many bytes.
    """
    place = 0
    while place + 12 <= len(segment):
        base, length = struct.unpack_from(">qi", segment, place)
        if base >= offset:
            break
        place += 12 + length
    return min(place, len(segment))


def began(pid: int) -> int | None:
    """When the process began, in ticks since the machine did; None: there is none, or a zombie.

    One whose first thread has ended while others are at work has its files and ports still, and is
    none.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    state, threads = fields[0], int(fields[17])
    return None if state == "Z" and threads < 2 else int(fields[19])
