"""Define the parts of a steered cluster.

Voters, partitions, brokers' processes, and what travels between brokers and controllers.

They are those of the simulator's cluster (reference/cluster/sim), except that nothing in them
happens by itself: no clock, no choice. The voters are those of quorum/steered, whose steps are
remembered and recorded as the simulator's are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from kraftcheck.reference.cluster.sim.brokers import Brokers
from kraftcheck.reference.cluster.sim.link import Arrival, Ends, Messages
from kraftcheck.reference.cluster.sim.partition import ClusterPartition, is_common
from kraftcheck.reference.cluster.types import QUORUM
from kraftcheck.reference.partition.directories.types import (
    DirectoryBrokerRow,
    DirectoryControllerRow,
)
from kraftcheck.reference.partition.messages import CONTROLLER, ClientRequest
from kraftcheck.reference.partition.steered.told import name_of
from kraftcheck.reference.partition.steered.world import Steering
from kraftcheck.reference.quorum.messages import Input
from kraftcheck.reference.quorum.snapshots.steered.schedule import ChangingSchedule
from kraftcheck.reference.quorum.steered.schedule import Schedule
from kraftcheck.reference.quorum.types import Row
from kraftcheck.reference.runner.narrate import render_input
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import Step
from kraftcheck.reference.steered.mail import Mail
from kraftcheck.reference.steered.moves import Move, Words, said


class Watcher(Protocol):
    """Who is told of the voters' steps."""

    now: int

    def look(self, node: int, row: Row) -> None:
        """A voter knows more to be committed, or leads no longer."""
        ...

    def move(self, words: Words, make: Callable[[], object]) -> Move: ...


class Watched(Schedule):
    """A controller quorum, whoever takes its steps. Its moves are noted by the cluster."""

    def __init__(self, watcher: Watcher, *about: Any, **how: Any) -> None:
        self._watcher, self.component = watcher, QUORUM
        super().__init__(*about, **how)

    def now_us(self) -> int:
        return self._watcher.now

    def stepped(self, step: Step) -> None:
        before, row = step.before.row, step.after.row
        led = before.role == "Leader" and (row.role != "Leader" or row.epoch != before.epoch)
        if led or row.high_watermark != before.high_watermark:
            self._watcher.look(step.before.node, row)

    def give(self, node: int, input: Input) -> str:
        """A step that somebody else's move causes. Why it was ignored, or empty."""
        self._alive.clear()
        step = self._step(node, input)
        return "disabled" if step is None else step.ignored

    def move(self, words: Words, make: Callable[[], object]) -> Move:
        return self._watcher.move(lambda: f"quorum: {said(words)}", make)

    def _note(self, move: str) -> None:
        self._alive.clear()


class ChangingVoters(Watched, ChangingSchedule):
    """Those of the reference, which change."""


class SteeredPartition(Steering, ClusterPartition):
    """One partition of the cluster."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.called = f"partition {self.number}: "

    def move(self, words: Words, make: Callable[[], object]) -> Move:
        cluster: Any = self._cluster
        moved: Move = cluster.move(lambda: f"{self.called}{said(words)}", make)
        return moved

    def asking_words(self, request: ClientRequest) -> str:
        return render_input(request)

    def travel(self, node: int, sent: tuple[tuple[int, KnownInput], ...]) -> None:
        if node == CONTROLLER:
            return  # The active controller answers.
        for destination, message in sent:
            if destination == CONTROLLER:
                self._cluster.to_controller(node, self.number, message)
            else:
                self.post(message)

    def wanted(self, *kinds: str) -> list[tuple[int, KnownInput]]:
        """What they do for all their partitions at once, only where they lead it."""
        found = super().wanted(*kinds)
        return [each for each in found if self.leads(each[0]) or not is_common(each[1])]

    def names_failed(self, node: int) -> bool:
        row, known = self.row(node), self.controller
        if not isinstance(row, DirectoryBrokerRow) or not isinstance(known, DirectoryControllerRow):
            return False
        registered = known.directories_of(self.brokers.index(node))
        return any([each not in row.online for each in registered])


class SteeredBrokers(Brokers):
    """Brokers that read metadata when they are told to."""

    def read_soon(self, node: int) -> None:
        """Nothing is read by itself."""


class Parcel(NamedTuple):
    """What is on its way between a broker and whatever controller it talks to."""

    number: int
    ends: Ends
    words: str
    arrive: Arrival


class Parcels(Mail[Parcel]):
    """All of them. They keep the order of their connection."""

    def __init__(self, passes: Callable[[Parcel], bool]) -> None:
        super().__init__(lambda each: each.ends, passes, lambda source, destination: True)
        self._sent = 0

    def carry(self, now: int, ends: Ends, messages: Messages, arrive: Arrival) -> None:
        self._sent += 1
        words = f"{' to '.join(map(name_of, ends))}: {_content(messages)}"
        self.post(Parcel(self._sent, ends, words, arrive))


def _content(messages: Mapping[int, KnownInput]) -> str:
    kinds = {message.kind for message in messages.values()}
    errors = sorted({getattr(m.value, "error", "NONE") for m in messages.values()} - {"NONE"})
    of = ", ".join(map(str, messages))
    return " ".join([*sorted(kinds), f"of {of}", *errors])
