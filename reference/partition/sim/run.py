"""The replicas of one partition and its controller, run by a clock (reference/drivers/clock.py).

What happens next is decided elsewhere: by the run of a single partition (scheduler.py), or by a
cluster of which this is one partition (reference/cluster/sim).

What a run promises depends on what happened in it (promises.py). When nothing is promised any more,
the invariants that speak of committed records are no longer judged, and the run is counted apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from kraftcheck.reference.clients.promises import Envelope, promised
from kraftcheck.reference.drivers.clock import TimedRun
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.partition.invariants import PARTITION_INVARIANT_NAMES
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    CONTROLLER,
    Input,
    MetadataRecord,
)
from kraftcheck.reference.partition.properties import PartitionState
from kraftcheck.reference.partition.sim.machine import (
    LEADERSHIP,
    LOG,
    STATUS,
    TRUNCATED,
    WATERMARK,
    WRITTEN,
    PartitionMemo,
)
from kraftcheck.reference.partition.sim.network import PartitionNetwork
from kraftcheck.reference.partition.sim.options import PartitionOptions, configuration_of
from kraftcheck.reference.partition.sim.pace import Pace
from kraftcheck.reference.partition.sim.scenario import Paces, PartitionScenario
from kraftcheck.reference.partition.types import BrokerRow, ControllerRow, PartitionConstants
from kraftcheck.reference.sim.choices import Chooser, Stream
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import Step
from kraftcheck.reference.sim.recorder import Recorder, Violation
from kraftcheck.traces.schema import STOPPED

UNPROMISED: Final = frozenset(
    {
        *("StrongIsr", "WeakIsr", "ValidHighWatermark", "LeaderCandidateCompleteness"),
        *("PartitionLeaderCompleteness", "PartitionLogMatching", "NoCommittedRecordLost"),
        *("MonotonicTrueHighWatermark", "AckedHasMinIsrCopies", "ReadOnlyCommitted"),
        *("MonotonicListOffsets", "PartitionRefinesCommittedLog", "NoDuplicate"),
    }
)
"""Invariants that nobody promises when more was lost than the configuration bears. What remains is
the controller's own business, and the form of rows."""

NEWS: Final = LOG | WATERMARK | LEADERSHIP
"""What of a leader's step others may wait for."""
EPOCH_BEGINS_AT_ZERO: Final = "EpochBeginsAtZero"
"""Of producers, whose requests alone the rows show (clients.py)."""


class Losses:
    """What went wrong with a partition so far, as far as promises ask for it (promises.py).

    It observes and never steers. A broker *has lost* when a crash took records from its log, or
    made them unreadable, until it is in the ISR again: it then holds what is committed. `row` gives
    a broker's row as it is now.
    """

    def __init__(self, brokers: Sequence[int], row: Callable[[int], BrokerRow]) -> None:
        self._brokers = brokers
        self._row = row
        self._has_lost: set[int] = set()
        self._most_lost = self._unclean_moves = self._moves = 0
        self._zombie = False
        self.cuts = 0
        """Network partitions that began."""

    def at_once_with(self, node: int) -> int:
        """How many brokers would have lost at once, if this one did."""
        return len(self._has_lost | {node})

    def has_lost(self, node: int) -> None:
        self._has_lost.add(node)
        self._most_lost = max(self._most_lost, len(self._has_lost))

    def two_leaders(self) -> None:
        """Two brokers believe that they lead."""
        self._zombie = True

    def controller_stepped(self, before: ControllerRow, after: ControllerRow) -> None:
        """Notes elections, and who is in the ISR again after a loss."""
        old, new = before.partition, after.partition
        if new.leader_epoch > old.leader_epoch and new.leader >= 0 and old.leader_epoch > 0:
            clean = new.leader in old.isr or new.leader in old.elr
            self._moves += clean
            self._unclean_moves += not clean
        if self._has_lost:
            for node in [n for n in self._has_lost if n in new.isr]:
                # The registration that it crashed under may be in the ISR still.
                known = after.registrations[self._brokers.index(node)]
                if self._row(node).broker_epoch == known.epoch and not known.fenced:
                    self._has_lost.discard(node)

    def envelope(self) -> Envelope:
        return Envelope(
            leader_moves=self._moves,
            unclean_moves=self._unclean_moves,
            lossy=self._most_lost,
            network_partitions=self.cuts,
            zombie=self._zombie,
        )


