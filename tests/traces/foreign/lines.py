"""Foreign traces made from steps of the reference, so that tests can damage them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kraftcheck.reference.partition.types import PartitionConstants
from kraftcheck.reference.protocols import AnyConstants
from kraftcheck.reference.quorum.types import Constants
from kraftcheck.traces.steps.symmetry import Step
from kraftcheck.traces.steps.translation import Abstraction, as_columns
from tla_utils import Record, Value

Line = dict[str, Any]


def header(constants: AnyConstants, rows: str = "full", **more: Any) -> Line:
    said: Line
    if isinstance(constants, Constants):
        said = {
            "protocol": "quorum",
            "voters": list(constants.voters),
            "fetchMaxRecords": constants.fetch_max_records,
        }
    else:
        assert isinstance(constants, PartitionConstants)
        said = {
            "protocol": "partition",
            "replicas": list(constants.replicas),
            "minInsyncReplicas": constants.min_insync_replicas,
            "elrEnabled": constants.elr_enabled,
            "uncleanElection": constants.unclean_election,
            "fetchMaxRecords": constants.fetch_max_records,
        }
    return {"format": "kraftcheck steps 1", "constants": said, "rows": rows, **more}


def lines_of(constants: AnyConstants, steps: Iterable[Step]) -> list[Line]:
    """The steps as full lines."""
    form = Abstraction(constants)
    nodes = constants.voters if isinstance(constants, Constants) else constants.brokers
    lines = []
    for step in steps:
        columns = as_columns(form, step)
        del columns["action"]
        lines.append({name: _json(name, value, nodes) for name, value in columns.items()})
    return lines


# A function on 1..n is a sequence in TLA+: by their names they can be told from others.
_BY_NODE = frozenset({"endOffsets", "connections", "brokers", "remotes", "registrations"})
_BY_NODE |= {"contacts"}


def _json(name: str, value: Value, nodes: Sequence[int]) -> Any:
    if name in _BY_NODE:
        assert isinstance(value, tuple | Mapping)
        entries = value if isinstance(value, tuple) else list(value.values())
        return {str(n): _json("", part, nodes) for n, part in zip(nodes, entries, strict=True)}
    if isinstance(value, Record):
        return {field: _json(field, part, nodes) for field, part in value.items()}
    if isinstance(value, tuple):
        return [_json("", part, nodes) for part in value]
    if isinstance(value, frozenset):
        return sorted((_json("", part, nodes) for part in value), key=msgspec.json.encode)
    return value


def write(path: Path, lines: Iterable[Line]) -> Path:
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return path
