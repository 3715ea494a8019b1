"""Zones: where they apply, what they refuse, and that the search says the same."""

from __future__ import annotations

import random
from collections import Counter

from kraftcheck.traces.checkers import jit, registers, witness
from kraftcheck.traces.checkers.models import model_named
from kraftcheck.traces.checkers.verdict import HOLDS, VIOLATED, Verdict
from kraftcheck.traces.history import Operation
from tests.traces.checkers.calls import call, numbered

REGISTER = model_named("register")


def judge(*calls: Operation) -> Verdict:
    operations = numbered(*calls)
    assert registers.applies(operations, REGISTER)
    return registers.check_object(operations, REGISTER)


def test_they_apply_where_every_value_is_written_once() -> None:
    one, same, two = call("write", 0, 1, 1), call("write", 2, 3, 1), call("write", 2, 3, 2)
    assert registers.applies((one, two), REGISTER)
    assert not registers.applies((one, same), REGISTER)
    assert not registers.applies((call("write", 0, 1, None),), REGISTER)
    cas = model_named("cas-register")
    assert registers.applies((one, two), cas)
    assert not registers.applies((one, call("cas", 2, 3, (1, 2))), cas)
    assert not registers.applies((one,), model_named("kv"))


def kinds(*calls: Operation) -> tuple[str, tuple[int, ...]]:
    found = judge(*calls)
    assert found.certificate is not None and found.verdict == VIOLATED
    return found.certificate.kind, found.certificate.operations


def test_a_value_that_nobody_wrote() -> None:
    assert kinds(call("write", 0, 1, 1), call("read", 2, 3, result=7)) == ("phantom", (1,))


def test_a_value_read_before_it_was_written() -> None:
    read, write = call("read", 0, 1, result=1), call("write", 2, 3, 1)
    assert kinds(read, write) == ("future-read", (1, 0))


def test_the_initial_value_read_after_a_write() -> None:
    assert kinds(call("write", 0, 1, 1), call("read", 2, 3)) == ("stale-read", (0, 1))


def test_two_values_each_before_the_other() -> None:
    calls = [call("write", 0, 1, 1), call("write", 0, 1, 2)]
    calls += [call("read", 2, 3, result=2), call("read", 4, 5, result=1)]
    assert judge(*calls).verdict == VIOLATED
    assert judge(*calls[:3]).verdict == HOLDS


def test_of_two_values_the_evidence_is_the_one_read_last() -> None:
    """The initial value came before every other, whichever was read last."""
    writes = call("write", 0, 1, 1), call("write", 0, 1, 2)
    for first, second, other in ((1, 2, 1), (2, 1, 0)):
        values = (first, second, first)
        reads = [call("read", 2 * at, 2 * at, result=each) for at, each in enumerate(values, 1)]
        assert kinds(*writes, *reads) == ("stale-read", (other, 4))
    reads = [call("read", 2, 3), call("read", 4, 5, result=1)]
    assert kinds(writes[0], *reads) == ("stale-read", (0, 1))


def test_a_value_inside_the_time_of_another() -> None:
    calls = [call("write", 0, 1, 1), call("write", 2, 3, 2), call("read", 4, 5, result=1)]
    found = judge(*calls)
    assert found.certificate is not None and found.certificate.operations == (1, 2)
    assert "the read (operation 2, process 2) of 1 was invoked after" in found.certificate.sentence


def test_a_lost_write_that_nobody_saw_did_not_happen() -> None:
    found = judge(call("write", 0, None, 1), call("write", 1, 2, 2), call("read", 3, 4, result=2))
    assert found.witness == (1, 2)


def test_the_search_says_the_same() -> None:
    seen: Counter[str] = Counter()
    for seed in range(1_500):
        dice = random.Random(seed)
        count = dice.randint(1, 9)
        calls = []
        for at in range(count):
            begin = dice.randrange(3 * count)
            end = begin + dice.randrange(2 * count)
            if dice.random() < 0.45:
                lost = dice.random() < 0.2
                calls.append(call("write", begin, None if lost else end, at))
            else:
                calls.append(call("read", begin, end, result=dice.choice((None, *range(count)))))
        operations = numbered(*calls)
        found = registers.check_object(operations, REGISTER)
        searched = jit.Search(jit.Compiled(operations, REGISTER), width=100_000).run()
        assert isinstance(searched, jit.Failure) == (found.verdict == VIOLATED), seed
        seen[found.certificate.kind if found.certificate else HOLDS] += 1
        if found.witness is not None:
            named = {each.index: each for each in operations}
            witness.prove([named[index] for index in found.witness], operations, REGISTER)
    assert set(seen) == {HOLDS, "phantom", "future-read", "stale-read"}
