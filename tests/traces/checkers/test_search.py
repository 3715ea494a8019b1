"""The search: verdicts, evidence, limits, and what it must not grow with."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any

import pytest

from benchmarks._objects import history_of
from kraftcheck.traces.checkers import jit, witness
from kraftcheck.traces.checkers.models import MODELS, model_named
from kraftcheck.traces.checkers.search import Limits, check, check_object, described
from kraftcheck.traces.checkers.sequential import Model, answer
from kraftcheck.traces.checkers.verdict import HOLDS, SHOWN_MAX, UNKNOWN, VIOLATED, Verdict, shown
from kraftcheck.traces.history import HistoryError, Operation
from tests.traces.checkers.calls import call, history, numbered
from tests.traces.checkers.enumerate import linearization


def judge(model: str, *calls: Operation) -> Verdict:
    (found,) = check(history(*calls), model_named(model))
    return found


def test_a_stale_read_is_refused_with_its_evidence() -> None:
    found = judge(
        "cas-register",
        call("write", 0, 1, 1),
        call("cas", 2, 3, (1, 2)),
        call("read", 4, 5, result=1),
        call("write", 6, 7, 3),
    )
    assert found.verdict == VIOLATED and found.certificate is not None
    assert found.certificate.operations == (1, 2)
    assert "operation 2 (process 2: read returned 1)" in found.certificate.sentence
    assert "the cas-register can only be" in found.certificate.sentence
    assert found.prefix == 2


def test_a_read_of_nothing_is_named_with_what_it_returned() -> None:
    assert described(call("read", 0, 1)) == "operation 0 (process 0: read returned nil)"
    assert described(call("write", 0, 1, 5)) == "operation 0 (process 0: write 5)"


def test_a_linearization_is_given() -> None:
    found = judge(
        "kv",
        call("append", 0, 9, "b"),
        call("put", 1, 8, "a"),
        call("get", 2, 7, result="ab"),
    )
    assert found.verdict == HOLDS and found.witness == (1, 0, 2)


def test_values_in_a_sentence_have_one_order() -> None:
    """Whatever the seed of Python's hashes: two orders of strings agree in one case of 24."""
    calls = [call("add", at, at, each) for at, each in enumerate("dcba")]
    found = judge("set", *calls, call("read", 9, 9, None, frozenset("hgfe")))
    assert found.certificate is not None
    assert '#{"e" "f" "g" "h"}' in found.certificate.sentence
    assert '#{"a" "b" "c" "d"}' in found.certificate.sentence


def test_a_value_of_the_length_of_a_sentence_is_shown_whole() -> None:
    assert shown("x" * (SHOWN_MAX - 2)) == f'"{"x" * (SHOWN_MAX - 2)}"'
    assert "..." in shown("x" * (SHOWN_MAX - 1))


def test_a_witness_has_nothing_that_need_not_have_happened() -> None:
    found = judge("kv", call("put", 0, None, "a"), call("put", 1, 2, "b"))
    assert found.verdict == HOLDS and found.witness == (1,)


