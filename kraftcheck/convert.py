"""`convert`: a history in another format, for the checkers and viewers of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from kraftcheck import artifacts, exits
from kraftcheck.exits import BadInput
from kraftcheck.given import is_trace
from kraftcheck.screen import Screen
from kraftcheck.traces.formats import columns, detect, jepsen, jsonlines, parquet, shiviz, trace
from kraftcheck.traces.history import History

WRITERS: dict[str, Callable[[History], Iterator[str] | bytes]] = {
    columns.NAME: columns.write,
    jepsen.NAME: jepsen.write,
    jsonlines.NAME: jsonlines.write,
    parquet.NAME: parquet.write,
    shiviz.NAME: shiviz.write,
}


def convert(path: Path, *, to: str, out: Path, format: str, run: int | None, screen: Screen) -> int:
    """Write the history; a run of a trace becomes, for ShiViz, what its nodes sent each other."""
    if is_trace(path):
        if run is None:
            raise BadInput(f"{path} holds many runs: choose one with --run")
        told = shiviz.write_run(path, run) if to == shiviz.NAME else _of_run(path, run, to)
    elif run is not None:
        raise BadInput(f"{path} is no trace: it has no runs to choose from")
    else:
        told = WRITERS[to](detect.read(path, format))
    artifacts.write_whole(out, told if isinstance(told, bytes) else "".join(told))
    screen.line(str(out))
    screen.document({"file": str(path), "to": to, "out": str(out)})
    return exits.HOLDS


def _of_run(path: Path, run: int, to: str) -> Iterator[str] | bytes:
    """Raises BadInput: the clients of the run have no partition's log."""
    # Late: it imports every protocol, which a history that is no run does not need.
    from kraftcheck.traces.jobs.promised import objects_seen

    scenario = trace.scenario_of(path)
    if objects_seen(scenario) is not None:
        raise BadInput(f"{path}: clients of {scenario} see no log, which {to} has; try --to shiviz")
    history = trace.history(path, run)
    if not history.operations:
        raise BadInput(f"{path}: run {run} has no history: nobody was recorded; try --to shiviz")
    return WRITERS[to](history)
