"""JSON lines as columns are what their events say, or are left to those."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from kraftcheck.traces.formats import flat_edn, jepsen, jsonlines, linerows
from kraftcheck.traces.formats.events import EXTRA, FIELDS
from kraftcheck.traces.formats.flat_edn import key_number
from kraftcheck.traces.history import History, HistoryError
from kraftcheck.traces.rows import history_of
from tests.traces.checkers.member_worlds import world

SEND = {"process": 0, "type": "invoke", "f": "send", "value": [["send", "t-0", 1]]}
SENT = {"process": 0, "type": "ok", "f": "send", "value": [["send", "t-0", [0, 1]]]}
POLL = {"process": 1, "type": "invoke", "f": "poll", "value": [["poll"]]}
SHOWN = {"process": 1, "type": "ok", "f": "poll", "value": [["poll", {"t-0": [[0, 1]]}]]}
OF_NUMBER = SHOWN | {"value": [["poll", {"0": [[0, 1]]}]]}
NEXT = SEND | {"process": 2, "value": [["send", "0", 2]]}
GIVEN = {"process": 1, "type": "invoke", "f": "partitions-assigned", "value": ["g", ["t-0"]]}
ENDED = GIVEN | {"type": "ok"}


def written(path: Path, lines: list[Any]) -> Path:
    path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in lines))
    return path


def compare(path: Path, format: str = jsonlines.NAME) -> str:
    """Raises AssertionError: the two do not agree."""
    rows = linerows.rows_of(path, format)
    try:
        read = jsonlines.read if format == jsonlines.NAME else jepsen.read
        events: History | None = read(path)
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


@pytest.mark.slow
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
        ([SEND | {"value": [["send", 0, 1]]}], "columns"),
        ([SEND | {"value": [["send", 0, 1]]}, POLL, OF_NUMBER], "columns"),
        ([SEND | {"value": [["send", "0", 1]]}, POLL, OF_NUMBER], "columns"),
        ([POLL, OF_NUMBER], "columns"),
        ([SEND | {"value": [["send", 0, 1]]}, NEXT, POLL, OF_NUMBER], "refused"),
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
        pair = linerows._Reader._paired

        def late(self: Any, at: Any, kept: int) -> Any:
            begun, ended = pair(self, at, kept)
            ended[:-1] = ended[1:]
            return begun, ended

        monkeypatch.setattr(linerows._Reader, "_paired", late)
    with pytest.raises(AssertionError):
        for seed in range(150):
            compare(written(tmp_path / "h", lines_of(seed)))


# -- EDN


def edn_of(lines: list[dict[str, Any]], draw: random.Random) -> str:
    """As Jepsen writes it: keys are numbers, or words, or strings."""
    keys = draw.choice(("number", "word", "string"))
    comma = draw.choice((", ", " ", ","))

    def text(value: Any, at: str = "") -> str:
        if isinstance(value, dict):
            pairs = (f"{text(key, 'map')} {text(each)}" for key, each in value.items())
            return "{" + comma.join(pairs) + "}"
        if isinstance(value, list):
            return "[" + " ".join(map(text, value)) + "]"
        if isinstance(value, str) and value[:2] == "t-" and value[2:].isdecimal():
            return {"number": value[2:], "word": f":{value}", "string": f'"{value}"'}[keys]
        if isinstance(value, str):
            return f":{value}" if at or value in ("send", "poll") else f'"{value}"'
        return "nil" if value is None else str(value).lower()

    def event(line: dict[str, Any]) -> str:
        pairs = (
            f":{key} {text(value, 'word' if key in WORDS else '')}" for key, value in line.items()
        )
        return "{" + comma.join(pairs) + "}"

    return "".join(event(each) + "\n" for each in lines)


WORDS = ("type", "f", "isolation", "process")


@pytest.mark.slow
@pytest.mark.parametrize("piece", [300, linerows.CHUNK])
def test_columns_of_edn_are_what_events_say(
    piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linerows, "CHUNK", piece)
    found: Counter[str] = Counter()
    path = tmp_path / "h"
    for seed in range(300):
        draw = random.Random(seed)
        lines = lines_of(seed % 100)
        if seed >= 100:
            _damage(lines, draw)
        text = edn_of(lines, draw)
        if seed >= 200:
            text = _spoiled(text, draw)
        path.write_text(text)
        found[compare(path, jepsen.NAME)] += 1
    assert found["columns"] > 60 and found["refused"] > 50, found


def _spoiled(text: str, draw: random.Random) -> str:
    """With one piece put in place of another, or twice."""
    at, other = sorted(draw.randrange(len(text)) for _ in range(2))
    put = draw.choice((" ", ",", "nil", "null", ":", '"', "{", "]", "1.0", "#", text[at:other][:9]))
    return text[:at] + put + text[at + draw.randrange(3) :]


def test_a_wrong_translation_of_edn_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = flat_edn.as_json

    def wrong(data: bytes) -> flat_edn.Lines:
        lines = right(data)
        return lines._replace(text=lines.text.replace(b",1]", b",2]"))

    monkeypatch.setattr(linerows, "as_json", wrong)
    path = tmp_path / "h"
    with pytest.raises(AssertionError):
        for seed in range(100):
            path.write_text(edn_of(lines_of(seed), random.Random(seed)))
            compare(path, jepsen.NAME)


@pytest.mark.slow
def test_pieces_of_json_are_as_good_as_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linerows, "CHUNK", 300)
    found = Counter(compare(written(tmp_path / "h", lines_of(seed))) for seed in range(100))
    assert found["columns"] > 70, found


SAID = '{:index 0, :process 0, :type :invoke, :f :send, :value [[:send 1 "a b"]]}\n'
OK = '{:index 1, :process 0, :type :ok, :f :send, :value [[:send 1 [0 "a b"]]]}\n'
ASKED = "{:process 1, :type :invoke, :f :poll, :value [[:poll]]}\n"
KILLED = '{:process :nemesis, :type :info, :f :kill, :value #{"n1" {:a \\b}}}\n'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (SAID + OK, "columns"),
        (SAID + KILLED + OK + KILLED, "columns"),
        ("#jepsen.history.Op" + SAID + "#jepsen.history.Op" + OK, "columns"),
        (SAID + OK.replace(":ok", ":info").replace("}\n", ", :error [:timeout 1]}\n"), "events"),
        (SAID + SAID.replace("0,", "3,", 1).replace(":invoke", ":info, :error [:a 1]"), "columns"),
        (SAID + OK.replace("}\n", ', :error {:a "b"}}\n'), "events"),
        (SAID.replace("}\n", ', :more "a, :b 1 {"}\n') + OK, "columns"),
        (SAID.replace('"a b"', ":a") + OK.replace('"a b"', ":a"), "events"),
        (SAID.replace('"a b"', "1N") + OK.replace('"a b"', "1"), "events"),
        (SAID.replace('"a b"', "1.0") + OK.replace('"a b"', "1"), "refused"),
        (SAID.replace('"a b"', "null") + OK.replace('"a b"', "nil"), "refused"),
        (SAID.replace(":index 0", ":index 0, :index 0") + OK, "refused"),
        (SAID.replace(":index 0, ", ":index 0 ") + OK, "columns"),
        (SAID.replace(", ", " ") + OK.replace(", ", ","), "columns"),
        (SAID.replace(":index 0, ", ":index, ") + OK, "refused"),
        (
            ASKED + ASKED.replace(":invoke", ":ok").replace("[:poll]", "[:poll {1 [[0 5]]}]"),
            "columns",
        ),
        (
            ASKED
            + ASKED.replace(":invoke", ":ok").replace("[:poll]", "[:poll {1 [[0 5]], 1 [[1 6]]}]"),
            "refused",
        ),
        (
            ASKED
            + ASKED.replace(":invoke", ":ok").replace(
                "[:poll]", '[:poll {1 [[0 5]], "1" [[1 6]]}]'
            ),
            "columns",
        ),
    ],
)
def test_what_is_usual_of_edn(text: str, found: str, tmp_path: Path) -> None:
    path = tmp_path / "h"
    path.write_text(text)
    assert compare(path, jepsen.NAME) == found


def test_keys_of_events_have_a_number_each() -> None:
    keys = [f":{each} " for each in (*FIELDS, *EXTRA)]
    of = [np.array([ord(each[at]) for each in keys], np.uint8) for at in (1, 2)]
    numbers = key_number(of[0], of[1], np.array([len(each) - 1 for each in keys]))
    assert len({*numbers.tolist()}) == len(keys) and numbers.max() < 56


def test_phrases_take_only_what_they_know() -> None:
    asked = b"{:process 1, :type :invoke, :f :poll, :value [[:poll]]}\n"
    data = (
        asked
        + b"{:process 1, :type :ok, :f :poll, :value [[:poll {1 [[0 5] [1 6]], 2 [[0 7]]}]]}\n"
    )
    phrases = flat_edn.Phrases()
    assert phrases.json(data) is None
    text, further = flat_edn.as_json(data)
    phrases.learn(data, text)
    found = phrases.json(data.replace(b"5", b"8"))
    assert found is not None and found.text == text.replace(b" ", b"").replace(b"5", b"8")
    assert found.keys == 8 and found.further().tolist()[: len(further)] == further.tolist()
    for other in (b"null", b"1e5", b"5.0", b'"5"', b":x", b"#_5 5"):
        assert phrases.json(data.replace(b"5", other)) is None
