"""Negative controls: configurations under which Kafka promises less, held against its default.

They are no bugs. Each run keeps what its own configuration promises, and some run breaks what the
default configuration would have promised under the same faults. Both are asked; so a control shows
that a property can fail, and that the promise, not the checker, made the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow.parquet as pq

from kraftcheck.known_bugs import oracles
from kraftcheck.known_bugs.oracles import FOUND, NOTHING, Opinion
from kraftcheck.known_bugs.runs import record
from kraftcheck.known_bugs.witnesses import UNWATCHED, Hunt
from kraftcheck.reference.clients.promises import Configuration, Level, promised
from kraftcheck.reference.runner.scenarios import family
from kraftcheck.traces.checkers.assessment import name_of
from kraftcheck.traces.jobs.backends import Pool
from kraftcheck.traces.store import part_path, read_manifest

RUNS = 300
"""Runs of a control, unless told otherwise: of Z40, clients see something first in run 247."""


def told_apart(oracle: str, hunt: Hunt, runs: int, folder: Path) -> Opinion | None:
    """The first run that breaks the default promise by this oracle; None when none does.

    `nothing` is the verdict when a run breaks its own promise too: then it is no control.
    """
    if oracle == "histories":
        return _by_histories(record(folder, hunt, UNWATCHED, runs, Pool(1)))
    if oracle == "invariants":
        place = record(folder, hunt, UNWATCHED, runs, Pool(1))
        return _by_invariants(hunt, runs, place)
    return None


# -- What clients saw


def _by_histories(place: Path) -> Opinion | None:
    own = oracles.judge("histories", place)
    if own.verdict != NOTHING:
        said = f"its own promise is broken: {own.said}"
        return msgspec.structs.replace(own, verdict=NOTHING, said=said)
    for run, level in default_levels(place):
        found = oracles.judge("histories", place, level=name_of(level), run=run)
        if found.verdict == FOUND:
            said = f"its own promise holds; with the default configuration: {found.said}"
            return msgspec.structs.replace(found, said=said)
    return None


def default_levels(place: Path) -> Iterator[tuple[int, Level]]:
    """(run, what the default configuration would have promised under the same faults)."""
    manifest = read_manifest(place)
    log = family(manifest.campaign.scenario).log
    for entry in manifest.parts:
        columns = ["run", "options", "statistics"]
        for row in pq.read_table(part_path(place, entry, "runs"), columns=columns).to_pylist():
            assert log.envelope is not None, "a control is about what faults leave of a promise"
            default = default_of(log.configuration(row["options"]))
            yield row["run"], promised(default, log.envelope(row["statistics"])).level


def default_of(own: Configuration) -> Configuration:
    """Kafka's default, for a partition of the same size and the same clients."""
    return Configuration(
        replication_factor=own.replication_factor,
        min_insync_replicas=min(2, own.replication_factor),
        reads_from=own.reads_from,
        one_client=own.one_client,
        asks_latest=own.asks_latest,
    )


# -- Invariants, whatever was promised


def _by_invariants(hunt: Hunt, runs: int, place: Path) -> Opinion | None:
    first_violation = family(hunt.scenario).unpromised
    assert first_violation is not None, "controls are of what has a slow way to be judged"
    for number in range(runs):
        run = hunt.run(UNWATCHED, number)
        violated = first_violation(run)
        if violated is not None:
            step, name, explanation = violated
            said = f"nothing of the kind was promised; {name}: {explanation}"
            return Opinion(
                oracle="invariants",
                verdict=FOUND,
                said=said,
                run=number,
                step=step,
                folder=str(place),
            )
    return None
