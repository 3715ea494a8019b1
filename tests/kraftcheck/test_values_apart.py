"""`check` on histories by hand in which two values, or two keys, are nearly one.

Python takes True for 1 and 1.0 for 1, and a keyword may look like a string. Values that are taken
for each other let a wrong answer pass; keys that are refuse a right one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kraftcheck.cli import cli

Call = tuple[str, ...]
"""f, what was asked, what was told, and for some the field `key`."""


def judged(folder: Path, text: str) -> Result:
    path = folder / "history"
    path.write_text(text, encoding="utf-8")
    result = CliRunner().invoke(cli, ["check", "--quiet", str(path)])
    assert "Traceback" not in result.output
    return result


def check(folder: Path, text: str) -> int:
    return judged(folder, text).exit_code


def said(folder: Path, text: str) -> str:
    return judged(folder, text).stdout.replace(str(folder), "")


def edn(*calls: Call) -> str:
    """Calls one after the other, each of a process of its own."""
    lines = []
    for process, (f, asked, told, *key) in enumerate(calls):
        more = f", :key {key[0]}" if key else ""
        for kind, value in (("invoke", asked), ("ok", told)):
            lines.append(f"{{:process {process}, :type :{kind}, :f :{f}, :value {value}{more}}}\n")
    return "".join(lines)


def json(*calls: Call) -> str:
    lines = []
    for process, (f, asked, told, *key) in enumerate(calls):
        more = f', "key": {key[0]}' if key else ""
        for kind, value in (("invoke", asked), ("ok", told)):
            head = f'"process": {process}, "type": "{kind}", "f": "{f}"'
            lines.append(f'{{{head}, "value": {value}{more}}}\n')
    return "".join(lines)


def log_lines(*calls: Call) -> str:
    return "".join(
        f"INFO  jepsen.util - {process}\t:{kind}\t:{f}\t{value}\n"
        for process, (f, asked, told) in enumerate(calls)
        for kind, value in (("invoke", asked), ("ok", told))
    )


def wrote(value: str, verb: str = "write") -> Call:
    return verb, value, value


def read(value: str, verb: str = "read") -> Call:
    return verb, "null", value


def saw(value: str, verb: str = "read") -> Call:
    return verb, "nil", value


HOLDS, VIOLATED, BAD = 0, 1, 3
VALUES = {
    "true for 1": (json(wrote("1"), read("true")), VIOLATED),
    "0 for false": (json(wrote("false"), read("0")), VIOLATED),
    "true for true": (json(wrote("true"), read("true")), HOLDS),
    "true for 1 in EDN": (edn(wrote("1"), saw("true")), VIOLATED),
    "true for 1 in log lines": (log_lines(wrote("1"), saw("true")), VIOLATED),
    "within a list": (json(wrote("[1, [0]]"), read("[1, [false]]")), VIOLATED),
    "1.0 for 1 in EDN": (edn(wrote("1"), saw("1.0")), VIOLATED),
    "1.0 for 1 in JSON": (json(wrote("1"), read("1.0")), HOLDS),
    "1.5 for 1.5": (edn(wrote("1.5"), saw("1.5")), HOLDS),
    "not a number for itself": (edn(wrote("##NaN"), wrote("##NaN"), saw("##NaN")), HOLDS),
    "a string for a keyword": (edn(wrote(":a"), saw('":a"')), VIOLATED),
    "a string for a symbol": (edn(wrote("a"), saw('"a"')), VIOLATED),
    "a string for a character": (edn(wrote("\\a"), saw('"a"')), VIOLATED),
    "a set of pairs for a map": (edn(wrote("{1 2}"), saw("#{[1 2]}")), VIOLATED),
    "a map in another order": (edn(wrote("#{{1 2 3 4}}"), saw("#{{3 4 1 2}}")), HOLDS),
    "a set of both": (edn(wrote("#{1 true}"), saw("#{true 1}")), HOLDS),
    "an answer of another kind": (json(("write", "1", "true")), BAD),
    "compare-and-set": (json(wrote("1"), wrote("[true, 2]", "cas")), VIOLATED),
    "an element": (json(wrote("1", "add"), read("[true]")), VIOLATED),
    "one of two elements": (edn(wrote("1", "add"), wrote("true", "add"), saw("[1]")), VIOLATED),
    "an element that is a map": (edn(wrote("{1 2}", "add"), saw("#{{1 2}}")), HOLDS),
    "1 for whether it is there": (json(wrote("1", "add"), ("contains", "1", "1")), VIOLATED),
    "whether it is there": (json(wrote("1", "add"), ("contains", "1", "true")), HOLDS),
    "out of a queue": (json(wrote("1", "enqueue"), read("true", "dequeue")), VIOLATED),
    "nothing in a queue": (json(wrote("null", "enqueue"), read("null", "dequeue")), BAD),
    "a count of 1.0": (edn(wrote("1", "add"), saw("1.0"), saw("1")), HOLDS),
    "a count of 1.5": (edn(wrote("1.5", "add"), saw("1.5")), HOLDS),
    "a count of true": (edn(wrote("1", "add"), saw("1"), saw("true")), VIOLATED),
    "in a list of a transaction": (
        edn(wrote("[[:append 0 1]]", "txn"), ("txn", "[[:r 0 nil]]", "[[:r 0 [true]]]")),
        VIOLATED,
    ),
    "in a register of a transaction": (
        json(wrote('[["w", 0, 1]]', "txn"), ("txn", '[["r", 0, null]]', '[["r", 0, true]]')),
        VIOLATED,
    ),
    "a transaction's other key": (json(("txn", '[["w", 1, 1]]', '[["w", true, 1]]')), BAD),
    "in a record": (
        json(
            ("send", '[["send", "k", [1]]]', '[["send", "k", [0, [1]]]]'),
            ("poll", '[["poll"]]', '[["poll", {"k": [[0, [true]]]}]]'),
        ),
        VIOLATED,
    ),
}


@pytest.mark.parametrize("case", VALUES)
def test_a_value_is_not_taken_for_another(case: str, tmp_path: Path) -> None:
    text, code = VALUES[case]
    assert check(tmp_path, text) == code


# -- Keys

LONG = "k" * 300
PAIRS = (
    ("1", '"1"'),
    (":a", '"a"'),
    (":a", '":a"'),
    ("a", '"a"'),
    ("true", "1"),
    ("true", '"true"'),
    ("1.0", "1"),
    ("[1]", '"[1]"'),
    ("{1 2}", "#{[1 2]}"),
    (f'"{LONG}x"', f'"{LONG}y"'),
    (f'["{LONG}" 1]', f'["{LONG}" 2]'),
)
OBJECTS: dict[str, Callable[[str, str], tuple[Call, Call]]] = {
    "kv": lambda k, v: (("put", v, v, k), ("get", "nil", v, k)),
    "independent": lambda k, v: (
        wrote(f"[{k} {v}]"),
        ("read", f"[{k} nil]", f"[{k} {v}]"),
    ),
    "registers": lambda k, v: (
        wrote(f"[[:w {k} {v}]]", "txn"),
        ("txn", f"[[:r {k} nil]]", f"[[:r {k} {v}]]"),
    ),
    "lists": lambda k, v: (
        wrote(f"[[:append {k} {v}]]", "txn"),
        ("txn", f"[[:r {k} nil]]", f"[[:r {k} [{v}]]]"),
    ),
    "logs": lambda k, v: (
        ("send", f"[[:send {k} {v}]]", f"[[:send {k} [0 {v}]]]"),
        ("poll", "[[:poll]]", f"[[:poll {{{k} [[0 {v}]]}}]]"),
    ),
}
"""A write of a value under a key, and the read that sees it."""


def crossed(kind: str, keys: tuple[str, str]) -> tuple[Call, ...]:
    """Both keys are written, then both are read: one key would have two values."""
    calls = [OBJECTS[kind](key, value) for key, value in zip(keys, ('"x"', '"y"'), strict=True)]
    return calls[0][0], calls[1][0], calls[0][1], calls[1][1]


@pytest.mark.parametrize("kind", OBJECTS)
@pytest.mark.parametrize("keys", PAIRS, ids=lambda keys: keys[0][:9])
def test_two_keys_are_two_objects(kind: str, keys: tuple[str, str], tmp_path: Path) -> None:
    assert check(tmp_path, edn(*crossed(kind, keys))) == HOLDS
    assert check(tmp_path, edn(*crossed(kind, (keys[0], keys[0])))) == VIOLATED


def test_what_is_nearly_one_is_told_apart(tmp_path: Path) -> None:
    """Values in the evidence, and keys of which only the beginning would be shown."""
    sends = (("send", f"[[:send 7 {v}]]", f"[[:send 7 [0 {v}]]]") for v in ("1", '"1"'))
    assert 'offset 0 has the values 1 and "1"' in said(tmp_path, edn(*sends))
    lines = {
        said(tmp_path, edn(*crossed("kv", (key, key)))) for key in PAIRS[-2] if key.startswith('"')
    }
    assert len(lines) == 2 and all(len(line) < 500 for line in lines)


@pytest.mark.parametrize("keys", PAIRS, ids=lambda keys: keys[0][:9])
def test_two_locks_are_two(keys: tuple[str, str], tmp_path: Path) -> None:
    one, other = (("acquire", "nil", "nil", key) for key in keys)
    assert check(tmp_path, edn(one, other)) == HOLDS
    assert check(tmp_path, edn(one, one)) == VIOLATED


@pytest.mark.parametrize("kind", ["kv", "independent", "registers", "lists"])
@pytest.mark.parametrize("keys", [("1", '"1"'), ("true", "1"), ("[1]", '"[1]"')])
def test_two_keys_of_json_are_two_objects(kind: str, keys: tuple[str, str], tmp_path: Path) -> None:
    def as_json(text: str) -> str:
        for word in (":w", ":r", ":append"):
            text = text.replace(word, f'"{word[1:]}"')
        return text.replace("nil", "null").replace(" ", ", ")

    calls = [(f, *map(as_json, said)) for f, *said in crossed(kind, keys)]
    assert check(tmp_path, json(*calls)) == HOLDS


@pytest.mark.parametrize(
    ("keys", "seen", "code"),
    [
        (("1",), "7", HOLDS),
        (('"1"',), "7", HOLDS),
        (("1",), "8", VIOLATED),
        (('"1"',), "8", VIOLATED),
        (("1", '"1"'), "7", BAD),
    ],
)
def test_a_map_of_json_says_its_key_as_the_file_does(
    keys: tuple[str, ...], seen: str, code: int, tmp_path: Path
) -> None:
    sends = [("send", f'[["send", {k}, 7]]', f'[["send", {k}, [0, 7]]]') for k in keys]
    poll = ("poll", '[["poll"]]', f'[["poll", {{"1": [[0, {seen}]]}}]]')
    assert check(tmp_path, json(*sends, poll)) == code
