"""What a partition's run is made of, and what may go wrong in it: options and episodes of trouble.

As in reference/quorum/sim/faults.py: options are drawn before anything happens, swarm switches
kinds of fault off, and an episode begins, lasts and ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from kraftcheck.reference.clients.promises import Configuration, Envelope, Promise, promised
from kraftcheck.reference.partition.messages import CONTROLLER
from kraftcheck.reference.partition.sim.beginnings import BEGINNINGS
from kraftcheck.reference.partition.types import PartitionConstants
from kraftcheck.reference.sim.choices import Stream, pick
from kraftcheck.reference.sim.network import Partition
from kraftcheck.reference.sim.options import STRETCH, OptionSet

ACKS: Final = {"all": -1, "1": 1, "0": 0}
"""As a request says it."""


class PartitionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of one run. Shares are per mille, durations milliseconds of virtual time."""

    replicas: int = 3
    min_insync_replicas: int = 2
    elr: bool = True
    unclean: bool = False
    """unclean.leader.election.enable."""
    fetch_max_records: int = 2
    acks: Literal["all", "1", "0"] = "all"
    idempotence: bool = True
    batch_records: int = 1
    """How many records make a producer's batch full."""
    follower_reads: bool = False
    """Consumers read from a follower each (KIP-392)."""
    deletes: bool = False
    """Somebody deletes records from the front of the log."""
    folding: int = 1000
    """Share of metadata reads that take in all there is; others take one batch."""
    loss: int = 0
    """Share of messages between brokers and controller that are lost."""
    duplication: int = 0
    """Share of replica fetches and their answers that arrive a second time."""
    reordering: int = 0
    """Share of messages that are held back for up to `hold_ms`."""
    answers_lost: int = 0
    """Share of answers to clients that are lost."""
    suffering: str = ""
    """Messages of this type are disturbed as no others are."""
    hold_ms: int = 100
    latency_ms: int = 1
    slow_node: int = 1
    metadata_ms: int = 3
    """A broker reads committed metadata within so long."""
    partitions: int = 0
    """Weight among the episodes, as are all that follow up to `failovers`."""
    crashes: int = 0
    racks: int = 0
    """Several brokers crash at once: a rack, or the whole ISR."""
    shutdowns: int = 0
    elections: int = 0
    slow: int = 0
    """A follower does not fetch for a while."""
    stale: int = 0
    """A broker does not read metadata for a while."""
    silent: int = 0
    """A broker's heartbeats do not leave for a while: it is fenced though it is well."""
    failovers: int = 0
    """Another controller takes over."""
    one_way: int = 0
    """Share of network partitions that cut one direction only."""
    lossy: int = 0
    """Share of crashes that lose a part of what was not flushed."""
    corrupt: int = 0
    """Share of lossy crashes that leave a torn batch."""
    reckless: bool = False
    """More may be lost than the promise allows for: nothing is promised then, and the run is
    counted apart."""
    alter_ms: int = 4
    """From a proposal of the leader to its request, and to the next one after a failure."""
    aim: Literal["", "append", "proposal"] = ""
    """Trouble waits until the leader has just done this."""
    flush_ms: int = 0
    """The log reaches the disk within so long; 0: only when a broker stops cleanly, as in Kafka."""
    calm_ms: int = 1200
    """Between two episodes it is calm from half as long to one and a half times as long."""
    watched: bool = True
    """A violated invariant ends the run. Off, nobody looks at invariants and the run goes on, so
    that what its clients see judges alone."""
    appends: int = 4
    """How many values each producer sends."""
    faulty_ms: int = 0
    """How long trouble may go on; 0: as long as the scenario says."""
    stretch: int = 1
    """Load and trouble last so many times as long as that."""
    begins: tuple[str, int, int] | msgspec.UnsetType = msgspec.UNSET
    """With so many moves of a counterexample of TLC, or of a walk (beginnings.py), and so many more
    that are drawn."""


