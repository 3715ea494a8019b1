"""The quorum for the way back: what TLC shows of a voter, and the moves that voters have.

What MCQuorumReduced forgets of a row (its `Normal`) is forgotten here as well: connections, parked
fetches, the high watermark of a follower, what is flushed, the vote in an epoch whose leader is
known, and end offsets that say no more than the high watermark does. Where TLC shows no vote there
may be one that was forgotten so, and any will do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kraftcheck.reference.core.system import Configuration, NodeMemo, System
from kraftcheck.reference.kit.log import Entry, end_offset
from kraftcheck.reference.quorum.messages import (
    Append,
    BeginQuorumEpochTimeout,
    Crash,
    ElectionTimeout,
    FetchMaxWait,
    FetchTimeout,
    Flush,
    Input,
    RequestTimeout,
    Resign,
    Restart,
)
from kraftcheck.reference.quorum.properties import Ballot, QuorumHistory
from kraftcheck.reference.quorum.protocol import QUORUM
from kraftcheck.reference.quorum.types import (
    NOBODY,
    UNDEFINED,
    Constants,
    Row,
    is_running,
)
from kraftcheck.traces.counterexamples.rows import Rows, Texts, Values
from kraftcheck.traces.counterexamples.search import (
    ANY,
    Allowed,
    Beginning,
    Essence,
    Searched,
    Way,
    World,
)
from tla_utils import State

VARIABLES: Final = frozenset({"rows", "spent"})
"""Of the models."""
ALONE: Final[Mapping[int, str]] = {}
COUNTED_AS: Final[Mapping[type, str]] = {Append: "records", Crash: "crashes"}
_TIMERS: Final[tuple[Input, ...]] = (
    Flush(),
    ElectionTimeout(),
    FetchTimeout(),
    BeginQuorumEpochTimeout(),
    Resign(),
    Restart(),
)


class QuorumSearched(Searched):
    """Voters, to whom every message may come at any time."""

    counted = ("records", "crashes")
    keeps = True

    def own(self, world: World, allowed: Allowed) -> Iterator[tuple[int, Input]]:
        for state in world.at.states:
            for input in self._of_node(state.node, state.row, allowed):
                yield state.node, input

    def _of_node(self, node: int, row: Row, allowed: Allowed) -> Iterator[Input]:
        if row.role == "Leader" and allowed.value is not None:
            yield Append(allowed.value)
        yield from _TIMERS
        for m in row.parked:
            yield FetchMaxWait(m)
        for peer in self.system.constants.others(node):
            yield RequestTimeout(peer)
        if allowed.crash and is_running(row):
            for keep in range(row.flushed, end_offset(row.log) + 1):
                yield Crash(keep)

    def shown(self, at: Configuration) -> Essence:
        return tuple([essence_of(state.row) for state in at.states])

    def counts(self, world: World, input: Input) -> str | None:
        return COUNTED_AS.get(type(input))


# -- What TLC shows

FIELDS: Final[tuple[tuple[str, ...], ...]] = (
    (
        *("role", "epoch", "leader", "voted", "quorum_state", "log", "epoch_cache", "granted"),
        *("high_watermark", "epoch_start", "end_offsets", "announced"),
    ),
    ("records", "crashes"),
)
"""What the parts of an essence consist of; each part is of another length."""


def essence_of(row: Row) -> Essence:
    """A row of the reference, less what the models forget."""
    settled = max(row.high_watermark, row.epoch_start)
    file = row.quorum_state
    return (
        row.role,
        row.epoch,
        row.leader,
        row.voted,
        (file.epoch, file.leader, file.voted),
        tuple([(entry.epoch, entry.value) for entry in row.log]),
        tuple([(entry.epoch, entry.start) for entry in row.epoch_cache]),
        row.granted,
        row.high_watermark if row.role == "Leader" else UNDEFINED,
        row.epoch_start,
        tuple([offset if offset > settled else UNDEFINED for offset in row.end_offsets]),
        row.announced,
    )


def essence_in(row: Mapping[str, Any], nodes: Mapping[str, int]) -> Essence:
    """The same of a row as TLC printed it. nodes: by the name of the model value."""

    def node(value: object) -> int:
        return value if isinstance(value, int) else nodes[str(getattr(value, "name", value))]

    def vote(value: object) -> object:
        return ANY if leader != NOBODY or node(value) == NOBODY else node(value)

    leads, leader, file = row["role"] == "Leader", node(row["leader"]), row["quorumState"]
    settled = max(row["highWatermark"], row["epochStart"])
    ends = {node(key): row["endOffsets"][key] for key in row["endOffsets"]}
    return (
        row["role"],
        row["epoch"],
        leader,
        vote(row["voted"]),
        (file["epoch"], node(file["leader"]), vote(file["voted"])),
        tuple([(entry["epoch"], entry["value"]) for entry in row["log"]]),
        tuple([(entry["epoch"], entry["start"]) for entry in row["epochCache"]]),
        tuple(sorted(node(each) for each in row["granted"])),
        row["highWatermark"] if leads else UNDEFINED,
        row["epochStart"],
        tuple([ends[n] if ends[n] > settled else UNDEFINED for n in sorted(ends)]),
        row["announced"],
    )


def wanted_of(values: Mapping[str, Any], nodes: Mapping[str, int]) -> Essence:
    """What a world must show where TLC printed these values of the variables."""
    rows, spent = values["rows"], values["spent"]
    named = {nodes[str(getattr(key, "name", key))]: rows[key] for key in rows}
    shown = [essence_in(named[number], nodes) for number in sorted(named)]
    return (*shown, (spent["records"], spent["crashes"]))


def numbers_of(rows: Any) -> dict[str, int]:
    """The voters' numbers here, by their names in the model: n1 is 1.

    Of graphs the names are numbers.
    """
    names = sorted(str(getattr(key, "name", key)) for key in rows)
    return {name: int(name) if name.isdigit() else at for at, name in enumerate(names, 1)}


def beginning(states: Sequence[State], values: Mapping[str, str], bug: str | None) -> Beginning:
    """Raises KeyError: a constant is missing; UnknownBug, OutOfScope."""
    nodes = numbers_of(states[0].values["rows"])
    constants = Constants(tuple(sorted(nodes.values())), int(values["FetchMaxRecords"]))
    system = System(NodeMemo(QUORUM, bug).machine(constants))
    return Beginning(
        "quorum",
        {"voters": list(constants.voters), "fetch_max_records": constants.fetch_max_records},
        Way(World(QuorumSearched(system), system.initial()), ()),
        lambda state, _: wanted_of(state, nodes),
        (*(f"voter {n}" for n in constants.voters), "counts of records and crashes"),
        1,
        {name: at for at, name in enumerate(nodes)},
        FIELDS,
    )


# -- What properties look at


def asked_with(_: Texts, before: Values, after: Values, bug: str | None) -> tuple[Any, ...]:
    """The arguments of properties for two consecutive states of a model."""
    reader = Rows(after["rows"])
    appended: dict[tuple[int, int], tuple[int, ...]] = {}
    for offset, epoch, value in sorted(after["appended"]):
        appended[offset, epoch] = (*appended.get((offset, epoch), ()), value)
    ballots = {
        reader.value(node): Ballot(ballot["epoch"], tuple(sorted(reader.set_of(ballot["given"]))))
        for node, ballot in after["ballots"].items()
    }
    committed, earlier = (reader.structs(Entry, values["committed"]) for values in (after, before))
    history = QuorumHistory(ballots, committed, earlier, appended)
    old, new = (reader.by_node(Row, values["rows"]) for values in (before, after))
    return old, new, history
