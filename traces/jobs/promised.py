"""What was promised to each recorded run, from its own options and from what happened in it.

The table of promises is reference/clients/promises.py; here its questions are put for whole
columns. Runs that resemble each other have the same answer, which is looked up once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import msgspec
import pyarrow as pa

from kraftcheck.reference.clients.promises import Configuration, Promise, promised
from kraftcheck.reference.runner.scenarios import family
from kraftcheck.traces.checkers.group_partition import GroupPartition
from kraftcheck.traces.checkers.outcomes import TransactionOutcomes
from kraftcheck.traces.checkers.search import NO_LIMITS, Limits, check_objects, objects_of
from kraftcheck.traces.checkers.sequential import Model
from kraftcheck.traces.checkers.shares import RecordOfRun
from kraftcheck.traces.checkers.verdict import Verdict
from kraftcheck.traces.history import History, Operation
from kraftcheck.traces.schema import TraceError
from kraftcheck.traces.steps.record import whole

OF_ENVELOPE: Final = ("leader_moves", "unclean_moves", "lossy_replicas", "partitions", "zombies")
"""The statistics of a run that a promise depends on."""

OBJECTS: Final = {each.name: each for each in (GroupPartition, RecordOfRun, TransactionOutcomes)}
"""Models that protocols call by their names, as they know no checker."""

MEMO: Final = 1 << 16


def has_control_records(scenario: str) -> bool:
    """Whether the log itself writes records, which no client knows of."""
    return family(scenario).log.has_control_records


def objects_seen(scenario: str) -> list[Model | None] | None:
    """Give the objects that clients of each component see, where these are no logs.

    None for a component: its clients are promised nothing. None for all: they see a log.
    """
    make = family(scenario).log.objects
    return None if make is None else [OBJECTS[m]() if m in OBJECTS else m for m in make()]


def has_clients(scenario: str) -> bool:
    """Whether anything is promised to anybody."""
    seen = objects_seen(scenario)
    return seen is None or any(seen)


def judge_objects(
    history: History, seen: Sequence[Model | None], limits: Limits = NO_LIMITS
) -> list[Verdict]:
    """A verdict for each object of a run.

    Raises HistoryError: an operation that its model does not have.
    """
    return judge_runs([history], seen, limits)[0]


def judge_runs(
    histories: Sequence[History], seen: Sequence[Model | None], limits: Limits = NO_LIMITS
) -> list[list[Verdict]]:
    """As `judge_objects` of each run."""
    found: list[list[Verdict]] = [[] for _ in histories]
    for at, model in enumerate(seen):
        if model is None:
            continue
        runs: list[int] = []
        objects: list[list[Operation]] = []
        for run, history in enumerate(histories):
            own = [each for each in history.operations if int(each.key or 0) % len(seen) == at]
            of_run = objects_of(msgspec.structs.replace(history, operations=tuple(own)), model)
            runs += [run] * len(of_run)
            objects += of_run
        for run, verdict in zip(runs, check_objects(objects, model, limits), strict=True):
            found[run].append(verdict)
    return found


def fixed_promise(scenario: str) -> Promise | None:
    """What is promised to every run of a scenario; None: it depends on the run."""
    log = family(scenario).log
    return promised(log.configuration("")) if log.envelope is None else None


def promises_of(scenario: str, runs: pa.Table) -> list[Promise]:
    """Of each row of table `runs` (its columns `options` and `statistics`), in their order.

    Raises TraceError: options that are none of this scenario's.
    """
    if (fixed := fixed_promise(scenario)) is not None:
        return [fixed] * runs.num_rows
    statistics = whole(runs["statistics"])
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
    log = family(scenario).log
    assert log.envelope is not None, "asked where a promise depends on what happened"
    envelope = log.envelope(dict(zip(OF_ENVELOPE, happened, strict=True)))
    return promised(log.configuration(options), envelope)


def recorded_configuration(scenario: str, options: str) -> Configuration:
    """What clients and brokers of a run were set to, by its recorded options.

    Raises msgspec.MsgspecError: options that are none of this scenario's.
    """
    return family(scenario).log.configuration(options)