def test_the_blame_is_of_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt that dropped ways may end at a read that one of these explains."""
    monkeypatch.setattr("kraftcheck.traces.checkers.search.WIDTHS", (1,))
    found = judge(
        "counter",
        call("add", 0, 5, 1),
        call("add", 0, None, 2),
        call("read", 3, 6, result=2),
        call("read", 8, 9, result=7),
    )
    assert found.certificate is not None and found.certificate.operations[-1] == 3


# What the search got wrong while it was written, and would again without the law that is named.


def test_an_overwrite_by_the_same_value_hides_as_well() -> None:
    """*Overwritten*: the state stays as it is, and yet the append between has its place."""
    found = judge(
        "kv",
        call("put", 0, 1, "a"),
        call("append", 2, 6, "x"),
        call("put", 3, 7, "a"),
        call("get", 4, 5, result="a"),
        call("get", 8, 9, result="a"),
    )
    assert found.verdict == HOLDS


def test_what_was_overwritten_may_have_its_effect_until_it_returns() -> None:
    """The append could be hidden by the put, but the get after it needs it."""
    found = judge(
        "kv",
        call("append", 0, 5, "a"),
        call("get", 0, 2, result="a"),
        call("put", 5, None, "b"),
        call("append", 7, 12, "b"),
        call("get", 7, 13, result="bb"),
    )
    assert found.verdict == HOLDS


@pytest.mark.parametrize("end", [3, 4])
def test_times_that_touch_are_no_order(end: int) -> None:
    """A read that began as the write ended may still be answered by what was before."""
    read = call("read", 3, 9, result=None)
    found = judge("cas-register", call("cas", 0, 1, (None, None)), call("write", 1, end, 1), read)
    assert found.verdict == HOLDS
    later = judge("cas-register", call("write", 1, 2, 1), call("write", 1, 2, 1), read)
    assert later.verdict == VIOLATED


def test_a_write_of_unknown_outcome_may_come_at_any_time_or_never() -> None:
    lost, other = call("write", 0, None, 1), call("write", 1, 2, 1)
    assert judge("register", lost, call("read", 90, 91, result=1)).verdict == HOLDS
    assert judge("register", lost, call("read", 90, 91, result=None)).verdict == HOLDS
    never = judge("register", lost, other, call("read", 90, 91, result=None))
    assert never.verdict == VIOLATED


def test_keys_are_judged_alone() -> None:
    found = check(
        history(
            call("put", 0, 1, "a", key="x"),
            call("get", 2, 3, result="", key="y"),
            call("get", 4, 5, result="", key="x"),
        ),
        model_named("kv"),
    )
    assert [(each.key, each.verdict) for each in found] == [("x", VIOLATED), ("y", HOLDS)]


def test_a_model_of_ones_own_takes_a_few_lines() -> None:
    class Toggle(Model):
        name = "toggle"
        verbs = ("flip", "read")

        def initial(self) -> bool:
            return False

        def step(self, state: bool, operation: Operation) -> Any:
            return not state if operation.f == "flip" else answer(state, operation)

    calls = [call("flip", 0, 5), call("flip", 1, 6), call("read", 2, 3, result=True)]
    assert check(history(*calls), Toggle())[0].verdict == HOLDS
    calls.append(call("read", 7, 8, result=True))
    assert check(history(*calls), Toggle())[0].verdict == VIOLATED


def test_nothing_to_judge_is_no_pass() -> None:
    with pytest.raises(HistoryError, match="no operation to judge"):
        check(history(), model_named("kv"))
    with pytest.raises(ValueError, match="empty"):
        check_object((), model_named("kv"))
    with pytest.raises(HistoryError, match="frob is no operation of a kv"):
        check(history(call("frob", 0, 1)), model_named("kv"))


def test_a_value_that_no_model_can_try_is_bad_input() -> None:
    with pytest.raises(HistoryError, match=r"not of \(expected, new\)"):
        judge("cas-register", call("cas", 0, 1, 7))
    with pytest.raises(HistoryError, match="no strings"):
        judge("kv", call("put", 0, 1, 7))


# -- Limits


@pytest.mark.parametrize("model", ["queue", "unordered-queue"])
def test_what_nobody_was_given_is_one(model: str) -> None:
    """Twelve elements of unknown outcome, and six lost dequeues that may have taken any of them."""
    calls = [call("enqueue", at, None, f"x{at}") for at in range(12)]
    calls += [call("dequeue", 20 + at, None) for at in range(6)]
    calls += [call("enqueue", 40, 41, "last")]
    few = Limits(seconds=20, configurations=500)
    for answered, verdict in (("last", HOLDS), ("none", VIOLATED)):
        dequeue = call("dequeue", 42, 43, None, answered)
        found = check_object(numbered(*calls, dequeue), model_named(model), few)
        assert found.verdict == verdict


def crowd(clients: int) -> tuple[Operation, ...]:
    """Numbers added at once whose every partial sum is another state; the sum is wrong."""
    adds = [call("add", 0, 100 + at, 3**at) for at in range(clients)]
    return numbered(*adds, call("read", 200, 201, result=1))


def test_a_limit_reached_is_unknown_with_the_reason() -> None:
    counter = model_named("counter")
    few = check_object(crowd(12), counter, Limits(configurations=50))
    assert few.verdict == UNKNOWN and few.reason == "more than 50 configurations at one event"
    late = check_object(crowd(22), counter, Limits(seconds=0.05))
    assert late.verdict == UNKNOWN and late.reason == "time is up"
    assert check_object(crowd(8), counter).verdict == VIOLATED


def test_a_narrow_attempt_refuses_nothing() -> None:
    """Configurations that were dropped for their number could have been the ones that hold."""
    *adds, _ = crowd(9)
    good = numbered(*adds, call("read", 200, 201, result=sum(3**at for at in range(9))))
    for operations in (good, crowd(9)):
        search = jit.Search(jit.Compiled(operations, model_named("counter")), width=2)
        result = search.run()
        assert search.cut or not isinstance(result, jit.Failure)


def test_an_operation_gets_its_place_only_when_something_forces_it() -> None:
    """Twelve open ones could each have happened or not, and what returns changes nothing."""
    adds = [call("add", 0, None, 3**at) for at in range(12)]
    operations = numbered(*adds, call("read", 5, 6, result=0))
    search = jit.Search(jit.Compiled(operations, model_named("counter")), width=100)
    assert not isinstance(search.run(), jit.Failure) and search.explored == 0


def test_memory_does_not_follow_the_length() -> None:
    """Configurations are over what is open. The compiled form and the chain are linear."""
    peaks = []
    for operations in (500, 2_000):
        made = history_of("cas-register", operations=operations, clients=5, seed=3)
        tracemalloc.start()
        (found,) = check(made, model_named("cas-register"))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert found.verdict == HOLDS
    assert peaks[1] < 6 * peaks[0]


def test_states_out_of_use_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "_FORGET", 20)
    made = history_of("kv", operations=300, clients=5, seed=4)
    search = jit.Search(jit.Compiled(made.operations, model_named("kv")), width=100)
    chain = search.run()
    assert not isinstance(chain, jit.Failure) and len(search.values) < 100


@pytest.mark.parametrize("model", ["cas-register", "kv"])
@pytest.mark.parametrize("clients", [3, 12])
def test_generated_histories_have_their_verdict(model: str, clients: int) -> None:
    for stale in (False, True):
        made = history_of(model, operations=400, clients=clients, seed=clients, keys=2, stale=stale)
        found = [each.verdict for each in check(made, model_named(model))]
        assert (VIOLATED in found) == stale and UNKNOWN not in found


# -- Against every order


def random_operation(model: str, count: int, dice: random.Random) -> Operation:
    """Anything that an operation of the model can ask and be answered."""
    verb = dice.choice(MODELS[model]().verbs)
    fields: dict[str, Any] = {"argument": dice.randrange(3)}
    if verb == "read":
        several = model in ("set", "list-append")
        many = tuple(dice.randrange(3) for _ in range(dice.randrange(3)))
        fields = {"result": many if several else dice.choice((None, 0, 1, 2))}
    elif verb == "cas":
        fields = {"argument": (dice.randrange(3), dice.randrange(3))}
    elif verb == "get":
        fields = {"result": dice.choice(("", "a", "ab", "ba", "aa"))}
    elif model == "kv":
        fields = {"argument": dice.choice("ab")}
    elif verb == "contains":
        fields["result"] = dice.random() < 0.5
    elif verb == "dequeue":
        fields = {"result": dice.choice((None, 0, 1, 2))}
    elif verb == "txn":
        fields = {"argument": tuple(_micro(dice, model) for _ in range(dice.randint(1, 3)))}
    begin = dice.randrange(2 * count)
    end = None if dice.random() < 0.25 else begin + dice.randrange(count)
    return call(verb, begin, end, **fields)


def _micro(dice: random.Random, model: str) -> tuple[str, str, Any]:
    key, lists = dice.choice("xy"), model == "multi-list"
    if dice.random() < 0.5:
        seen = ((), (0,), (1,), (0, 1)) if lists else (None, 0, 1)
        return "read", key, dice.choice(seen)
    return "append" if lists else "write", key, dice.randrange(2)


@pytest.mark.parametrize("name", MODELS)
def test_verdicts_are_those_of_trying_every_order(name: str) -> None:
    model, seen = model_named(name), set()
    for seed in range(250):
        dice = random.Random(f"{name} {seed}")
        count = dice.randint(1, 5)
        operations = numbered(*(random_operation(name, count, dice) for _ in range(count)))
        found = check_object(operations, model)
        order = linearization(operations, model)
        assert found.verdict == (VIOLATED if order is None else HOLDS), seed
        seen.add(found.verdict)
        if found.witness is not None:
            named = {each.index: each for each in operations}
            witness.prove([named[index] for index in found.witness], operations, model)
    assert seen == {HOLDS, VIOLATED}


@pytest.mark.parametrize("wrong", ["order", "missing", "refused"])
def test_a_wrong_witness_is_not_let_through(wrong: str) -> None:
    operations = numbered(
        call("write", 0, 1, 1), call("write", 2, 3, 2), call("read", 4, 5, result=2)
    )
    write, other, read = operations
    orders = {
        "order": [other, write, read],
        "missing": [write, other],
        "refused": [write, read, other],
    }
    witness.prove(operations, operations, model_named("register"))
    with pytest.raises(AssertionError):
        witness.prove(orders[wrong], operations, model_named("register"))
