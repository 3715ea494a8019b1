"""How a run went, in virtual time: leaderless and under-replicated spans, lag, stalled appends.

Everything here is a step function of time: a row of a node says what it contributes (a leader, a
missing replica, records above the high watermark), a step changes the sum by the difference of its
two rows, and the sum lasts until the next step of its component. So a part is measured with a few
running sums, and each distinct row is looked into once.

What is measured is what the nodes' rows say, which is what an operator's metrics would say: two
brokers that both believe they lead count twice in the lag.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from kraftcheck.traces.steps.record import (
    Ints,
    Mask,
    Occurrences,
    ints,
    lists,
    read_bodies,
    whole,
)

QUORUM_ITSELF: Final = -1
"""In place of a partition: the quorum of a run of scenario `cluster`."""
NOBODY: Final = -1

MEASURES: Final = pa.schema(
    [
        ("run", pa.int64()),
        ("partition", pa.int32()),
        ("duration", pa.int64()),
        ("leaderless_spans", pa.int64()),
        ("leaderless_longest", pa.int64()),
        ("leaderless_total", pa.int64()),
        ("isr_shrinks", pa.int64()),
        ("isr_expansions", pa.int64()),
        ("under_replicated", pa.int64()),
        ("lag_most", pa.int64()),
        ("lag_total", pa.int64()),
        ("append_stall", pa.int64()),
        ("append_stall_open", pa.bool_()),
    ]
)
"""A log of a run; times are virtual us.

leaderless: from a leader that is gone to the next one, as the partition's controller or the voters
themselves know it. under_replicated: how long the ISR lacked a replica. lag_most: records of
leaders above their high watermark, at most; lag_total: records times us. append_stall: the longest
that an append waited until anybody's append to this log was acknowledged or it was refused itself,
null without appends; open: an append waited in vain until the run ended."""


class _Controlled(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The first fields of a partition as its controller decides it."""

    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: list[int]


class _Row(msgspec.Struct, frozen=True, gc=False):
    """Of any node's row, what is measured. A broker and a controller say it with other fields."""

    role: str = ""
    status: str = ""
    high_watermark: int = 0
    log: list[msgspec.Raw] | dict[str, msgspec.Raw] = []
    registrations: list[msgspec.Raw] | None = None
    partition: _Controlled | None = None


_decode = msgspec.msgpack.Decoder(_Row).decode


class _Said(NamedTuple):
    """What each row of a part says.

    Whether it knows a leader; how many replicas are missing from the ISR; how many are in it; how
    many records its leader has above the high watermark.
    """

    led: Ints
    missing: Ints
    isr: Ints
    lag: Ints


def measure(tables: Mapping[str, pa.Table]) -> pa.Table:
    """MEASURES of a part, by run and partition; none, where no row tells of leaders.

    Raises TraceError: a row that is none.
    """
    runs, steps = tables["runs"], tables["steps"]
    said = _said(tables["rows"])
    if said is None:
        return MEASURES.empty_table()
    taken = Occurrences.from_runs(runs)
    order = taken.by_thread
    step, thread = taken.step[order], taken.thread[order]
    before, after = ints(steps["before"])[step], ints(steps["after"])[step]
    threads, start = np.unique(thread, return_index=True)
    duration = ints(whole(runs["statistics"]).field("duration"))
    ends = duration[taken.run_at[order]]
    until = np.append(taken.time[order][1:], 0)
    last = np.append(thread[1:] != thread[:-1], True) if len(thread) else np.zeros(0, bool)
    lasts = np.maximum(np.where(last, ends, until) - taken.time[order], 0)
    timeline = _Timeline(thread, start, lasts)
    run_at, component = threads // taken.components, threads % taken.components
    # Of several components the first is the quorum.
    partition = component - 1 if taken.components > 1 else component
    columns = {
        "run": ints(runs["run"])[run_at],
        "partition": partition,
        "duration": duration[run_at],
        **timeline.leaderless(said.led[before], said.led[after]),
        **timeline.replicas(said, before, after),
        **timeline.lag(said.lag[before], said.lag[after]),
        **_stalls(runs, run_at, partition, duration),
    }
    return pa.table(columns, schema=MEASURES)


def _said(rows: pa.Table) -> _Said | None:
    seen = read_bodies(rows, _decode, "a row")
    if seen and not any(row.role or row.partition for row in seen):
        return None
    numbers = np.zeros((4, len(seen)), dtype=np.int64)
    for at, row in enumerate(seen):
        if row.partition is not None:
            numbers[0, at] = row.partition.leader != NOBODY
            numbers[1, at] = len(row.registrations or ()) - len(row.partition.isr)
            numbers[2, at] = len(row.partition.isr)
        elif row.role == "Leader" and row.status != "Down":
            # A broker says it with a status; that it leads is for its controller to know.
            numbers[0, at] = not row.status
            numbers[3, at] = len(row.log) - max(row.high_watermark, 0)
    return _Said(*numbers)


