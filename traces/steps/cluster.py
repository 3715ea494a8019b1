"""What joins the components of a cluster's run (docs/reference/joins.md).

Each component is judged as if it were alone: voters against the quorum's spec, a partition's
brokers and controller against the partition's. That the components are those of one cluster is
said here:

    Committed       what a partition's controller writes is what the quorum's log says: a decision
                    takes effect when a voter first knows it to be committed, once, in the order of
                    the log, in every partition that it concerns; and what its controller is told
                    of the other partitions (whether they hold back a broker that wants to stop) is
                    so
    OneProcess      a broker is one process: after it has done something, it is up or down in all
                    its partitions alike, in the same incarnation, registered or not, with the same
                    directories, and has read the same part of the metadata log
    OneLog          where the first partition is the log of a coordinator: what it appends, the
                    broker that leads appends next; what it calls committed is below that broker's
                    high watermark; whom it hears of as elected has taken up a larger epoch, with
                    the tail that it is told. Where the log is compacted: `Replicas`

What controllers decided is in the run's `batches`; nothing else is believed of them. Answers need
no check of their own: a broker's answer must have been sent (Provenanced) by the step that the
abstract controller took, which is not before the commit, and must be one that this step may send
(judged by TLC).

Each replica of a compacted log (`Replicas`) is judged as if it were alone, too. That they are those
of one log is said here: what a coordinator appends is a batch of the keys of which its record says
something else; what a follower copies is what another replica has, or what was written; when a
cleaner begins, and when a load ends, a replica is as long as the log of its broker, with the same
batches; a cleaner is told no larger high watermark than its broker has; and a coordinator that was
elected has read what the log says. That is seen in rows and inputs alone.

Law of this file: as in check.py, the first occurrence in every run that is wrong is one finding.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from kraftcheck.reference.cluster.others import misinformed
from kraftcheck.reference.cluster.types import QUORUM, ClusterConstants
from kraftcheck.reference.kit.log import LEADER_CHANGE
from kraftcheck.reference.partition.compaction.keys import written
from kraftcheck.reference.partition.compaction.messages import (
    AppendBatch,
    CopyBatches,
    StartCleaning,
)
from kraftcheck.reference.partition.compaction.types import (
    Batch,
    CompactedReplica,
    Constants,
    initial_replica,
)
from kraftcheck.reference.partition.messages import CONTROLLER, DEPOSED
from kraftcheck.reference.partition.types import INITIAL_OFFSET, UNDEFINED, BrokerRow, initial_row
from kraftcheck.reference.protocols import is_written, protocol_of
from kraftcheck.traces.schema import STOPPED
from kraftcheck.traces.steps.record import Part, Wrong


class _Entry(NamedTuple):
    """What the quorum's log says of one partition: inputs of the part, by number."""

    value: int
    input: int
    records: int


def committed(part: Part) -> Iterator[Wrong]:
    """What a partition's controller writes is what the quorum's log says, when it is committed."""
    return filter(None, [_Commits(part, run).first_wrong() for run in _cluster_runs(part)])


def one_process(part: Part) -> Iterator[Wrong]:
    """A broker is one process in all its partitions."""
    return filter(None, [_Processes(part, run).first_wrong() for run in _cluster_runs(part)])


def one_log(part: Part) -> Iterator[Wrong]:
    """What a coordinator has as its log is what the partition beneath it has."""
    runs = [
        run
        for run in _cluster_runs(part)
        if hasattr(part.constants[part.run_constants[run]], "coordinator")
    ]
    return filter(None, [_Logs(part, run).first_wrong() for run in runs])


def _cluster_runs(part: Part) -> list[int]:
    return [
        run
        for run, code in enumerate(part.run_constants.tolist())
        if isinstance(part.constants[code], ClusterConstants)
    ]


