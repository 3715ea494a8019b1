"""Is a history as consistent as its clients were promised? The checker as a library.

    report = check_history(history)
    assert report.holds, report

Partition logs are held against the table of promises, each by itself (assessment.py), and their
transactions as a whole (atomicity.py); other models to linearizability, by search (search.py). To
judge many logs at once, in columns: `assess`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from kraftcheck.reference.clients.promises import (
    NOTHING,
    Configuration,
    Envelope,
    Level,
    Promise,
    promised,
)
from kraftcheck.traces.checkers import bulk, log, models, search
from kraftcheck.traces.checkers.assessment import Part, Report, assess, name_of, worst
from kraftcheck.traces.checkers.atomicity import Atomicity, judged
from kraftcheck.traces.checkers.columns import LogBatch, from_history
from kraftcheck.traces.checkers.coordinated import group_log
from kraftcheck.traces.checkers.findings import Broken
from kraftcheck.traces.checkers.groups import Rebalancing, judged as rebalanced
from kraftcheck.traces.checkers.members import Members, members_of
from kraftcheck.traces.checkers.refusals import Limits, refusals
from kraftcheck.traces.checkers.sequential import Model
from kraftcheck.traces.checkers.settled import ended_once, proven, settled, told_in_steps
from kraftcheck.traces.checkers.transactions import transactions_of
from kraftcheck.traces.checkers.verdict import HOLDS, Verdict
from kraftcheck.traces.grouplog import Entry
from kraftcheck.traces.history import CALLBACKS, COMPARED, History
from kraftcheck.traces.rows import Rows

SECOND: Final = {"ns": 10**9, "us": 10**6}
"""In the units of histories that have a clock."""


def check_history(
    history: History,
    *,
    model: str | Model | None = None,
    configuration: Configuration | None = None,
    envelope: Envelope = NOTHING,
    level: Level | None = None,
    gaps: bool | None = None,
    complete: bool | None = None,
    budget_s: float = 60.0,
) -> Report:
    """Whether what the clients were told is as consistent as was promised to them.

    model: by name, or one of your own; None: the one that the history implies.

    Of partition logs. configuration, envelope: what the promise depends on; without, the most is
    promised: acks of all, reads from a leader that does not change. level: to be held against in
    place of that promise. gaps: whether offsets that nobody touched are explained (control
    records); None: told by the history. complete: whether consumers read every partition to its
    end, so that an acknowledged record which nobody read is lost. False: they stopped earlier, and
    only what they read is judged; None: nobody says, and such a record makes the verdict unknown.

    Of other models. budget_s: for the search on each object, which then is unknown.

    Raises ValueError: no model fits the operations, or there are none on a log. HistoryError: an
    operation that the model does not have. KeyError: no model of this name.
    """
    chosen = history.model if model is None else model
    if chosen is None:
        raise ValueError("no model is known by these operations: name one")
    if chosen == log.MODEL:
        configuration = configuration or configuration_in(history)
        promise = promised(configuration, envelope)
        if gaps is None:
            gaps = log.gaps_in(history, configuration)
        return check_log(history, promise, configuration, level=level, gaps=gaps, complete=complete)
    chosen = models.model_named(chosen) if isinstance(chosen, str) else chosen
    if type(chosen) is models.CasRegister and history.failed_cas == COMPARED:
        chosen = models.CasRegister(chosen.first, compared=True)
    return _searched(history, chosen, budget_s)


def check_log(
    history: History,
    promise: Promise,
    configuration: Configuration = Configuration(),  # noqa: B008 (it never changes)
    *,
    level: Level | None = None,
    gaps: bool = False,
    complete: bool | None = None,
    groups: Sequence[Entry] = (),
) -> Report:
    """As `check_history`, of partition logs, under a promise. groups: the log of the consumer
    groups' coordinators, where there is one. Raises ValueError: no operations, or
    as `from_history`. HistoryError: as `transactions_of` and `members_of`.
    """
    once = proven(ended_once(history))
    unit = SECOND.get(history.time_unit)
    transactions = transactions_of(once, uncommitted="read-uncommitted" in promise.rows)
    batch = from_history(settled(once), compaction=configuration.compaction)
    report = _of_logs(batch, promise, level=level, gaps=gaps, complete=complete)
    replaced = configuration.compaction != "none"
    if transactions is not None:
        refused: Iterable[Broken] = ()
        if unit is not None:
            lasting = (configuration.transaction_s, configuration.ending_s)
            refused = refusals(history, Limits(*(int(unit * each) for each in lasting)))
        found = judged(
            transactions,
            promise,
            level=level,
            complete=bool(complete),
            replaced=replaced,
            refused=refused,
        )
        report = _with(report, found, found.transactions)
    members = members_of(once)
    if members is not None:
        among = _of_groups(members, promise, configuration, unit, level=level, groups=groups)
        report = _with(report, among, len(members.spans.place))
    return report


def check_rows(
    rows: Rows,
    promise: Promise,
    configuration: Configuration,
    *,
    level: Level | None = None,
    gaps: bool = False,
    complete: bool | None = None,
    groups: Sequence[Entry] = (),
) -> Report | None:
    """As `check_log` of the operations that these rows are; None: these can be judged as operations
    alone. Raises HistoryError: as of `check_log`.
    """
    if configuration.compaction != "none" or configuration.transactions:
        return None
    try:
        batch, members = bulk.batch_of(rows, named=False), bulk.members_of(rows)
    except bulk.Unusual:
        return None
    report = _of_logs(batch, promise, level=level, gaps=gaps, complete=complete)
    if report.verdict != HOLDS or report.anomalies:
        batch = bulk.batch_of(rows)
        report = _of_logs(batch, promise, level=level, gaps=gaps, complete=complete)
    if members is not None:
        unit = SECOND.get(rows.time_unit)
        among = _of_groups(members, promise, configuration, unit, level=level, groups=groups)
        report = _with(report, among, len(members.spans.place))
    return report


def _of_logs(
    batch: LogBatch, promise: Promise, *, level: Level | None, gaps: bool, complete: bool | None
) -> Report:
    promises = [promise] * batch.segments
    return assess(batch, promises, level=level, gaps=gaps, complete=complete).report()


def _of_groups(
    members: Members,
    promise: Promise,
    configuration: Configuration,
    unit: int | None,
    *,
    level: Level | None,
    groups: Sequence[Entry],
) -> Rebalancing:
    """unit: how many of the history's times are a second; None: it has none."""
    return rebalanced(
        members,
        promise,
        level=level,
        reset=configuration.reset,
        within=None if unit is None else int(unit * configuration.rebalance_s),
        log=group_log(groups) if groups else None,
        replaced=configuration.compaction != "none",
    )


