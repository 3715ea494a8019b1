"""What steered partitions share: one partition alone, or the partitions of a cluster.

How a move is noted and judged, which links are cut, which move comes next where nothing fails, and
whether everything is whole in the end.

Law of this file: what is next is decided by what there is to do alone, so that a calm moment is the
same in every replay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any, ClassVar, Final

import msgspec

from kraftcheck.reference.partition.invariants import PARTITION_INVARIANTS
from kraftcheck.reference.partition.messages import CLIENTS, CONTROLLER
from kraftcheck.reference.partition.sim.run import PartitionRun
from kraftcheck.reference.partition.types import UNDEFINED, Registration
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.recorder import Recorder
from kraftcheck.reference.steered.failures import Violation
from kraftcheck.reference.steered.mail import Link
from kraftcheck.reference.steered.moves import Move, NodeStep, Words, recorded_steps, said

MOVES_TO_PROGRESS: Final = 3000
"""So many for each part, and so many for what there is to copy."""

# What brokers do by themselves: as soon as they can, after a while, and only when something failed.
PROMPT = (
    *("SendRegistration", "SendAlterPartition", "SendHeartbeat", "SendReplicaFetch"),
    "SendAssignReplicasToDirs",
)
LATE = ("ReplicaLagTimeout", "IsrShrinkTimeout", "ProduceTimeout")
FAILED = ("ControllerRequestTimeout", "ReplicaFetchTimeout")
DISK = ("BrokerFlush", "CheckpointHighWatermark")

HEAL = "heal all links"


def name_of(node: int) -> str:
    return {CONTROLLER: "the controller", CLIENTS: "a client"}.get(node, f"broker {node}")


def cut_words(links: Set[Link]) -> str:
    return "cut " + ", ".join(f"{name_of(a)} -> {name_of(b)}" for a, b in sorted(links))


class ToldPartitions:
    """One run. `partitions` are its parts, or itself alone."""

    partitions: Sequence[Any]
    """Each a `Steering` (world.py)."""
    besides: ClassVar[int] = 0
    """Other parts."""
    recorder: Recorder
    now: int
    sentences: ClassVar[Mapping[str, Any]] = {each.name: each for each in PARTITION_INVARIANTS}

    def be_told(self, options: Any, of_partitions: Any) -> None:
        """To be called once, when the partitions have been built."""
        self.options = options
        self.moves: list[str] = []
        self.sound = True
        """False from the step that broke something on."""
        self.cut: set[Link] = set()
        """Links of brokers, with each other and with controllers, that no message passes."""
        self.slow: set[int] = set()
        """Brokers whose turn comes when no other broker has anything to do."""
        for partition in self.partitions:
            partition.steer(of_partitions, self.cut)

    def move(self, words: Words, make: Callable[[], object]) -> Move:
        """Raises Violation when it is made and breaks something."""
        return Move(words, partial(self._make, words, make))

    def _make(self, words: Words, make: Callable[[], object]) -> None:
        self.now += 1000
        for partition in self.partitions:
            partition.now = self.now
        self.moves.append(said(words))
        self.sound = False
        make()
        for partition in self.partitions:
            for found in partition.violations:
                what = f"{partition.called}{found.explanation}"
                raise Violation(self.sentences[found.invariant], what, self.moves)
        self.sound = True

    def steps(self) -> Iterator[NodeStep]:
        return recorded_steps(self.recorder)

    def setting(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.to_builtins(self.options)
        return found

    # --- Links

    def delays(self) -> Sequence[Callable[[], None]]:
        """What is on its way may be slow from now on."""
        return [delay for partition in self.partitions for delay in partition.mail.delays()]

    def cuts(self) -> list[Move]:
        """Of brokers from brokers or controllers, one way or both."""
        found: dict[str, set[Link]] = {}
        everybody = sorted({node for each in self.partitions for node in each.brokers})
        for node in everybody:
            others = [n for n in everybody if n != node]
            ways = [
                {(node, n) for n in away} | {(n, node) for n in away}
                for away in (others, [CONTROLLER])
            ]
            for n in (*others, CONTROLLER):
                ways += [{(node, n)}, {(n, node)}]
            found |= {cut_words(links): links for links in ways if links}
        return [self.cutting(links) for links in found.values()]

    def cutting(self, links: set[Link]) -> Move:
        """No message passes these links until all are joined again."""

        def make() -> None:
            self.cut.update(links)
            for partition in self.partitions:
                partition.losses.cuts += 1

        return self.move(cut_words(links), make)

    def is_cut(self) -> bool:
        """Whether any link is."""
        return bool(self.cut)

    def heals(self) -> list[Move]:
        return [self.move(HEAL, self.join_links)]

    def join_links(self) -> None:
        """What was slow may come as well."""
        self.cut.clear()
        for partition in self.partitions:
            partition.mail.held.clear()

    # --- What runs beside the partitions: nothing, where one is alone. The first three are made by
    # each kind of run in its own way, so there is no default.

    def readings(self) -> list[Move]:
        """For each broker: all that it has not read of the metadata, or the first of that."""
        raise NotImplementedError

    def restarts(self) -> list[Move]:
        raise NotImplementedError

    def endings_of(self, brokers: Set[int]) -> Iterator[Move]:
        """Ends of the sessions that these brokers had before."""
        raise NotImplementedError

    def to_controllers(self) -> Sequence[Move]:
        """What is on its way between brokers and controllers."""
        return ()

    def of_voters(self) -> Iterator[Move]:
        """What comes next among them, timers aside."""
        yield from ()

    def expiries(self) -> Iterator[Move]:
        """Of their timers, as long as they have something to agree on."""
        yield from ()

    def recover(self) -> None:
        """All but crashes."""
        self.heals()[0].make()

    def killed(self) -> Iterator[Move]:
        """Brokers that run on and are of no use."""
        yield from ()

    def controls(self) -> bool:
        """Whether somebody does."""
        return True

    # --- Time passes

    def calm(self) -> bool:
        """Make the move that comes next if nothing fails; False when there is none."""
        move = next(self._next(), None)
        if move is not None:
            move.make()
        return move is not None

    def _next(self) -> Iterator[Move]:
        yield from self.to_controllers()
        yield from self._mail()
        for partition in self.partitions:
            yield from partition.posts()[::-1]
        yield from self.of_voters()
        yield from self.readings()
        yield from self._urgent()
        yield from self.expiries()
        yield from self._overdue()

    def _mail(self) -> Iterator[Move]:
        """What brokers and clients get next: slow brokers last."""
        first = [(each, message) for each in self.partitions for message in each.mail.prompt()[:1]]
        first.sort(key=lambda each: each[1].value.destination in self.slow)
        for partition, message in first:
            yield partition.step_of(message.value.destination, message.value)

    def _wanted(self, *kinds: str) -> list[tuple[Any, int, KnownInput]]:
        found = [
            (partition, node, want)
            for kind in kinds
            for partition in self.partitions
            for node, want in partition.wanted(kind)
        ]
        found.sort(key=lambda each: each[1] in self.slow)
        return found

    def _urgent(self) -> Iterator[Move]:
        """What a broker does at once, since something comes of it."""
        for partition, node, want in self._wanted(*PROMPT):
            match want.kind:
                case "SendReplicaFetch":
                    useful = partition.is_news_for(node)
                case "SendHeartbeat" | "SendAssignReplicasToDirs":
                    useful = False
                case "SendRegistration":
                    useful = not partition.is_refused(node)
                case _:
                    useful = True
            if useful:
                yield partition.want_of(node, want)

    def _overdue(self) -> Iterator[Move]:
        """Give what comes with time.

        Requests are given up, the session of a broker that died ends, who is not in the ISR fetches
        on, and who waits for the controller asks again.
        """
        for partition, node, want in self._wanted(*FAILED):
            yield partition.want_of(node, want)
        refused = {n for each in self.partitions for n in each.brokers if each.is_refused(n)}
        yield from self.endings_of(refused)
        yield from self._heartbeats()
        for partition, node, want in self._wanted("SendAssignReplicasToDirs"):
            yield partition.want_of(node, want)
        for partition, node, want in self._wanted("SendReplicaFetch"):
            # A leader asks itself whether a follower belongs to the ISR when it fetches.
            forgotten = _registration(partition, node).epoch == UNDEFINED
            if node not in partition.controller.partition.isr and not forgotten:
                yield partition.want_of(node, want)

    def _heartbeats(self) -> Iterator[Move]:
        """Of who starts or is fenced, or names a directory that has failed.

        Where somebody stops, that may wait for anybody's: they take turns.
        """
        wanted, stops = [], False
        for partition, node, want in self._wanted("SendHeartbeat"):
            status = partition.row(node).status
            known = [_registration(each, node) for each in self.partitions if node in each.brokers]
            # Whom the controller has forgotten is refused for good.
            if known[0].epoch != UNDEFINED:
                fenced = any([each.fenced for each in known])
                awaited = fenced or status != "Running" or partition.names_failed(node)
                wanted.append((awaited, partition.want_of(node, want)))
                stops = stops or status == "ShuttingDown"
        if stops:
            yield min([move for _, move in wanted], key=lambda each: self.moves.count(each.words))
        yield from [move for awaited, move in wanted if awaited]

    def progress(self) -> str:
        """End every fault and let time pass until all is whole.

        Empty once everybody is back in every ISR and a new record is on every replica of each
        partition, or why that did not happen within a bounded number of moves.
        """
        self.recover()
        self.slow.clear()
        probes: dict[int, int] = {}
        why = ""
        copying = sum(each.moves_to_copy() for each in self.partitions)
        for _ in range(MOVES_TO_PROGRESS * (len(self.partitions) + self.besides) + copying):
            for move in self.killed():
                move.make()
            for move in self.restarts():
                move.make()
            why = self._missing()
            if not why:
                why = self._behind(probes)
                if not why:
                    return ""
                if not (any([each.mail.prompt() for each in self.partitions]) or self.readings()):
                    self._probe(probes)
            if not (self.calm() or self._probe(probes)):
                return why
        return why

    def _missing(self) -> str:
        if not self.controls():
            return "no controller is active"
        for partition in self.partitions:
            if missing := partition.missing():
                return f"{partition.called}{missing}"
        return ""

    def _behind(self, probes: Mapping[int, int]) -> str:
        for at, partition in enumerate(self.partitions):
            if not partition.is_everywhere(probes.get(at, UNDEFINED)):
                return f"{partition.called}the new record does not reach every replica"
        return ""

    def _probe(self, probes: dict[int, int]) -> bool:
        """Write a record to each partition that has none to show yet."""
        wrote = False
        for at, partition in enumerate(self.partitions):
            leader = partition.controller.partition.leader
            written = leader in partition.leaders() and [r.value for r in partition.row(leader).log]
            if written is not False and probes.get(at, UNDEFINED) not in written:
                partition.ask(partition.produce(leader, -1))
                probes[at] = partition.values
                wrote = True
        return wrote


def _registration(partition: PartitionRun, node: int) -> Registration:
    return partition.controller.registrations[partition.brokers.index(node)]
