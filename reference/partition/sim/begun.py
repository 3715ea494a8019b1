"""Moves with which a run of a partition begins (reference/sim/begun.py, beginnings.py beside it).

What a broker wants and has not done when they are made, and what it has not read, it does and reads
from then on in its own time. Clients of a counterexample are others than those of the run, and hear
no answer: nobody knows what became of what they appended.

Law of this file: what a node does it wanted, and what it reads was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, cast

import msgspec

from kraftcheck.reference.partition.messages import (
    BROKER_INPUTS,
    CLIENT_REQUESTS,
    CLIENTS,
    CONTROLLER,
    CONTROLLER_INPUTS,
    BrokerCrash,
    BrokerRestart,
    ControlledShutdown,
    ControllerFailover,
    ElectLeaders,
    Input,
    MetadataUpdate,
    ProduceRequest,
    SessionTimeout,
)
from kraftcheck.reference.partition.sim.beginnings import BEGINNINGS
from kraftcheck.reference.partition.sim.machine import PartitionMemo
from kraftcheck.reference.partition.sim.options import PartitionOptions
from kraftcheck.reference.partition.sim.scenario import PartitionScenario
from kraftcheck.reference.partition.sim.scheduler import PartitionSimulation
from kraftcheck.reference.partition.system import comes_once, listing_first
from kraftcheck.reference.partition.types import INITIAL_OFFSET, UNDEFINED
from kraftcheck.reference.sim.begun import Mail, Possible, begin_with
from kraftcheck.reference.sim.choices import Chooser, stream_of_option
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.recorder import Recorder

UNCAUSED: Final[tuple[type[Any], ...]] = (
    *CLIENT_REQUESTS,
    *(BrokerCrash, BrokerRestart, ControlledShutdown),
    *(SessionTimeout, ElectLeaders, ControllerFailover),
)
"""What no message and no activity of a node's own causes."""
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
        self._mail: Mail | None = None
        """While it begins; None afterwards."""

    def start_nodes(self) -> None:
        super().start_nodes()
        name, moves, more = cast(tuple[str, int, int], self._options.begins)
        mail = self._mail = Mail(comes_once)
        stream = self._chooser.stream(stream_of_option("begins"))
        begin_with(BEGINNINGS[name].moves[:moves], self._make, more, self._possible, stream)
        self._mail = None
        for source, sent in mail.left():
            self.network.send(self.now, source, sent)

    def travel(self, node: int, sent: tuple[tuple[int, KnownInput], ...]) -> None:
        if self._mail is None:
            super().travel(node, sent)
        else:
            self._mail.post(node, sent)

    def send(self, request: Input, node: int) -> None:
        if self._mail is None:
            super().send(request, node)
        else:
            self._mail.post(CLIENTS, ((node, self._intern(request)),))

    def clients_receive(self, message: Any) -> None:
        if message.request.client < FIRST_CLIENT:
            super().clients_receive(message)

    def _make(self, words: str) -> bool:
        """Make the move if there is such a one, and say so (beginnings.py says which)."""
        if self.over:
            return False
        node, kind, what = words.split(" ", 2)
        at = int(node)
        match kind:
            case "hears":
                return self._hears(at, *what.split())
            case "reads":
                offset = self.row(at).image.offset
                records = self.metadata[offset - INITIAL_OFFSET :][: int(what)]
                return bool(records) and self._takes(at, MetadataUpdate(offset, records))
            case "sends":
                self.clients.producers[int(what)].send(0)
                return True
            case "elects":
                return self._elects(at, ElectLeaders(cast(Any, what)))
            case "does":
                wanted, number = what.split()
                wants = [want for want in self.state(at).wants if want.kind == wanted]
                return int(number) < len(wants) and self.take(at, wants[int(number)]) is not None
            case _:
                input = _input(at, *what.split())
                return isinstance(input, UNCAUSED) and self._takes(at, input)

    def _hears(self, node: int, number: str, kind: str) -> bool:
        mail, at = self._mail, int(number)
        assert mail is not None
        if not mail.may_arrive(at):
            return False
        destination, message = mail.message(at)
        if (destination, message.kind) != (node, kind):
            return False
        mail.arrive(at)
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
        """Elect a replica after a reassignment that lists it first.

        The reassignment has the same replicas in another order (steered/schedule.py).
        """
        listed = listing_first(self.constants, broker)
        machine = self._memo.machine(listed)
        self.stand(machine.state(CONTROLLER, self.state(CONTROLLER).known))
        made = self._takes(CONTROLLER, election)
        self.stand(self._machine.state(CONTROLLER, self.state(CONTROLLER).known))
        return made

    # --- What else may happen at once

    def _possible(self) -> Possible:
        if self.over:
            return Possible((), ())
        usual: list[Callable[[], object]] = [*self._heard(False)]
        rare: list[Callable[[], object]] = [*self._heard(True)]
        usual += [partial(producing.send, 0) for producing in self.clients.producers.values()]
        for node in self.brokers:
            state, row = self.state(node), self.row(node)
            if not state.running:
                rare.append(partial(self.give, node, BrokerRestart()))
                continue
            unread = len(self.metadata) - (row.image.offset - INITIAL_OFFSET)
            for count in dict.fromkeys((1, unread)) if unread else ():
                usual.append(partial(self._make, f"{node} reads {count}"))
            for want in state.wants:
                late = want.kind.endswith("Timeout")
                (rare if late else usual).append(partial(self.take, node, want))
            rare.append(partial(self._trouble.crash, node))
            rare.append(partial(self.give, CONTROLLER, SessionTimeout(node)))
            rare.append(partial(self._elects, node, ElectLeaders("PREFERRED")))
        return Possible(usual, rare)

    def _heard(self, again: bool) -> Iterator[Callable[[], object]]:
        assert self._mail is not None
        for number in self._mail.deliverable(again):
            node, message = self._mail.message(number)
            if node != CLIENTS and self.is_running(node):
                yield partial(self._hears, node, str(number), message.kind)
