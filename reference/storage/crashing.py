"""Histories, crashes and starts together: what a crash leaves is started from, and judged.

A crash may come at any entry of the disk's journal, in the middle of an operation and of a start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from random import Random
from typing import Final

import msgspec

from kraftcheck.reference.storage.batches import Batch, header_of
from kraftcheck.reference.storage.broker import Broker
from kraftcheck.reference.storage.disk import Crash, MemoryDisk, Mode, killed
from kraftcheck.reference.storage.histories import Client, Operation, configured, perform
from kraftcheck.reference.storage.indexes import Full
from kraftcheck.reference.storage.producers import Refused
from kraftcheck.reference.storage.promises import Broken, Moment, batches_in, broken
from kraftcheck.reference.storage.rules import Config, StorageRules

STATES_MAX: Final = 4000
"""Of one moment so many states are enumerated at most."""


class BrokenPromise(msgspec.Struct, frozen=True):
    """What does not hold."""

    promise: str
    said: str
    seed: int
    at: int
    """How much of the journal there was."""
    operations: tuple[str, ...]
    """What was done."""


class CrashTally(msgspec.Struct):
    states: int = 0
    """That were started from."""
    moments: int = 0
    """Cuts of journals that they were left by."""
    histories: int = 0
    operations: Counter[str] = msgspec.field(default_factory=Counter)
    found: list[BrokenPromise] = []

    def add(self, other: CrashTally) -> None:
        self.states += other.states
        self.moments += other.moments
        self.histories += other.histories
        self.operations += other.operations
        self.found = [*self.found, *other.found]


class Story:
    """A broker on a disk in memory, and what it promised after each operation."""

    def __init__(
        self,
        rules: StorageRules,
        now: int,
        content: dict[str, bytes] | None = None,
        moment: Moment | None = None,
    ) -> None:
        self.rules = rules
        self.disk = MemoryDisk(content)
        self.disk.now = now
        self.done: list[Operation] = []
        self.forged: list[Broken] = []
        """ClientsWriteData: what clients appended and may not write."""
        self.full: list[Batch] = list(moment.full) if moment else []
        self.told_start = moment.told_start if moment else 0
        self.committed = moment.committed if moment else 0
        self.moments = [Moment(0, (), tuple(self.full), 0, 0, 0, 0, self.told_start, 0)]
        self.broker = Broker(self.disk, rules, now)
        self._note()

    def _note(self) -> None:
        log = self.broker.log
        batches = tuple(batches_in(log))
        # Of what was cut nothing is promised; what is deleted, or cleaned away, may come back.
        end = self.full[-1].last + 1 if self.full else 0
        kept = [each for each in self.full if each.last < log.end]
        added = [each for each in batches if each.base >= min(end, log.end)]
        self.full = list({each.base: each for each in (*kept, *added)}.values())
        self.moments.append(
            Moment(
                len(self.disk.journal),
                batches,
                tuple(self.full),
                log.start,
                log.end,
                log.recovery_point,
                log.high_watermark,
                self.told_start,
                self.committed,
            )
        )

    def perform(self, operation: Operation) -> None:
        """Raises OSError."""
        self.done.append(operation)
        broker, words = self.broker, operation.words
        try:
            match operation.name:
                case "stop" | "crash":
                    if operation.name == "stop":
                        broker.stop()
                    now = broker.log.now
                    self.broker = Broker(self.disk, self.rules, now)
                case "start":
                    if broker.delete_records(int(words[0])):
                        self.told_start = max(self.told_start, int(words[0]))
                case "truncate":
                    self.told_start = min(self.told_start, int(words[0]))
                    broker.truncate(int(words[0]))
                case "anew":
                    self.told_start = min(self.told_start, int(words[0]))
                    self.committed = int(words[0])
                    self.full = []
                    broker.start_anew(int(words[0]))
                case "clean":
                    broker.clean(*map(int, words))
                case "checkpoint":
                    broker.checkpoint()
                case "hw":
                    perform(broker.log, operation)
                    self.committed = max(self.committed, broker.log.high_watermark)
                    broker.checkpoint_high_watermark()
                case _:
                    perform(broker.log, operation)
                    self._owned(operation)
        except Refused:
            pass
        self._note()

    def _owned(self, operation: Operation) -> None:
        words = operation.words
        if operation.name == "leader" and words[1] == "client":
            batch = header_of(bytes.fromhex(words[2]))
            if batch.is_control:
                self.forged.append(Broken("ClientsWriteData", "a client has appended a marker"))

    def again(self, operation: Operation) -> None:
        """The same append, after it failed, while nobody knows yet.

        No moment lies between the two: what the failed one has left on the disk, be it a part, is a
        beginning of what the second one makes.
        """
        self.done.append(operation)
        with suppress(ValueError, OSError):
            perform(self.broker.log, operation)
        self._note()

    def crash(self, upto: int) -> Crash:
        return Crash(self.disk, upto)

    def around(self, upto: int) -> tuple[Moment, Moment, list[Moment]]:
        """The moments between which this length of the journal lies, and all up to there."""
        last = next(
            (at for at, each in enumerate(self.moments) if each.length >= upto),
            len(self.moments) - 1,
        )
        return self.moments[max(last - 1, 0)], self.moments[last], self.moments[: last + 1]


def judged_start(
    story: Story, upto: int, content: dict[str, bytes]
) -> tuple[list[Broken], Broker | None, MemoryDisk]:
    """What does not hold after a start from this content."""
    disk = MemoryDisk(content)
    disk.now = story.disk.now
    before, after, moments = story.around(upto)
    try:
        broker = Broker(disk, story.rules, story.broker.log.now)
        return [*story.forged, *broken(broker, before, after, moments)], broker, disk
    except Exception as error:  # A start is to be possible, whatever is there.
        return [Broken("StartUpTotal", f"{type(error).__name__}: {error}")], None, disk


def played(
    rules: Callable[[Config], StorageRules],
    seed: int,
    operations: int,
    config: Config | None = None,
) -> Story:
    """A history by chance."""
    chance = Random(seed)
    drawn = configured(chance)
    config = config or drawn
    client = Client(chance, config, follows=chance.random() < 0.4)
    story = Story(rules(config), client.time)
    for _ in range(operations):
        if chance.random() < 0.08:
            story.perform(Operation("checkpoint"))
        client.cleaned = story.broker.dirty
        try:
            story.perform(client.next(story.broker.log))
        except Full:
            break  # As Kafka is (skips_when_full), the log cannot go on.
    return story


def judge(
    rules: Callable[[Config], StorageRules],
    seed: int,
    states: int,
    operations: int = 25,
    mode: Mode = "ordered",
    config: Config | None = None,
) -> CrashTally:
    """Start from so many states that crashes of a history leave, and judge each.

    Of one in five the start is crashed as well, and one in five is a kill, with two starts that are
    killed.
    """
    story = played(rules, seed, operations, config)
    chance = Random(seed + 1_000_003)
    out = CrashTally(histories=1)
    out.operations.update(each.name for each in story.done)
    cuts = sorted(chance.randint(1, len(story.disk.journal)) for _ in range(max(states // 5, 1)))
    for upto in cuts:
        out.moments += 1
        crash = story.crash(upto)
        for number in range(5):
            content = crash.process() if number == 4 else crash.drawn(chance, mode)
            out.states += 1
            wrong, broker, disk = judged_start(story, upto, content)
            if not wrong and broker is not None and number == 0:
                again, more = _again(story, upto, disk, broker, chance, mode)
                wrong, out.states = again, out.states + more
            if not wrong and number == 4:
                wrong, out.states = _killed_starts(story, upto, chance, mode), out.states + 1
            for each in wrong[:1]:
                done = tuple(str(operation)[:60] for operation in story.done)
                out.found.append(BrokenPromise(*each, seed, upto, done))
    return out


def _again(
    story: Story, upto: int, disk: MemoryDisk, broker: Broker, chance: Random, mode: Mode
) -> tuple[list[Broken], int]:
    """A second crash, in the start or behind it: what the first start calls durable is."""
    broker.checkpoint()
    log = broker.log
    before, after, moments = story.around(upto)
    cut = chance.randint(0, len(disk.journal))
    whole = cut == len(disk.journal)
    content = Crash(disk, cut).drawn(chance, mode)
    batches = tuple(batches_in(log))
    durable = log.recovery_point if whole else min(before.durable, after.durable)
    now = Moment(
        0, batches, before.full, max(after.start, before.start, log.start), log.end, durable,
        log.high_watermark, min(before.told_start, after.told_start),
        max(before.committed, after.committed, log.high_watermark),
    )  # fmt: skip
    second = MemoryDisk(content)
    second.now = story.disk.now
    try:
        started = Broker(second, story.rules, log.now)
        return list(broken(started, now, now, moments)), 1
    except Exception as error:
        return [Broken("StartUpTotal", f"again: {type(error).__name__}: {error}")], 1


def _killed_starts(story: Story, upto: int, chance: Random, mode: Mode) -> list[Broken]:
    """Kill the process, kill it again within the start or after it, then cut the power.

    The power may go within a start too: what was not durable before the first kill is not made so
    by any start.
    """
    disk = killed(story.disk, upto)
    for _ in range(2):
        begun = len(disk.journal)
        try:
            Broker(disk, story.rules, story.broker.log.now)
        except Exception as error:  # A start is to be possible, whatever is there.
            return [Broken("StartUpTotal", f"killed: {type(error).__name__}: {error}")]
        disk = killed(disk, chance.randint(begun, len(disk.journal)))
    content = Crash(disk, len(disk.journal)).drawn(chance, mode)
    return judged_start(story, upto, content)[0]


def enumerated(story: Story, cuts: Sequence[int]) -> Iterator[tuple[int, dict[str, bytes]]]:
    """All states that crashes at these moments leave, ordered; the first STATES_MAX of each."""
    for upto in cuts:
        for number, content in enumerate(story.crash(upto).states()):
            if number >= STATES_MAX:
                break
            yield upto, content
