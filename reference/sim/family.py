"""What there is to know of a kind of runs, for those who make, tell or judge runs of any kind.

Every scenario is of one family. Families are listed in reference/runner/scenarios.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from kraftcheck.reference.clients.promises import Configuration, Envelope
from kraftcheck.reference.kit.log import EpochEnd
from kraftcheck.reference.sim.choices import Chooser
from kraftcheck.reference.sim.events import Queue
from kraftcheck.reference.sim.recorder import Violation


class Manner(NamedTuple):
    """How steps are told: what the columns are, their heads, their content (of a step)."""

    legend: str
    header: str
    columns: Callable[[Any], str]
    always: str = ""
    """An option that is told although it is as in a run without faults."""
    options: Callable[[Any, Callable[[Any], str]], str] | None = None
    """How they are told, given what tells a part of them; None: each that is not as without faults.
    """
    composed: bool = False
    """A run has components, which stand in a column before the node."""
    heals: bool = True
    """A run ends without faults, and is asked whether it then makes progress."""


class ClientLog(NamedTuple):
    """What clients see."""

    configuration: Callable[[str], Configuration]
    """Of a run, by its recorded options (as JSON); it raises msgspec.MsgspecError for what are
    none.
    """
    envelope: Callable[[Mapping[str, int]], Envelope] | None = None
    """What happened, by a run's statistics; None: the promise does not depend on it."""
    has_control_records: bool = False
    """Which no client wrote."""
    objects: Callable[[], Sequence[Any | None]] | None = None
    """Where it is no log, makes the objects by which histories must be linearizable, of each
    component one or none; an operation on `partition` p is of component p modulo their number.
    """


class Simulated(Protocol):
    """A run, built; once it was executed, what became of it."""

    @property
    def constants(self) -> Any: ...
    @property
    def clients(self) -> Any:
        """With their `history`."""
        ...

    @property
    def handler_calls(self) -> int: ...
    @property
    def verdict(self) -> str: ...
    @property
    def violations(self) -> list[Violation]: ...

    def execute(self) -> None: ...
    def statistics(self) -> dict[str, int]:
        """What happened, counted."""
        ...

    def take_apart(self) -> None:
        """The run is over, and nobody reads it any more."""
        ...


class Circular:
    """A run in a circle of references: its events and its clients refer to it, and it to them.

    What nobody takes apart waits, with all that it holds, until garbage is looked for.
    """

    clients: Any

    def queues(self) -> Iterable[Queue]:
        """Where its events wait."""
        return ()

    def take_apart(self) -> None:
        for queue in self.queues():
            queue.heap.clear()
        vars(self.clients).clear()
        vars(self).clear()


class Family(NamedTuple):
    scenario: Any
    """Has name, sentence and palettes."""
    of: type[Any]
    """The type of a run's options."""
    draw: Callable[[Chooser, Mapping[str, Any]], Any]
    """Them, but for those that are requested."""
    memo: Callable[[str | None, bool], Any]
    """Under a bug or none, enabled or not."""
    key: object
    """What it depends on beside the bug."""
    simulation: Callable[..., Simulated]
    """Of one run, from scenario, options, chooser, memo and recorder."""
    manner: Manner
    log: ClientLog
    fixed: tuple[Mapping[str, Any], ...]
    """Options that leave no constant to be drawn, for runs that are judged together."""
    first_look: int = 0
    """How many runs `verify` makes; of those that have any, the first gets the canary."""
    on_request: Mapping[str, Mapping[str, Any]] = {}
    """By name, options that no run draws, or few: those with which messages of one type are
    disturbed as no others are, and constants that one has to ask for.
    """
    unpromised: Callable[[Any], tuple[int, str, str] | None] | None = None
    """(step, property, explanation) of the first property that a run breaks, whether or not it was
    promised; the slow way.
    """
    taken_by: Callable[[Mapping[str, Any]], tuple[str, ...]] | None = None
    """The names of the protocols of runs for which these options are requested, the first of them
    that of the run, or of a cluster's quorum; unsaid, the scenario's.
    """
    beginnings: Mapping[str, Sequence[Mapping[str, Any]]] = {}
    """By what it leads to, a bug or a goal, options of runs that begin in the middle of something.
    """
    walks: Sequence[Mapping[str, Any]] = ()
    """Options of short runs that, together, take the steps of the models' graphs."""


def who(node: int) -> str:
    """A node, an epoch or an offset; `-` for none."""
    return "-" if node == -1 else str(node)


def brief(content: object) -> str:
    if isinstance(content, EpochEnd):
        return f"{content.end_offset}@{content.epoch}"
    if isinstance(content, tuple):
        return ",".join(brief(item) for item in content)
    if isinstance(content, msgspec.Struct):
        return "@".join(str(item) for item in reversed(msgspec.structs.astuple(content)))
    return str(content)
