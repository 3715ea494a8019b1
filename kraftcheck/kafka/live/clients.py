"""Clients of one topic, each a thread that does one thing at a time and says what it was told.

Outcomes are honest. A produce that ends in an error may have been written, by that attempt or an
earlier one of the client library, unless the library says that it was never sent: so it is
indeterminate, and its process goes on under another number. A read that fails says nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import count
from typing import Any

from kraftcheck.kafka.live.confluent import Confluent
from kraftcheck.kafka.live.journal import Journal
from kraftcheck.kafka.live.library import (
    ClientError,
    Got,
    Library,
    Options,
    Reader,
    Sender,
    SendResult,
)

POLL_S = 0.2


class Counter:
    """Numbers that nobody else gets: values, and processes."""

    def __init__(self, first: int = 0) -> None:
        self._numbers = count(first)
        self._lock = threading.Lock()

    def next(self) -> int:
        with self._lock:
            return next(self._numbers)


class Setting:
    """What all clients of a topic share.

    pace: seconds that a producer rests after each record. processes: where several topics are
    recorded at once, theirs together. aborts: which share of transactions is aborted on purpose.
    library: whose producers and consumers they are. first_value: from where values are counted.
    """

    def __init__(
        self,
        journal: Journal,
        bootstrap: str,
        topic: str,
        partitions: int,
        pace: float = 0.0,
        processes: Counter | None = None,
        aborts: float = 0.0,
        library: Library | None = None,
        first_value: int = 1,
    ) -> None:
        self.journal = journal
        self.bootstrap = bootstrap
        self.topic = topic
        self._called = topic
        self.partitions = partitions
        self.pace = pace
        self.aborts = aborts
        self.library = library or Confluent()
        self.values = Counter(first_value)
        self.transactions = Counter(1)
        self.processes = processes or Counter()
        self.done = threading.Event()
        self._epochs: dict[int, int] = {}
        self._lock = threading.Lock()

    def anew(self, called: str, first_value: int) -> Setting:
        """Of a topic that is made anew with this one's name.

        called: what the history calls it, since it has nothing of the one that is gone.
        """
        there = Setting(
            *(self.journal, self.bootstrap, self.topic, self.partitions),
            processes=self.processes,
            first_value=first_value,
        )
        there._called, there.transactions = called, self.transactions
        return there

    def key(self, partition: int) -> str:
        return f"{self._called}-{partition}"

    def note_epoch(self, record: Got) -> None:
        """A record's leader epoch is one more thing that a client is told."""
        epoch, partition = record.epoch, record.partition
        if epoch is None:
            return
        with self._lock:
            if epoch <= self._epochs.get(partition, -1):
                return
            self._epochs[partition] = epoch
        label = f"{self.key(partition)} leader epoch {epoch}"
        self.journal.moment("leader-epoch", label, key=self.key(partition))


def produce(
    setting: Setting,
    at: int,
    options: Options,
    partition: int | None = None,
    shared: Sender | None = None,
) -> None:
    """A producer: one record, then the next when its fate is known.

    partition: the only one it writes to; None: one after the other, from `at` on. shared: the
    connections that it has in common with others, until the library gives them up.
    """
    sender = shared or connected(setting, options)
    process = setting.processes.next()
    for turn in count():
        if setting.done.wait(setting.pace):
            break
        place = (at + turn) % setting.partitions if partition is None else partition
        told = _send(setting, sender, process, place)
        if told.error is not None and not told.never_sent:
            process = setting.processes.next()
        if told.fatal:
            if sender is not shared:
                sender.close()
            sender = connected(setting, options)
    if sender is not shared:
        sender.close()


def greet(setting: Setting, options: Options, records: int = 1) -> None:
    """One record to each partition, or more: by then every leader knows that it leads.

    With acks=0 a leader that does not know it yet would lose records without a word.
    """
    sender = connected(setting, options)
    for _ in range(records):
        for partition in range(setting.partitions):
            _send(setting, sender, setting.processes.next(), partition)
    sender.close()


def _send(setting: Setting, sender: Sender, process: int, place: int) -> SendResult:
    """Sends a new value and waits until its fate is known."""
    key, value = setting.key(place), setting.values.next()
    asked = [["send", key, value]]
    setting.journal.event(process, "invoke", "send", asked)
    told = sender.send(setting.topic, place, str(value).encode())
    if told.error is None:
        setting.journal.event(process, "ok", "send", [["send", key, [told.offset, value]]])
    else:
        kind = "fail" if told.never_sent else "info"
        setting.journal.event(process, kind, "send", asked, error=told.error)
    return told