class _Commits:
    """One run: the quorum's log as it is committed, and who has taken what of it."""

    def __init__(self, part: Part, run: int) -> None:
        self._part = part
        self._run = run
        self._decided: dict[int, list[tuple[int, _Entry | None]]] = {}
        """By value: for each partition concerned, what it writes there."""
        for entry in part.tables["runs"]["batches"][run].as_py():
            of = self._decided.setdefault(entry["value"], [])
            records = entry["records"]
            written = None if records is None else _Entry(entry["value"], entry["input"], records)
            of.append((entry["component"], written))
        self._known = 0
        """How far the quorum's log is known to be committed."""
        self._due: dict[int, deque[_Entry]] = {}
        """By component: committed, and not yet taken."""
        self._brokers: tuple[int, ...] = part.constants[part.run_constants[run]].brokers
        self._controllers: dict[int, Any] = {}
        """By component: the row of its controller, after its first step."""

    def record_counts(self, value: int) -> list[tuple[int, int]]:
        """How many records a value has for each component."""
        inputs = self._part.inputs
        return [
            (component, len(inputs[entry.records].records))
            for component, entry in self._decided.get(value, ())
            if entry is not None
        ]

    def first_wrong(self) -> Wrong | None:
        part, last = self._part, -1
        for at in part.occurrences_of(self._run):
            last, step = at, int(part.taken[at])
            if part.component[at] == QUORUM:
                text = self._commit(part.rows[part.after[step]])
            elif part.node[step] in (CONTROLLER, DEPOSED):
                text = self._take(int(part.component[at]), step)
            else:
                text = ""
            if text:
                return Wrong(at, text)
        stopped = part.tables["runs"]["verdict"][self._run].as_py() == STOPPED
        for component, due in sorted(self._due.items()):
            if due and not stopped:
                value = due[0].value
                return Wrong(
                    last,
                    f"value {value} of the metadata log was committed, but the controller of "
                    f"partition {component - 1} never took its step",
                )
        return None

    def _commit(self, row: Any) -> str:
        while self._known < row.high_watermark:
            value = row.log[self._known].value
            self._known += 1
            if value <= LEADER_CHANGE:  # a control record, of whatever kind
                continue
            if value not in self._decided:
                return f"value {value} was committed, and no controller decided on it"
            for component, entry in self._decided[value]:
                if entry is not None:
                    self._due.setdefault(component, deque()).append(entry)
        return ""

    def _take(self, component: int, step: int) -> str:
        part = self._part
        if part.node[step] == CONTROLLER:
            others = [row for of, row in self._controllers.items() if of != component]
            self._controllers[component] = part.rows[part.after[step]]
            if text := misinformed(self._brokers, others, part.inputs[part.input[step]]):
                return f"{part.action[step]}: {text}"
        sent = part.sent[step].tolist()
        written = [number for number in sent if is_written(part.inputs[number])]
        if not written:
            return ""
        if part.node[step] == DEPOSED:
            return f"{part.action[step]} of a deposed controller writes, and nothing says so"
        due = self._due.get(component, deque())
        if due and (due[0].input, due[0].records) == (int(part.input[step]), written[0]):
            due.popleft()
            return ""
        for entries in self._decided.values():
            for of, entry in entries:
                if of == component and entry is not None and entry.records == written[0]:
                    if entry in due:
                        return f"{part.action[step]} takes value {entry.value} out of order"
                    return f"{part.action[step]} takes value {entry.value} before it is committed"
        return f"{part.action[step]} writes what no controller of the quorum decided"


class _Processes:
    """One run: every broker's rows, partition by partition, and the metadata log."""

    def __init__(self, part: Part, run: int) -> None:
        self._part = part
        self._run = run
        constants = part.constants[part.run_constants[run]]
        assert isinstance(constants, ClusterConstants)
        self._holds = {
            broker: [1 + p for p, c in enumerate(constants.partitions) if broker in c.replicas]
            for broker in constants.brokers
        }
        self._partitions = range(1, 1 + len(constants.partitions))
        self._rows = {
            (1 + p, broker): protocol_of(each).kinds[0].initial(each)
            for p, each in enumerate(constants.partitions)
            for broker in each.replicas
        }
        self._decided = _Commits(part, run)
        self._known = 0
        self._lengths: list[Mapping[int, int]] = [{}]
        """Behind each committed value: how many records of each component are before it."""

    def first_wrong(self) -> Wrong | None:
        part = self._part
        times = part.tables["runs"]["times"][self._run].as_py()
        steps = part.occurrences_of(self._run)
        for place, at in enumerate(steps):
            component, step = int(part.component[at]), int(part.taken[at])
            node, row = int(part.node[step]), part.rows[part.after[step]]
            if component == QUORUM:
                self._commit(row)
            elif component in self._partitions and node in self._holds:
                self._rows[component, node] = row
                goes_on = place + 1 < len(steps) and times[place] == times[place + 1]
                if not goes_on or not self._is_of(at + 1, node):
                    text = self._difference(node)
                    if text:
                        return Wrong(at, text)
        return None

    def _is_of(self, at: int, broker: int) -> bool:
        part = self._part
        return part.component[at] in self._partitions and part.node[part.taken[at]] == broker

    def _commit(self, row: Any) -> None:
        for entry in row.log[self._known : max(self._known, row.high_watermark)]:
            self._known += 1
            lengths = dict(self._lengths[-1])
            for component, records in self._decided.record_counts(entry.value):
                lengths[component] = lengths.get(component, 0) + records
            self._lengths.append(lengths)

    def _difference(self, node: int) -> str:
        rows = [(component, self._rows[component, node]) for component in self._holds[node]]
        first = _common(rows[0][1])
        for component, row in rows[1:]:
            for name, mine in _common(row).items():
                if mine != first[name]:
                    return (
                        f"broker {node} has {name} {first[name]} in partition {rows[0][0] - 1} and "
                        f"{mine} in partition {component - 1}"
                    )
        read = {component: row.image.offset - INITIAL_OFFSET for component, row in rows}
        if not any(
            all(lengths.get(component, 0) == of for component, of in read.items())
            for lengths in reversed(self._lengths)
        ):
            told = ", ".join(f"{of} records of partition {c - 1}" for c, of in read.items())
            return f"broker {node} has read {told}: the metadata log is never so at one place"
        return ""


