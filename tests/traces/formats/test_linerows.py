"""JSON lines as columns are what their events say, or are left to those."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kraftcheck.traces.formats import jsonlines, linerows
from kraftcheck.traces.history import History, HistoryError
from kraftcheck.traces.rows import history_of
from tests.traces.checkers.member_worlds import world

SEND = {"process": 0, "type": "invoke", "f": "send", "value": [["send", "t-0", 1]]}
SENT = {"process": 0, "type": "ok", "f": "send", "value": [["send", "t-0", [0, 1]]]}
POLL = {"process": 1, "type": "invoke", "f": "poll", "value": [["poll"]]}
SHOWN = {"process": 1, "type": "ok", "f": "poll", "value": [["poll", {"t-0": [[0, 1]]}]]}
GIVEN = {"process": 1, "type": "invoke", "f": "partitions-assigned", "value": ["g", ["t-0"]]}
ENDED = GIVEN | {"type": "ok"}


def written(path: Path, lines: list[Any]) -> Path:
    path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in lines))
    return path


def compare(path: Path) -> str:
    """Raises AssertionError: the two do not agree."""
    rows = linerows.rows_of(path)
    try:
        events: History | None = jsonlines.read(path)
    except HistoryError:
        events = None
    if rows is None:
        return "refused" if events is None else "events"
    assert events is not None, "as columns it is accepted"
    assert history_of(rows) == events
    return "columns"


def lines_of(seed: int) -> list[dict[str, Any]]:
    return list(jsonlines.objects(world(seed)))


def test_columns_are_what_events_say(tmp_path: Path) -> None:
    found = Counter(compare(written(tmp_path / "h", lines_of(seed))) for seed in range(150))
    assert found["columns"] > 110, found


def test_what_was_damaged_is_not_taken_for_whole(tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    for seed in range(600):
        draw = random.Random(seed)
        lines = lines_of(seed % 40)
        _damage(lines, draw)
        found[compare(written(tmp_path / "h", lines))] += 1
    assert found["refused"] > 50 and found["columns"] > 50, found


def _damage(lines: list[dict[str, Any]], draw: random.Random) -> None:
    at, other = (draw.randrange(len(lines)) for _ in range(2))
    kind = draw.randrange(6)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == 2:
        lines.insert(at, lines[other])
    else:
        name = draw.choice([*lines[at]])
        values: tuple[Any, ...] = (
            lines[other].get(name),
            None,
            -1,
            1.0,
            True,
            "t",
            [],
            [["t-0", -1]],
            {"a": 1},
        )
        lines[at] = lines[at] | {name: draw.choice(values)}


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([SEND, SENT, POLL, SHOWN], "columns"),
        ([SEND, POLL, GIVEN, ENDED, SHOWN, SENT], "columns"),
        ([SEND | {"time": 5}, SENT | {"time": 5}], "columns"),
        ([SEND, SENT | {"type": "info", "value": None, "error": ["a", 1]}, POLL], "columns"),
        ([SEND | {"process": "nemesis", "type": "info", "f": "kill"}, POLL, SHOWN], "columns"),
        ([SEND, SENT | {"type": "info"}, SEND], "events"),
        ([SEND | {"txn": 1}, SENT | {"txn": 1}], "events"),
        ([SEND | {"value": [["send", 0, 1]]}], "events"),
        ([SEND | {"value": [["send", "null", 1]]}, POLL], "events"),
        ([SEND | {"value": [["send", "t-0", [1, 2]]]}], "events"),
        ([SEND | {"value": [["send", "t-0", 1 << 63]]}], "events"),
        ([SEND, SENT | {"value": [["send", "t-0", [0, 2]]]}], "refused"),
        ([SEND, SENT, SEND, SENT], "refused"),
        ([SEND, SEND], "refused"),
        ([SEND, POLL | {"process": 0, "type": "ok"}], "refused"),
        ([SENT], "events"),
        ([SEND | {"time": 5}, SENT | {"time": 4}], "events"),
        ([SEND | {"index": 1}, SENT | {"index": 1}], "refused"),
        ([POLL, SHOWN | {"value": [["poll", {"t-0": [[-1, 1]]}]]}], "refused"),
        ([POLL, SHOWN | {"to": [{"t-0": -1}]}], "refused"),
        ([SEND | {"more": 10**65}], "refused"),
        ([SEND | {"more": "a" * (1 << 19)}], "refused"),
    ],
)
def test_what_is_usual(lines: list[Any], found: str, tmp_path: Path) -> None:
    assert compare(written(tmp_path / "h", lines)) == found


@pytest.mark.parametrize("wrong", ["times", "pairs"])
def test_a_wrong_column_is_seen(
    wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if wrong == "times":
        monkeypatch.setattr(linerows, "KINDS", {"invoke": 0, "ok": 1, "fail": 3, "info": 2})
    else:
        pair = linerows._Reader._pair

        def late(self: Any, at: Any) -> None:
            pair(self, at)
            self.ended[:-1] = self.ended[1:]

        monkeypatch.setattr(linerows._Reader, "_pair", late)
    with pytest.raises(AssertionError):
        for seed in range(150):
            compare(written(tmp_path / "h", lines_of(seed)))
