"""How much of the bounded graphs a finished campaign has seen: `graphs.json`, beside its findings.

Which edges there are comes from charts (traces/cover/charts.py), which are kept beside TLC's
verdicts: the first campaign with a graph has TLC dump it, the next one reads some lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kraftcheck import artifacts
from kraftcheck.osutil.files import read_bytes
from kraftcheck.screen import Screen
from kraftcheck.specs import SPECS
from kraftcheck.traces.cover.campaigns import read_seen
from kraftcheck.traces.cover.charts import Chart, ChartStore, coverage_of
from kraftcheck.traces.cover.models import Graph, of_scenario, read_covers, select
from kraftcheck.traces.jobs.campaigns import FINDINGS
from kraftcheck.traces.report.graphs import GRAPHS, document

TIER = "campaign"
CHARTS = "charts"


def measure(
    out: Path, found: Mapping[str, Any], store: Path, screen: Screen, specs: Path = SPECS
) -> dict[str, list[dict[str, Any]]]:
    """Writes `graphs.json`; returns what was seen, by configuration.

    found: the campaign's findings. store: the folder of TLC's verdicts.

    Raises ToolError: a chart cannot be made or is damaged; TraceError: a damaged part.
    """
    models = select(read_covers(specs), [], [TIER])
    charts = ChartStore(store / CHARTS, specs)
    known: dict[str, Chart] = {}
    seen: dict[str, list[dict[str, Any]]] = {}
    for each in found["configurations"]:
        own = of_scenario(models, each["scenario"])
        for model in own:
            if model.name not in known:
                known[model.name] = charts.chart(model, note=screen.note)
        seen[each["name"]] = _of(out / each["name"], own, known)
    artifacts.write_sealed(out / GRAPHS, document(read_bytes(out / FINDINGS), seen))
    return seen


def _of(trace: Path, models: Sequence[Graph], charts: Mapping[str, Chart]) -> list[dict[str, Any]]:
    """What the runs of one configuration have seen of these graphs."""
    wanted = {bytes.fromhex(each.key) for model in models for each in charts[model.name].classes}
    seen = read_seen(trace, wanted)
    return [
        {
            "graph": model.name,
            "claim": model.claim,
            **coverage_of(charts[model.name], seen.first, seen.runs).as_json(),
        }
        for model in models
    ]
