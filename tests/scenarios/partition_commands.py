"""What the commands of a partition's transcript mean: a script drives brokers and a controller.

The laws are those of commands.py: everything that a command made happen is printed, step by step.
Messages rest until a command delivers them; `deliver` takes the latest between two nodes.
"""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.bugs.catalog import bugs_of
from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerInput,
    ControllerInput,
    HeartbeatRequest,
    IsrShrinkTimeout,
    Message,
    ReplicaFetchRequest,
    ReplicaFetchResponse,
    ReplicaLagTimeout,
    SendAlterPartition,
)
from kraftcheck.reference.partition.types import PartitionConstants
from tests.reference.partition.cluster import Impossible, Partitioned
from tests.scenarios.partition_words import step_words, value_words
from tests.scenarios.scripting import Commands, WrongArgument

KINDS: dict[str, type[Message]] = {
    "fetch": ReplicaFetchRequest,
    "fetch-answer": ReplicaFetchResponse,
    "alter": AlterPartitionRequest,
    "alter-answer": AlterPartitionResponse,
}
"""The names of messages in scripts. The controller is node 0 there."""


class _Told(Partitioned):
    """A partition whose steps are printed."""

    def __init__(self, constants: PartitionConstants, bug: str | None, out: list[str]) -> None:
        self.out = out
        super().__init__(constants, bug)

    def do(self, n: int, *inputs: BrokerInput) -> None:
        for input in inputs:
            outcome = self.handlers.step(n, self.row(n), input)
            self.out += step_words(self.constants.brokers, n, input, self.row(n), outcome)
            self._judged(super().do, n, input)

    def control(self, input: ControllerInput) -> None:
        row = self.state.controller
        outcome = self.controller_handlers.step(row, input)
        self.out += step_words(self.constants.brokers, CONTROLLER, input, row, outcome)
        self._judged(super().control, input)

    def _judged(self, step: Any, *given: Any) -> None:
        known = set(self.violated)
        step(*given)
        self.out += [f"  VIOLATES {name}" for name in sorted(self.violated - known)]


class PartitionScript(Commands):
    """The partition of one transcript. Each public method with a docstring is a command."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._c = _Told(PartitionConstants((1, 2, 3), 2), None, [])

    def __call__(self, command: str, line: int) -> list[str]:
        self._c.out.clear()
        try:
            told = super().__call__(command, line)
        except Impossible:
            told = []  # The step that was impossible says so itself.
        return [*self._c.out, *(line for line in told if line != "nothing happens")] or told

    def _known(self, *nodes: int) -> None:
        for n in nodes:
            if n not in self._c.constants.brokers:
                brokers = ", ".join(map(str, self._c.constants.brokers))
                raise WrongArgument(f"node {n} is no broker; the brokers are {brokers}")

    # --- The partition

    def partition(
        self, *, replicas: int = 3, min_isr: int = 2, elr: str = "yes", bug: str = ""
    ) -> None:
        """Starts anew with brokers 1 to `replicas`, led by 1; with a bug if one is named."""
        if replicas < 1 or not 1 <= min_isr <= replicas:
            raise WrongArgument("a partition has a replica, and min ISR is from 1 to their number")
        if bug and bug not in [each.id for each in bugs_of("partition") if each.replacement]:
            raise WrongArgument(f"unknown bug {bug!r}")
        brokers = tuple(range(1, replicas + 1))
        constants = PartitionConstants(brokers, min_isr, elr_enabled=elr == "yes")
        self._c = _Told(constants, bug or None, [])
        self._c.out.clear()
        what = f", with the bug {bug}" if bug else ""
        self._out.append(f"replicas {', '.join(map(str, brokers))}, led by 1{what}")

    def rows(self) -> None:
        """One line for the controller and each broker."""
        p = self._c.partition
        self._out.append(
            f"C leader {value_words('leader', p.leader)} in epoch {p.leader_epoch}, "
            f"ISR {value_words('isr', p.isr)}, ELR {value_words('elr', p.elr)}"
        )
        for n in self._c.constants.brokers:
            row = self._c.row(n)
            self._out.append(
                f"{n} {row.status} {row.role} in epoch {row.leader_epoch}: "
                f"{value_words('log', row.log)} (high watermark {row.high_watermark})"
            )

    # --- Metadata

    def tell(self, node: int) -> None:
        """A broker hears of all that is committed, as one."""
        self._known(node)
        self._c.tell(node)

    def elect(self) -> None:
        """The preferred leader is asked for."""
        self._c.elect()

    def fence(self, node: int) -> None:
        """A broker's session times out."""
        self._known(node)
        self._c.fence(node)

    def heard(self, node: int) -> None:
        """A broker that was fenced is heard of again."""
        self._known(node)
        epoch, offset = self._c.row(node).broker_epoch, self._c.state.controller.offset
        self._c.control(
            HeartbeatRequest(
                node, CONTROLLER, epoch, offset, want_fence=False, want_shut_down=False
            )
        )

    # --- Data

    def produce(self, node: int, *, acks: str = "all") -> None:
        """A client's next record."""
        self._known(node)
        if acks not in ("all", "1", "0"):
            raise WrongArgument(f"acks is all, 1 or 0, not {acks!r}")
        self._c.produce(node, acks=-1 if acks == "all" else int(acks))

    def ask(self, node: int) -> None:
        """A follower sends its fetch."""
        self._known(node)
        self._c.ask(node)

    def fetch(self, node: int) -> None:
        """A fetch and its answer."""
        self._known(node)
        self._c.fetch(node)

    def deliver(self, kind: str, source: int, destination: int) -> None:
        """Delivers one message."""
        if kind not in KINDS:
            raise WrongArgument(f"unknown message {kind!r}; there are: {', '.join(KINDS)}")
        ends = [CONTROLLER if n == 0 else n for n in (source, destination)]
        self._known(*(n for n in ends if n != CONTROLLER))
        self._c.deliver(KINDS[kind], *ends)

    # --- The ISR

    def shrink(self, leader: int, node: int) -> None:
        """A follower has lagged for too long: the leader wants an ISR without it."""
        self._known(leader, node)
        self._c.do(leader, ReplicaLagTimeout(node))
        self._c.do(leader, IsrShrinkTimeout())

    def propose(self, leader: int) -> None:
        """The leader sends AlterPartition."""
        self._known(leader)
        self._c.do(leader, SendAlterPartition())

    def alter(self, leader: int) -> None:
        """The proposal is sent and decided, and the answer arrives."""
        self._known(leader)
        self._c.alter(leader)

    # --- Life

    def crash(self, node: int, *, keep: int = 1000000) -> None:
        """A broker dies, and `keep` records of its log are left."""
        self._known(node)
        self._c.crash(node, min(keep, len(self._c.row(node).log)))

    def restart(self, node: int) -> None:
        """A broker starts, registers, hears of everything, and is unfenced."""
        self._known(node)
        self._c.restart(node)
