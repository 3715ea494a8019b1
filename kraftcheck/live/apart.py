"""Clients in processes of their own, so that they can be killed and paused as brokers are.

A role (kraftcheck/live/workloads.py) runs there as it would here. What it writes down goes through
a pipe into the one journal, which answers: so an invocation is written before its request is made,
and a completion after it is over, with times of one clock. What was asked last by a client that is
killed has no answer.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Final

from confluent_kafka import KafkaException

from kraftcheck.live.clients import Counter, Setting
from kraftcheck.live.journal import Journal
from kraftcheck.live.library import ClientError, Got, Library, LibraryError, Options
from kraftcheck.osutil.children import WORKERS, end_with_parent

Role = Callable[[Setting, int, Options], None]
Ask = Callable[..., Any]

FAILED: Final = "failed"
"""What is told instead of a question: the role has ended with an error, which follows."""
AGAIN_S: Final = 0.2


class Apart:
    """The clients that run in processes of their own, by their number.

    Each has one process, and another one after it was killed, unless it is held.
    """

    def __init__(self) -> None:
        self._running: dict[int, Any] = {}
        self._held: set[int] = set()
        self._changed = threading.Condition()

    def numbers(self) -> list[int]:
        """Of those that have begun."""
        with self._changed:
            return sorted(self._running)

    def run(self, role: Role, setting: Setting, at: int, options: Options) -> None:
        """Until everything is done.

        Raises LibraryError, ClientError: as the role does there; ClientError: its process has ended
        by itself.
        """
        while not setting.done.is_set():
            with self._changed:
                if at in self._held:
                    self._changed.wait(AGAIN_S)
                    continue
            self._one(role, setting, at, options)

    def kill(self, at: int) -> None:
        """Its process is gone at once, and no other takes its place until `release`."""
        with self._changed:
            self._held.add(at)
            self._signal(at, signal.SIGKILL)

    def release(self, at: int) -> None:
        with self._changed:
            self._held.discard(at)
            self._changed.notify_all()

    def pause(self, at: int) -> None:
        self._signal(at, signal.SIGSTOP)

    def resume(self, at: int) -> None:
        self._signal(at, signal.SIGCONT)

    def end(self) -> None:
        """Kills whom nobody waits for any more."""
        for at in self.numbers():
            self._signal(at, signal.SIGKILL)

    def _signal(self, at: int, what: signal.Signals) -> None:
        process = self._running.get(at)
        if process is not None and process.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(process.pid, what)

    def _one(self, role: Role, setting: Setting, at: int, options: Options) -> None:
        ours, theirs = WORKERS.Pipe()
        where = (setting.bootstrap, setting.topic, setting.partitions)
        process = WORKERS.Process(
            target=_work, args=(theirs, role, setting.library, where, at, options), daemon=True
        )
        process.start()
        theirs.close()
        with self._changed:
            self._running[at] = process
            if at in self._held:  # it was to be killed as it began
                process.kill()
        try:
            _serve(ours, setting)
        finally:
            process.kill()
            process.join()
            ours.close()
        if process.exitcode not in (0, -signal.SIGKILL):
            raise ClientError(f"a client's process ended by itself, with {process.exitcode}")


def _serve(pipe: Connection, setting: Setting) -> None:
    """Answers what is asked, until nobody asks any more."""
    answers: dict[str, Ask] = {
        "event": setting.journal.event,
        "process": setting.processes.next,
        "epoch": setting.note_epoch,
    }
    while True:
        try:
            name, given, more = pipe.recv()
        except (EOFError, OSError):
            return
        if name == FAILED:
            raise ClientError(given)
        answer = answers[name](*given, **more)
        with suppress(OSError):  # it was killed meanwhile
            pipe.send((answer, setting.done.is_set()))


# -- In the other process


def _work(
    pipe: Connection,
    role: Role,
    library: Library,
    where: tuple[str, str, int],
    at: int,
    options: Options,
) -> None:
    end_with_parent()
    try:
        role(_There(pipe, library, *where), at, options)
    except (ClientError, LibraryError, KafkaException) as error:
        pipe.send((FAILED, str(error), {}))


class _There(Setting):
    """The setting of the process that started this one, as far as a consumer asks for it."""

    def __init__(
        self, pipe: Connection, library: Library, bootstrap: str, topic: str, partitions: int
    ) -> None:
        self._pipe, self._one = pipe, threading.Lock()
        self._seen: dict[int, int] = {}
        numbers = _Numbers(self._ask)
        super().__init__(
            _Notes(self._ask), bootstrap, topic, partitions, processes=numbers, library=library
        )

    def _ask(self, name: str, *given: Any, **more: Any) -> Any:
        with self._one:
            self._pipe.send((name, given, more))
            answer, done = self._pipe.recv()
        if done:
            self.done.set()
        return answer

    def note_epoch(self, record: Got) -> None:
        if record.epoch is not None and record.epoch > self._seen.get(record.partition, -1):
            self._seen[record.partition] = record.epoch
            self._ask("epoch", record._replace(value=b""))


class _Notes(Journal):
    """The journal of who started this process."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def event(self, process: int | str, kind: str, f: str, value: Any, **more: Any) -> None:
        self._ask("event", process, kind, f, value, **more)


class _Numbers(Counter):
    """Likewise."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def next(self) -> int:
        return int(self._ask("process"))
