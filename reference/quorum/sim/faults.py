"""What may go wrong in a run: options, drawn before anything happens, and episodes of trouble.

An *episode* has shape: a partition or an outage begins, lasts, and ends. Between episodes there is
calm, in which leaders are elected and records are committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from kraftcheck.reference.sim.choices import Stream, pick
from kraftcheck.reference.sim.network import Partition
from kraftcheck.reference.sim.options import STRETCH, OptionSet


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of one run. Shares are per mille, durations milliseconds of virtual time."""

    voters: int = 3
    fetch_max_records: int = 2
    start: Literal["orderly", "tie", "drawn"] = "orderly"
    """The first election timeouts: one after the other from node 0 on, so that who leads first is
    mostly a matter of naming; nodes 0 and 1 at once; or drawn like any other."""
    loss: int = 0
    """Share of messages that are lost."""
    duplication: int = 0
    """Share of messages that arrive a second time, up to `hold_ms` later."""
    reordering: int = 0
    """Share of messages that are held back for up to `hold_ms`."""
    suffering: str = ""
    """Messages of this type are disturbed as no others are: four in ten are held back, three in
    ten arrive a second time."""
    hold_ms: int = 100
    latency_ms: int = 1
    """Links take from 1 ms to so long; each link has its own latency for the whole run."""
    slow_node: int = 1
    """By how much one node's links are slower than the others'."""
    partitions: int = 0
    """Weight among the episodes; likewise `crashes` and `resignations`."""
    one_way: int = 0
    """Share of partitions that cut one direction only."""
    crashes: int = 0
    lossy: int = 0
    """Share of crashes that lose a part of the unflushed tail, if there is one."""
    resignations: int = 0
    crash_on: Literal["", "vote", "election", "append", "truncation"] = ""
    """Some crashes come just after a node did this."""
    flush_ms: int = 1
    """A flush takes from 1 ms to so long."""
    coarse_timers: bool = False
    """A drawn timeout has one of four values, so that nodes stand for election at once."""
    clock_skew: int = 0
    """By how much a node's clock may be fast or slow."""
    calm_ms: int = 1500
    """Between two episodes it is calm from half as long to one and a half times as long."""
    watched: bool = True
    """A violated invariant ends the run. Off, nobody looks at invariants and the run goes on, so
    that what its clients see judges alone."""
    stretch: int = 1
    """Load and trouble last so many times as long as the scenario says."""
    observers: int | msgspec.UnsetType = msgspec.UNSET
    """So many nodes fetch the log besides its first voters. This and what follows no run draws, and
    where none is asked for it is not recorded: with one, it is a run of the protocol `voters`, with
    snapshots of `snapshots` (reference/quorum/snapshots/sim)."""
    brokers: int | msgspec.UnsetType = msgspec.UNSET
    """So many nodes besides fetch it, and never vote."""
    voter_changes: int | msgspec.UnsetType = msgspec.UNSET
    """So many times an administrator asks for a voter more or less."""
    snapshots: int | msgspec.UnsetType = msgspec.UNSET
    """So many times a node makes a snapshot, or deletes what one has."""
    state_machines: bool | msgspec.UnsetType = msgspec.UNSET
    """With snapshots, whether controllers keep what the committed records say."""
    kraft_version: int | msgspec.UnsetType = msgspec.UNSET
    """0: the voters are configured, until an administrator has that upgraded (V23)."""
    auto_join: bool | msgspec.UnsetType = msgspec.UNSET
    """Whether observers ask to be voters by themselves (V24)."""
    listeners_change: bool | msgspec.UnsetType = msgspec.UNSET
    """Whether a node may come back with other listeners, of which it tells its leader (V17)."""
    unformatted: int | msgspec.UnsetType = msgspec.UNSET
    """So many of the observers were formatted without the bootstrap snapshot (V12)."""


KINDS: dict[str, tuple[str, ...]] = {
    "loss": ("loss",),
    "duplication": ("duplication",),
    "reordering": ("reordering",),
    "one type": ("suffering",),
    "delay": ("latency_ms",),
    "slow node": ("slow_node",),
    "partition": ("partitions", "one_way"),
    "crash": ("crashes",),
    "crash at a bad moment": ("crash_on",),
    "crash with loss": ("lossy",),
    "resignation": ("resignations",),
    "slow disk": ("flush_ms",),
    "ties": ("coarse_timers",),
    "clock": ("clock_skew",),
}
"""The kinds of fault that a run has or has not, and the options that make each."""


