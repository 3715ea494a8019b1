"""What was promised to each recorded run, from its own options and from what happened in it.

The table of promises is reference/clients/promises.py; here its questions are put for whole
columns. Runs that resemble each other have the same answer, which is looked up once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec
import pyarrow as pa

from reference.clients.promises import Configuration, Promise, promised
from reference.cluster.sim.options import ClusterOptions
from reference.partition.sim.options import PartitionOptions, configuration_of, envelope_of
from traces.schema import TraceError

QUORUM: Final = Configuration(log="metadata", reads_from="any")
"""Clients of a simulated quorum ask any of its nodes, each of which may lag behind."""

OF_ENVELOPE: Final = ("leader_moves", "unclean_moves", "lossy_replicas", "partitions", "zombies")
"""The statistics of a run that a promise depends on."""

MEMO: Final = 1 << 16

_partition = msgspec.json.Decoder(PartitionOptions).decode
_cluster = msgspec.json.Decoder(ClusterOptions).decode


def has_control_records(scenario: str) -> bool:
    """Whether the log itself writes records, which no client knows of."""
    return scenario == "quorum"


def promises_of(scenario: str, runs: pa.Table) -> list[Promise]:
    """Of each row of table `runs` (its columns `options` and `statistics`), in their order.

    Raises TraceError: options that are none of this scenario's.
    """
    if scenario == "quorum":
        return [promised(QUORUM)] * runs.num_rows
    statistics = runs["statistics"].combine_chunks()
    if isinstance(statistics, pa.ChunkedArray):
        statistics = pa.concat_arrays(statistics.chunks)
    happened = zip(*(statistics.field(name).to_pylist() for name in OF_ENVELOPE), strict=True)
    try:
        return [
            _promise(scenario, options, tuple(each))
            for options, each in zip(runs["options"].to_pylist(), happened, strict=True)
        ]
    except msgspec.MsgspecError as error:
        raise TraceError(f"options of a run of scenario {scenario}: {error}") from None


@lru_cache(MEMO)
def _promise(scenario: str, options: str, happened: tuple[int, ...]) -> Promise:
    envelope = envelope_of(dict(zip(OF_ENVELOPE, happened, strict=True)))
    return promised(recorded_configuration(scenario, options), envelope)


def recorded_configuration(scenario: str, options: str) -> Configuration:
    """What clients and brokers of a run were set to, by its recorded options.

    Raises msgspec.MsgspecError: options that are none of this scenario's.
    """
    if scenario == "quorum":
        return QUORUM
    return configuration_of(
        _cluster(options).data if scenario == "cluster" else _partition(options)
    )
