"""However a file is made, what is read of it takes a bounded multiple of its length."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kraftcheck.osutil.files import LINE_MAX
from kraftcheck.traces.formats import detect
from kraftcheck.traces.formats.columns import NEEDED as COLUMNS_NEEDED, WORDS
from kraftcheck.traces.history import HistoryError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="asks /proc for the peak"),
]

MULTIPLE = 64
"""Bytes of memory for a byte of a file (docs/histories.md)."""
SIZE = 2 << 20

READ = """
import sys
from pathlib import Path
from kraftcheck.traces.formats import columns, detect, parquet  # detect imports them late
from kraftcheck.traces.history import HistoryError
def peak():
    # Not ru_maxrss, which begins with that of whoever started us.
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
before = peak()
try:
    detect.read(Path(sys.argv[1]))
    said = "read"
except HistoryError as error:
    said = str(error)
print(peak() - before, said)
"""


def edn(value: str, process: int = 0) -> str:
    return f"{{:process {process}, :type :invoke, :f :write, :value {value}}}\n"


def json(value: str, process: int = 0) -> str:
    return f'{{"process":{process},"type":"invoke","f":"write","value":{value}}}\n'


def in_many(form: Callable[[str, int], str], unit: str, between: str) -> str:
    """Operations with so much of it as may be in a value."""
    value = "[" + between.join([unit] * 200) + "]"
    return "".join(form(value, number) for number in range(SIZE // len(form(value, 0).encode())))


def in_one(form: Callable[[str, int], str], unit: str, between: str) -> str:
    return form("[" + between.join([unit] * (SIZE // len((unit + between).encode()))) + "]", 0)


FACE = '"\U0001f600"'
SHAPES = {
    "one string of JSON": lambda: json('"' + "a" * (7 * SIZE) + '"', 0),
    "a string of escapes": lambda: json('"' + '\\"' * (SIZE // 2), 0),
    "short operations in JSON": lambda: "".join(
        f'{{"process":{n},"type":"invoke","f":"read"}}\n' for n in range(SIZE // 42)
    ),
    "short operations in EDN": lambda: "".join(
        f"{{:process {n},:type :invoke,:f :read}}\n" for n in range(SIZE // 40)
    ),
    "short log lines": lambda: "".join(f"{n} :invoke :read nil\n" for n in range(SIZE // 24)),
    "blank lines": lambda: "\n" * SIZE + json("1", 0),
    "an array": lambda: "[" + "0," * SIZE + json("1", 0) + "]",
    "symbols": lambda: in_many(edn, "ab/cd", " "),
    "strings": lambda: in_one(json, '"ab"', ","),
    "wide strings": lambda: in_one(json, FACE, ","),
    "floats": lambda: in_one(json, "1.5", ","),
    "vectors": lambda: in_many(edn, "[12]", "  "),
    "sets": lambda: in_many(edn, "#{1}", " " * 12),
    "maps": lambda: in_one(json, '{"a":1}', "," + " " * 9),
    "tags": lambda: in_many(edn, "#a 1", " "),
}
REFUSED = {
    "one string of JSON": "token of 14,680,066 characters, at most 262,144 are read",
    "a string of escapes": "at most 262,144 are read",
    "blank lines": "empty",
    "an array": "in none of the formats",
}


@pytest.mark.parametrize("name", SHAPES)
def test_memory_is_a_multiple_of_the_file(name: str, tmp_path: Path, repo_root: Path) -> None:
    path = tmp_path / "history"
    path.write_text(SHAPES[name](), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)],
        cwd=repo_root,
        capture_output=True,
        text=True,
        check=True,
    )
    peak, _, said = done.stdout.strip().partition(" ")
    assert REFUSED.get(name, "read") in said
    assert int(peak) < MULTIPLE * path.stat().st_size, int(peak) / path.stat().st_size


def bomb(path: Path, rows: int, **columns: pa.Array) -> None:
    table = {
        "process": pa.array([0] * rows, pa.int64()),
        **dict.fromkeys(("type", "f"), pa.array(["ok"] * rows)),
        **columns,
    }
    options = {"compression": "zstd", "row_group_size": 1 << 30, "write_batch_size": 1 << 20}
    pq.write_table(pa.table(table), path, **options)


def columns_bomb(path: Path, **columns: pa.Array) -> None:
    rows = len(next(iter(columns.values())))
    ones = dict.fromkeys(COLUMNS_NEEDED, pa.array(range(rows), pa.int64()))
    words = dict.fromkeys(WORDS, pa.array(["ok"] * rows))
    pq.write_table(pa.table({**ones, **words, **columns}), path, compression="zstd")


LONG_TEXT = pa.array(["a" * 30_000_000])
BOMBS: dict[str, Callable[[Path], None]] = {
    "rows": lambda path: bomb(path, 4_000_000),
    "a long text": lambda path: bomb(path, 1, value=LONG_TEXT),
    "a text that is told often": lambda path: bomb(
        path, 3000, value=pa.array([f'"{"ab" * 50_000}"'] * 3000)
    ),
    "an error that is told often": lambda path: bomb(
        path, 3000, error=pa.array(["ab" * 50_000] * 3000)
    ),
    "a list of columns": lambda path: columns_bomb(path, offsets=pa.array([[0] * 5_000_000])),
    "a text of columns that is told often": lambda path: columns_bomb(
        path, mark=pa.array(["ab" * 50_000] * 3000)
    ),
    "texts in a list of columns": lambda path: columns_bomb(
        path, values=pa.array([["ab" * 50_000] * 3000])
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_parquet_packs_is_counted_before_it_is_unpacked(
    name: str, tmp_path: Path, repo_root: Path
) -> None:
    """Some thousand bytes, that would take hundreds of MB."""
    path = tmp_path / "history.parquet"
    BOMBS[name](path)
    assert path.stat().st_size < 150_000
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)],
        cwd=repo_root,
        capture_output=True,
        text=True,
        check=True,
    )
    peak, _, said = done.stdout.strip().partition(" ")
    assert "or more when they are unpacked: at most " in said
    assert int(peak) < 64 << 20, f"{int(peak):,} bytes"


DENSE = {
    "sets": (in_many, edn, "#{1}", " ", "maps and sets"),
    "empty sets": (in_many, edn, "#{}", " ", "maps and sets"),
    "maps": (in_one, json, "{}", ",", "maps and sets"),
    "vectors": (in_one, json, "[]", ",", "vectors"),
    "nested": (in_many, edn, "[[[[]]]]", " ", "vectors"),
    "lists": (in_many, edn, "(1)", " ", "vectors"),
}


@pytest.mark.parametrize("name", DENSE)
def test_a_file_of_brackets_is_refused(name: str, tmp_path: Path) -> None:
    make, form, unit, between, what = DENSE[name]
    path = tmp_path / "history"
    path.write_text(make(form, unit, between), encoding="utf-8")
    with pytest.raises(HistoryError, match=rf"[0-9,]+ {what} in .* at most one for \d+ is read"):
        detect.read(path)


WORD = '"' + "a" * 262_142 + '"'
LONG = " ".join([WORD] * (LINE_MAX >> 18))
LISTED = LONG.replace(" ", ",")
"""Of words that are read, one more than an operation may have."""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (json(f"[{LISTED}]"), ":1: line of 16,777,3"),
        (json("1") + "[" + json(f"[{LISTED}]", 1) + "]", ":2: line of 16,7"),
        ("[" + json(f"[{LISTED}]") + "]", ":1: operation of 16,777,3"),
        (edn("1") + edn("[" + LONG + "]", 1), ":2: operation of more than 16,777,216 char"),
        ("[" + edn("1") + edn("[" + LONG + "]", 1) + "]", ":2: operation of more than 16,777,21"),
        (f"0 :invoke :write 1\n1 :invoke :write [{LONG}]\n", ":2: line of 16,777,2"),
    ],
    ids=["json", "json 2", "json array", "edn", "edn vector", "log"],
)
def test_a_long_operation_is_refused(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(HistoryError) as caught:
        detect.read(path)
    assert said in str(caught.value) and len(str(caught.value)) < 300 + len(str(path))
