"""A run that begins in the middle of something: with the first moves of a counterexample of TLC.

A run of a seed seldom gets to where a protocol is in the middle of something rare; TLC goes the
shortest way there. So fuzzers begin with inputs that once led somewhere (Zalewski, "AFL", 2013);
here with what a model checker found (beginnings.py), and go on as any run does.

All of it happens in the first moment of the run, in order. What was sent and has not arrived when
it is over is on its way then; what a broker wants, and what it has not read, it does and reads from
then on in its own time. Clients of the beginning are others than those of the run, and hear no
answer: nobody knows what became of what they appended.

Law of this file: nothing happens that could not have happened to the nodes of this run. What a node
hears was sent to it, what it does it wanted; at the first move that is not so the beginning ends.
"""

from __future__ import annotations

from typing import Any, Final, cast

import msgspec
from msgspec.structs import replace

from reference.partition.messages import (
    BROKER_INPUTS,
    CLIENT_REQUESTS,
    CLIENTS,
    CONTROLLER,
    CONTROLLER_INPUTS,
    BrokerCrash,
    ElectLeaders,
    Input,
    MetadataUpdate,
    ProduceRequest,
)
from reference.partition.sim.beginnings import COUNTEREXAMPLES
from reference.partition.sim.machine import PartitionMemo
from reference.partition.sim.network import FETCHES
from reference.partition.sim.options import PartitionOptions
from reference.partition.sim.scenario import PartitionScenario
from reference.partition.sim.scheduler import PartitionSimulation
from reference.partition.types import INITIAL_OFFSET, UNDEFINED
from reference.sim.choices import Chooser
from reference.sim.interning import KnownInput
from reference.sim.recorder import Recorder

FIRST_CLIENT: Final = 100
"""Clients of a beginning count from here, and so do producers."""

_OF: Final[dict[str, type[Any]]] = {
    each.__name__: each for each in (*BROKER_INPUTS, *CONTROLLER_INPUTS)
}


def _input(node: int, kind: str, *given: str) -> Input:
    fields: dict[str, Any] = dict.fromkeys(_OF[kind].__struct_fields__, UNDEFINED)
    if _OF[kind] in CLIENT_REQUESTS:
        fields |= {"source": CLIENTS, "destination": node}
    for each in given:
        name, _, value = each.partition("=")
        fields[name] = msgspec.json.decode(value)
    return cast(Input, msgspec.convert({"type": kind, **fields}, _OF[kind]))


class BegunSimulation(PartitionSimulation):
    """One run of a partition that begins so."""

    def __init__(
        self,
        scenario: PartitionScenario,
        options: PartitionOptions,
        chooser: Chooser,
        memo: PartitionMemo,
        recorder: Recorder,
    ) -> None:
        super().__init__(scenario, options, chooser, memo, recorder)
        self._memo = memo
        self._sent: list[tuple[int, int, KnownInput]] | None = None
        """While it begins, what was sent, in order; None afterwards."""
        self._arrived: set[int] = set()
        """Numbers of what has arrived."""

    def begin(self) -> None:
        super().begin()
        name, moves = cast(tuple[str, int], self._options.begins)
        self._sent = []
        for words in COUNTEREXAMPLES[name].moves[:moves]:
            if self.over or not self._make(*words.split(" ", 2)):
                break
        sent, self._sent = self._sent, None
        for number, (source, destination, message) in enumerate(sent):
            if number not in self._arrived and destination != CLIENTS:
                self.network.send(self.now, source, ((destination, message),))

    def travel(self, node: int, sent: tuple[tuple[int, KnownInput], ...]) -> None:
        if self._sent is None:
            super().travel(node, sent)
        else:
            self._sent += [(node, *each) for each in sent]

    def clients_receive(self, message: Any) -> None:
        if message.request.client < FIRST_CLIENT:
            super().clients_receive(message)

    def _make(self, node: str, kind: str, what: str) -> bool:
        """Whether there is such a move; then it has been made. (beginnings.py says which.)"""
        at = int(node)
        match kind:
            case "hears":
                return self._hears(at, *what.split())
            case "reads":
                offset = self.row(at).image.offset
                records = self.metadata[offset - INITIAL_OFFSET :][: int(what)]
                return bool(records) and self._takes(at, MetadataUpdate(offset, records))
            case "elects":
                return self._elects(at, ElectLeaders(cast(Any, what)))
            case "does":
                wanted, number = what.split()
                wants = [want for want in self._states[at].wants if want.kind == wanted]
                return int(number) < len(wants) and self.take(at, wants[int(number)]) is not None
            case _:
                return self._takes(at, _input(at, *what.split()))

    def _hears(self, node: int, number: str, kind: str) -> bool:
        assert self._sent is not None
        if int(number) >= len(self._sent):
            return False
        _, destination, message = self._sent[int(number)]
        again = int(number) in self._arrived and kind not in FETCHES
        if again or (destination, message.kind) != (node, kind):
            return False
        self._arrived.add(int(number))
        if node == CLIENTS:
            return True
        return self.is_running(node) and self.take(node, message) is not None

    def _takes(self, node: int, input: Input) -> bool:
        if isinstance(input, ProduceRequest):
            for value in [each for each in input.values if each > self.clients.values]:
                self.clients.values = value
                process = self.clients.new_process()
                self.clients.operation(process, "append", node, 0).values = [value]
        elif isinstance(input, BrokerCrash) and (
            input.keep < len(self.row(node).log) or input.corrupt != UNDEFINED
        ):
            self.losses.has_lost(node)
            self.judge_promise()
        return self.give(node, input) is not None

    def _elects(self, broker: int, election: ElectLeaders) -> bool:
        """An election before which the replicas were listed anew, this one first, as a reassignment
        to the same replicas in another order does (steered/schedule.py)."""
        others = [n for n in self.constants.replicas if n != broker]
        listed = replace(self.constants, replicas=(broker, *others))
        known = self._states[CONTROLLER].known
        self._states[CONTROLLER] = self._memo.machine(listed).state(CONTROLLER, known)
        made = self._takes(CONTROLLER, election)
        known = self._states[CONTROLLER].known
        self._states[CONTROLLER] = self._machine.state(CONTROLLER, known)
        return made
