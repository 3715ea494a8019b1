"""What is written can be read again, and means the same."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from kraftcheck.traces.formats import detect, jepsen, jsonlines
from kraftcheck.traces.formats.edn import Keyword
from kraftcheck.traces.history import OK, History, HistoryError, Operation
from kraftcheck.traces.values import FALSE, TRUE, Map, Real, name
from tests.traces.checkers.calls import whole
from tests.traces.formats.builders import histories
from tests.traces.test_values import APART

MODELS = ("cas-register", "kv", "set", "counter", "queue", "list-append", "rw", "partition-log")
GOLDEN = Path(__file__).parents[2] / "conformance" / "golden"


def bare(history: History, *, annotations: bool = True) -> tuple[object, ...]:
    """What a history means: not from where it came, nor which number stands for which moment."""
    moments = [o.invoked for o in history.operations]
    moments += [o.completed for o in history.operations if o.completed is not None]
    rank = {time: at for at, time in enumerate(sorted(set(moments)))}
    return history.model, tuple(
        (
            o.process,
            o.f,
            o.key,
            o.argument,
            o.result,
            o.end,
            o.txn,
            o.to,
            o.isolation,
            rank[o.invoked],
            o.group,
            None if o.completed is None else rank[o.completed],
            o.outcome,
            o.error,
        )
        for o in history.operations
    )


@pytest.mark.parametrize("format", [jepsen, jsonlines], ids=lambda module: module.NAME)
@pytest.mark.parametrize("model", MODELS)
@given(data=st.data())
def test_what_is_written_is_read(
    model: str, format: ModuleType, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    history = data.draw(histories(model))
    path = tmp_path_factory.getbasetemp() / f"{model}.{format.NAME}"
    path.write_text("".join(format.write(history)), encoding="utf-8")
    assert detect.detect(path) == format.NAME
    again = detect.read(path)
    assert bare(again) == bare(history)


def written(values: Iterable[Any], keys: Iterable[Any] = (None,)) -> History:
    """Each value is written under each key."""
    operations = [
        Operation(
            index=at,
            process=at,
            group=at,
            f="write",
            key=None if key is None else name(key),
            argument=value,
            invoked=2 * at,
            completed=2 * at + 1,
            outcome=OK,
        )
        for at, (key, value) in enumerate(product(keys, values))
    ]
    return whole(operations, time_unit="us", model="register")


def reread(history: History, format: ModuleType, folder: Path) -> list[tuple[str | None, Any]]:
    path = folder / "history"
    path.write_text("".join(format.write(history)), encoding="utf-8")
    return [(each.key, each.argument) for each in detect.read(path).operations]


def test_edn_says_every_value_and_every_key(tmp_path: Path) -> None:
    """A value that is a pair would look like a key and its value."""
    values = [each for each in APART if type(each) is not tuple]
    assert reread(written(values), jepsen, tmp_path) == [(None, value) for value in values]
    keys = [each for each in APART if each is not None]
    told = [(name(key), value) for key, value in product(keys, (1, TRUE))]
    assert reread(written((1, TRUE), keys), jepsen, tmp_path) == told


def test_an_element_that_begins_with_its_key_is_an_element(tmp_path: Path) -> None:
    """Of registers, such a pair would be a key and its value."""
    history = replace(written([(1, 2)], [1]), model="set")
    added = replace(history, operations=tuple(replace(e, f="add") for e in history.operations))
    assert reread(added, jepsen, tmp_path) == [("1", (1, 2))]


def test_json_says_what_it_can(tmp_path: Path) -> None:
    values = [None, TRUE, FALSE, 0, 1, Real(0.5), "", "1", "a", "true", Real(1e300)]
    told = [(name(key), value) for key, value in product(values[1:], values)]
    assert reread(written(values, values[1:]), jsonlines, tmp_path) == told


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Keyword(":a"), ":a"),
        (Real(1.0), 1),
        ((Real(2.0),), frozenset({2})),
        (Map(frozenset({(1, 2)})), Map(frozenset({("1", 2)}))),
    ],
)
def test_json_that_would_make_one_value_of_two_is_not_written(one: Any, other: Any) -> None:
    """Of two that JSON can tell apart, either may be there."""
    assert list(jsonlines.write(written([one]))) and list(jsonlines.write(written([other])))
    for values in ([one, other], [other, one]):
        with pytest.raises(HistoryError, match=r"^made: .* would be one value in JSON: convert"):
            list(jsonlines.write(written(values)))
    assert list(jepsen.write(written([one, other])))


def test_json_has_no_word_for_what_is_not_a_number() -> None:
    with pytest.raises(HistoryError, match="##NaN and nil would be one value in JSON"):
        list(jsonlines.write(written([Real("nan")])))


def test_json_that_would_make_one_log_of_two_is_not_written() -> None:
    keys = written([1], [1, "1"])
    assert list(jsonlines.write(keys))
    with pytest.raises(HistoryError, match='1 and "1" would be one value in JSON'):
        list(jsonlines.write(replace(keys, model="partition-log")))