def _with(report: Report, found: Atomicity | Rebalancing, operations: int) -> Report:
    """A report on the partitions of a log, with the verdict on what spans them.

    operations: how many transactions, or times that a member had a partition.
    """
    told = (*found.anomalies, *report.anomalies)
    replace = msgspec.structs.replace
    report = replace(
        report,
        verdict=worst([report.verdict, found.verdict]),
        transactions=report.transactions if isinstance(found, Rebalancing) else found.transactions,
        anomalies=tuple(sorted(told, key=lambda each: each.allowed)),
    )
    if found.verdict == HOLDS:
        return report
    guilty = (each.certificates for each in found.anomalies if not each.allowed)
    certificate = next((each[0] for each in guilty if each), None)
    part = Part(
        key=None,
        verdict=found.verdict,
        operations=operations,
        certificate=certificate,
        reason=found.reason,
    )
    return replace(report, parts=(*report.parts, part))


def configuration_in(history: History) -> Configuration:
    """The defaults, as far as the history itself does not say otherwise.

    Whether consumers subscribe, whether some process reads what it appends, whether some process
    reads and asks where the log ends, and whether one goes back. Where transactions are told step
    by step, that there are any, and that fetches read what is committed unless they say otherwise.
    """
    appending, asking, subscribed, goes_back = set(), set(), False, False
    listening = any(each.f in CALLBACKS for each in history.operations)
    reading: dict[tuple[int, str | None], int] = {}
    steps = told_in_steps(history)
    for each in history.operations:
        if each.f == "append":
            appending.add((each.process, each.key))
        elif each.f == "fetch":
            who = (each.process, each.key)
            furthest = reading.setdefault(who, 0)
            goes_back = goes_back or (each.argument is not None and each.argument < furthest)
            if each.result:
                reading[who] = max(furthest, each.result[-1][0] + 1)
        elif each.f == "latest":
            asking.add((each.process, each.key))
        subscribed = subscribed or each.f == "subscribe"
    return Configuration(
        consumers="listen" if listening else "subscribe" if subscribed else "assign",
        one_client=not appending.isdisjoint(asking.union(reading)),
        asks_latest=not asking.isdisjoint(reading),
        goes_back=goes_back,
        transactions=steps,
        isolation="read_committed" if steps else Configuration().isolation,
    )


# -- Other models


def _searched(history: History, model: Model, budget_s: float) -> Report:
    verdicts = search.check(history, model, search.Limits(seconds=budget_s))
    linearizable = name_of(Level.LINEARIZABLE)
    counts: dict[str | None, int] = {}
    for operation in history.operations:
        counts[operation.key] = counts.get(operation.key, 0) + 1
    parts = tuple(_part(each, counts, len(history.operations), linearizable) for each in verdicts)
    verdict = worst([each.verdict for each in parts])
    return Report(
        verdict=verdict,
        model=model.name,
        level=linearizable if verdict == HOLDS else None,
        promised=linearizable,
        parts=parts,
    )


def _part(found: Verdict, counts: dict[str | None, int], whole: int, level: str) -> Part:
    return Part(
        key=found.key,
        verdict=found.verdict,
        operations=counts.get(found.key, whole),
        level=level if found.verdict == HOLDS else None,
        certificate=found.certificate,
        reason=found.reason,
    )