class _Logs:
    """One run: the log of a coordinator, and the rows of the brokers that have it."""

    def __init__(self, part: Part, run: int) -> None:
        self._part, self._run = part, run
        constants = part.constants[part.run_constants[run]]
        of = protocol_of(constants.coordinator).coordinated
        assert of is not None, "a cluster has no other coordinators"
        self._coordinator, self._elected, said = of
        self._component = 1 + len(constants.partitions)
        self._rows = {b: initial_row(constants.partitions[0]) for b in constants.brokers}
        self._leader, self._epoch = UNDEFINED, 0
        self._end = 0
        """Where in the log of the partition the record ends that is committed."""
        self._records: dict[int, Any] = {}
        """By value in the partition."""
        self._replicas: Replicas | None = None
        if constants.replicas is not None:
            node = protocol_of(constants.coordinator).kind_of(constants.coordinator, of.node)
            first = node.initial(constants.coordinator).log.committed
            self._replicas = Replicas(constants.replicas, said, first, self._records)

    def first_wrong(self) -> Wrong | None:
        part = self._part
        steps = part.occurrences_of(self._run)
        for at in steps:
            component, step = int(part.component[at]), int(part.taken[at])
            node = int(part.node[step])
            if component > self._component and self._replicas is not None:
                input, row = part.inputs[part.input[step]], part.rows[part.after[step]]
                text = self._replicas.wrong(node, input, row, self._rows[node])
                if text:
                    return Wrong(at, f"{part.action[step]}: {text}")
            elif component == QUORUM + 1 and node in self._rows:
                self._rows[node] = part.rows[part.after[step]]
            elif component == self._component and node == self._coordinator:
                text = self._wrong(step, int(part.taken[at + 1]) if at + 1 in steps else None)
                if text:
                    return Wrong(at, f"{part.action[step]}: {text}")
        return None

    def _wrong(self, step: int, following: int | None) -> str:
        part = self._part
        before, after = part.rows[part.before[step]].log, part.rows[part.after[step]].log
        if isinstance(part.inputs[part.input[step]], self._elected):
            return self._take_over(after)
        if self._leader == UNDEFINED:
            self._lead()
        row = self._rows.get(self._leader)
        if row is None or row.role != "Leader" or row.leader_epoch != self._epoch:
            return f"no broker leads the log in epoch {self._epoch}"
        if len(after.leader) > len(before.leader):
            return self._append(row, after.leader[len(before.leader) :], following)
        if after.leader != before.leader:
            self._end = len(row.log)
            if row.high_watermark < len(row.log):
                return (
                    f"what ends at {len(row.log)} is called committed, and the high watermark of "
                    f"broker {self._leader} is {row.high_watermark}"
                )
        return ""

    def _lead(self) -> None:
        leading = {b: row.leader_epoch for b, row in self._rows.items() if row.role == "Leader"}
        if leading:
            self._leader = max(leading, key=lambda broker: leading[broker])
            self._epoch = leading[self._leader]

    def _take_over(self, log: Any) -> str:
        epoch = self._epoch
        self._lead()
        if self._epoch == epoch:
            return f"nobody leads the log in a larger epoch than {epoch}"
        tail = [self._records.get(r.value) for r in self._rows[self._leader].log[self._end :]]
        if tail != [*log.leader]:
            return f"the log of broker {self._leader} has another tail"
        if self._replicas is None:
            return ""
        newest = log.leader[-1] if log.leader else log.committed
        return self._replicas.misread(self._leader, newest)

    def _append(self, row: BrokerRow, records: Any, following: int | None) -> str:
        part = self._part
        if following is None or int(part.node[following]) != self._leader or len(records) != 1:
            return f"broker {self._leader} does not append next"
        appended = part.rows[part.after[following]].log[len(row.log) :]
        if len(appended) != 1 or part.action[following] != "HandleProduceRequest":
            return f"broker {self._leader} does not append next"
        self._records[appended[0].value] = records[0]
        return ""


