"""Faults for a cluster of ours, drawn from a seed and written into the journal as they happen."""

from __future__ import annotations

import os
import random
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import count
from typing import TypeAlias

import msgspec

from kraftcheck.live import changes
from kraftcheck.live.apart import Apart
from kraftcheck.live.cluster import Cluster, ClusterError
from kraftcheck.live.journal import Journal

CHANGES = ("voter", "move", "recreate")
"""What an administrator asks for, and takes back later.

voter: the controller leaves the voters. move: another broker takes the place of this one among the
topic's replicas, or this one that of the first. recreate: a topic beside the recorded one, named
after it, is deleted, and made again. Nobody is down meanwhile.
"""

MEMBERS = ("member-kill", "member-pause")
"""What can be done to a member of a group for a while (kraftcheck/live/apart.py)."""

KINDS = ("kill", "stop", "pause", "partition", "power", "last", "last-power", *CHANGES, *MEMBERS)
"""What can be done to a node for a while; CHANGES are no faults, MEMBERS those of clients.

kill: SIGKILL, which keeps what it had written. stop: a controlled shutdown. pause: SIGSTOP.
partition: its links to all other nodes are cut, those to clients are not. power: a kill that loses
of the topic what was not flushed, which is all that Kafka leaves to the page cache. last: the
other brokers are cut off from it until it is the last in sync, and then it is killed; last-power:
and loses what was not flushed. These two need controllers apart. member-kill: SIGKILL; later
another one takes the place, with the same instance id where there is one. member-pause: SIGSTOP.
"""

DOWN = ("kill", "power", "last", "last-power")
"""Faults by which a broker is gone at once; one that is stopped hands its partitions on alive."""

DATA_LOSS = ("power", "last", "last-power")
"""Of no use but to who leads."""

NOBODY = -1
CALL_S = 120.0
"""How long a fault command may take."""
GROUP_SESSION_S = 6.0
"""The shortest session that Kafka gives a member by default (group.min.session.timeout.ms)."""

LEADER_SHARE = 0.6
"""How often the victim is who leads the topic, or coordinates its group: faults of others have less
to tell."""


Act: TypeAlias = Callable[[str], None]
"""What is done to a victim."""


class Fault(msgspec.Struct, frozen=True):
    """What was done to a node, and for how long.

    NOBODY: to a member, or by a command of the user's. Times are the machine's clock, ms.
    """

    kind: str
    node: int
    begin: int
    end: int


class Nemesis:
    """Does faults to a cluster, and remembers them.

    topic: whose data a power failure takes. clients: those that can be hurt, by their numbers.
    Every fault is undone by `stop` or `stop_all`.
    """

    def __init__(
        self,
        cluster: Cluster,
        journal: Journal,
        topics: Collection[str],
        clients: Apart | None = None,
    ) -> None:
        self._cluster = cluster
        self._clients = clients or Apart()
        self._journal = journal
        self._topics = topics
        self._going: dict[tuple[str, str], int] = {}
        self._moved: dict[str, dict[int, list[int]]] = {}
        self.faults: list[Fault] = []
        self.trouble: list[str] = []

    @property
    def going(self) -> str:
        """What is wrong now, in words; empty: nothing."""
        return ", ".join(f"{kind} {victim}" for kind, victim in [*self._going])

    def votes(self, name: str) -> bool:
        return "controller" in self._cluster.node(name).roles

    def serves(self, name: str) -> bool:
        return "broker" in self._cluster.node(name).roles

    def members(self) -> list[str]:
        """Who can be hurt as one."""
        return [str(number) for number in self._clients.numbers()]

    def start(self, kind: str, victim: str) -> None:
        self._going[kind, victim] = _now()
        self._told(f"start-{kind}", victim, self._ways(kind)[0])

    def stop(self, kind: str, victim: str) -> None:
        """Undoes a fault; for a node that was down, returns when it has started again."""
        self._told(f"stop-{kind}", victim, self._ways(kind)[1])
        began = self._going.pop((kind, victim))
        node = NOBODY if kind in MEMBERS else self._cluster.node(victim).number
        self.faults.append(Fault(kind, node, began, _now()))

    def stop_all(self) -> None:
        for kind, victim in list(self._going):
            self.stop(kind, victim)

    def _ways(self, kind: str) -> tuple[Act, Act]:
        """How a fault of this kind begins, and how it is undone; given the victim."""
        cluster, clients = self._cluster, self._clients
        ways: dict[str, tuple[Act, Act]] = {
            "kill": (cluster.kill, cluster.start),
            "stop": (cluster.stop, cluster.start),
            "pause": (cluster.pause, cluster.resume),
            "partition": (self._isolate, cluster.heal),
            "power": (lambda who: cluster.cut_power(who, self._topics), cluster.start),
            "last": (lambda who: self._strand(who, False), cluster.start),
            "last-power": (lambda who: self._strand(who, True), cluster.start),
            "voter": (partial(changes.remove_voter, cluster), partial(changes.add_voter, cluster)),
            "move": (self._move, lambda _: self._move_back()),
            "recreate": (
                lambda _: self._beside(changes.delete_topic),
                lambda _: self._beside(changes.create_topic),
            ),
            "member-kill": (lambda n: clients.kill(int(n)), lambda n: clients.release(int(n))),
            "member-pause": (lambda n: clients.pause(int(n)), lambda n: clients.resume(int(n))),
        }
        return ways[kind]

    def _move(self, victim: str) -> None:
        cluster = self._cluster
        brokers = [node.number for node in cluster.state.nodes if "broker" in node.roles]
        number = cluster.node(victim).number
        for topic in self._topics:
            self._moved[topic] = before = changes.replicas_of(cluster, topic)
            wanted = {at: changes.without(brokers, each, number) for at, each in before.items()}
            changes.reassign(cluster, topic, wanted)

    def _move_back(self) -> None:
        """What has not ended is given up first: it may not end otherwise (finds/Z130/README.md)."""
        for topic, before in self._moved.items():
            changes.cancel(self._cluster, topic, before)
            changes.reassign(self._cluster, topic, before)
        self._moved.clear()

    def _beside(self, change: Callable[[Cluster, str], None]) -> None:
        for topic in self._topics:
            change(self._cluster, f"{topic}-beside")

    def _isolate(self, victim: str) -> None:
        for node in self._cluster.state.nodes:
            if node.name != victim:
                self._cluster.cut(victim, node.name)

    def _strand(self, victim: str, power: bool) -> None:
        """The victim leads alone for a moment: what it acknowledges then, nobody else has."""
        cluster = self._cluster
        others = [n.name for n in cluster.state.nodes if "broker" in n.roles and n.name != victim]
        for other in others:
            cluster.cut(victim, other)
        time.sleep(1.5 * cluster.lag_ms / 1000 + 1.0)
        if power:
            cluster.cut_power(victim, self._topics)
        else:
            cluster.kill(victim)
        cluster.heal(victim)

    def _told(self, f: str, victim: str, act: Act) -> None:
        """Jepsen's nemesis says everything twice: before, and after."""
        self._journal.moment(f, victim)
        try:
            act(victim)
        except ClusterError as error:
            # A node that will not start again is down: the history tells. Of a change it does not.
            if f.partition("-")[2] in CHANGES:
                self.trouble.append(f"{f} {victim}: {error}")
        self._journal.moment(f, victim)


