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

import numpy as np
from msgspec.structs import replace

from kraftcheck.reference.clients.promises import (
    NOTHING,
    Configuration,
    Consumers,
    Envelope,
    Level,
    Promise,
    promised,
)
from kraftcheck.traces.checkers import log, models, search
from kraftcheck.traces.checkers.assessment import Part, Report, assess, name_of, together, worst
from kraftcheck.traces.checkers.atomicity import judged
from kraftcheck.traces.checkers.columns import (
    Flags,
    Ints,
    batches_of,
    indices,
    pairs,
    starts_told,
)
from kraftcheck.traces.checkers.coordinated import group_log
from kraftcheck.traces.checkers.findings import Across, Broken
from kraftcheck.traces.checkers.groups import judged as rebalanced
from kraftcheck.traces.checkers.members import Members, members_of
from kraftcheck.traces.checkers.refusals import Limits, refusals
from kraftcheck.traces.checkers.sequential import Model
from kraftcheck.traces.checkers.settled import ended_once, in_steps, proven, settled
from kraftcheck.traces.checkers.shares import as_fetches, judged as of_shares, sent_in, shares_of
from kraftcheck.traces.checkers.transactions import Transactions, transactions_of
from kraftcheck.traces.checkers.verdict import HOLDS, Verdict
from kraftcheck.traces.grouplog import Entry
from kraftcheck.traces.history import CALLBACKS, SHARE_OPERATIONS, History
from kraftcheck.traces.rows import NULL, Rows, history_of, rows_of

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
    """Check whether a history is as consistent as its configuration guarantees.

    Args:
        history: what the clients requested and received.
        model: a name, or a model of your own; by default the one that the history implies.
        configuration: of producers, consumers and topic (partition logs only). By default the
            strongest: acks=all, reads from the leader.
        envelope: the faults that happened (partition logs only); by default none.
        level: a level to check in place of the guarantee (partition logs only).
        gaps: whether offsets without a record are explained, such as control records (partition
            logs only). None: the history implies it.
        complete: whether consumers read every partition to its end (partition logs only). If True,
            an acknowledged record that nobody read is lost; if False, it is ignored; if None, it
            makes the verdict unknown.
        budget_s: time limit of the search for each object (other models), after it unknown.

    Raises:
        ValueError: no model fits the operations, or a log has none.
        HistoryError: an operation that the model does not have.
        KeyError: no model of this name.
    """
    chosen = history.model if model is None else model
    if chosen is None:
        raise ValueError("no model is known by these operations: name one")
    if chosen == log.MODEL:
        rows = rows_of(history)
        configuration = configuration or configuration_in(rows)
        promise = promised(configuration, envelope)
        if gaps is None:
            gaps = log.gaps_in(rows, configuration)
        return check_log(rows, promise, configuration, level=level, gaps=gaps, complete=complete)
    chosen = models.model_of(history, chosen) if isinstance(chosen, str) else chosen
    return _searched(history, chosen, budget_s)


def check_log(
    history: History | Rows,
    promise: Promise,
    configuration: Configuration = Configuration(),  # noqa: B008 (it never changes)
    *,
    level: Level | None = None,
    gaps: bool = False,
    complete: bool | None = None,
    groups: Sequence[Entry] = (),
) -> Report:
    """Check partition logs against a guarantee.

    Args:
        history: what the clients requested and received.
        promise: the guarantee, which `level` replaces.
        configuration: of producers, consumers and topic.
        gaps: as for `check_history`, and so is `complete`.
        groups: the log of the consumer groups' coordinators, if there is one.

    Raises:
        ValueError: there are no operations, or as for `from_history`.
        HistoryError: as for `transactions_of` and `members_of`.
    """
    rows = rows_of(history)
    unit = SECOND.get(rows.time_unit)
    real_time = rows.objects is None or rows.objects.real_time
    sharing = shares_of(rows)
    share_complete = complete
    if sharing is not None:
        if not rows.f.are("fetch").any():
            # Only share groups read, and what they left out is judged with them.
            complete = False
        rows = as_fetches(rows)
    once, logs, transactions = rows, rows, None
    if rows.objects is not None or gaps:  # Only histories with gaps have transactions.
        told = history_of(rows)
        operations = proven(ended_once(told))
        once = rows if operations is told else rows_of(operations)
        uncommitted = "read-uncommitted" in promise.rows
        transactions = transactions_of(once, uncommitted=uncommitted)
        logs = settled(once)
    report = together(
        assess(
            batch, [promise] * batch.segments, level=level, gaps=gaps, complete=complete
        ).report()
        for batch in batches_of(logs, configuration.compaction)
    )
    if transactions is not None:
        found = _of_transactions(
            transactions, rows, promise, configuration, level, bool(complete), unit
        )
        count = len(transactions.ends.number)
        report = replace(_with(report, found, count), transactions=count)
    members = members_of(once)
    if members is not None:
        among = _of_groups(members, promise, configuration, unit, level, groups, real_time)
        report = _with(report, among, len(members.spans.place))
    if sharing is not None:
        sharing = sharing._replace(sent=sent_in(once, logs), earliest=starts_told(once))
        among = of_shares(
            *(sharing, promise, configuration, unit),
            level=level,
            complete=share_complete,
            real_time=real_time,
        )
        report = _with(report, among, sharing.size)
    return report


