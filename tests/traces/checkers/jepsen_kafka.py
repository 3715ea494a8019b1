"""What Jepsen's own tests of its Kafka workload expect, as data: facts, in a notation of ours.

Source: jepsen/test/jepsen/tests/kafka_test.clj (jepsen-io/jepsen at c4c7473d, EPL-1.0). A case is a
list of completions `PROCESS TYPE VERB VALUE`; an invocation asks for the same without what only an
answer knows. Sends of the values that polls need are written as one send without offsets.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple


class Case(NamedTuple):
    """A history, the anomalies that Jepsen finds in it, and why ours differ, where they do.

    extra: those that are found here as well.
    """

    lines: str
    found: frozenset[str] = frozenset()
    extra: frozenset[str] = frozenset()
    why: str = ""


def _case(lines: str, *found: str, extra: str = "", why: str = "") -> Case:
    return Case(lines, frozenset(found), frozenset(extra.split()), why)


_ABCD: Final = "9 ok send [:send :x :a] [:send :x :b] [:send :x :c] [:send :x :d]\n"
_SIX: Final = """
9 ok send [:send :x [0 0]] [:send :x [1 1]] [:send :x [2 2]] [:send :x [3 3]] [:send :x [4 4]] \
[:send :x [5 5]]
1 ok poll [:poll {:x [[0 0]]}]
"""
_ONE: Final = "Jepsen's test asks for one name only"
CASES: Final[dict[str, Case]] = {
    "two acknowledged at one offset": _case(
        "0 ok send [:send 11 [537 641]]\n1 ok send [:send 11 [537 645]]",
        "inconsistent-offsets",
    ),
    "an unanswered send that nobody saw": _case(
        "0 info send [:send :x [0 1]] [:send :y 1]\n1 ok send [:send :x [0 2]]",
    ),
    "an unanswered send of which something was seen": _case(
        "0 info send [:send :x [0 1]] [:send :y 1]\n1 ok send [:send :x [0 2]]\n"
        "2 ok poll [:poll {:y [[5 1]]}]",
        "inconsistent-offsets",
    ),
    "an aborted read": _case(
        "0 fail send [:send :x 2] [:send :y 3]\n1 ok poll [:poll {:x [[0 2]]}]",
        "G1a",
    ),
    "two lost before one that was read": _case(
        "0 ok send [:send :x [0 :a]]\n0 ok send [:send :x [1 :b]] [:send :x [3 :d]]\n"
        "1 info send [:send :x :c]\n2 ok poll [:poll {:x [[2 :c]]}]",
        "lost-write",
        extra="int-send-skip",
        why=_ONE,
    ),
    "overwritten and lost": _case(
        "0 ok send [:send :x [0 :a]]\n1 ok send [:send :x [0 :b]] [:send :x [2 :c]]\n"
        "2 ok poll [:poll {:x [[0 :b] [2 :c]]}]",
        "lost-write",
        extra="inconsistent-offsets",
        why=_ONE,
    ),
    "half of a transaction is lost": _case(
        "0 info send [:send :x :a] [:send :y [0 :b]]\n1 info send [:send :y :c]\n"
        "2 ok poll [:poll {:x [[0 :a]]}]\n3 ok poll [:poll {:y [[1 :c]]}]",
        "lost-write",
    ),
    "half of a transaction that need not have been": _case(
        "0 info send [:send :x :a] [:send :y [0 :b]]\n1 info send [:send :y :c]\n"
        "3 ok poll [:poll {:y [[1 :c]]}]",
    ),
    "a poll skips what others saw": _case(
        "9 info send [:send :x :a] [:send :x :b] [:send :x :c] [:send :x :d] [:send :x :g]\n"
        "0 ok poll [:poll {:x [[1 :a] [2 :b]]}]\n1 ok poll [:poll {:x [[3 :c]]}]\n"
        "0 ok poll [:poll {:x [[4 :d]]}]\n2 ok send [:send :x [6 :f]]\n"
        "0 ok poll [:poll {:x [[7 :g]]}]",
        "poll-skip",
        extra="lost-write int-send-skip",
        why=_ONE,
    ),
    "an aborted poll begins again": _case(
        _SIX + "1 fail poll [:poll {:x [[1 1] [2 2]]}]\n1 ok poll [:poll {:x [[1 1] [2 2]]}]\n"
        "1 ok poll [:poll {:x [[3 3] [4 4] [5 5]]}]",
    ),
    "a poll after an aborted one does not": _case(
        _SIX + "1 fail poll [:poll {:x [[1 1] [2 2]]}]\n1 ok poll [:poll {:x [[5 5]]}]",
        "poll-skip",
        extra="lost-write",
        why=_ONE,
    ),
    "a poll goes back": _case(
        _ABCD + "0 ok poll [:poll {:x [[1 :a] [2 :b] [3 :c]]}]\n"
        "0 ok poll [:poll {:x [[2 :b] [3 :c] [4 :d]]}]",
        "nonmonotonic-poll",
    ),
    "a poll goes back after another assignment": _case(
        _ABCD + "0 ok poll [:poll {:x [[1 :a] [2 :b] [3 :c]]}]\n0 ok assign :y\n0 ok assign :x\n"
        "0 ok poll [:poll {:x [[2 :b] [3 :c] [4 :d]]}]",
    ),
    "a poll goes back and the partition stayed": _case(
        _ABCD + "0 ok poll [:poll {:x [[1 :a] [2 :b] [3 :c]]}]\n0 ok assign :x :y\n"
        "0 ok poll [:poll {:x [[2 :b] [3 :c] [4 :d]]}]",
        "nonmonotonic-poll",
    ),
    "a send before an earlier one": _case(
        "0 ok send [:send :x [3 :c]] [:send :x [4 :d]]\n"
        "0 ok send [:send :x [1 :a]] [:send :x [2 :b]]",
        "nonmonotonic-send",
    ),
    "one poll skips": _case(
        "1 info send [:send :x :a] [:send :x :b] [:send :x :d]\n"
        "0 ok poll [:poll {:x [[1 :a] [4 :d]]}]\n2 ok poll [:poll {:x [[2 :b]]}]",
        "int-poll-skip",
    ),
    "one operation's polls skip": _case(
        "1 info send [:send :x :a] [:send :x :b] [:send :x :d]\n"
        "0 ok poll [:poll {:x [[1 :a]]}] [:poll {:x [[4 :d]]}]\n2 ok poll [:poll {:x [[2 :b]]}]",
        "int-poll-skip",
    ),
    "sends of an operation with another between": _case(
        "0 ok send [:send :x [1 :a]] [:send :x :c]\n1 info send [:send :x :b]\n"
        "2 ok poll [:poll {:x [[1 :a] [2 :b] [3 :c]]}]",
        "int-send-skip",
    ),
    "one poll goes back": _case(
        "1 info send [:send :x :a] [:send :x :b] [:send :x :c]\n"
        "0 ok poll [:poll {:x [[3 :c] [1 :a]]}]",
        "int-nonmonotonic-poll",
    ),
    "sends of an operation out of order": _case(
        "0 ok send [:send :x [3 :c]] [:send :x [1 :a]]",
        "int-nonmonotonic-send",
    ),
    "sends that a poll shows out of order": _case(
        "0 info send [:send :y :d] [:send :y :b]\n1 info send [:send :y :c]\n"
        "2 ok poll [:poll {:y [[2 :b] [3 :c] [4 :d]]}]",
        "int-nonmonotonic-send",
    ),
    "one value at two offsets": _case(
        "0 ok send [:send :x [1 :a]]\n1 info send [:send :x :b]\n"
        "2 ok poll [:poll {:x [[2 :b] [3 :a]]}]",
        "duplicate",
    ),
    "a failed poll shows a duplicate": _case(
        "0 ok send [:send :x [1 0]]\n0 fail send [:send :x [2 1]]\n"
        "1 fail poll [:poll {:x [[11 0] [12 1]]}]",
        "duplicate",
    ),
    "polls without an answer": _case("0 ok send [:send :x [0 :a]]\n1 ok poll [:poll]"),
    "a read of what one has not committed": _case(
        "0 ok txn [:send :x [0 :a]] [:poll {:x [[0 :a]]}]",
        "precommitted-read",
    ),
    "transactions that read each other": _case(
        "0> txn [:send :x :a] [:poll]\n1> txn [:send :y :b] [:poll]\n"
        "0< ok txn [:send :x [0 :a]] [:poll {:y [[0 :b]]}]\n"
        "1< ok txn [:send :y [0 :b]] [:poll {:x [[0 :a]]}]",
        "G1c",
    ),
    "all is well": _case(
        "0 ok send [:send :x [0 :a]] [:send :x [1 :b]]\n1 ok poll [:poll {:x [[0 :a]]}]\n"
        "1 ok poll [:poll {:x [[1 :b]]}]",
    ),
}

_LINE: Final = re.compile(r"(\d+)([<>]?) (?:(ok|fail|info) )?(\w+) (.*)")


def written(case: Case, path: Path) -> Path:
    """The case as a file of Jepsen's."""
    lines = []
    for line in filter(None, case.lines.split("\n")):
        match = _LINE.fullmatch(line)
        assert match is not None, line
        process, at, kind, f, value = match.groups()
        head = f"{{:process {process} :f :{f} :value "
        asked = re.sub(r"\[:poll \{[^}]*\}\]", "[:poll]", value)
        asked = re.sub(r"\[(:send \S+) \[\d+ ([^\]]+)\]\]", r"[\1 \2]", asked)
        lines += [f"{head}[{asked}] :type :invoke}}"] * (at != "<")
        lines += [f"{head}[{value}] :type :{kind}}}"] * (at != ">")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