KINDS: dict[str, tuple[str, ...]] = {
    "acks": ("acks",),
    "no idempotence": ("idempotence",),
    "batches": ("batch_records",),
    "no ELR": ("elr",),
    "unclean election": ("unclean",),
    "reads from followers": ("follower_reads",),
    "deleted records": ("deletes",),
    "metadata in pieces": ("folding",),
    "loss": ("loss",),
    "duplication": ("duplication",),
    "reordering": ("reordering",),
    "answers lost": ("answers_lost",),
    "one type": ("suffering",),
    "delay": ("latency_ms",),
    "slow node": ("slow_node",),
    "slow metadata": ("metadata_ms",),
    "partition": ("partitions", "one_way"),
    "crash with loss": ("lossy", "corrupt"),
    "rack": ("racks",),
    "clean stop": ("shutdowns",),
    "planned election": ("elections",),
    "stale metadata": ("stale",),
    "silence": ("silent",),
    "controller failover": ("failovers",),
    "recklessness": ("reckless",),
    "slow proposals": ("alter_ms",),
    "flush": ("flush_ms",),
}
"""The kinds of fault, or of lesser configurations, that a run has or has not."""

EPISODES = (
    *("partitions", "crashes", "racks", "shutdowns", "elections"),
    *("slow", "stale", "silent", "failovers"),
)


class _PartitionOptions(OptionSet[PartitionOptions]):
    def settled(self, drawn: dict[str, Any], requested: Mapping[str, Any]) -> dict[str, Any]:
        both = {**drawn, **requested}
        if both["acks"] != "all":
            drawn["idempotence"] = False
        if isinstance(both["replicas"], int):
            drawn["min_insync_replicas"] = min(drawn["min_insync_replicas"], both["replicas"])
        return drawn

    def problem(self, options: PartitionOptions) -> str:
        if options.loss + options.duplication + options.reordering > 1000:
            return "loss, duplication and reordering add up to over 1000"
        if options.min_insync_replicas > options.replicas:
            # As reference/cluster/topics.py says.
            return (
                f"INVALID_CONFIG: min.insync.replicas {options.min_insync_replicas} is above the "
                f"replication factor {options.replicas}"
            )
        if options.idempotence and options.acks != "all":
            return "INVALID_CONFIG: idempotence needs acks=all"
        if options.replicas > 7:
            return f"{options.replicas} replicas are more than 7"
        if options.begins is not msgspec.UNSET and options.begins[0] not in BEGINNINGS:
            known = ", ".join(BEGINNINGS)
            return f"there is no beginning {options.begins[0]!r:.40}; there are {known}"
        return ""


OPTIONS = _PartitionOptions(
    PartitionOptions,
    KINDS,
    positive=(
        *("replicas", "min_insync_replicas", "fetch_max_records", "batch_records"),
        *("hold_ms", "latency_ms", "slow_node", "metadata_ms", "alter_ms", STRETCH),
    ),
    shares=(
        *("folding", "loss", "duplication", "reordering", "answers_lost", "one_way"),
        *("lossy", "corrupt"),
    ),
    by_position=40,
)


def constants_of(options: PartitionOptions) -> PartitionConstants:
    """The constants of the run. Replicas are assigned in the order of their ids."""
    return PartitionConstants(
        replicas=tuple(range(options.replicas)),
        min_insync_replicas=options.min_insync_replicas,
        elr_enabled=options.elr,
        unclean_election=options.unclean,
        fetch_max_records=options.fetch_max_records,
    )


def configuration_of(options: PartitionOptions) -> Configuration:
    """What promises depend on (promises.py). No process of a run both appends and reads."""
    return Configuration(
        acks=options.acks,
        idempotence=options.idempotence,
        # Producers without idempotence do not retry what may have been appended.
        retries=options.idempotence,
        min_insync_replicas=options.min_insync_replicas,
        replication_factor=options.replicas,
        elr=options.elr,
        unclean_election=options.unclean,
        # Such a consumer asks the leader for the log's end, and goes back when it reads on.
        reads_from="any" if options.follower_reads else "leader",
        one_client=False,
    )


_decode_options = msgspec.json.Decoder(PartitionOptions).decode


def promise_of(options: str, statistics: Mapping[str, int]) -> Promise:
    """What a recorded run promises to its clients, by its options and by what happened in it.

    options, statistics: as table `runs` of a trace holds them. Raises msgspec.MsgspecError.
    """
    return promised(configuration_of(_decode_options(options)), envelope_of(statistics))


