"""What members of share groups report, as it is read, written and refused."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from kraftcheck.reference.clients.promises import Configuration, promised
from kraftcheck.traces.checkers.check import check_history, check_log
from kraftcheck.traces.checkers.shares import broken, shares_of
from kraftcheck.traces.formats import jepsen, jsonlines, linerows
from kraftcheck.traces.history import ACKNOWLEDGE, SHARE_POLL, HistoryError
from kraftcheck.traces.rows import history_of, rows_of
from tests.traces.checkers.share_worlds import worlds
from tests.traces.formats.test_round_trip import bare

POLLED = """\
{"process":1,"type":"invoke","f":"share-poll","value":["g",null]}
{"process":1,"type":"ok","f":"share-poll","value":["g",{"t-0":[[0,7,1],[1,8]],"t-1":[[5,9,2]]}]}
"""


def read(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "history.jsonl"
    path.write_text(text)
    return path


@pytest.mark.parametrize("format", [jepsen, jsonlines], ids=lambda module: module.NAME)
def test_what_is_written_is_read(format: ModuleType, tmp_path: Path) -> None:
    for world in worlds(5, 3):
        history = world.history(60)
        path = read(tmp_path, "".join(format.write(history)))
        assert bare(format.read(path)) == bare(history)
        rows = linerows.rows_of(path, format.NAME)
        assert rows is not None and bare(history_of(rows)) == bare(history)
        configuration = Configuration(consumers="share", one_client=False, lock_s=40)
        told = check_history(history, configuration=configuration, complete=True)
        promise = promised(configuration)
        assert check_log(rows, promise, configuration, complete=True) == told


def test_a_poll_has_a_part_for_each_partition(tmp_path: Path) -> None:
    first, second = jsonlines.read(read(tmp_path, POLLED)).operations
    assert (first.f, first.key, first.argument) == (SHARE_POLL, "t-0", "g")
    assert first.result == ((0, 7, 1), (1, 8, None))
    assert (second.key, second.result) == ("t-1", ((5, 9, 2),))


def test_acknowledgements_end_within_polls_and_in_any_order(tmp_path: Path) -> None:
    def ack(kind: str, offset: int) -> str:
        value = f'["g",[["t-0",{offset},"accept"]]]'
        return f'{{"process":1,"type":"{kind}","f":"acknowledge","value":{value}}}\n'

    poll = POLLED.splitlines(keepends=True)
    lines = [*poll, ack("invoke", 0), ack("invoke", 1), poll[0], ack("ok", 0)]
    lines += [ack("fail", 1), '{"process":1,"type":"ok","f":"share-poll","value":["g",{}]}']
    history = jsonlines.read(read(tmp_path, "".join(lines)))
    acks = [each for each in history.operations if each.f == ACKNOWLEDGE]
    assert [(each.argument[1][0][0], each.outcome) for each in acks] == [(0, "ok"), (1, "fail")]
    shares = shares_of(rows_of(history))
    assert shares is not None
    assert broken(shares, Configuration(), None, False) == ([], None)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("[1,8]", "[1,8,0]", "2: delivery count of offset 1 is 0, not 1 or more"),
        ("[1,8]", "[-1,8]", "is no [offset value count]"),
        ('["g",null]', '"g"', "1: share-poll of g, not of [group nil]"),
        ('["g",{', '["g",5,{', "not [group map]"),
    ],
)
def test_a_poll_that_says_nothing_is_refused(
    before: str, after: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(HistoryError) as refused:
        jsonlines.read(read(tmp_path, POLLED.replace(before, after, 1)))
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('["g",[["t-0",0,"gap"]]]', "3: acknowledgement gap is none of accept, release, reject"),
        ('["g",[["t-0",0]]]', "3: acknowledge of"),
        ('["g",[]]', "3: acknowledge of"),
    ],
)
def test_an_acknowledgement_that_says_nothing_is_refused(
    value: str, said: str, tmp_path: Path
) -> None:
    line = f'{{"process":1,"type":"invoke","f":"acknowledge","value":{value}}}\n'
    with pytest.raises(HistoryError) as refused:
        jsonlines.read(read(tmp_path, POLLED + line))
    assert said in str(refused.value)