def _common(row: BrokerRow) -> dict[str, object]:
    """What of a broker's row belongs to its process."""
    return {
        "status": row.status,
        "incarnation": row.incarnation,
        "an epoch": row.broker_epoch != UNDEFINED,
        "a request to the controller": type(row.controller_request).__name__,
        # Where it has several.
        "directories": getattr(row, "online", ()),
    }


# --- The replicas of a compacted log ---


class Replicas:
    """Those of one run, step by step."""

    def __init__(
        self,
        constants: Constants,
        said: Callable[[Any], Mapping[str, Any]],
        first: Any,
        records: Mapping[int, Any],
    ) -> None:
        """said: by key, what the log says after a record (CoordinatorLog).

        first: what is committed in the beginning. records: of the coordinator, by value; more come.
        """
        self._said, self._first, self._records = said, said(first), records
        self._newest: Any = first
        self._keys = {key: number for number, key in enumerate(self._first, 1)}
        self._rows = {n: initial_replica(constants) for n in constants.replicas}
        self._whole: dict[int, Batch] = {}
        """By value, as they were written."""

    def wrong(self, node: int, input: Any, after: CompactedReplica, broker: BrokerRow) -> str:
        """What is wrong with a step, or empty. broker: its row in the partition."""
        before, self._rows[node] = self._rows[node], after
        if isinstance(input, AppendBatch):
            return self._appended(input.batch, broker)
        if isinstance(input, CopyBatches):
            return self._copied(node, before, input)
        if isinstance(input, StartCleaning) and input.high_watermark > broker.high_watermark:
            told, has = input.high_watermark, broker.high_watermark
            return f"broker {node} has the high watermark {has}, and its cleaner is told {told}"
        same = [each.value for each in after.log] == [each.value for each in broker.log]
        if (after.state == "Loaded" or isinstance(input, StartCleaning)) and not same:
            return f"the replica of broker {node} is not its log"
        return ""

    def _appended(self, batch: Batch, broker: BrokerRow) -> str:
        self._whole[batch.value] = batch
        if not broker.log or broker.log[-1].value != batch.value:
            return f"the broker has not appended the batch of {batch.value}"
        before, self._newest = self._newest, self._records[batch.value]
        keys, removed = written(self._said(before), self._said(self._newest), self._keys)
        if (batch.keys, {*batch.removed}) != (keys, removed):
            return f"the batch of {batch.value} has the keys {batch.keys}, and should have {keys}"
        return ""

    def _copied(self, node: int, before: CompactedReplica, input: CopyBatches) -> str:
        first = len(before.log)
        for at, batch in enumerate(input.batches, first):
            others = [row.log[at : at + 1] for n, row in self._rows.items() if n != node]
            if (batch,) not in others and batch != self._whole.get(batch.value):
                return f"broker {node} has copied a batch of {batch.value} that nobody has"
        return ""

    def misread(self, node: int, newest: Any) -> str:
        """What a coordinator that was elected has not read, or empty. newest: what its log says."""
        self._newest = newest
        row, says = self._rows[node], self._said(newest)
        if row.state != "Loaded":
            return f"broker {node} has not read its log"
        loaded = {each.key: each.value for each in row.loaded}
        for key, number in self._keys.items():
            value = loaded.get(number)
            of = self._first if value is None else self._said(self._records[value])
            if of[key] != says[key]:
                return f"broker {node} has read {of[key]} of {key}, and the log says {says[key]}"
        return ""