MOST_BESIDE = 7
OF_RECORDS = ("kraft_version", "auto_join", "listeners_change", "unformatted")
"""Options of which the spec of snapshots takes no step."""


class _QuorumOptions(OptionSet[Options]):
    def problem(self, options: Options) -> str:
        if options.loss + options.duplication + options.reordering > 1000:
            return "loss, duplication and reordering add up to over 1000"
        for name in ("observers", "brokers"):
            asked = getattr(options, name)
            if asked is not msgspec.UNSET and asked > MOST_BESIDE:
                return f"{asked} {name} are more than {MOST_BESIDE}"
        if options.state_machines and options.snapshots is msgspec.UNSET:
            return "state_machines are of runs with snapshots: ask for those as well"
        return self._problem_of_voters(options)

    def _problem_of_voters(self, options: Options) -> str:
        asked = [name for name in OF_RECORDS if getattr(options, name) is not msgspec.UNSET]
        if asked and options.snapshots is not msgspec.UNSET:
            return f"{asked[0]} and snapshots do not go together: no spec has steps of both"
        version = options.kraft_version
        if version is not msgspec.UNSET and version > 1:
            return f"kraft_version is {version}, not 0 or 1"
        observers = 0 if options.observers is msgspec.UNSET else options.observers
        if options.auto_join is True and not observers:
            return "auto_join is of observers: ask for those as well"
        if options.unformatted is msgspec.UNSET:
            return ""
        if options.unformatted > observers:
            return f"unformatted are observers: {options.unformatted} of {observers}"
        return "unformatted are of kraft_version 1" if version == 0 else ""


OPTIONS = _QuorumOptions(
    Options,
    KINDS,
    positive=(
        *("voters", "fetch_max_records", "hold_ms", "latency_ms", "slow_node", "flush_ms"),
        STRETCH,
    ),
    shares=("loss", "duplication", "reordering", "one_way", "lossy", "clock_skew"),
    by_position=21,
)

OFF = OPTIONS.off
"""Nothing goes wrong."""


# --- Episodes ---


class Outage(NamedTuple):
    """A node crashes, and starts again after `lasts_ms`."""

    node: int
    lasts_ms: int


class Resignation(NamedTuple):
    """A leader is asked to step down."""

    node: int


Episode: TypeAlias = Partition | Outage | Resignation

# Longer than check-quorum, so that a leader cut off resigns; longer than a fetch timeout, so that
# others stand for election; and short ones, which nobody should notice.
PARTITION_MS = (3500, 5000, 2400, 1200, 300)
# Within one election timeout, so that a node comes back to the same epoch; and past it.
OUTAGE_MS = (30, 200, 800, 2500)
# After a crash at a bad moment: mostly back before anybody has noticed.
BRIEF_OUTAGE_MS = (5, 30, 5, 800)


def draw_outage(stream: Stream, node: int, durations: Sequence[int] = OUTAGE_MS) -> Outage:
    return Outage(node, pick(stream, durations))


def draw_episode(
    stream: Stream, options: Options, nodes: Sequence[int], leader: int | None
) -> Episode | None:
    """The next episode, or None where the run has no kind of them (or none that can happen).

    `leader` is the latest leader if one is running: half of all trouble is its own.
    """
    weights = (options.partitions, options.crashes, options.resignations)
    if not any(weights):
        return None
    at = stream.below(sum(weights))
    if at >= options.partitions + options.crashes:
        return None if leader is None else Resignation(leader)
    # The leader stands once more for each node.
    victims = (*nodes, *([] if leader is None else [leader] * len(nodes)))
    node = pick(stream, victims)
    if at >= options.partitions:
        return draw_outage(stream, node)
    if len(nodes) == 1:
        return None
    return _draw_partition(stream, options, nodes, node)


def _draw_partition(stream: Stream, options: Options, nodes: Sequence[int], node: int) -> Partition:
    """One node on one side, or in larger quorums two; the direction of a one-way cut is drawn."""
    side = [node]
    others = [other for other in nodes if other != node]
    if len(nodes) > 3 and stream.below(2):
        side.append(others.pop(stream.below(len(others))))
    one_way = options.one_way > 0 and stream.below(1000) >= 1000 - options.one_way
    cut = (tuple(side), tuple(others))
    if one_way and stream.below(2):
        cut = cut[::-1]
    return Partition(*cut, one_way, pick(stream, PARTITION_MS))
