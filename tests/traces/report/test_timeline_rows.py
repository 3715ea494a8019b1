"""Operations of one process that overlap have rows of their own in the timeline."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from kraftcheck.traces.formats import detect
from kraftcheck.traces.report.history_timeline import timeline

TRANSACTION = """\
{"process":0,"type":"invoke","f":"txn","value":[["append","x",1],["append","y",2],["r","x",null]]}
{"process":0,"type":"ok","f":"txn","value":[["append","x",1],["append","y",2],["r","x",[1]]]}
{"process":0,"type":"invoke","f":"txn","value":[["r","x",null]]}
{"process":0,"type":"ok","f":"txn","value":[["r","x",[1]]]}
"""


def test_operations_of_a_transaction_do_not_hide_each_other(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(TRANSACTION)
    history = detect.read(path)
    (strip,) = timeline(history, (), None).strips
    assert len(strip.bars) == 4 and len(strip.rows) == 3
    assert {row.process for row in strip.rows} == {0}
    for one, other in combinations(strip.bars, 2):
        apart = one.x + one.width <= other.x or other.x + other.width <= one.x
        assert one.y != other.y or apart
    assert strip.height >= max(bar.y for bar in strip.bars) + 18
