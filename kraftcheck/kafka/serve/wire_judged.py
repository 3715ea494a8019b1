"""What clients saw, against what they were promised: each partition, transactions, and groups.

What a served cluster promises follows from its settings and from what happened to it
(reference/clients/promises.py); where several partitions are judged together, from the worst.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from kraftcheck.kafka.serve.partition import ServedPartition
from kraftcheck.kafka.serve.wire_across import Said, of_groups, of_transactions
from kraftcheck.kafka.serve.wire_history import Append, Batch, Log, Read, WireHistory
from kraftcheck.reference.clients.promises import (
    Configuration,
    Envelope,
    Promise,
    promised,
    together,
)
from kraftcheck.reference.partition.sim.options import configuration_of
from kraftcheck.traces.checkers.assessment import Report
from kraftcheck.traces.checkers.check import check_log
from kraftcheck.traces.checkers.findings import anomaly_of
from kraftcheck.traces.checkers.groups import GROUPS
from kraftcheck.traces.checkers.members import members_of
from kraftcheck.traces.checkers.progress import committed
from kraftcheck.traces.checkers.verdict import HOLDS, VIOLATED
from kraftcheck.traces.history import FAIL, ISOLATIONS, OK, READ_UNCOMMITTED, History, Operation

_ACKS: Final = {0: "0", 1: "1", -1: "all"}
_READ_COMMITTED: Final = next(each for each in ISOLATIONS if each != READ_UNCOMMITTED)


class PartVerdict(NamedTuple):
    """What is said of a part of a history."""

    where: str
    """A partition, or what spans some."""
    verdict: str
    why: str
    """The smallest evidence, where it does not hold."""
    report: Report | None


def findings(seen: WireHistory, internal: Iterable[ServedPartition]) -> Iterator[PartVerdict]:
    """internal: the partitions of the brokers' own, of which it depends what they remember."""
    called = _names(seen)
    for log in seen.logs.values():
        operations = _of_log(log)
        if operations:
            where = f"{log.partition.topic.name}-{log.partition.index}"
            configuration, envelope = _configuration([log]), log.partition.losses.envelope()
            history = _history(where, _keyed(operations, where))
            promise = _promise(configuration, [log], envelope)
            report = check_log(history, promise, configuration, gaps=True, complete=log.is_read)
            yield _of_report(where, report)
    if any(each.transaction for log in seen.logs.values() for each in log.appends):
        yield _transactions(seen, called, list(internal))
    if seen.across.commits:
        yield _groups(seen, called, list(internal))
    for group, why in seen.members.broken.items():
        yield PartVerdict(f"the members of {group!r}", VIOLATED, why, None)


def _transactions(
    seen: WireHistory, called: Mapping[int, str], internal: list[ServedPartition]
) -> PartVerdict:
    logs = [log for log in seen.logs.values() if any(each.transaction for each in log.appends)]
    operations = of_transactions(seen.across, lambda partition: called[partition.number])
    for log in logs:
        operations += _keyed(_of_committed(log), called[log.partition.number])
    configuration = replace(
        _configuration(logs),
        transactions=True,
        isolation="read_committed",
        late_requests=any(each.is_late for each in seen.across.transactions),
    )
    envelope = _together([*[log.partition for log in logs], *internal])
    promise = _promise(configuration, logs, envelope)
    # Whoever reads to the end of what is committed has not read what is open.
    report = check_log(
        _history("transactions", operations), promise, configuration, gaps=True, complete=False
    )
    return _of_report("transactions", report)


def _groups(
    seen: WireHistory, called: Mapping[int, str], internal: list[ServedPartition]
) -> PartVerdict:
    operations = of_groups(seen.across, lambda partition: called[partition.number])
    members = members_of(_history("committed offsets", operations))
    if members is None:
        return PartVerdict("committed offsets", HOLDS, "", None)
    configuration = configuration_of(internal[0].options)
    promise = promised(configuration, _together(internal))
    for broken in committed(members):
        if broken.times and not (found := anomaly_of(broken, GROUPS, promise, None)).allowed:
            why = f"{found.name}: {found.certificates[0].sentence}"
            return PartVerdict("committed offsets", VIOLATED, why, None)
    return PartVerdict("committed offsets", HOLDS, "", None)


def _of_report(where: str, report: Report) -> PartVerdict:
    if report.holds:
        return PartVerdict(where, report.verdict, "", report)
    broken = [each for each in report.anomalies if not each.allowed]
    part = next(each for each in report.parts if each.verdict == report.verdict)
    why = part.reason or ""
    if part.certificate is not None:
        why = f"{part.certificate.kind}: {part.certificate.sentence}"
    elif broken and broken[0].certificates:
        why = f"{broken[0].name}: {broken[0].certificates[0].sentence}"
    held = f"guaranteed {report.promised}, observed {report.level or 'less'}"
    return PartVerdict(where, report.verdict, f"{held}: {why}", report)


def _configuration(logs: Iterable[Log]) -> Configuration:
    """The weakest."""
    logs = list(logs)
    acks = min({a for log in logs for a in log.acks}, key=(0, 1, -1).index, default=-1)
    options = [log.partition.options for log in logs]
    return replace(
        configuration_of(options[0]),
        acks=_ACKS[acks],
        min_insync_replicas=min(each.min_insync_replicas for each in options),
        replication_factor=min(each.replicas for each in options),
        unclean_election=any(each.unclean for each in options),
    )


def _promise(configuration: Configuration, logs: Iterable[Log], envelope: Envelope) -> Promise:
    """Where producers of different acks write, what each of them leaves of it."""
    acks = {a for log in logs for a in log.acks} or {-1}
    return together(
        [promised(replace(configuration, acks=_ACKS[a]), envelope) for a in sorted(acks)]
    )


