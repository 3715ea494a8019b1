"""Run producers and share consumers of Kafka's own client.

It alone has an epoch for each transaction (KIP-890), and share groups (KIP-932). One program in
Java (kafka/Clients.java) runs all of them, and reads from lines what to do. It may try for longer
than its delivery timeout to open or to end a transaction; we wait no longer than is asked, as for
librdkafka, so that histories mean the same. Other consumers are librdkafka's; a history shows their
reads by positions, which both clients have.
"""

from __future__ import annotations

import queue
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final

from kraftcheck.kafka.live.artifacts import ArtifactError, libraries, version
from kraftcheck.kafka.live.confluent import Confluent, ConfluentReader
from kraftcheck.kafka.live.library import (
    Answered,
    ClientError,
    Ending,
    LibraryError,
    Options,
    SendResult,
    Shown,
)
from kraftcheck.kafka.live.witness.jars import program
from kraftcheck.osutil.java import BRIEF

PROGRAM: Final = Path(__file__).resolve().parent / "kafka" / "Clients.java"
JVM: Final = ("-Xmx256m", *BRIEF)
START_S: Final = 60.0
SLACK_S: Final = 5.0
"""How much longer than the client we wait for what it has promised to give up."""
BLOCK_MS: Final = 20_000
OTHERWISE: Final = {"message.timeout.ms": "delivery.timeout.ms"}
"""Options whose names differ from librdkafka's. What it does not know it passes over."""
SECURED: Final = ("security.", "ssl.", "sasl.")
DIED: Final = "ended"
"""What is answered to all when the program has ended."""


class Java:
    """The library.

    See kraftcheck/kafka/live/library.py for what its methods mean. Raises LibraryError: no jars, no
    Java that has a compiler.
    """

    def __init__(self) -> None:
        self._consumers = Confluent()
        self._program: _Program | None = None
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[Java], tuple[()]]:
        """In another process it is another program."""
        return Java, ()

    @property
    def version(self) -> str:
        return f"Apache Kafka's client {version()}, consumers: {self._consumers.version}"

    def sender(self, bootstrap: str, options: Options) -> JavaSender:
        """Raises LibraryError: it does not start, or there is more than plain connections."""
        return JavaSender(self._run(options), bootstrap, options)

    def sharer(self, bootstrap: str, group: str, options: Options) -> JavaSharer:
        """A member of a share group, which begins at the start of each log.

        Raises LibraryError: as `sender`. ClientError: it cannot be made.
        """
        return JavaSharer(self._run(options), bootstrap, group, options)

    def _run(self, options: Options) -> _Program:
        if any(name.startswith(SECURED) for name in options):
            raise LibraryError("the Java client has plain connections only: take another client")
        with self._lock:
            if self._program is None or not self._program.runs:
                self._program = _Program()
            return self._program

    def reader(self, bootstrap: str, group: str, options: Options) -> ConfluentReader:
        return self._consumers.reader(bootstrap, group, options)


def command() -> list[str]:
    """What starts the program. Raises LibraryError."""
    try:
        return [program("java"), *JVM, "-cp", f"{libraries()}/*", str(PROGRAM)]
    except ArtifactError as error:
        raise LibraryError(str(error)) from None


