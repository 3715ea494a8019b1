"""Define the families of runs of a cluster with the log of a coordinator (coordinated.py).

Of what options they are made, and how they are told.

Law of this file: nothing here knows of a protocol over the log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import msgspec

from kraftcheck.reference.bugs.catalog import bug as known_bug
from kraftcheck.reference.cluster.sim.coordinated import CoordinatedSimulation
from kraftcheck.reference.cluster.sim.family import FAMILY as CLUSTER_FAMILY, LEGEND, bugs_of_parts
from kraftcheck.reference.cluster.sim.options import ClusterOptions, draw
from kraftcheck.reference.cluster.sim.scenario import CLUSTER, ClusterScenario
from kraftcheck.reference.cluster.types import on_cluster
from kraftcheck.reference.core.system import NodeMemo
from kraftcheck.reference.drivers.options import options_of, scenario_of
from kraftcheck.reference.drivers.telling import columns as plain_columns
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.partition.compaction.protocol import COMPACTION
from kraftcheck.reference.partition.directories.sim.machine import DirectoryMemo
from kraftcheck.reference.protocols import asks, kind_of_row
from kraftcheck.reference.quorum.sim.machine import QuorumMemo
from kraftcheck.reference.sim.choices import Chooser
from kraftcheck.reference.sim.family import Family
from kraftcheck.reference.sim.memo import JoinedMemo

CLEANED: Final = "cleaned"
"""The option of a run in which brokers clean the log; else its records stay for ever."""
PREFIX: Final = "coordinator_"
"""Before the options of the coordinator; those of the cluster have their own names."""
_CLUSTER: Final[Mapping[str, Any]] = {
    **{"topics": 2, "topic_partitions": 1, "hot_topic": "topic-1"},
    **{"acks": "all", "unclean": False, "reckless": False},
}
"""A log of its own, and one that promises what a coordinator counts on."""
_PALETTES: Final = {
    **CLUSTER.palettes,
    "quorum": {name: CLUSTER.palettes["quorum"][name] for name in ("voters", "flush_ms")},
    "data": {
        **CLUSTER.palettes["data"],
        **{"crashes": ((1, 3), (1, 6)), "racks": ((1, 0),), "stale": ((1, 0), (1, 2))},
        **{"elections": ((1, 6), (1, 10)), "calm_ms": ((1, 1600), (1, 900))},
    },
}
"""Those of a cluster, but with trouble for its brokers alone: leaders of the log are to change."""
_FAULTY_MS: Final = (12_000, 16_000)
"""As long as the coordinator's moves last."""
EPOCHS: Final = 10
"""So many leader epochs of the log have a coordinator; later ones have none."""


class CoordinatedScenario(ClusterScenario, frozen=True, kw_only=True):
    """All runs of a cluster with this coordinator. Palettes of its options are its protocol's."""

    protocol: Protocol


@cache
def _options_type(protocol: Protocol) -> type[Any]:
    of = options_of(protocol)
    return msgspec.defstruct(
        f"{protocol.name}_on_cluster_options",
        [("coordinator", of.of, of.off), ("cleaned", bool, True)],
        bases=(ClusterOptions,),
        frozen=True,
        kw_only=True,
    )


def _draw(protocol: Protocol, chooser: Chooser, requested: Mapping[str, Any]) -> Any:
    """Raises ValueError: there is no such option, or it cannot have this value."""
    own: dict[str, Any] = {"max_coordinators": EPOCHS}
    of_cluster: dict[str, Any] = {**_CLUSTER}
    cleaned = requested.get(CLEANED, True)
    if not isinstance(cleaned, bool):
        raise ValueError(f"option refused: {CLEANED} is {cleaned!r}, and no true or false")
    for option, value in requested.items():
        if option == CLEANED:
            continue
        if option.startswith(PREFIX):
            own[option.removeprefix(PREFIX)] = value
        else:
            of_cluster[option] = value
    if "watched" in requested:
        own["watched"] = requested["watched"]
    cluster = draw(chooser, _PALETTES, of_cluster)
    coordinator = options_of(protocol).draw(chooser, scenario_of(protocol).palettes, own, PREFIX)
    return _options_type(protocol)(
        shape=cluster.shape,
        quorum=cluster.quorum,
        data=cluster.data,
        coordinator=coordinator,
        cleaned=cleaned,
    )


def _memo(protocol: Protocol, bug: str | None, enabled: bool) -> JoinedMemo:
    of = "" if bug is None else known_bug(bug).protocol
    of_log, of_replicas = [bug if asks(each, of) else None for each in (protocol, COMPACTION)]
    of_quorum, of_partition = bugs_of_parts(None if of_log or of_replicas else bug)
    return JoinedMemo(
        {
            "quorum": QuorumMemo(CLUSTER.timeouts, of_quorum, enabled),
            "partition": DirectoryMemo(of_partition, enabled),
            "coordinator": NodeMemo(protocol, of_log, enabled),
            "replicas": NodeMemo(COMPACTION, of_replicas, enabled),
        }
    )


LEGEND_OF_COORDINATOR: Final = """\
        G the coordinator of partition 0, which is its log, and those that ask it: a line says what
        the step changed in the row
        L the brokers' replicas of that log, which they clean and load
"""


def family_of(protocol: Protocol) -> Family:
    """The family of the runs of a cluster with this protocol's coordinator."""
    scenario = CoordinatedScenario(
        **msgspec.structs.asdict(CLUSTER)
        | {
            "name": on_cluster(protocol.name),
            "sentence": f"{protocol.sentence}; the coordinator's log is a partition of a cluster",
            "palettes": _PALETTES,
            "faulty_ms": _FAULTY_MS,
            "max_events": 2 * CLUSTER.max_events,
            "protocol": protocol,
        }
    )
    return CLUSTER_FAMILY._replace(
        scenario=scenario,
        of=_options_type(protocol),
        draw=lambda chooser, fixed: _draw(protocol, chooser, fixed),
        memo=lambda bug, enabled: _memo(protocol, bug, enabled),
        key=scenario.name,
        simulation=lambda *given: CoordinatedSimulation(protocol, *given),
        manner=CLUSTER_FAMILY.manner._replace(
            legend=LEGEND + LEGEND_OF_COORDINATOR,
            columns=lambda step: (
                plain_columns(step)
                if kind_of_row(step.after) in (*protocol.kinds, *COMPACTION.kinds)
                else CLUSTER_FAMILY.manner.columns(step)
            ),
            options=_told,
        ),
        first_look=0,
    )


def _told(options: Any, told: Callable[[Any], str]) -> str:
    options_of_cluster = CLUSTER_FAMILY.manner.options
    assert options_of_cluster is not None, "a cluster tells its options in parts"
    return f"{options_of_cluster(options, told)}; coordinator: {told(options.coordinator)}"