def connected(setting: Setting, options: Options) -> Sender:
    """The client library's producer, which connects to the cluster."""
    return setting.library.sender(setting.bootstrap, options)


def consume(setting: Setting, at: int, options: Options) -> None:
    """A consumer that is assigned every partition and reads on."""
    process = setting.processes.next()
    reader = _assigned(setting, process, f"consume-{at}", options)
    try:
        while not setting.done.is_set():
            poll(setting, process, reader)
    finally:
        reader.close()


def ask_offsets(setting: Setting, at: int, options: Options) -> None:
    """A client that asks for the latest offset of one partition after the other."""
    process = setting.processes.next()
    reader = opened(setting, f"offsets-{at}", options)
    try:
        for turn in count(at):
            if setting.done.wait(0.02):
                break
            partition = turn % setting.partitions
            key = setting.key(partition)
            setting.journal.event(process, "invoke", "latest", [key, None])
            try:
                end = reader.end(setting.topic, partition, 5.0)
            except ClientError as problem:
                setting.journal.event(process, "fail", "latest", [key, None], error=str(problem))
            else:
                setting.journal.event(process, "ok", "latest", [key, end])
    finally:
        reader.close()


def read_all(
    setting: Setting,
    options: Options,
    patience: int = 60,
    process: int | None = None,
) -> bool:
    """The final phase: every partition from its beginning to its end, by one process.

    Returns whether every end was reached within `patience` polls without progress. The ends are
    asked for again in between: who was asked first need not lead any more.
    """
    process = setting.processes.next() if process is None else process
    reader = _assigned(setting, process, "final", options)
    try:
        ends = _ends(setting, reader)
        idle = 0
        while idle < patience:
            places = reader.positions()
            if len(ends) == setting.partitions and all(
                end == 0 or places.get(at, -1) >= end for at, end in ends.items()
            ):
                return True
            idle = 0 if poll(setting, process, reader) else idle + 1
            if idle % 10 == 9:
                ends = _ends(setting, reader)
        return False
    finally:
        reader.close()


def _ends(setting: Setting, reader: Reader) -> dict[int, int]:
    """The latest offset of each partition that has told it."""
    found: dict[int, int] = {}
    for partition in range(setting.partitions):
        try:
            found[partition] = reader.end(setting.topic, partition, 10.0)
        except ClientError:
            continue
    return found


def opened(setting: Setting, group: str, options: Options) -> Reader:
    """The client library's consumer, which reads nothing yet."""
    return setting.library.reader(setting.bootstrap, group, options)


def _assigned(setting: Setting, process: int, group: str, options: Options) -> Reader:
    reader = opened(setting, group, options)
    keys = [setting.key(partition) for partition in range(setting.partitions)]
    rewound = {"seek-to-beginning?": True}
    setting.journal.event(process, "invoke", "assign", keys, **rewound)
    reader.assign(setting.topic, setting.partitions)
    setting.journal.event(process, "ok", "assign", keys, **rewound)
    return reader


def poll(setting: Setting, process: int, reader: Reader) -> list[Got]:
    """One poll, written down, and what it gave."""
    setting.journal.event(process, "invoke", "poll", [["poll"]])
    try:
        records = reader.poll(POLL_S)
    except ClientError as error:
        setting.journal.event(process, "fail", "poll", [["poll"]], error=str(error))
        return []
    for record in records:
        setting.note_epoch(record)
    # What lies before where it stands now, and was not shown, is not committed.
    stands = {setting.key(at): offset for at, offset in reader.positions().items()}
    shown = [["poll", _by_key(setting, records)]]
    setting.journal.event(process, "ok", "poll", shown, to=[stands])
    return records


def _by_key(setting: Setting, records: Sequence[Got]) -> dict[str, list[list[Any]]]:
    found: dict[str, list[list[Any]]] = {}
    for record in records:
        row = [record.offset, value_of(record.value)]
        found.setdefault(setting.key(record.partition), []).append(row)
    return found


def value_of(data: bytes) -> int | str:
    """A record's value as the history has it: a number, if it is one of ours."""
    text = data.decode("utf-8", "replace")
    return int(text) if text.isdigit() else text
