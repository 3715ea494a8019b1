"""Faults by hand: whoever talks to the admin port of `kraftcheck serve`.

One JSON object a line goes there and one comes back. `Cluster` is what tests are given.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec

SETTLES_S: Final = 10.0
"""For so long a fault is waited for until its effect is there."""
ANSWERED_S: Final = 120.0
"""For so long any command but the end may take."""
_LOOK_S: Final = 0.005


class CommandError(ValueError):
    """A command that the cluster refuses; the message says why."""


class Verdict(msgspec.Struct, frozen=True):
    """What was said at the end (judging.Judged)."""

    verdict: str
    reasons: list[str]
    tape: str
    steps: int
    command: str
    """Plays the tape again."""

    def __str__(self) -> str:
        return "\n  ".join([self.verdict, *self.reasons, f"again: {self.command}"])


class Cluster:
    """A served cluster: where clients find it, and what can be done to it.

    Brokers are numbered from 0. All methods raise CommandError for what there is not, and for an
    effect that does not come; ConnectionError when the cluster is gone.
    """

    def __init__(self, host: str, admin_port: int, bootstrap: str) -> None:
        self.bootstrap_servers = bootstrap
        """For the clients' setting of this name."""
        self._socket = socket.create_connection((host, admin_port), timeout=ANSWERED_S)
        self._file = self._socket.makefile("rw", encoding="utf-8")

    def command(self, do: str, **said: Any) -> dict[str, Any]:
        """Anything that the admin port understands (docs/serve.md)."""
        # The end is judged, for as long as that takes.
        self._socket.settimeout(None if do == "end" else ANSWERED_S)
        self._file.write(json.dumps({"do": do, **said}) + "\n")
        self._file.flush()
        line = self._file.readline()
        if not line:
            raise ConnectionError("the served cluster is gone")
        answer: dict[str, Any] = json.loads(line)
        if answer.pop("error"):
            raise CommandError(json.loads(line)["error"])
        return answer

    # --- What it is like

    def describe(self) -> dict[str, Any]:
        """Describe the cluster.

        Brokers that are `up`; `topics`, with leader, epoch, isr and replicas by partition; the
        groups' `coordinator`; what was asked that is `unserved`.
        """
        return self.command("describe")

    def partition(self, topic: str, partition: int) -> dict[str, Any]:
        there = self.describe()["topics"].get(topic, [])
        if not 0 <= partition < len(there):
            raise CommandError(f"no partition {topic}-{partition}")
        found: dict[str, Any] = there[partition]
        return found

    def leader_of(self, topic: str, partition: int) -> int:
        """Whom the controller has decided on; -1: nobody."""
        leader: int = self.partition(topic, partition)["leader"]
        return leader

    def end_offset(self, topic: str, partition: int) -> int:
        """The high watermark that its leader knows; waits for a leader."""
        self._until(lambda: self.leader_of(topic, partition) >= 0, f"{topic}-{partition}")
        end: int = self.partition(topic, partition)["watermark"]
        return end

    def coordinator(self) -> int:
        """Who leads what groups and consumers have committed; -1: nobody."""
        leader: int = self.describe()["coordinator"]
        return leader

    # --- What is done to it

    def create_topic(
        self, name: str, partitions: int = 1, replicas: int = -1, **configs: str
    ) -> None:
        """configs: Kafka's names with `_` for `.`, as in `min_insync_replicas="2"`."""
        self.command("create", name=name, partitions=partitions, replicas=replicas, **configs)
        self._until(lambda: all(each["settled"] for each in self.describe()["topics"][name]), name)

    def kill(self, broker: int, lose: bool = False) -> None:
        """The process ends and its connections are reset.

        lose: the machine crashes, and what was not flushed is lost; Kafka flushes when it stops
        cleanly.
        """
        self.command("kill", broker=broker, lose=lose)

    def stop(self, broker: int) -> None:
        """A clean stop: waits until the broker has handed over what it leads."""
        self.command("stop", broker=broker)
        self._until(lambda: broker not in self.describe()["up"], f"broker {broker} to stop")

    def restart(self, broker: int) -> None:
        """The process starts again; it joins in-sync replicas when it has caught up."""
        self.command("restart", broker=broker)

    def move_leader(self, topic: str, partition: int) -> int:
        """Another in-sync replica leads; the new leader. The old one lives on, and finds out."""
        old = self.partition(topic, partition)["epoch"]
        self.command("move", topic=topic, partition=partition)
        self._until(
            lambda: self._has_moved(topic, partition, old), f"{topic}-{partition} to be led"
        )
        return self.leader_of(topic, partition)

    def _has_moved(self, topic: str, partition: int, old: int) -> bool:
        now = self.partition(topic, partition)
        return bool(now["epoch"] > old and now["leader"] >= 0)

    def isolate(self, broker: int) -> None:
        """Cuts a broker off from the other brokers and the controller; clients still reach it."""
        self.command("cut", broker=broker)

    def join(self, broker: int) -> None:
        """End `isolate`."""
        self.command("join", broker=broker)

    def reset_connection(
        self,
        when: Literal["before", "after"],
        api: str = "",
        broker: int | None = None,
        client: str = "",
        times: int = 1,
    ) -> None:
        """Have the next `times` requests end their connection, before or after they are handled.

        After: they have had their effect and only the answer is missing. api, broker, client: only
        such requests; client is a `client.id`.
        """
        said: dict[str, Any] = {"when": when, "api": api, "client": client, "times": times}
        if broker is not None:
            said["broker"] = broker
        self.command("reset", **said)

    # --- Moves that wait

    def when(
        self, api: str = "", *, nth: int = 1, topic: str = "", client: str = "", **more: Any
    ) -> Waits:
        """Wait for the nth request from now on, of an API, to a topic, of a `client.id`.

        Or for `broker=1`, `at=` seconds of the cluster's own, `watermark=10, partition=0` of a
        topic, `command="go"`.

            cluster.when("Produce", nth=3).do("kill", broker="leader of t-0")
        """
        said = {"api": api, "nth": nth, "topic": topic, "client": client, **more}
        return Waits(self, {key: value for key, value in said.items() if value != ""})

    def plan(self, moves: int | str | Path | Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Tells the cluster of moves: of a file, of a seed, or as they are. Returns them."""
        # Not needed by whoever has no plan.
        from kraftcheck.kafka.serve import plans

        if isinstance(moves, int):
            moves = plans.drawn(moves, len(self.bootstrap_servers.split(",")))
        elif isinstance(moves, str | Path):
            moves = plans.read(Path(moves))
        for each in moves:
            self.command(**each)
        return list(moves)

    def fire(self, name: str) -> None:
        """What was to be done at the `command` of this name."""
        self.command("fire", name=name)

    def wait_for_isr(self, topic: str, partition: int, size: int) -> None:
        """Until so many replicas are in sync."""
        what = f"{size} in-sync replicas of {topic}-{partition}"
        self._until(lambda: len(self.partition(topic, partition)["isr"]) == size, what)

    def _until(self, done: Any, what: str) -> None:
        end = time.monotonic() + SETTLES_S
        while not done():
            if time.monotonic() > end:
                raise CommandError(f"waited {SETTLES_S:.0f} s for {what}")
            time.sleep(_LOOK_S)

    # --- Its end

    def end(self) -> Verdict:
        """Ends the cluster, judges what it did, and begins a fresh one at the same addresses."""
        return msgspec.convert(self.command("end"), Verdict)

    def close(self) -> None:
        self._socket.close()


class Waits(NamedTuple):
    """When something is to be done."""

    cluster: Cluster
    when: dict[str, Any]

    def do(self, command: str, **said: Any) -> None:
        """Give any command.

        Or one to the request itself: `reset` with `cut` (before, after, within), `delay` with `ms`,
        `answer` with `error`, which is invented.
        """
        self.cluster.command(command, when=self.when, **said)


class Process:
    """`kraftcheck serve` as a child. Raises RuntimeError: it did not start."""

    def __init__(self, *options: str, cwd: Path | None = None) -> None:
        serve = ["serve", "--json", "--quiet", "--until-eof"]
        # -P: modules of the folder where a test runs must not stand in place of ours.
        call = [sys.executable, "-P", "-m", "kraftcheck", *serve, *options]
        # Its input ends with this process, however that ends.
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(call, stdin=pipe, stdout=pipe, text=True, cwd=cwd)
        assert self._child.stdout is not None, "a pipe was asked for"
        line = self._child.stdout.readline()
        if not line:
            raise RuntimeError(f"kraftcheck serve ended with {self._child.wait()}")
        said = json.loads(line)
        self.pid = self._child.pid
        self.cluster = Cluster(said["host"], said["admin_port"], said["bootstrap.servers"])

    def close(self) -> None:
        try:
            self.cluster.command("quit")
        except (ConnectionError, OSError):
            self._child.terminate()
        self.cluster.close()
        # It judges what it has served, which takes as long as that was: no limit is right.
        self._child.wait()
        assert self._child.stdout is not None and self._child.stdin is not None
        self._child.stdout.close()
        self._child.stdin.close()
