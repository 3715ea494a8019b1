"""What is judged but for crashes: disks that fail, followers that begin, reads beside appends."""

from __future__ import annotations

import errno
from collections.abc import Callable
from random import Random
from typing import Final

from kraftcheck.reference.storage.broker import Broker
from kraftcheck.reference.storage.crashing import (
    BrokenPromise,
    CrashTally,
    Story,
    judge,
    judged_start,
    played,
)
from kraftcheck.reference.storage.cutting import append_or_start_anew
from kraftcheck.reference.storage.disk import MemoryDisk, Mode
from kraftcheck.reference.storage.histories import Client, configured
from kraftcheck.reference.storage.indexes import Full
from kraftcheck.reference.storage.producers import Refused
from kraftcheck.reference.storage.promises import batches_in, in_order
from kraftcheck.reference.storage.reading import begin, finish
from kraftcheck.reference.storage.rules import Config, StorageRules

ERRORS: Final = (errno.EIO, errno.ENOSPC)
KEEPS_BATCHES: Final = ("leader", "follower", "hw", "tasks", "flush", "roll", "now")
AFTER_ERROR: Final = 2
"""So many power losses after an error of the disk."""


def judge_failing(
    rules: Callable[[Config], StorageRules], seed: int, operations: int = 25
) -> CrashTally:
    """Judge a history in which the disk fails once, in an append and what comes with it.

    A write is cut short, or a sync fails, or a roll. Another append may still come before the
    directory is taken offline (D21); then the broker starts again, from what is there.
    """
    chance = Random(seed)
    config = configured(chance)
    client = Client(chance, config, follows=chance.random() < 0.3)
    story = Story(rules(config), client.time)
    calls = chance.randint(1, 120)
    number = chance.choice(ERRORS)
    kind = chance.choice(("write", "sync", "create", ""))
    end = chance.choice(("", "", ".txnindex"))
    calls = 1 if end else calls

    def fails(operation: str, path: str) -> int:
        nonlocal calls
        if not appends or operation == "read" or not path.endswith(end):
            return 0
        if kind and operation != kind:
            return 0
        calls -= 1
        return number if calls == 0 else 0

    story.disk.fails = fails
    appends = False
    out = CrashTally(histories=1)
    for _ in range(operations):
        client.cleaned = story.broker.dirty
        operation = client.next(story.broker.log)
        appends = operation.name in ("leader", "follower")
        try:
            story.perform(operation)
        except Full:
            break
        except OSError:
            out.operations["failed"] += 1
            story.again(operation)
            break
    out.operations.update(each.name for each in story.done)
    upto = len(story.disk.journal)
    live = in_order(batches_in(story.broker.log), story.moments, config.compact)
    crash = story.crash(upto)
    wrong = [*live, *judged_start(story, upto, crash.process())[0]]
    out.states = 1
    for _ in range(AFTER_ERROR):
        # What a failed sync leaves is not durable, and nobody may have said so.
        out.states += 1
        wrong += judged_start(story, upto, crash.drawn(chance, "ordered"))[0]
    done = tuple(str(each)[:60] for each in story.done)
    out.found = [BrokenPromise(*each, seed, upto, done) for each in wrong[:1]]
    return out


def judge_follower(rules: Callable[[Config], StorageRules], seed: int) -> CrashTally:
    """A new replica copies a log from its start on, batch by batch: EventuallyFullyReplicated."""
    story = played(rules, seed, 20)
    leader = story.broker.log
    disk = MemoryDisk()
    follower = Broker(disk, story.rules, leader.now)
    follower.start_anew(leader.start)
    said = ""
    try:
        for batch in leader.read(leader.start, leader.end):
            append_or_start_anew(follower.log, batch.data, batch.epoch)
    except Refused as error:
        said = f"{error.error}: {error}"
    batches = batches_in(leader)
    if not said and batches and follower.log.end != batches[-1].last + 1 > leader.start:
        said = f"ends at {follower.log.end}, the leader at {leader.end}"
    out = CrashTally(states=1, histories=1)
    if said:
        done = tuple(str(each)[:60] for each in story.done)
        out.found = [BrokenPromise("EventuallyFullyReplicated", said, seed, 0, done)]
    return out


def judge_reader(rules: Callable[[Config], StorageRules], seed: int) -> CrashTally:
    """A consumer that reads on while others work on the log: ReadOnlyCommitted.

    What it was at is forgotten where batches go.
    """
    chance, reads = Random(seed), Random(seed + 2_000_003)
    config = configured(chance)
    client = Client(chance, config, follows=chance.random() < 0.4)
    story = Story(rules(config), client.time)
    out = CrashTally(states=1, histories=1)
    for _ in range(25):
        log = story.broker.log
        reading = begin(log, reads.randint(log.start, log.end))
        client.cleaned = story.broker.dirty
        operation = client.next(log)
        try:
            story.perform(operation)
        except Full:
            break
        if reading is None or operation.name not in KEEPS_BATCHES:
            continue
        found = finish(log, reading)
        if found and found[-1].last >= log.high_watermark:
            said = f"{found[-1].last} was read, committed is what is below {log.high_watermark}"
            done = tuple(str(each)[:60] for each in story.done)
            out.found = [BrokenPromise("ReadOnlyCommitted", said, seed, 0, done)]
            break
    return out


def judge_all(
    rules: Callable[[Config], StorageRules],
    seed: int,
    states: int,
    mode: Mode = "ordered",
) -> CrashTally:
    """Of a seed: crashes of one history, a failing disk in others, a follower and a reader."""
    out = judge(rules, seed, states, mode=mode)
    for at in range(5):
        out.add(judge_failing(rules, 5 * seed + at))
    out.add(judge_follower(rules, seed))
    out.add(judge_reader(rules, seed))
    return out
