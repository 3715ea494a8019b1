"""Columns of operations against the operations themselves, on small histories of consumer groups.

python -m tests.traces.checkers.bulk_worlds 10000 --seed 1
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from kraftcheck.traces.checkers import bulk
from kraftcheck.traces.checkers.check import configuration_in
from kraftcheck.traces.checkers.columns import LogBatch, from_history
from kraftcheck.traces.checkers.log import gaps_in
from kraftcheck.traces.checkers.members import Members, members_of
from kraftcheck.traces.checkers.settled import settled
from kraftcheck.traces.formats import columns
from kraftcheck.traces.history import History
from kraftcheck.traces.rows import Rows, history_of
from tests.traces.checkers.member_worlds import World, changed


def world(seed: int) -> History:
    """Half of them are changed in one place."""
    draw = random.Random(seed)
    history = World(draw).history(draw.randint(4, 60))
    return history if draw.random() < 0.5 else changed(history, draw)


def rows_of(history: History, folder: Path) -> Rows:
    """Written and read again."""
    path = folder / "history.parquet"
    path.write_bytes(columns.write(history))
    return columns.rows_of(path)


def of_log(batch: LogBatch) -> list[Any]:
    """Values and sessions are known by where they came first."""
    a, r = batch.appends, batch.reads
    value: dict[int, int] = {}
    values = [value.setdefault(int(v), at) for at, v in enumerate((*a.value, *r.values))]
    session: dict[int, int] = {}
    sessions = [session.setdefault(int(s), at) for at, s in enumerate(r.session)]
    plain = [each.tolist() for each in (*a[:4], *a[5:], *r[:2], *r[3:13])]
    plain.append(None if r.to is None else r.to.tolist())
    return [batch.segments, batch.operations.tolist(), batch.labels, values, sessions, *plain]


def of_groups(m: Members) -> list[Any]:
    """Places, partitions and marks by their names."""
    mark = [*m.marks, None]
    partition = {int(p): key for p, (_, key) in zip(m.partition, m.places, strict=True)}

    def rows(table: Any) -> list[tuple[Any, ...]]:
        of = zip(*[each.tolist() for each in table], strict=True)
        return [(m.places[first], *rest) for first, *rest in of]

    marked = [[(*row[:-1], mark[row[-1]]) for row in rows(t)] for t in (m.spans, m.commits)]
    records = zip(*[each.tolist() for each in m.records], strict=True)
    return [
        sorted(m.places),
        *marked,
        *[sorted(rows(table)) for table in (m.told, m.polled, m.processed, m.lives)],
        sorted((partition[p], at) for p, at in records if p in partition),
    ]


def compare(seed: int, folder: Path) -> str:
    """What came of one history; raises AssertionError where the two do not agree."""
    history = world(seed)
    rows = rows_of(history, folder)
    again = [replace(each, line=0) for each in history_of(rows).operations]
    assert again == [*history.operations], seed
    configuration = configuration_in(history)
    assert bulk.configuration_of(rows) == configuration, seed
    assert bulk.gaps_in(rows, configuration) == gaps_in(history, configuration), seed
    try:
        batch, members = bulk.batch_of(rows), bulk.members_of(rows)
    except bulk.Unusual:
        return "unusual"
    assert of_log(batch) == of_log(from_history(settled(history))), seed
    slow = members_of(history)
    assert (members is None) == (slow is None), seed
    if members is not None and slow is not None:
        assert of_groups(members) == of_groups(slow), seed
    return "same"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("histories", type=int)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    begin = asked.seed * 1_000_000
    with TemporaryDirectory() as folder:
        seeds = range(begin, begin + asked.histories)
        found = Counter(compare(seed, Path(folder)) for seed in seeds)
    sys.stdout.writelines(f"{name:12} {times:8,}\n" for name, times in sorted(found.items()))


if __name__ == "__main__":
    main()
