"""What models say, and that what they say of themselves to make the search faster is true."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from kraftcheck.traces.checkers.models import MODELS, CasRegister, model_named
from kraftcheck.traces.checkers.sequential import REFUSED, Effect, Model
from kraftcheck.traces.history import FAIL, INDETERMINATE, Operation
from tests.traces.checkers.calls import call

VALUES = (None, 0, 1)
TEXTS = ("", "a", "ab")
LISTS = ((), (0,), (0, 1), (1,))


def operations(name: str, model: Model | None = None) -> list[Operation]:
    """Every operation of a model over a few values."""
    bases: dict[str, list[dict[str, Any]]] = {
        "read": [{"result": value} for value in VALUES],
        "write": [{"argument": value} for value in VALUES],
        "cas": [{"argument": pair} for pair in product(VALUES, VALUES)],
        "get": [{"result": text} for text in (*TEXTS, None)],
        "put": [{"argument": text} for text in TEXTS],
        "append": [{"argument": text} for text in TEXTS],
        "contains": [{"argument": 0, "result": there} for there in (True, False)],
        "dequeue": [{"result": value} for value in VALUES],
    }
    empty = () if name == "multi-list" else None
    values = ((), (0,)) if name == "multi-list" else (0, 1)
    write = "append" if name == "multi-list" else "write"
    bases["txn"] = [{"argument": (("read", "x", each),)} for each in (empty, *values)]
    bases["txn"] += [
        {"argument": (("read", "y", each), (write, "x", 0))} for each in (empty, *values)
    ]
    bases["txn"] += [{"argument": ((write, "x", 1), (write, "y", 0))}]
    if name in ("set", "list-append"):
        bases["read"] = [{"result": each} for each in LISTS]
    if name == "list-append":
        bases["append"] = [{"argument": value} for value in (0, 1)]
    plain = [{"argument": value} for value in (0, 1)]
    found = []
    for verb in MODELS[name]().verbs:
        for base in bases.get(verb, plain):
            found += [call(verb, 0, end, **base) for end in (1, None)]
            found.append(call(verb, 0, 1, **base, outcome=FAIL))
    model = model or MODELS[name]()
    return [each for each in found if model.judges(each)]


def states(model: Model, known: list[Operation], depth: int = 3) -> list[Any]:
    """What can be reached in a few steps."""
    found: dict[Any, None] = {model.initial(): None}
    for _ in range(depth):
        for state, operation in product(list(found), known):
            after = model.step(state, operation)
            if after is not REFUSED and len(found) < 60:
                found.setdefault(after)
    return list(found)


def variants() -> Iterator[tuple[str, Model, list[Operation]]]:
    """Every model, and what it becomes for some of its operations."""
    compared = CasRegister(compared=True)
    yield compared.name, compared, operations(compared.name, compared)
    for name in MODELS:
        known = operations(name)
        yield name, model_named(name), known
        some = random.Random(name).sample(known, min(8, len(known)))
        yield name, model_named(name).narrowed(some), some
        yield name, model_named(name).foreseeing(some), some


@pytest.mark.parametrize(("name", "model", "known"), list(variants()))
def test_effects_are_as_declared(name: str, model: Model, known: list[Operation]) -> None:
    reached = states(model, known)
    for operation in known:
        after = [model.step(state, operation) for state in reached]
        effect = model.effect(operation)
        if effect is Effect.READ:
            assert all(new in (REFUSED, old) for old, new in zip(reached, after, strict=True))
        if effect in (Effect.TOTAL, Effect.OVERWRITE):
            assert REFUSED not in after
        if effect is Effect.OVERWRITE:
            assert len(set(after)) == 1


@pytest.mark.parametrize(("name", "model", "known"), list(variants()))
def test_what_cannot_lead_does_not(name: str, model: Model, known: list[Operation]) -> None:
    """If a step that is no overwrite leads to where an operation could be led to, so could it."""
    steps = [each for each in known if model.effect(each) is not Effect.OVERWRITE]
    for state, aim in product(states(model, known, 2), known):
        if model.effect(aim) is not Effect.READ:
            continue
        nexts = [model.step(state, each) for each in steps]
        good = model.step(state, aim) is not REFUSED
        good = good or any(new is not REFUSED and model.can_lead(new, aim) for new in nexts)
        assert model.can_lead(state, aim) or not good


def test_a_false_declaration_is_seen() -> None:
    class Liar(type(model_named("cas-register"))):  # type: ignore[misc]
        def effect(self, operation: Operation) -> Effect:
            return Effect.OVERWRITE

    with pytest.raises(AssertionError):
        test_effects_are_as_declared("liar", Liar(), operations("cas-register"))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_refuses_something_and_answers_something(name: str) -> None:
    model, known = model_named(name), operations(name)
    after = [model.step(state, each) for state in states(model, known) for each in known]
    assert REFUSED in after and any(each is not REFUSED for each in after)


def test_a_failed_compare_was_compared_where_the_format_says_so_and_there_was_no_error() -> None:
    assert not model_named("cas-register").judges(call("cas", 0, 1, (1, 2), outcome=FAIL))
    model = CasRegister(compared=True)
    compared = call("cas", 0, 1, (1, 2), outcome=FAIL)
    refused = call("cas", 0, 1, (1, 2), outcome=FAIL, error=":timed-out")
    assert model.judges(compared) and not model.judges(refused)
    assert model.step(1, compared) is REFUSED and model.step(0, compared) == 0


def test_what_says_nothing_is_left_out() -> None:
    model = model_named("register")
    assert not model.judges(call("read", 0, None))
    assert not model.judges(call("write", 0, 1, 1, outcome=FAIL))
    assert model.judges(call("write", 0, None, 1))


def test_a_lost_dequeue_takes_the_head_or_any() -> None:
    lost = call("dequeue", 0, 1, outcome=INDETERMINATE)
    assert model_named("queue").step((1, 2), lost) == (2,)
    bag = model_named("unordered-queue")
    state = bag.initial()
    for value in (1, 2):
        state = bag.step(state, call("enqueue", 0, 1, value))
    state = bag.step(state, lost)
    ends = [bag.step(state, call("dequeue", 0, 1, result=value)) for value in (1, 2, 3)]
    assert [each is REFUSED for each in ends] == [False, False, True]


def test_a_name_that_is_none_is_refused_with_those_that_are() -> None:
    with pytest.raises(KeyError, match="cas-register"):
        model_named("stack")