def envelope_of(statistics: Mapping[str, int]) -> Envelope:
    """What went wrong in a recorded run, by its statistics as table `runs` holds them."""
    return Envelope(
        leader_moves=statistics["leader_moves"],
        unclean_moves=statistics["unclean_moves"],
        lossy=statistics["lossy_replicas"],
        network_partitions=statistics["partitions"],
        zombie=bool(statistics["zombies"]),
    )


# --- Episodes ---


class Outage(NamedTuple):
    """Brokers crash, and start again after `lasts_ms` each."""

    nodes: tuple[int, ...]
    lasts_ms: tuple[int, ...]


class Shutdown(NamedTuple):
    """A broker stops cleanly, and starts again so long after it stopped."""

    node: int
    lasts_ms: int


class Standstill(NamedTuple):
    """One of a broker's own activities stands still."""

    what: Literal["slow", "stale", "silent"]
    node: int
    lasts_ms: int


class Election(NamedTuple):
    """Somebody asks for an election."""

    election: Literal["PREFERRED", "UNCLEAN"]


class Failover(NamedTuple):
    """Another controller takes over."""


Episode: TypeAlias = Partition | Outage | Shutdown | Standstill | Election | Failover

# Longer than a session, so that the broker is fenced; longer than a replica may lag; and short.
PARTITION_MS = (3200, 2600, 900)
OUTAGE_MS = (600, 2000, 100, 3500)
STANDSTILL_MS = (1300, 2200, 700)


def draw_episode(
    stream: Stream,
    options: PartitionOptions,
    brokers: Sequence[int],
    leader: int | None,
    isr: Sequence[int],
) -> Episode | None:
    """The next episode, or None where the run has no kind of them.

    `leader` and `isr` as the controller knows them: half of all trouble is the leader's own.
    """
    weights = [getattr(options, name) for name in EPISODES]
    if not any(weights):
        return None
    at = stream.below(sum(weights))
    kind = next(i for i in range(len(weights)) if at < sum(weights[: i + 1]))
    name = EPISODES[kind]
    victims = (*brokers, *([] if leader is None else [leader] * len(brokers)))
    node = pick(stream, victims)
    if name == "partitions":
        return _draw_partition(stream, options, brokers, node)
    if name == "crashes":
        return Outage((node,), (pick(stream, OUTAGE_MS),))
    if name == "racks":
        others = tuple(b for b in brokers if b != node)
        nodes = tuple(isr) if stream.below(2) and isr else (node, *others[: len(others) // 2])
        return Outage(nodes, tuple(pick(stream, OUTAGE_MS) for _ in nodes))
    if name == "shutdowns":
        return Shutdown(node, pick(stream, OUTAGE_MS))
    if name == "elections":
        return Election("UNCLEAN" if options.unclean and stream.below(3) == 2 else "PREFERRED")
    if name == "failovers":
        return Failover()
    if name == "slow":
        # A leader fetches nothing.
        node = pick(stream, [b for b in brokers if b != leader] or list(brokers))
        return Standstill("slow", node, pick(stream, STANDSTILL_MS))
    return Standstill("stale" if name == "stale" else "silent", node, pick(stream, STANDSTILL_MS))


def _draw_partition(
    stream: Stream, options: PartitionOptions, brokers: Sequence[int], node: int
) -> Partition:
    """Draw a broker that is cut off from the other brokers, the controller, or both.

    Clients reach everybody, so that an isolated leader goes on serving them.
    """
    others = tuple(b for b in brokers if b != node)
    sides = ((*others, CONTROLLER), others or (CONTROLLER,), (CONTROLLER,))
    other_side = pick(stream, sides)
    one_way = options.one_way > 0 and stream.below(1000) >= 1000 - options.one_way
    cut: tuple[tuple[int, ...], tuple[int, ...]] = ((node,), other_side)
    if one_way and stream.below(2):
        cut = (cut[1], cut[0])
    return Partition(*cut, one_way, pick(stream, PARTITION_MS))
