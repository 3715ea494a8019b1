"""The driver by chance: moves drawn among all that are possible.

Each move delivers a message that is in flight, whichever, perhaps again later, or gives a node an
input of its own, any that its protocol says may come (`World.local`). Messages are lost, doubled
and overtaken, which needs no step of any node (specs/common/Network.tla). There is no clock: a move
takes a millisecond. In the end nothing disturbs the run any more (`Run.progress`). A protocol
without `World.calm` demands no progress: a run that violates nothing has done what it must.

Law of this file: nothing here knows of a protocol; each choice is the simplest one at 0.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.clients.promises import Configuration as ClientConfiguration
from kraftcheck.reference.core.run import Run
from kraftcheck.reference.core.system import (
    Kind,
    Message,
    Move,
    NodeMemo,
    world_of,
)
from kraftcheck.reference.drivers.options import (
    AWAY,
    OFTEN_AWAY,
    on_request,
    options_of,
    rarely_drawn,
    scenario_of,
    simplest,
)
from kraftcheck.reference.drivers.telling import LEGEND, columns
from kraftcheck.reference.kit.dispatch import snake
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.sim.choices import Chooser, chance
from kraftcheck.reference.sim.family import ClientLog, Family, Manner
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import Step
from kraftcheck.reference.sim.recorder import Recorder

TRIES: Final = 8
"""How often an input is drawn anew for a move, where the one that was drawn does not come."""
AWAY_MOVES: Final = 150
"""Moves for which a node stays away: enough for the others to elect a leader and continue."""


class RandomRun(Run):
    """One run by chance."""

    def __init__(
        self,
        options: Any,
        chooser: Chooser,
        memo: NodeMemo,
        recorder: Recorder,
        joined: Collection[type[Any]] = (),
    ) -> None:
        self._network, self._faults = chooser.stream("network"), chooser.stream("faults")
        self._workload = chooser.stream("workload")
        super().__init__(options, memo, recorder, joined)
        named = {of: getattr(options, snake(of.__name__)) for of in self._world.disturbances}
        self._rare: dict[type[Any], int] = {of: often or 0 for of, often in named.items()}
        rare, drawn_from = self._rare, self._world.disturbances.items()
        self._never = {of for of, values in drawn_from if not any((*values, rare[of]))}
        """Inputs that come on request alone, and were not asked for."""
        self._leaves: int = options.away or 0
        self._away: int | None = None
        self._back = 0
        """The move at which the node that is away returns."""

    def execute(self) -> None:
        while self._moves < self._options.moves * self._options.stretch:
            if not self.goes_on(self.moved()):
                return
        self._options, self._away = replace(self._options, lost=0), None
        self.verdict = self.progress() or self.verdict

    def loses(self, message: KnownInput) -> bool:
        return chance(self._faults, self._options.lost)

    def hears(self, node: int) -> bool:
        return super().hears(node) and node != self._away

    # --- Choices

    def moved(self) -> Step | None:
        """The next move is made, up to the step that it leads to, if any."""
        if not self._leaves:
            return self._drawn()
        if self._moves >= self._back:
            self._away = None
            if chance(self._faults, self._leaves):
                nodes = self.system.nodes
                self._away = nodes[self._faults.below(len(nodes))]
                self._back = self._moves + AWAY_MOVES
        mail, held = self.at.mail, self.at.held
        # What is sent to the node that is away waits.
        self.at = self.at._replace(mail=self._others(mail, True), held=self._others(held, True))
        step = self._drawn()
        mail = (*self._others(mail, False), *self.at.mail)
        held = (*self._others(held, False), *self.at.held)
        self.at = self.at._replace(mail=mail, held=held)
        return step

    def _others(self, messages: tuple[Message, ...], others: bool) -> tuple[Message, ...]:
        return tuple([each for each in messages if (each[0] != self._away) is others])

    def _drawn(self) -> Step | None:
        if self.at.held and chance(self._network, self._options.late):
            return self._delivered(self.at.held, "late")
        if self.at.mail and chance(self._network, self._options.delivered):
            return self._delivered(self.at.mail, "deliver")
        return self._own()

    def _delivered(self, among: tuple[Message, ...], kind: Kind) -> Step | None:
        place = self._network.below(len(among))
        ordered = self._world.in_order(among[place][1].value)
        if ordered:
            place = self.system.first_of_channel(among, place)
        if not ordered and chance(self._network, self._options.doubled):
            self._counts["duplicated"] += 1
            kind = "again" if kind == "deliver" else "late again"
        return self.arrived(Move(kind, *among[place], place))

    def _own(self) -> Step | None:
        """An input that is no message: a node, then one of those that may come to it."""
        below, rare, faults = self._workload.below, self._rare, self._faults
        never = self._never
        of = self.system.local
        able = [each for each in self.at.states if of(each) and each.node != self._away]
        if not able:
            return None
        for _ in range(TRIES):
            state = able[below(len(able))]
            local = of(state)
            there = len(local)
            while there and type(local[there - 1]) in never:
                there -= 1
            if not there:
                continue
            input = local[below(there)]
            often = rare.get(type(input))
            if often is not None and not chance(faults, often):
                continue
            if self.system.comes(self.rows, state.node, input):
                return self.step(state.node, self.known(input))
        return None


def object_of(protocol: Protocol) -> Any | None:
    """The model of what the protocol's clients see; None: it promises nothing to any."""
    promises = world_of(protocol).promises
    return promises.model() if promises else None


def family_of(protocol: Protocol) -> Family:
    """The family of the protocol's runs."""
    scenario, options = scenario_of(protocol), options_of(protocol)
    return Family(
        scenario=scenario,
        of=options.of,
        draw=lambda chooser, fixed: options.draw(chooser, scenario.palettes, fixed),
        memo=lambda bug, enabled: NodeMemo(protocol, bug, enabled),
        key=protocol.name,
        simulation=lambda _, *given: RandomRun(*given),
        manner=Manner(LEGEND, "row", columns, heals=world_of(protocol).calm is not None),
        log=ClientLog(lambda _: ClientConfiguration(), objects=lambda: (object_of(protocol),)),
        fixed=(simplest(protocol),),
        on_request={
            **{rarely_drawn(protocol, own): own for own in on_request(protocol)},
            **({AWAY: {**simplest(protocol), AWAY: OFTEN_AWAY}} if protocol.messages else {}),
        },
    )
