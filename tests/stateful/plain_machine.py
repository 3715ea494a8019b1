"""The state machine of any protocol that has no simulation of its own: its moves are whatever its
protocol says may come (reference/drivers/script.py).

As in machine.py, a rule draws among what is possible now, by its position. Swarm: each run leaves
some kinds of node alone, and some inputs, lost and doubled messages out as a whole. Progress is
asked of protocols that say what it is (`World.calm`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from kraftcheck.reference.core.run import LATE
from kraftcheck.reference.drivers.options import on_request
from kraftcheck.reference.drivers.script import ScriptedRun, begun
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.sim.interning import KnownInput
from tests.stateful import reached
from tests.stateful.gifts import SteeredMachine
from tests.stateful.machine import by_position

Offer = tuple[int, KnownInput]
AGAIN, LOSS = "again", "loss"
ANSWERS = 6
"""So many messages come at most before a node does the next by itself, where it waits for them."""
PLACE = st.integers(0, 2**16 - 1)
"""Which input of all that may come: the kind of it, and which one of these."""


def circles_of(protocol: Protocol) -> list[tuple[str, ...]]:
    """The kinds of nodes that are left alone together: those that hear messages, if others do not;
    else each by itself."""
    messages = {*protocol.messages}
    hearing = tuple([kind.name for kind in protocol.kinds if messages & {*kind.inputs}])
    if not 0 < len(hearing) < len(protocol.kinds):
        return [(kind.name,) for kind in protocol.kinds]
    return [hearing, *[(kind.name,) for kind in protocol.kinds if kind.name not in hearing]]


def kind_of(offer: Offer) -> str:
    return type(offer[1].value).__name__


class PlainMachine(SteeredMachine):
    """All nodes of a protocol, with the correct rules or those of a bug."""

    protocol: ClassVar[Protocol]

    def __init__(self) -> None:
        super().__init__()
        reached.begin(self.name, self.bug is None)
        self.schedule: ScriptedRun = begun(self.protocol, {}, self.bug)
        self.off: frozenset[str] = frozenset()
        self.quiet: Sequence[str] = ()

    @initialize(data=st.data())
    def start(self, data: st.DataObject) -> None:
        """Constants, who is left alone, and what does not happen."""
        world = self.protocol.world
        assert world is not None
        setting: dict[str, Any] = {
            name: data.draw(by_position(values), name) for name, values in world.constants.items()
        }
        setting |= data.draw(by_position([{}, *on_request(self.protocol)]), "on request")
        if world.awaited is not None and data.draw(st.booleans(), LATE):
            setting[LATE] = 1
        circles = circles_of(self.protocol)
        inputs = sorted({of.__name__ for kind in self.protocol.kinds for of in kind.inputs})
        quiet = st.frozensets(by_position(circles), max_size=len(circles) - 1)
        off = st.frozensets(by_position([AGAIN, LOSS, *inputs]), max_size=len(inputs) // 3)
        self.quiet = sorted(kind for circle in data.draw(quiet, "quiet") for kind in circle)
        self.off = data.draw(off, "off")
        self.schedule = begun(self.protocol, setting, self.bug)

    def own(self, node: int | None = None) -> list[list[Offer]]:
        """What may come to nodes by itself, by its kind; or to this one."""
        found: dict[str, list[Offer]] = {}
        for offer in self.schedule.own(self.quiet):
            if (kind := kind_of(offer)) not in self.off and node in (None, offer[0]):
                found.setdefault(kind, []).append(offer)
        return [*found.values()]

    @rule(places=st.lists(PLACE, min_size=1, max_size=16))
    def act(self, places: list[int]) -> None:
        """Nodes do what they do by themselves, one after the other."""
        for place in places:
            self._act(place, lost=False)

    @rule(places=st.lists(PLACE, min_size=1, max_size=8))
    def exchange(self, places: list[int]) -> None:
        """Likewise, and what is sent comes in its order before the next."""
        for place in places:
            self._act(place, lost=False)
            self._all_come(ANSWERS)

    @rule(place=PLACE, places=st.lists(PLACE, min_size=1, max_size=4))
    def goes_on(self, place: int, places: list[int]) -> None:
        """One node does what it does by itself, and nothing else happens."""
        if nodes := list(dict.fromkeys([node for kind in self.own() for node, _ in kind])):
            for each in places:
                self._act(each, lost=False, node=nodes[place % len(nodes)])

    @rule(place=PLACE)
    @precondition(lambda self: LOSS not in self.off and self.protocol.messages)
    def act_unheard(self, place: int) -> None:
        """What is sent is lost."""
        self._act(place, lost=True)

    def _act(self, place: int, lost: bool, node: int | None = None) -> None:
        """One that is disabled makes way for the next of its kind."""
        if kinds := self.own(node):
            at, kind = divmod(place, len(kinds))
            of = kinds[kind]
            for another in range(len(of)):
                if self.schedule.act(*of[(at + another) % len(of)], lost=lost):
                    return

    @rule(count=st.integers(1, 8))
    @precondition(lambda self: self.schedule.mail())
    def messages_come(self, count: int) -> None:
        """In their order."""
        self._all_come(count)

    def _all_come(self, most: int) -> None:
        for _ in range(most):
            if mail := self.schedule.mail():
                self.schedule.deliver(*mail[0])

    @rule(data=st.data())
    @precondition(lambda self: self.schedule.mail())
    def one_comes(self, data: st.DataObject) -> None:
        """Whichever."""
        self.schedule.deliver(*data.draw(by_position(self.schedule.mail())))

    @rule(data=st.data())
    @precondition(lambda self: AGAIN not in self.off and self._repeated())
    def one_comes_again(self, data: st.DataObject) -> None:
        self.schedule.deliver(*data.draw(by_position(self._repeated())), again=True)

    def _repeated(self) -> list[Offer]:
        return [offer for offer in self.schedule.mail() if self.schedule.may_repeat(offer[1])]

    @rule(data=st.data())
    @precondition(lambda self: self.schedule.held())
    def one_comes_late(self, data: st.DataObject) -> None:
        """Though nobody waits for it any more."""
        self.schedule.deliver_held(*data.draw(by_position(self.schedule.held())))

    def steered(self) -> ScriptedRun:
        return self.schedule

    def judge(self) -> str:
        """What is promised to clients is judged of recorded runs (World.promises)."""
        return ""


def machine_of(protocol: Protocol, bug: str | None = None) -> type[PlainMachine]:
    named = {"name": protocol.name, "protocol": protocol, "bug": bug, "__module__": __name__}
    return type(f"{protocol.name.capitalize()}Machine", (PlainMachine,), named)