def disturb(
    nemesis: Nemesis,
    names: Sequence[str],
    kinds: Sequence[str],
    seed: int,
    done: threading.Event,
    session: float,
    leader: Callable[[], str | None],
) -> None:
    """One fault after the other until `done`; the cluster is whole again when this returns.

    names: of the nodes. session: seconds after which a broker is fenced that is not heard of; so
    some faults are shorter than that, and most are longer. leader: who leads the topic, or the log
    of its group, now.
    """
    draw = random.Random(seed)
    while not done.wait(draw.uniform(2.0, 6.0)):
        kind, share, victim = draw.choice(kinds), draw.random(), draw.choice(names)
        if kind in MEMBERS:
            if not (there := nemesis.members()):
                continue
            victim = draw.choice(there)
        elif kind == "voter":
            victim = draw.choice([name for name in names if nemesis.votes(name)])
        elif share < LEADER_SHARE or kind in DATA_LOSS:
            victim = leader() or victim
        if kind == "move" and not nemesis.serves(victim):
            continue
        nemesis.start(kind, victim)
        lasts = (GROUP_SESSION_S if kind in MEMBERS else session) * draw.uniform(0.4, 2.0)
        if kind.startswith("last"):  # whatever may be elected shall be
            lasts = max(lasts, session + 2.0)
        done.wait(lasts)
        nemesis.stop(kind, victim)


class Called:
    """Faults by a command of the user's, for a cluster that is not ours.

    It is called by a shell with `start N`, and some seconds later with `stop N`, N counting from 1;
    KRAFTCHECK_BOOTSTRAP and KRAFTCHECK_TOPIC say of what. The first line that `start` prints says
    what it did. `stop` is called for every fault that was begun, in the end as well.
    """

    def __init__(self, command: str, journal: Journal, bootstrap: str, topic: str) -> None:
        self._command = command
        self._journal = journal
        self._environment = {"KRAFTCHECK_BOOTSTRAP": bootstrap, "KRAFTCHECK_TOPIC": topic}
        self.going = ""
        self.faults: list[Fault] = []
        self.trouble: list[str] = []

    def disturb(self, seed: int, done: threading.Event) -> None:
        """One fault after the other until `done`; none is left when this returns."""
        draw = random.Random(seed)
        for number in count(1):
            if done.wait(draw.uniform(2.0, 6.0)):
                return
            f = f"start-fault{number}"
            said = self._call("start", number) or f"fault {number}"
            self.going, began = said, _now()  # as pages have it: there once it was begun
            for _ in range(2):  # as Jepsen's nemesis says it: before, and after
                self._journal.moment(f, said)
            done.wait(draw.uniform(3.0, 10.0))
            self._call("stop", number)
            for _ in range(2):
                self._journal.moment(f"stop-fault{number}", said)
            self.going = ""
            self.faults.append(Fault(said, NOBODY, began, _now()))

    def _call(self, verb: str, number: int) -> str:
        """The first line that it printed; empty where that has no word, as `{}` has none."""
        words = f"{self._command} {verb} {number}"
        try:
            done = subprocess.run(
                words,
                shell=True,  # as the user would type it
                capture_output=True,
                text=True,
                timeout=CALL_S,
                env={**os.environ, **self._environment},
                check=False,
            )
        except subprocess.TimeoutExpired:
            self.trouble.append(f"`{words}` did not end in {CALL_S:.0f} s")
            return ""
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            self.trouble.append(f"`{words}` ended with {done.returncode}: {last[:200]}")
        said = next(iter(done.stdout.splitlines()), "")[:80]
        return said if any(map(str.isalnum, said)) else ""


def _now() -> int:
    return time.time_ns() // 1_000_000
