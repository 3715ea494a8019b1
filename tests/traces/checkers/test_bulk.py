"""Columns of operations are judged as the operations are."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.traces.checkers.member_worlds import World, changed
from traces.checkers import bulk
from traces.checkers.check import configuration_in
from traces.checkers.columns import LogBatch, from_history
from traces.checkers.members import Members, members_of
from traces.checkers.transactions import settled
from traces.formats import columns
from traces.history import History, HistoryError


def worlds(seed: int, number: int) -> list[History]:
    draw = random.Random(seed)
    made = []
    while len(made) < number:
        history = World(draw).history(draw.randint(4, 40))
        made += [history, changed(history, draw)]
    return made


def rows_of(history: History, tmp_path: Path) -> columns.Rows:
    path = tmp_path / "history.parquet"
    path.write_bytes(columns.write(history))
    return columns.rows_of(path)


def told(batch: LogBatch) -> list[Any]:
    """Values and sessions are known by where they came first."""
    a, r = batch.appends, batch.reads
    value: dict[int, int] = {}
    names = [value.setdefault(int(v), at) for at, v in enumerate((*a.value, *r.values))]
    first: dict[int, int] = {}
    sessions = [first.setdefault(int(s), at) for at, s in enumerate(r.session)]
    plain = [column.tolist() for column in (*a[:4], *a[5:], *r[:2], *r[3:13])]
    return [batch.segments, batch.operations.tolist(), batch.labels, names, sessions, *plain]


def known(m: Members) -> list[Any]:
    place = [m.places[int(p)] for p in range(len(m.places))]
    mark = [*m.marks, None]
    spans, commits = m.spans, m.commits
    partition = {int(p): key for p, (_, key) in zip(m.partition, place, strict=True)}
    records = zip(*[each.tolist() for each in m.records], strict=True)
    return [
        sorted(map(repr, place)),
        [(place[s[0]], *s[1:8], mark[s[8]]) for s in zip(*[c.tolist() for c in spans], strict=True)],
        [(place[s[0]], *s[1:7], mark[s[7]]) for s in zip(*[c.tolist() for c in commits], strict=True)],
        *[
            sorted((place[s[0]], *s[1:]) for s in zip(*[c.tolist() for c in table], strict=True))
            for table in (m.told, m.polled, m.processed, m.lives)
        ],
        sorted((repr(partition.get(p, p)), at) for p, at in records if p in partition),
    ]


@pytest.mark.parametrize("seed", range(6))
def test_columns_are_those_of_the_operations(seed: int, tmp_path: Path) -> None:
    unusual = 0
    for history in worlds(seed, 80):
        try:
            rows = rows_of(history, tmp_path)
        except HistoryError:
            continue  # What was changed is nothing that a client can have recorded.
        again = columns.history_of(rows)
        assert [repr(each).split("line=")[0] for each in again.operations] == [
            repr(each).split("line=")[0] for each in history.operations
        ]
        assert bulk.configuration_of(rows) == configuration_in(history)
        try:
            ours, members = bulk.batch_of(rows), bulk.members_of(rows)
        except bulk.Unusual:
            unusual += 1
            continue
        theirs = from_history(settled(history))
        assert told(ours) == told(theirs)
        slow = members_of(history)
        assert (members is None) == (slow is None)
        if members is not None and slow is not None:
            assert known(members) == known(slow)
    assert unusual < 20
