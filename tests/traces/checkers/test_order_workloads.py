"""Jepsen's workloads about the order of writes: causal, causal-reverse (comments), sequential."""

from __future__ import annotations

import ast
import json
import random
from itertools import combinations, product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kraftcheck import check
from kraftcheck.traces.checkers.properties import judge
from kraftcheck.traces.formats import detect, jepsen, jsonlines
from tests.traces.checkers.calls import call, history

DRAWN = 2_000


def recorded(*words: str) -> list[dict[str, Any]]:
    """`0w 1`: process 0 invokes a write of 1; `0W 1`: that is answered; r and i are reads."""
    names = {"r": "read", "w": "write", "i": "read-init"}
    events = []
    for word in words:
        head, _, value = word.partition(" ")
        kind = "ok" if head[1].isupper() else "invoke"
        f = names[head[1].lower()]
        events.append(
            {"process": int(head[0]), "type": kind, "f": f, "value": ast.literal_eval(value)}
        )
    return events


def verdict(*words: str, **options: Any) -> tuple[str, str | None]:
    found = check(recorded(*words), **options)
    return found.verdict, found.documents[0]["model"]


# -- causal: of each key, a client reads 0, writes 1, reads, writes 2, reads


def causal(*answers: int | None) -> list[str]:
    """What the client is answered by its three reads."""
    words = []
    for verb, asked, answer in zip("iwrwr", (None, 1, None, 2, None), "a1b2c", strict=True):
        told = answers["abc".index(answer)] if answer in "abc" else asked
        words += [f"0{verb} [7, {asked}]", f"0{verb.upper()} [7, {told}]"]
    return words


def _steps(answers: tuple[int | None, ...]) -> bool:
    """A register that begins with 0, one step after the other; nil is what nobody wrote."""
    return tuple(each or 0 for each in answers) == (0, 1, 2)


@pytest.mark.parametrize("consistency", [None, "causal"])
def test_causal_registers_are_judged_by_their_steps(consistency: str | None) -> None:
    verdicts = set()
    for answers in product((None, 0, 1, 2), repeat=3):
        found = verdict(*causal(*answers), level=consistency)
        assert found == ("holds" if _steps(answers) else "violated", "register"), answers
        verdicts.add(found[0])
    assert verdicts == {"holds", "violated"}


def test_a_causal_write_without_an_answer_may_be_seen_or_not() -> None:
    begun = ["0i [7, None]", "0I [7, 0]", "0w [7, 1]", "1r [7, None]"]
    assert verdict(*begun, "1R [7, 1]")[0] == verdict(*begun, "1R [7, 0]")[0] == "holds"
    assert verdict(*begun, "1R [7, 2]")[0] == "violated"


# -- causal-reverse: reads of all that was written

CAUSAL_REVERSE = [
    # jepsen.tests.causal-reverse-test, as facts
    (["0w 1", "0W 1", "0w 2", "0W 2", "0r None", "0R [1, 2]"], "holds"),
    (["0w 1", "0W 1", "0w 2", "0W 2", "0r None", "0R [1]"], "holds"),
    (["0w 1", "0W 1", "0w 2", "0W 2", "0r None", "0R [2]"], "violated"),
    (["0w 2", "1w 1", "1W 1", "1r None", "0W 2", "1R [1, 2]"], "holds"),
    (["0w 1", "1w 2", "0W 1", "0r None", "1W 2", "0R [2, 1]"], "holds"),
]


@pytest.mark.parametrize("key", [None, 7])
@pytest.mark.parametrize(("words", "expected"), CAUSAL_REVERSE)
def test_a_case_of_causal_reverse(words: list[str], expected: str, key: int | None) -> None:
    events = recorded(*words)
    for each in events if key is not None else ():
        each["value"] = [key, each["value"]]
    found = check(events)
    assert (found.verdict, found.documents[0]["model"]) == (expected, "comments")


def test_an_unwritten_element_is_of_a_register() -> None:
    assert verdict("0w 1", "0W 1", "0r None", "0R [3]") == ("violated", "register")


# -- sequential: a client inserts subkeys in order, a read looks for the last one first


def _explained(count: int) -> set[tuple[bool, ...]]:
    """What reads can find, in any order of the inserts and the reads."""
    found = set()
    for places in combinations(range(2 * count), count):
        inserted = 0
        answers: list[bool] = []
        for at in range(2 * count):
            if at in places:
                inserted += 1
            else:
                answers.append(count - 1 - len(answers) < inserted)
        found.add(tuple(answers))
    return found


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_reads_of_subkeys_are_judged_by_some_order_of_the_inserts(count: int) -> None:
    explained = _explained(count)
    for answers in product((False, True), repeat=count):
        subkeys = [f"7_{count - 1 - at}" if each else None for at, each in enumerate(answers)]
        found = verdict("0w 7", "1r 7", f"1R [7, {subkeys}]", "0W 7")
        wanted = "violated" if answers not in explained else "holds" if any(answers) else "unknown"
        assert found == (wanted, "sequential"), answers


def test_a_histories_verdict_is_that_of_its_worst_read() -> None:
    for seed in range(DRAWN):
        dice = random.Random(seed)
        reads = [tuple(dice.choice((None, "s")) for _ in range(3)) for _ in range(3)]
        calls = [call("read", 9, 10, None, (7, each)) for each in reads]
        found = judge(history(call("write", 0, 1, 7), *calls), "sequential")
        broken = [each for each in reads if tuple(map(bool, each)) not in _explained(3)]
        assert (found.verdict == "violated") == bool(broken)
        assert sum(each.count for each in found.anomalies) == len(broken)


# -- All of them


@pytest.mark.parametrize(
    "words",
    [causal(0, 1, 1), CAUSAL_REVERSE[2][0], ["0w 7", "1r 7", "1R [7, ['b', None]]", "0W 7"]],
)
@pytest.mark.parametrize("form", [jsonlines, jepsen])
def test_an_export_is_the_same_history(words: list[str], form: ModuleType, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("\n".join(json.dumps(each) for each in recorded(*words)), encoding="utf-8")
    second.write_text("".join(form.write(detect.read(first))), encoding="utf-8")
    assert [facts(path) for path in (first, second)] == [facts(first)] * 2
    assert check(first).verdict == "violated"


def facts(path: Path) -> list[Any]:
    found = detect.read(path)
    told = [(each.f, each.key, each.argument, each.result) for each in found.operations]
    return [found.model, found.initial, told]
