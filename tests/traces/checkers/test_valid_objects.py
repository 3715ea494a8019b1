"""Valid histories of objects hold, and with one change they do not, or no harm was done.

A smaller run of `python -m tests.traces.checkers.valid_objects`: that takes thousands for each row.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.traces.checkers.models import MODELS, KeyValue, Mutex
from kraftcheck.traces.checkers.verdict import HOLDS, VIOLATED
from kraftcheck.traces.formats import keys
from kraftcheck.traces.values import TRUE, Truth
from tests.traces.checkers import made_objects as made, valid_objects
from tests.traces.checkers.calls import call, numbered
from tests.traces.checkers.enumerate import linearization
from tests.traces.checkers.object_twins import TWINS, twin
from tests.traces.checkers.valid_objects import (
    CHANGED,
    FOUND,
    HARMLESS,
    MISSED,
    VALID,
    Counts,
    judge,
)

EACH = 8


def some(*kinds: str, count: int = 60) -> Counts:
    found: Counts = Counter()
    for kind in kinds:
        found += judge(kind, "none", 0, count)[0]
    return found


def said(found: Counts, what: str) -> int:
    return sum(n for key, n in found.items() if key[3] == what)


@pytest.mark.parametrize("kind", made.KINDS)
def test_nothing_is_wrong(kind: str) -> None:
    found: Counts = Counter()
    for faults in made.FAULTS:
        counts, wrong = judge(kind, faults, 0, EACH)
        assert not wrong
        found += counts
    assert said(found, HOLDS) == EACH * len(made.FAULTS)
    assert said(found, FOUND) and said(found, HARMLESS)


def test_every_model_of_objects_is_tried() -> None:
    elsewhere = {"multi-register", "multi-list"}
    assert set(TWINS) == set(MODELS) - elsewhere


def test_a_seed_is_a_history_and_a_change() -> None:
    one, again = (made.history("set", "all", 7, 20) for _ in range(2))
    assert one == again != made.history("set", "all", 8, 20)
    assert made.changed(one) == made.changed(again) is not None


def test_faults_are_what_they_are_called() -> None:
    outcomes = {
        faults: Counter(
            (each.outcome, each.completed is None)
            for seed in range(40)
            for each in made.history("register", faults, seed, 20).operations
        )
        for faults in made.FAULTS
    }
    assert set(outcomes["none"]) == {("ok", False)}
    assert set(outcomes["unknown"]) == {("ok", False), ("indeterminate", False)}
    assert set(outcomes["failed"]) == {("ok", False), ("fail", False)}
    assert set(outcomes["crashes"]) == {("ok", False), ("indeterminate", True)}
    assert len(outcomes["all"]) == 4


# -- The twins judge for themselves


@pytest.mark.parametrize(
    ("model", "calls", "holds"),
    [
        ("register", [call("write", 0, 1, 1), call("read", 2, 3, None, TRUE)], False),
        ("register", [call("write", 0, None, 1), call("read", 2, 3, None, 1)], True),
        ("cas-register", [call("cas", 0, 1, (None, 1), outcome="fail")], False),
        ("set", [call("add", 0, 1, 1), call("contains", 2, 3, 1, TRUE)], True),
        ("queue", [call("enqueue", 0, 1, 1), call("dequeue", 2, 3)], False),
        ("mutex", [call("acquire", 0, 1), call("acquire", 2, 3)], False),
    ],
)
def test_a_twin_has_an_opinion(model: str, calls: list[Any], holds: bool) -> None:
    assert (linearization(numbered(*calls), twin(model)) is not None) == holds


# -- What would be found


def test_values_that_python_takes_for_one_would_be_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Truth, "__eq__", lambda self, other: bool(self) == other)
    found = some("register", "set", "list-append", count=200)
    assert said(found, MISSED)


def test_keys_that_are_merged_would_be_false_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "name", lambda value: str(value).removeprefix(":")[:200])
    assert said(some("register", "kv"), VIOLATED)


def test_a_model_that_refuses_too_much_would_be_a_false_alarm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Mutex, "initial", lambda self: True)
    found = some("mutex")
    assert said(found, VIOLATED) and said(found, valid_objects.FALSE)


def test_a_model_that_takes_anything_would_miss_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KeyValue, "step", lambda self, state, operation: state)
    assert said(some("kv"), MISSED)


def test_a_wrong_history_ends_in_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def tallied(number: int, seed: int) -> tuple[Counts, list[str]]:
        return Counter({("valid", "kv", "all", VIOLATED): number}), [f"violated: seed {seed}"]

    monkeypatch.setattr(valid_objects, "tallied", tallied)
    with pytest.raises(SystemExit) as ended:
        valid_objects.main(["3", "--seed", "5", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert ended.value.code == 1 and told["wrong"] == ["violated: seed 5"]
    (row,) = (each for each in told["rows"] if each["model"] == "kv" and each["faults"] == "all")
    assert row["valid"] == dict.fromkeys(VALID, 0) | {VIOLATED: 3}
    assert row["changed"] == dict.fromkeys(CHANGED, 0) and row["level"] == "linearizable"


def test_a_history_goes_through_files(tmp_path: Path) -> None:
    history = made.history("counter", "none", 3, 20)
    formats = [valid_objects.through_a_file(history, tmp_path, seed).format for seed in range(3)]
    assert formats == ["jepsen", "jsonlines", "made"]
