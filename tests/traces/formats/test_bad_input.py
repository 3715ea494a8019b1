"""What is wrong with a file is one line: the file, the line, the reason."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kraftcheck.traces.formats import detect, jepsen, jsonlines, loglines
from kraftcheck.traces.formats.text import TOKEN_MAX
from kraftcheck.traces.history import OUTCOMES, History, HistoryError
from tests.traces.formats import texts as texts
from tests.traces.formats.damage import damaged


def op(process: object, type: str, f: str, value: str, **extra: object) -> str:
    more = "".join(f", :{name} {each}" for name, each in extra.items())
    return f"{{:process {process}, :type :{type}, :f :{f}, :value {value}{more}}}\n"


def send(process: int, offset: int, value: int) -> str:
    return op(process, "invoke", "send", f"[[:send 0 {value}]]") + op(
        process, "ok", "send", f"[[:send 0 [{offset} {value}]]]"
    )


W1 = op(0, "invoke", "write", "1")
BAD = {
    "overlap": (W1 + W1, 2, "process 0 asks while its operation of line 1 is still open"),
    "never invoked": (
        op(1, "invoke", "read", "nil") + op(0, "ok", "write", "1"),
        2,
        "completes write, which it did not invoke",
    ),
    "completed twice": (W1 + op(0, "ok", "write", "1") * 2, 3, "which it did not invoke"),
    "another verb": (W1 + op(0, "ok", "read", "1"), 2, "completes read, but line 1 invoked write"),
    "another value": (W1 + op(0, "ok", "write", "2"), 2, "write of 2 completes, but line 1"),
    "one ack twice": (send(0, 7, 5) + send(1, 7, 5), 3, "value 5 is acknowledged at offset 7"),
    "index goes back": (
        op(0, "invoke", "read", "nil", index=4) + op(0, "ok", "read", "1", index=3),
        2,
        "index goes back to 3 from 4 of line 1",
    ),
    "breaks off": (W1 + "{:process 0, :type", 2, "breaks off: { is never closed"),
    "breaks off in a string": (W1 + '{:process 0, :error "so', 2, "breaks off: a string never"),
    "breaks off in a vector": ("[" + W1, 1, "breaks off: [ is never closed"),
    "no closing": (W1 + "{:process 0, :type :ok]\n", 2, "] closes {"),
    "nothing but a nemesis": (op(":nemesis", "info", "kill", "nil"), 0, "no client operation"),
    "process of another type": (op("1.5", "invoke", "read", "nil"), 1, "process is 1.5"),
    "process in words": (op('"one"', "invoke", "read", "nil"), 1, "process is one, not an"),
    "no process": (
        "{:type :invoke, :f :w :value 1} {:type :invoke :f :w :value 1} {:type :ok :f :w :value 1}",
        1,
        "process is missing, and w of lines 1 and 1 are open",
    ),
    "no type": ("{:process 1, :f :read}", 1, "type is missing"),
    "unknown type": (op(0, "begin", "read", "nil"), 1, "type is :begin, not one of invoke, ok"),
    "f of another type": ("{:process 1, :type :invoke, :f 7}", 1, "f is 7, not a word"),
    "time of another type": (op(0, "invoke", "read", "nil", time='"x"'), 1, "time is x, not an"),
    "time beyond": (op(0, "invoke", "read", "nil", time="9" * 20), 1, "not an integer"),
    "cas of one value": (op(0, "invoke", "cas", "5"), 1, "cas of 5, not of [old new]"),
    "send of nothing": (op(0, "invoke", "send", "[[:send 0]]"), 1, "[:send"),
    "negative offset": (
        op(0, "invoke", "send", "[[:send 0 1]]") + op(0, "ok", "send", "[[:send 0 [-1 1]]]"),
        2,
        "[-1 1] is no [offset value]",
    ),
    "offset of another type": (
        op(0, "invoke", "poll", "[[:poll]]") + op(0, "ok", "poll", '[[:poll {0 [["a" 1]]}]]'),
        2,
        "is no [offset value]",
    ),
    "no map polled": (
        op(0, "invoke", "poll", "[[:poll]]") + op(0, "ok", "poll", "[[:poll [1]]]"),
        2,
        "is no [:poll map]",
    ),
    "long token": (W1 + '{:process 1, :error "' + "a" * 10**6 + '"}', 2, "token of 1,000,000"),
    "long number": (W1 + op(1, "invoke", "write", "9" * 10**6), 2, "token of 1,000,000"),
    "long keyword": (W1 + op(1, "invoke", "a" * 10**6, "1"), 2, "token of 1,000,001"),
    "long verb": (W1 + op(1, "invoke", "a" * 101, "1"), 2, "too long for a verb"),
    "a late time": (
        "{:process 0, :type :invoke, :f :read, :value nil, :time 4611686018427387904}",
        1,
        "time is 4611686018427387904, beyond 4611686018427387903, the farthest that is read",
    ),
    "an early time": (
        "{:process 0, :type :invoke, :f :read, :value nil, :time -4611686018427387905}",
        1,
        "the farthest that is read",
    ),
    "deep": (W1 + op(1, "invoke", "write", "[" * 999), 2, "nested deeper than 64"),
    "same key twice": (W1 + "{:process 1, :process 2}", 2, "the same key twice"),
    "no operation": (W1 + "5", 2, "5 is no operation"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_edn_is_one_line(name: str, tmp_path: Path) -> None:
    text, line, reason = BAD[name]
    path = tmp_path / "history.edn"
    path.write_text(text, encoding="utf-8")
    refused(path, jepsen.read, line, reason)


def refused(path: Path, read: object, line: int, reason: str) -> None:
    with pytest.raises(HistoryError) as caught:
        read(path)  # type: ignore[operator]
    assert (caught.value.path, caught.value.line) == (str(path), line), str(caught.value)
    assert reason in caught.value.reason
    assert len(str(caught.value)) < 400 + len(str(path)) and str(caught.value).isprintable()


BAD_JSON = {
    "breaks off": ('{"process": 0, "type": "invoke"', 1, "breaks off"),
    "no JSON": ('{"process": 0, "type": invoke}', 1, "malformed"),
    "deep": ('{"value": ' + "[" * 5000, 1, "nested deeper"),
    "rather deep": ('{"value": ' + "[" * 80 + "]" * 80 + "}", 1, "nested deeper than 64"),
    "long token": ('{"error": "' + "a" * 10**6 + '"}', 1, "token of 1,000,002"),
    "long number": ('{"time": ' + "9" * 10**6 + "}", 1, "token of 1,000,000"),
    "rather long number": ('{"process": ' + "9" * 5000 + "}", 1, "longer than 64 characters"),
    "an array of numbers": ("[1,\n2]", 1, "1 is no operation"),
    "an array that breaks off": ('[{"process": 1}', 0, "breaks off"),
    "boolean process": ('{"process": true, "type": "ok", "f": "x"}', 1, "process is true"),
}


@pytest.mark.parametrize("name", BAD_JSON)
def test_bad_json_is_one_line(name: str, tmp_path: Path) -> None:
    text, line, reason = BAD_JSON[name]
    path = tmp_path / "history.jsonl"
    path.write_text(text, encoding="utf-8")
    refused(path, jsonlines.read, line, reason)


BAD_LOG = {
    "breaks off": (texts.LOG + "INFO  jepsen.util - 3\t:inv", 10, "breaks off"),
    "breaks off early": (texts.LOG + "INFO  jepsen.u", 10, "breaks off"),
    "breaks off before the value": (
        texts.LOG + "INFO  jepsen.util - 3\t:ok\t:read\t",
        10,
        "breaks",
    ),
    "damaged": (
        "INFO  jepsen.util - 3\t:invoek\t:read\tnil\n" + texts.LOG,
        1,
        "no operation: INFO",
    ),
    "damaged value": (
        texts.LOG + "INFO  jepsen.util - 3\t:invoke\t:cas\t[1 2\n",
        10,
        "[ is never closed",
    ),
}


@pytest.mark.parametrize("name", BAD_LOG)
def test_bad_log_lines_are_one_line(name: str, tmp_path: Path) -> None:
    text, line, reason = BAD_LOG[name]
    path = tmp_path / "history.log"
    path.write_text(text, encoding="utf-8")
    refused(path, loglines.read, line, reason)


@pytest.mark.parametrize("data", [b"", b" \n\r\n", b"\xef\xbb\xbf"])
def test_an_empty_history_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(data)
    refused(tmp_path / "empty", detect.read, 0, "")


def test_what_is_no_text_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(W1.encode() + b"; caf\xe9\n")
    refused(tmp_path / "latin", jepsen.read, 2, "byte 0xe9 is no UTF-8")


# -- Damaged at random: read correctly, or refused cleanly

changes = st.lists(st.tuples(*[st.integers(0, 4095)] * 4), min_size=1, max_size=4)


@pytest.mark.parametrize("name", texts.TEXTS)
@given(changes=changes)
def test_damage_is_read_or_refused(
    name: str, changes: list[tuple[int, int, int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    text, format, _ = texts.TEXTS[name]
    data = text.encode()
    for change in changes:
        data = damaged(data, *change)
    path = tmp_path_factory.getbasetemp() / f"damaged-{name}"
    path.write_bytes(data)
    lines = data.count(b"\n") + 1
    for chosen in ("auto", format):
        try:
            judge(detect.read(path, chosen))
        except HistoryError as error:
            assert error.path == str(path) and 0 <= error.line <= lines
            assert str(error).isprintable() and len(error.reason) < 500


def judge(history: History) -> None:
    """What every history satisfies, however it came about."""
    busy: dict[int, tuple[int, int | None]] = {}
    invoked = -(2**64)
    for at, operation in enumerate(history.operations):
        assert operation.index == at and operation.outcome in OUTCOMES
        assert invoked <= operation.invoked
        invoked = operation.invoked
        assert operation.completed is None or operation.completed > operation.invoked
        group, until = busy.get(operation.process, (-1, -(2**64)))
        if group != operation.group:
            assert until is not None and until < operation.invoked
        open_for_ever = operation.outcome == "indeterminate"
        busy[operation.process] = operation.group, None if open_for_ever else operation.completed
        hash((operation.argument, operation.result))


# -- Time is linear, whatever is in the file

HOSTILE = {
    "opening": b"[",
    "closed": b"[]",
    "discards": b"#_ ",
    "tags": b"#a ",
    "quotes": b'"',
    "escapes": b"\\",
    "escaped quotes": b'"\\"',
    "digits": b"9",
    "signs": b"+-",
    "colons": b":",
    "comments": b";\n",
    "maps": b"{:a ",
    "sets": b"#{1 2} ",
    "blanks": b" \n",
    "log": b"0\t:okay\t:f",
    "json": b'{"process":0,"type":"ok"}\n',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_time_is_linear(name: str, tmp_path: Path) -> None:
    piece = HOSTILE[name]
    path = tmp_path / "hostile"
    path.write_bytes(piece * (2**20 // len(piece)))
    for read in (jepsen.read, jsonlines.read, loglines.read, detect.read):
        begin = time.process_time()
        with pytest.raises(HistoryError):
            read(path)
        # The square of a mebibyte would take hours.
        assert time.process_time() - begin < 10


def test_a_token_may_be_long(tmp_path: Path) -> None:
    """The negative twin of the limit: what is just within it is read."""
    path = tmp_path / "long"
    value = "v" * TOKEN_MAX
    path.write_text(op(0, "invoke", "write", f'"{value}"'), encoding="utf-8")
    assert jepsen.read(path).operations[0].argument == value
