"""A quorum of Kafka's: how its voters are driven by chance, along schedules, and through graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from kraftcheck.exits import BadInput
from kraftcheck.kafka.live.witness.host import Host
from kraftcheck.kafka.witness import covering, histories
from kraftcheck.kafka.witness.chance import Component, a_step
from kraftcheck.kafka.witness.kafka import Kafka
from kraftcheck.kafka.witness.quorum_graphs import Walk
from kraftcheck.kafka.witness.schedule import KafkaSchedule
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.quorum.messages import (
    MESSAGES,
    Append,
    Crash,
    ElectionTimeout,
    FetchTimeout,
    Input,
    RequestTimeout,
    Resign,
    Restart,
    Timer,
    VoteResponse,
)
from kraftcheck.reference.quorum.protocol import QUORUM, QUORUM_41
from kraftcheck.reference.quorum.sim.words import move_words
from kraftcheck.reference.quorum.types import Constants
from kraftcheck.reference.runner.scripted import QuorumSetting
from kraftcheck.reference.runner.shrink import replayed
from kraftcheck.reference.sim.choices import Stream, chance, pick
from kraftcheck.reference.sim.schedules import Schedule
from kraftcheck.reference.steered.moves import Names
from kraftcheck.reference.steered.scripts import Script
from kraftcheck.traces.cover.models import Graph, read_covers, rule_book

FETCH_MAX_RECORDS = 2
FETCHES: Final = {"HandleFetchRequest", "HandleFetchResponse", "HandleFetchTimeout"}
"""Moves of graphs that are not alike by the rules before 4.1 and since."""


# -- Moves by chance


def _deliver(schedule: KafkaSchedule, stream: Stream) -> bool:
    if not (there := schedule.deliverable()):
        return False
    message = there[-1] if chance(stream, 700) else pick(stream, there)
    schedule.do(message.destination, message)
    return True


def _again(schedule: KafkaSchedule, stream: Stream) -> bool:
    if not (there := schedule.deliverable(again=True)[:20]):
        return False
    message = pick(stream, there)
    schedule.do(message.destination, message)
    return True


def _lose(schedule: KafkaSchedule, stream: Stream) -> bool:
    if not (there := list(schedule.mail.waiting)):
        return False
    schedule.forget(pick(stream, there))
    return True


def _timer(schedule: KafkaSchedule, stream: Stream) -> bool:
    if not (there := schedule.timers()):
        return False
    node, timer = there[0] if chance(stream, 500) else pick(stream, there)
    schedule.do(node, timer)
    return True


def _tear(schedule: KafkaSchedule, stream: Stream) -> bool:
    """Into the step of a leader that appends, or of a candidate that may win."""
    there: list[tuple[int, Input]] = [
        (n, Append(schedule.appended + 1)) for n in schedule.nodes("Leader")
    ]
    there += [(m.destination, m) for m in schedule.deliverable(VoteResponse)]
    if not there:
        return False
    node, input = pick(stream, there)
    if isinstance(input, Append):
        schedule.appended += 1
    schedule.tear(node, input, stream.below(2))
    return True


def _append(schedule: KafkaSchedule, stream: Stream) -> bool:
    if not (leaders := schedule.nodes("Leader")):
        return False
    schedule.append(pick(stream, leaders))
    return True


def _timers(*kinds: type[Timer]) -> Callable[[KafkaSchedule, Stream], bool]:
    return a_step(lambda schedule: [t for t in schedule.timers() if isinstance(t[1], kinds)])


def _crashes(schedule: KafkaSchedule) -> list[tuple[int, Input]]:
    return [(node, Crash(len(schedule.row(node).log))) for node in schedule.nodes()]


MOVES: Final[dict[Callable[[KafkaSchedule, Stream], bool], tuple[int, ...]]] = {
    _deliver: (60, 120, 240),
    _timer: (4, 12, 25),
    _timers(ElectionTimeout, FetchTimeout): (0, 2, 6),
    _append: (3, 8, 15),
    a_step(lambda schedule: [(n, Restart()) for n in schedule.nodes("Down")]): (10, 20, 40),
    _timers(RequestTimeout): (0, 3, 10),
    _again: (0, 5, 15),
    _lose: (0, 2, 10),
    a_step(_crashes): (0, 1, 4),
    _tear: (0, 1, 3),
    a_step(lambda schedule: [(n, Resign()) for n in schedule.nodes("Leader")]): (0, 1, 2),
}
"""How often each kind may be taken, of which a run draws one."""


class Voters(Component):
    """See chance.Component."""

    kinds = MOVES
    protocol: Protocol
    """By whose rules they are judged."""

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol

    def settings(self, nodes: int, seed: int) -> QuorumSetting:
        return QuorumSetting(tuple(range(1, nodes + 1)), FETCH_MAX_RECORDS)

    def setting(self, options: Mapping[str, Any]) -> QuorumSetting:
        return msgspec.convert(dict(options), QuorumSetting)

    def constants(self, setting: QuorumSetting) -> Constants:
        made: Constants = self.protocol.constants(setting.voters, setting.fetch_max_records)
        return made

    def begin(
        self, setting: QuorumSetting, host: Host, watched: bool, compares: bool = False
    ) -> KafkaSchedule:
        return KafkaSchedule(self.constants(setting), host, watched, compares)


VOTERS: Final = Voters(QUORUM_41)
VOTERS_BEFORE_41: Final = Voters(QUORUM)


def component(kafka: Kafka) -> Voters:
    """How those of a version are driven: 4.0 has the rules before KIP-1166."""
    return VOTERS_BEFORE_41 if kafka.version.startswith("4.0.") else VOTERS


def retold(schedule: Schedule) -> Script:
    """A run of choices as moves, in a quorum's own words. Voters begin by themselves here.

    Raises ValueError: no such option or bug.
    """
    told, _ = replayed(schedule)
    constants: Any = told.result.constants
    names = Names(lambda m: move_words(constants, m.destination, m))
    moves, began = [], {*constants.voters}
    for step in told.steps:
        if isinstance(step.input, Restart) and step.node in began:
            began.discard(step.node)
        elif isinstance(step.input, MESSAGES):
            moves.append(names.name(step.input))
        else:
            moves.append(move_words(constants, step.node, step.input))
        for message in step.sent:
            names.name(message)
    return Script(
        machine=schedule.scenario,
        moves=tuple(moves),
        bug=schedule.bug,
        violates=schedule.violates,
        options={"voters": constants.voters, "fetch_max_records": constants.fetch_max_records},
    )


def cover(chosen: Sequence[Graph], specs: Path, *, kafka: Kafka, **options: Any) -> int:
    """As covering.cover. Raises also BadInput: a graph is of other rules than this version's."""
    rules = component(kafka).protocol
    for model in chosen:
        _check_rules(model, specs, kafka, rules)
    return covering.cover(Walk, histories.drive, rules.name, chosen, specs, kafka=kafka, **options)


def fetches(model: Graph, specs: Path) -> bool:
    """Whether voters fetch in a graph."""
    return bool(FETCHES & rule_book(model).moves)


def _check_rules(model: Graph, specs: Path, kafka: Kafka, rules: Protocol) -> None:
    """Votes are alike in both; a fetch that finds nothing waits before KIP-1166, and not since."""
    if model.protocol == rules.name or not fetches(model, specs):
        return
    own = [m.name for m in read_covers(specs).values() if m.protocol == rules.name]
    of, to = ("before", "since") if rules is QUORUM_41 else ("since", "before")
    raise BadInput(
        f"{model.name}: fetches by the rules {of} 4.1, and Kafka {kafka.version} has those {to} "
        f"(KIP-1166): take {', '.join(own)}, or another --kafka"
    )