class _Timeline:
    """Occurrences by thread: `start` of each thread, and how long the state after each `lasts`."""

    def __init__(self, thread: Ints, start: Ints, lasts: Ints) -> None:
        self.thread, self.start, self.lasts = thread, start, lasts
        self.of = np.repeat(np.arange(len(start)), np.diff(np.append(start, len(thread))))

    def sums(self, change: Ints) -> Ints:
        """The running sum of changes in each thread, from 0."""
        total = np.cumsum(change)
        return total - (total - change)[self.start][self.of]

    def per_thread(self, values: Ints) -> Ints:
        return np.add.reduceat(values, self.start)

    def leaderless(self, before: Ints, after: Ints) -> dict[str, Ints]:
        leaders = self.sums(after - before)
        known = self.sums((leaders > 0).astype(np.int64)) > 0
        gone: Mask = known & (leaders == 0)
        begins = gone & ~np.append(False, gone[:-1] & (self.thread[1:] == self.thread[:-1]))
        spans = self.per_thread(begins.astype(np.int64))
        longest = np.zeros(len(self.start), dtype=np.int64)
        if begins.any():
            number = np.cumsum(begins) - 1
            lengths = np.bincount(number[gone], self.lasts[gone]).astype(np.int64)
            np.maximum.at(longest, self.of[begins], lengths)
        total = self.per_thread(np.where(gone, self.lasts, 0))
        return {
            "leaderless_spans": spans,
            "leaderless_longest": longest,
            "leaderless_total": total,
        }

    def replicas(self, said: _Said, before: Ints, after: Ints) -> dict[str, Ints]:
        missing = self.sums(said.missing[after] - said.missing[before]) > 0
        grown = said.isr[after] - said.isr[before]
        return {
            "isr_shrinks": self.per_thread((grown < 0).astype(np.int64)),
            "isr_expansions": self.per_thread((grown > 0).astype(np.int64)),
            "under_replicated": self.per_thread(np.where(missing, self.lasts, 0)),
        }

    def lag(self, before: Ints, after: Ints) -> dict[str, Ints]:
        lag = self.sums(after - before)
        most = np.maximum.reduceat(lag, self.start)
        return {"lag_most": most, "lag_total": self.per_thread(lag * self.lasts)}


def _stalls(runs: pa.Table, run_at: Ints, partition: Ints, duration: Ints) -> dict[str, pa.Array]:
    """Of each (run, partition), how long an append waited for the next acknowledgement at most."""
    lengths, history = lists(runs["history"])
    of_run = np.repeat(np.arange(len(lengths)), lengths)
    wide = int(partition.max(initial=0)) + 1
    log = of_run * wide + ints(history.field("partition"))
    append = np.asarray(history.field("op").to_pylist(), dtype=object) == "append"
    done = np.asarray(history.field("outcome").to_pylist(), dtype=object) == "ok"
    invoked = ints(history.field("invoked"))
    completed = ints(history.field("completed").fill_null(-1))
    # A moment of a log as one number, so that one search finds the next acknowledgement of each.
    width = max(int(invoked.max(initial=0)), int(completed.max(initial=0))) + 1
    acked = np.sort((log * width + completed)[append & done])
    asked_log, asked = log[append], invoked[append]
    place = np.searchsorted(acked, asked_log * width + asked)
    answered = place < len(acked)
    answered[answered] = acked[place[answered]] // width == asked_log[answered]
    until = duration[of_run[append]]
    until[answered] = acked[place[answered]] % width
    # Who was refused waits no longer; who was not answered goes on hoping.
    refused = (completed >= 0) & ~done
    until[refused[append]] = np.minimum(until, completed[append])[refused[append]]
    waited = np.maximum(until - asked, 0)
    stall = np.full(len(duration) * wide, -1, dtype=np.int64)
    np.maximum.at(stall, asked_log, waited)
    opened = np.zeros(len(stall), dtype=np.bool_)
    opened[asked_log[~answered & ~refused[append]]] = True
    own = np.where(partition < 0, 0, run_at * wide + partition)
    nothing = (stall[own] < 0) | (partition < 0)
    return {
        "append_stall": pa.array(stall[own], mask=nothing),
        "append_stall_open": pa.array(opened[own] & ~nothing),
    }
