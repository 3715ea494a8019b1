"""How much of the bounded graphs a campaign has seen: `graphs.json`, beside its findings.

It is made only when it is asked for, since TLC dumps the graphs. It names the findings that it
belongs to by their digest; beside others it is of an earlier state of the campaign, and not shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec

from kraftcheck.traces.report import figures
from kraftcheck.traces.report.evidence import ReportError, read_sealed

GRAPHS: Final = "graphs.json"
GRAPHS_VERSION: Final = 1


def document(findings: bytes, configurations: Mapping[str, Any]) -> dict[str, Any]:
    """The content of the file.

    findings: the bytes of `findings.json`; configurations: by name, a list of what was seen of each
    graph.
    """
    return {
        "graphs_version": GRAPHS_VERSION,
        "findings": sha256(findings).hexdigest(),
        "configurations": dict(configurations),
    }


def read_graphs(path: Path, findings: bytes) -> dict[str, Any]:
    """What was seen, by configuration; empty where there is no file, or one of other findings.

    Raises ReportError: the file is damaged or of another version.
    """
    try:
        found = read_sealed(path, "graphs", GRAPHS_VERSION)
        if found["findings"] != sha256(findings).hexdigest():
            return {}
        return msgspec.convert(found["configurations"], dict[str, Any])
    except FileNotFoundError:
        return {}
    except (msgspec.MsgspecError, KeyError) as error:
        raise ReportError(f"{path}: damaged: {error}") from None


def growth_curve(graphs: Sequence[Mapping[str, Any]]) -> str:
    """The edges seen of each graph, in per cent of all, by the number of runs."""
    return figures.curves(
        {
            each["graph"]: [
                (row["runs"], 100 * row["edges_seen"] // each["edges"]) for row in each["growth"]
            ]
            for each in graphs
        }
    )