class PartitionRun(TimedRun):
    """One partition in a run. Who runs it says what clients, controller and metadata do.

    Args:
        phases: how long they last, where this is a run by itself.
        linked: the brokers of the network, if there are more than hold the partition.
    """

    def __init__(
        self,
        paces: Paces,
        options: PartitionOptions,
        constants: PartitionConstants,
        memo: PartitionMemo,
        recorder: Recorder,
        chooser: Chooser,
        linked: tuple[int, ...] = (),
        phases: PartitionScenario | None = None,
    ) -> None:
        self.brokers, self.clock = constants.brokers, chooser.stream("clock")
        self._paces, self._linked, self._given = paces, linked or self.brokers, constants
        super().__init__(phases, options, chooser, memo, recorder)
        self.network, self.pace = self._network, self._clock
        self.rows = self.asked_of.rows
        self._promised = True
        self._envelope: Envelope | None = None
        """For which the promise was looked up last."""
        self.losses = Losses(self.brokers, self.row)
        self._truncations = self._leader_changes = self._shrinks = self._expansions = 0

    def make_constants(self, protocol: Protocol, options: Any) -> PartitionConstants:
        return self._given

    def make_network(self, stream: Stream) -> PartitionNetwork:
        return PartitionNetwork(self._linked, self._options, stream, self.queue)

    def make_clock(self, stream: Stream) -> Pace:
        return Pace(self.brokers, self._paces, self._options, stream, self.queue, self)

    # --- What it is like

    def row(self, node: int) -> BrokerRow:
        row: BrokerRow = self.rows[node]
        return row

    @property
    def replicas(self) -> tuple[int, ...]:
        """Who holds the partition, as the controller knows it."""
        return self.brokers

    @property
    def controller(self) -> ControllerRow:
        known: ControllerRow = self.asked_of.controller
        return known

    @property
    def metadata(self) -> tuple[MetadataRecord, ...]:
        committed: tuple[MetadataRecord, ...] = self.asked_of.metadata
        return committed

    # --- What others do to it

    def send(self, request: Input, node: int) -> None:
        """A client's request to a broker."""
        self.network.send(self.now, CLIENTS, ((node, self._intern(request)),))

    # --- What is decided elsewhere

    def clients_receive(self, message: object) -> None:
        """An answer has reached the clients."""
        raise NotImplementedError

    def follow_controller(self, step: Step) -> None:
        """The controller has taken a step."""
        raise NotImplementedError

    def began(self, node: int) -> None:
        """A broker that was down has started."""
        raise NotImplementedError

    def stepped(self, step: Step) -> None:
        """A step has been taken and followed up, after which somebody may have to look."""
        raise NotImplementedError

    # --- Steps

    def deliver(self, node: int, message: KnownInput) -> None:
        """A message reaches a node, or the clients."""
        if node == CLIENTS:
            self.clients_receive(message.value)
        elif self._states[node].running:
            self.take(node, message)
        else:
            self._undelivered += 1

    def ring(self, node: int, want: KnownInput) -> None:
        """It may be time for what a broker wants to do."""
        if self.pace.is_due(node, want):
            wanted = self._states[node].wants
            self.act(node, want)
            after = self._states[node]
            if after.wants is wanted:
                # Wanted still, and perhaps nobody has looked.
                self.pace.look(node, after)

    def act(self, node: int, want: KnownInput) -> None:
        """A broker does something by itself."""
        self.take(node, want)

    def look(self, step: Step) -> tuple[PartitionState, PartitionState]:
        node, row, before = step.before.node, step.after.row, self.asked_of
        if node == CONTROLLER:
            sent = step.sent if step.notable & WRITTEN else ()
            self.asked_of = before.stepped(node, row, [message.value for _, message in sent])
            self._note_controller(before.controller, row)
        elif self._watched:
            self.rows = {**before.rows, node: row}
            self.asked_of = PartitionState(self.rows, before.controller, before.metadata)
        else:
            self.rows[node] = row
        return before, self.asked_of

    def misnumbered(self, explanation: str) -> None:
        if self._watched:
            steps = max(self.steps_taken() - 1, 0)
            self.violations.append(Violation(EPOCH_BEGINS_AT_ZERO, steps, explanation))
            self.end(STOPPED)

    def _note_controller(self, old: ControllerRow, new: ControllerRow) -> None:
        """Count what a controller's step does, and note what it means for the promise.

        This is before the invariants are asked.
        """
        was, now = old.partition, new.partition
        if now is not was:
            self._shrinks += len(now.isr) < len(was.isr)
            self._expansions += len(now.isr) > len(was.isr)
            self._leader_changes += now.leader >= 0 and now.leader_epoch > was.leader_epoch
        self.losses.controller_stepped(old, new)
        self.judge_promise()

    @property
    def is_promised(self) -> bool:
        """Whether the run promises something still of what is committed."""
        return self._promised

    def judge_promise(self) -> None:
        envelope = self.losses.envelope()
        if not self._promised or envelope == self._envelope:
            return
        self._envelope = envelope
        if promised(configuration_of(self._options), envelope).nothing:
            self._promised = False
            names = [name for name in PARTITION_INVARIANT_NAMES if name not in UNPROMISED]
            judge: Any = self._judge
            judge.judge_only(names)

    def follow_up(self, node: int, step: Step) -> None:
        notable = step.notable
        if node == CONTROLLER:
            self.follow_controller(step)
        else:
            if step.after is not step.before:
                self.pace.look(node, step.after)
            if not notable:
                return
            self._truncations += bool(notable & TRUNCATED)
            if notable & STATUS and not step.before.running:
                self.began(node)
            if notable & NEWS and step.after.row.role == "Leader":
                if notable & LEADERSHIP and any(
                    other.role == "Leader" and at != node for at, other in self.rows.items()
                ):
                    self.losses.two_leaders()
                self.pace.news(node)
        if notable:
            self.stepped(step)

    def statistics(self) -> dict[str, int]:
        """What happened here, counted."""
        envelope = self.losses.envelope()
        return super().statistics() | {
            "leader_changes": max(0, self._leader_changes - 1),
            "truncations": self._truncations,
            "shrinks": self._shrinks,
            "expansions": self._expansions,
            "leader_moves": envelope.leader_moves,
            "unclean_moves": envelope.unclean_moves,
            "lossy_replicas": envelope.lossy,
            "zombies": int(envelope.zombie),
            "unpromised": int(not self._promised),
        }