class _Program:
    """The program, and who waits for an answer of it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._waiting: dict[str, queue.SimpleQueue[str]] = {}
        self._ready = threading.Event()
        self._names = count(1)
        self._lock = threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()
        if not self._ready.wait(START_S) or not self.runs:
            self._process.kill()
            raise LibraryError(
                "the Java client does not start: it takes a JDK, version 17 or later"
            )

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def join(self) -> str:
        """The name of one more client."""
        name = f"p{next(self._names)}"
        self._waiting[name] = queue.SimpleQueue()
        return name

    def say(self, name: str, *words: str) -> None:
        assert self._process.stdin is not None
        with self._lock, suppress(OSError):  # it has ended, which its answers say
            self._process.stdin.write(" ".join((name, *words)) + "\n")
            self._process.stdin.flush()

    def hear(self, name: str, seconds: float) -> list[str]:
        """The words of the next answer to this client. Raises queue.Empty: none in that time."""
        if not self.runs and self._waiting[name].empty():
            return [f"!{DIED}"]
        return self._waiting[name].get(timeout=seconds).split()

    def leave(self, name: str) -> None:
        self.say(name, "close")

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            name, _, words = line.strip().partition(" ")
            if name == "ready":
                self._ready.set()
            elif name in self._waiting:
                self._waiting[name].put(words)
        self._process.wait()
        self._ready.set()
        for each in list(self._waiting.values()):
            each.put(f"!{DIED}")


class JavaSender:
    """Answers come in the order of what was said, so who has not waited for one hears no more."""

    def __init__(self, client: _Program, bootstrap: str, options: Options) -> None:
        self._program, self._name = client, client.join()
        self._patience = int(options.get("message.timeout.ms", 120_000)) / 1000 + SLACK_S
        settings = {
            "bootstrap.servers": bootstrap,
            "max.block.ms": BLOCK_MS,
            **{OTHERWISE.get(name, name): value for name, value in options.items()},
        }
        words = (f"{k}={str(v).lower() if isinstance(v, bool) else v}" for k, v in settings.items())
        self._late = False
        self._ask(self._patience, "new", *words)

    def send(self, topic: str, partition: int, value: bytes) -> SendResult:
        [word] = self._ask(self._patience, "send", topic, str(partition), value.hex())
        return _told(word)._replace(fatal=word.startswith("!"))

    def initialise(self, seconds: float) -> None:
        [word] = self._ask(seconds + SLACK_S, "init")
        if word != "ok":
            raise ClientError(word.removeprefix("!"))

    def write(
        self, topic: str, sends: Sequence[tuple[int, bytes]], seconds: float
    ) -> Sequence[SendResult]:
        records = [word for place, value in sends for word in (str(place), value.hex())]
        words = self._ask(seconds, "write", topic, *records)
        # One word for all: it was refused before a record was sent.
        return [_told(word) for word in (words if len(words) == len(sends) else words * len(sends))]

    def end(self, abort: bool, seconds: float) -> Ending:
        kind, *error = self._ask(seconds, "abort" if abort else "commit")
        if kind == "ok":
            return Ending("ok")
        if kind == "aborted":
            return Ending("fail", error=error[0].removeprefix("!"))
        return Ending("info", error=(error or [kind])[0].removeprefix("!"))

    def close(self) -> None:
        self._program.leave(self._name)

    def _ask(self, seconds: float, *words: str) -> list[str]:
        if self._late:
            return ["!timed-out"]
        self._program.say(self._name, *words)
        try:
            return self._program.hear(self._name, seconds)
        except queue.Empty:
            self._late = True
            return ["!timed-out"]


class JavaSharer:
    """A member of a share group. What its methods raise is a ClientError."""

    def __init__(
        self, client: _Program, bootstrap: str, group: str, options: Options, seconds: float = 60.0
    ) -> None:
        self._program, self._name, self._seconds = client, client.join(), seconds
        settings = {"bootstrap.servers": bootstrap, "group.id": group, **options}
        self.answered: list[Answered] = []
        """Since it was looked at last."""
        self._ask(seconds, "share", *(f"{name}={value}" for name, value in settings.items()))
        self._ask(seconds, "earliest", group)

    def subscribe(self, topic: str) -> None:
        self._ask(self._seconds, "subscribe", topic)

    def poll(self, seconds: float) -> list[Shown]:
        words = self._ask(self._seconds, "poll", str(int(1000 * seconds)))
        found = (word.split(":") for word in words if word.startswith("record:"))
        return [Shown(int(p), int(o), int(c), bytes.fromhex(v)) for _, p, o, c, v in found]

    def acknowledge(self, records: Sequence[tuple[int, int, str]]) -> None:
        """records: partition, offset and type, of the last poll."""
        self._ask(self._seconds, "acknowledge", *(str(word) for each in records for word in each))

    def commit(self) -> None:
        self._ask(self._seconds, "commit")

    def close(self) -> None:
        self._ask(self._seconds, "close")

    def _ask(self, seconds: float, *words: str) -> list[str]:
        self._program.say(self._name, *words)
        try:
            told = self._program.hear(self._name, seconds + SLACK_S)
        except queue.Empty:
            raise ClientError("timed-out") from None
        for word in told:
            kind, *parts = word.split(":")
            if kind in ("acked", "committed"):
                error = None if parts[-1] == "ok" else parts[-1]
                offset = int(parts[1]) if kind == "acked" else None
                self.answered.append(Answered(int(parts[0]), offset, error))
        if told[-1].startswith("!"):
            raise ClientError(told[-1].removeprefix("!"))
        return told


def _told(word: str) -> SendResult:
    if word.startswith("!"):
        return SendResult(error=word.removeprefix("!"))
    return SendResult(int(word) if int(word) >= 0 else None)