def _of_transactions(
    transactions: Transactions,
    rows: Rows,
    promise: Promise,
    configuration: Configuration,
    level: Level | None,
    complete: bool,
    unit: int | None,
) -> Across:
    """unit: how many of the history's times are a second; None: it has none."""
    refused: Iterable[Broken] = ()
    if unit is not None:
        lasting = (configuration.transaction_s, configuration.ending_s)
        limits = Limits(*(int(unit * each) for each in lasting))
        refused = refusals(history_of(rows), limits)
    return judged(
        transactions,
        promise,
        level=level,
        complete=complete,
        replaced=configuration.compaction != "none",
        refused=refused,
    )


def _of_groups(
    members: Members,
    promise: Promise,
    configuration: Configuration,
    unit: int | None,
    level: Level | None,
    groups: Sequence[Entry],
    real_time: bool,
) -> Across:
    """unit: how many of the history's times are a second; None: it has none."""
    return rebalanced(
        members,
        promise,
        level=level,
        reset=configuration.reset,
        within=None if unit is None else int(unit * configuration.rebalance_s),
        log=group_log(groups) if groups else None,
        replaced=configuration.compaction != "none",
        real_time=real_time,
    )


def _with(report: Report, found: Across, operations: int) -> Report:
    """A report on the partitions of a log, with the verdict on what spans them.

    operations: how many transactions, or times that a member had a partition.
    """
    told = (*found.anomalies, *report.anomalies)
    report = replace(
        report,
        verdict=worst([report.verdict, found.verdict]),
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


def configuration_in(history: History | Rows) -> Configuration:
    """The defaults, as far as the history itself does not say otherwise.

    Whether consumers subscribe, whether some process reads what it appends, whether some process
    reads and asks where the log ends, and whether one goes back. Where transactions are told step
    by step, that there are any, and that fetches read what is committed unless they say otherwise.
    """
    rows = rows_of(history)
    append, fetch, latest = (rows.f.are(each) for each in ("append", "fetch", "latest"))
    listening = rows.f.any_of(CALLBACKS).any()
    subscribed = rows.f.are("subscribe").any()
    who = pairs(rows.process, rows.key)
    appending, asking, reading = (np.unique(who[each]) for each in (append, latest, fetch))
    one_client = np.isin(appending, np.concatenate((asking, reading))).any()
    steps = in_steps(rows)
    consumers: Consumers = "listen" if listening else "subscribe" if subscribed else "assign"
    if rows.f.any_of(SHARE_OPERATIONS).any():
        consumers = "share"
    return Configuration(
        consumers=consumers,
        one_client=bool(one_client),
        asks_latest=bool(np.isin(asking, reading).any()),
        goes_back=_goes_back(rows, who, fetch),
        transactions=steps,
        isolation="read_committed" if steps else Configuration().isolation,
    )


def _goes_back(rows: Rows, who: Ints, fetch: Flags) -> bool:
    """Whether somebody asks from before what it has been returned."""
    at = indices(fetch & ((rows.offset != NULL) | (rows.splits[1:] > rows.splits[:-1])))
    at = at[np.argsort(who[at], kind="stable")]
    if not (rows.offset[at] != NULL).any():
        return False
    some = rows.splits[at + 1] > rows.splits[at]
    last = np.zeros(len(at), np.int64)
    last[some] = rows.offsets[rows.splits[at[some] + 1] - 1] + 1
    # The furthest of each process and partition, one after the other.
    asked, of = rows.offset[at], who[at]
    known = np.unique(np.concatenate((last, asked, (0,))))

    def keyed(offsets: Ints) -> Ints:
        numbers: Ints = of * len(known) + np.searchsorted(known, offsets)
        return numbers

    so_far = np.maximum.accumulate(keyed(last))
    before = np.maximum(np.concatenate(((0,), so_far[:-1])), keyed(np.zeros(len(at), np.int64)))
    return bool(((asked != NULL) & (keyed(asked) < before)).any())


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
