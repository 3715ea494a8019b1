"""Run the clients of a recording: of a log, a group, a share group, or transactions.

log: producers, and consumers that are assigned every partition. groups: consumers subscribe and
commit what they have read, so that partitions move between them. shares: members of a share group
accept, release, reject and renew single records. transactions: producers write several records at
once or not at all, and abort some on purpose.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kraftcheck.kafka.live.clients import Setting, ask_offsets, connected, consume, produce
from kraftcheck.kafka.live.library import ClientError, Sender
from kraftcheck.kafka.live.members import Member
from kraftcheck.kafka.live.sharers import Member as Sharer

Role = Callable[[Setting, int, Mapping[str, Any]], None]

TRANSACTION_S = 20.0
"""How long a transaction may take to be opened, committed or aborted."""
POLLS = (60, 240)
"""From joining to leaving."""
COMMITS = 0.7
"""Of polls, the share after which a member commits."""
EXPLICIT = 0.5
"""Of members of share groups, the share that acknowledges explicitly."""
AGAIN_S = 0.5
"""From a producer that could not begin to the next."""


class Workload(NamedTuple):
    """Who is at work, each in a thread of its own."""

    producer: Role
    consumer: Role
    asker: Role = ask_offsets
    apart: bool = False
    """Consumers in a process each."""


def group_of(topic: str) -> str:
    """The group whose members share a topic."""
    return f"{topic}-group"


def subscribe(setting: Setting, at: int, options: Mapping[str, Any]) -> None:
    """Run members of the topic's group, one after the other.

    Each processes and commits what it is given, leaves, and another one comes.
    """
    draw = random.Random(at)
    while not setting.done.is_set():
        member = Member(setting, group_of(setting.topic), options)
        try:
            for _ in range(draw.randint(*POLLS)):
                if setting.done.is_set():
                    break
                member.poll()
                if draw.random() < COMMITS:
                    member.commit()
        finally:
            member.leave()


def share(setting: Setting, at: int, options: Mapping[str, Any]) -> None:
    """Run members of the topic's share group, one after the other; half acknowledge explicitly."""
    draw = random.Random(at)
    while not setting.done.is_set():
        explicit = draw.random() < EXPLICIT
        member = Sharer(setting, group_of(setting.topic), options, explicit=explicit)
        try:
            for _ in range(draw.randint(*POLLS)):
                if setting.done.is_set():
                    break
                member.poll(draw)
                if draw.random() < COMMITS:
                    member.commit()
        finally:
            member.leave()


def transact(setting: Setting, at: int, options: Mapping[str, Any]) -> None:
    """A producer of transactions of two or three records, some of which it aborts."""
    draw = random.Random(at)
    process = setting.processes.next()
    sender: Sender | None = None
    while not setting.done.wait(setting.pace):
        sender = sender or _initialised(setting, at, options, process)
        if sender is None:
            continue
        places = [draw.randrange(setting.partitions) for _ in range(draw.choice((2, 3)))]
        abort = draw.random() < setting.aborts
        if not _transaction(setting, process, sender, places, abort):
            # The next one of this id ends what this one began.
            sender.close()
            process, sender = setting.processes.next(), None
    if sender is not None:
        sender.close()


def _transaction(
    setting: Setting, process: int, sender: Sender, places: list[int], abort: bool
) -> bool:
    """Each step as it is told. Returns whether it is known what came of it."""
    event, more = setting.journal.event, {"txn": setting.transactions.next()}
    values = [setting.values.next() for _ in places]
    sends = [(place, str(value).encode()) for place, value in zip(places, values, strict=True)]
    asked = [["send", setting.key(p), v] for p, v in zip(places, values, strict=True)]
    event(process, "invoke", "begin", None, **more)
    event(process, "ok", "begin", None, **more)
    event(process, "invoke", "send", asked, **more)
    told = sender.write(setting.topic, sends, TRANSACTION_S)
    error = next((each.error for each in told if each.error is not None), None)
    if error is None:
        offsets = [each.offset for each in told]
        pairs = zip(asked, offsets, strict=True)
        said = [[f, key, [offset, value]] for (f, key, value), offset in pairs]
        event(process, "ok", "send", said, **more)
    else:
        event(process, "info", "send", asked, error=error, **more)
    wanted = "abort" if abort or error is not None else "commit"
    event(process, "invoke", "end", wanted, **more)
    ending = sender.end(wanted == "abort", TRANSACTION_S)
    refused = {} if ending.error is None else {"error": ending.error}
    event(process, ending.kind, "end", wanted, **more, **refused)
    return error is None and ending.kind != "info"


def _initialised(
    setting: Setting, at: int, options: Mapping[str, Any], process: int
) -> Sender | None:
    """A producer that may begin a transaction, with its id to itself; None: not now."""
    id = f"{setting.topic}-{at}"
    sender = connected(setting, {**options, "transactional.id": id})
    setting.journal.event(process, "invoke", "init", id)
    try:
        sender.initialise(TRANSACTION_S)
    except ClientError as error:
        setting.journal.event(process, "info", "init", id, error=str(error))
        sender.close()
        setting.done.wait(AGAIN_S)
        return None
    setting.journal.event(process, "ok", "init", id)
    return sender


WORKLOADS: Mapping[str, Workload] = {
    "log": Workload(produce, consume),
    "groups": Workload(produce, subscribe, apart=True),
    "shares": Workload(produce, share),
    "transactions": Workload(transact, consume),
}