def _together(partitions: Iterable[ServedPartition]) -> Envelope:
    """What happened to any of them."""
    found = [each.losses.envelope() for each in partitions]
    return Envelope(
        leader_moves=max(each.leader_moves for each in found),
        unclean_moves=max(each.unclean_moves for each in found),
        lossy=max(each.lossy for each in found),
        network_partitions=max(each.network_partitions for each in found),
        zombie=any(each.zombie for each in found),
    )


def _names(seen: WireHistory) -> dict[int, str]:
    """Of each partition by its number; a topic may be deleted, and made again."""
    found: dict[int, str] = {}
    partitions = [log.partition for log in seen.logs.values()]
    partitions += [each.partition for each in seen.across.commits]
    partitions += [each.partition for each in seen.across.told]
    for each in partitions:
        name = f"{each.topic.name}-{each.index}"
        if each.number not in found:
            found[each.number] = f"{name} ({each.number})" if name in found.values() else name
    return found


# --- Operations


def _history(source: str, said: Iterable[Said]) -> History:
    """In order of invocation; whoever is nobody else has a process of its own."""
    operations = []
    said = sorted(said, key=lambda each: (each[0], each[1]["f"] != "begin"))
    others = 1 + max((each.get("process", 0) for _, each in said), default=0)
    for at, (invoked, fields) in enumerate(said):
        fields = {"process": others + at, **fields}
        operations.append(Operation(index=at, group=at, invoked=invoked, **fields))
    return History(source=source, format="wire", time_unit="event", operations=tuple(operations))


def _keyed(said: Iterable[Said], key: str) -> list[Said]:
    return [(invoked, {"key": key, **fields}) for invoked, fields in said]


def _of_log(log: Log) -> list[Said]:
    """As the log is, with whatever is open and was aborted."""
    values = log.values()
    found: list[Said] = [
        (append.invoked, _append(append, values[id(append)])) for append in log.appends
    ]
    named = _Named(log, values)
    for read in log.reads:
        # Who leaves out what is open sees less on purpose.
        if not read.is_held_back:
            shown = [batch for batch in read.batches if not batch.is_control]
            found.append((read.invoked, _fetch(read, shown, named)))
    for what, invoked, completed, offset in log.told:
        said = {"f": what, "result": offset, "outcome": OK, "completed": completed}
        found.append((invoked, said))
    return found


def _of_committed(log: Log) -> list[Said]:
    """As who reads what is committed sees it."""
    values, invoked = log.values(), _in_sequence(log)
    found: list[Said] = []
    for append in log.appends:
        said = _append(append, values[id(append)])
        if append.transaction is not None:
            said["txn"] = append.transaction.number
        found.append((invoked.get(id(append), append.invoked), said))
    named = _Named(log, values)
    for read in log.reads:
        if read.end < read.start and not read.batches:
            # From beyond what is stable.
            continue
        shown = [b for b in read.batches if not (b.is_control or b.base in read.left)]
        said = _fetch(read, shown, named)
        said["isolation"] = _READ_COMMITTED if read.is_committed else READ_UNCOMMITTED
        said["to"] = read.batches[-1].end if read.batches else read.start
        found.append((read.invoked, said))
    return found


def _in_sequence(log: Log) -> dict[int, int]:
    """Give when each append of a transaction was invoked at the latest.

    A batch that came before an earlier one of its producer was sent after it, and refused until
    that was there.
    """
    by: dict[int, list[Append]] = {}
    for append in log.appends:
        if append.transaction is not None:
            by.setdefault(append.transaction.number, []).append(append)
    found: dict[int, int] = {}
    for appends in by.values():
        least = max(append.invoked for append in appends)
        for append in sorted(appends, key=lambda each: each.batch.name[2], reverse=True):
            least = found[id(append)] = min(least, append.invoked)
    return found


def _append(append: Append, value: str) -> dict[str, Any]:
    ended = {"outcome": append.outcome, "completed": append.completed}
    return {"f": "append", "argument": value, "result": append.offset, **ended}


def _fetch(read: Read, shown: list[Batch], named: _Named) -> dict[str, Any]:
    result = tuple([(batch.base, named.value(batch)) for batch in shown])
    ended = {"outcome": OK, "completed": read.completed}
    return {"f": "fetch", "argument": read.start, "result": result, "end": read.end, **ended}


class _Named:
    """Which append's batch it is that was read somewhere."""

    def __init__(self, log: Log, values: dict[int, str]) -> None:
        self._values = values
        self._numbered = log.numbered
        self._acked: dict[tuple[tuple[int, ...], int], str] = {}
        self._open: dict[tuple[int, ...], list[str]] = {}
        self._any: dict[tuple[int, ...], str] = {}
        # Of several with the same bytes, one that was refused is there only if no other can be.
        for append in sorted(log.appends, key=lambda append: append.outcome == FAIL):
            name, value = append.batch.name, values[id(append)]
            self._any.setdefault(name, value)
            if append.offset is not None and append.offset >= 0:
                self._acked[name, append.offset] = value
            else:
                self._open.setdefault(name, []).append(value)

    def value(self, batch: Batch) -> str:
        name = batch.name
        if batch.is_numbered:
            append = self._numbered.get(name)
            return _unsent(batch) if append is None else self._values[id(append)]
        known = self._acked.get((name, batch.base))
        if known is None:
            waiting = self._open.get(name)
            known = waiting.pop(0) if waiting else self._any.get(name, _unsent(batch))
            self._acked[name, batch.base] = known
        return known


def _unsent(batch: Batch) -> str:
    return f"nobody's, at {batch.base}"
