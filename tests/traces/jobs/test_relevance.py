"""A step may be judged on what its action mentions: TLC says the same of it as of the whole."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import action_name
from kraftcheck.reference.partition.messages import CONTROLLER
from kraftcheck.reference.partition.protocol import BROKER, PARTITION
from kraftcheck.reference.partition.types import BrokerRow, PartitionConstants, Status
from kraftcheck.reference.protocols import kind_of
from kraftcheck.reference.runner.run import simulate_part
from kraftcheck.specs import SPECS
from kraftcheck.traces.steps.record import Part
from kraftcheck.traces.steps.slicing import Relevance, first_row, mentions_of
from kraftcheck.traces.steps.symmetry import Canonicaliser, Step
from kraftcheck.traces.steps.translation import (
    Abstraction,
    as_columns,
    cfg_constants,
    constant_name,
    step_frame,
)
from tests.traces.jobs.renaming import rename_step
from tla_utils import CheckOptions, check_steps
from tla_utils.errors import ToolError
from tla_utils.mentions import mentions
from tla_utils.overrides import read_module, read_modules

CONSTANTS = PartitionConstants((0, 1, 2), 2)
OPTIONS = {
    "replicas": 3,
    "min_insync_replicas": 2,
    "elr": True,
    "unclean": False,
    "fetch_max_records": 2,
}


@pytest.fixture(scope="module")
def steps() -> list[Step]:
    """Some hundreds of recorded steps, of all actions that occur."""
    part = Part(simulate_part("partition", 3, 0, 6, options=OPTIONS))
    found: list[Step] = []
    seen: Counter[str] = Counter()
    for number in range(len(part.node)):
        step = part.step(number)
        seen[step.action] += 1
        if seen[step.action] <= 20:
            found.append(step)
    assert len(seen) >= 20
    return found


def damaged(steps: list[Step]) -> list[Step]:
    """Each step with one field of its outcome changed, a different one each time."""
    chance = random.Random(1)
    found = []
    for step in steps:
        names = [n for n in step.after.__struct_fields__ if isinstance(getattr(step.after, n), int)]
        name = chance.choice(names)
        after = replace(step.after, **{name: getattr(step.after, name) + 1})
        found.append(step._replace(after=after))
    return found


def verdicts(steps: list[Step], constants: PartitionConstants = CONSTANTS) -> list[str]:
    """What TLC says of each."""
    form = Abstraction(constants)
    answers = [""] * len(steps)
    for kind in PARTITION.kinds:
        mine = [at for at, s in enumerate(steps) if kind_of(CONSTANTS, s.node) is kind]
        if not mine:
            continue
        columns = [as_columns(form, steps[at]) for at in mine]
        report = check_steps(step_frame(kind, constants), columns, CheckOptions(parallel=1))
        for at, verdict in zip(mine, report.verdicts, strict=True):
            answers[at] = verdict.verdict
    return answers


@pytest.mark.slow
@pytest.mark.tlc
def test_tlc_says_the_same_of_both_forms(steps: list[Step]) -> None:
    relevance = Relevance(CONSTANTS, SPECS)
    listed = [*steps, *damaged(steps)]
    reduced = [relevance.relevant(step) for step in listed]
    assert sum(a != b for a, b in zip(listed, reduced, strict=True)) > len(listed) // 2
    whole, parts = verdicts(listed), verdicts(reduced)
    assert whole == parts
    assert set(whole[: len(steps)]) == {"accepted"}
    assert set(whole[len(steps) :]) == {"rejected"}


@pytest.mark.tlc
def test_a_step_in_a_wrong_case_is_refused(steps: list[Step]) -> None:
    relevance = Relevance(CONSTANTS, SPECS)
    wrong = []
    for case in BROKER.cases:
        action = action_name(case.input)
        others = [s for s in steps if s.action == action and not case.holds(s.before, s.input)]
        label = f"{action}_{case.label}"
        assert label in {relevance.relevant(step).action for step in steps}
        wrong += [step._replace(action=label) for step in others]
    assert len({step.action for step in wrong}) == len(BROKER.cases)
    assert set(verdicts(wrong)) == {"rejected"}


def test_a_heartbeat_moves_a_broker_in_two_cases(steps: list[Step]) -> None:
    """As MayMove of specs/partition/BrokerLifecycle.tla says."""
    case = BROKER.case("HandleHeartbeatResponse")
    step = next(s for s in steps if s.action == "HandleHeartbeatResponse")
    assert case is not None
    moves = set()
    for status, stops, caught_up in product(get_args(Status), (False, True), (False, True)):
        answer = replace(step.input, should_shut_down=stops, is_caught_up=caught_up)
        if not case.holds(replace(step.before, status=status), answer):
            moves.add((status, stops, caught_up))
    shuts_down = {("ShuttingDown", True, False), ("ShuttingDown", True, True)}
    assert moves == shuts_down | {("Starting", False, True), ("Starting", True, True)}


@pytest.mark.slow
@pytest.mark.tlc
def test_constants_that_are_not_mentioned_change_no_verdict(steps: list[Step]) -> None:
    other = replace(CONSTANTS, elr_enabled=False, unclean_election=True)
    relevance = Relevance(other, SPECS)
    listed = [*steps[::2], *damaged(steps[::2])]
    free = [s for s in listed if relevance.judged(s).constants == CONSTANTS]
    assert {s.action for s in free} > {"HandleReplicaFetchRequest", "HandleBrokerCrash"}
    told = verdicts(free)
    assert set(told) == {"accepted", "rejected"}
    assert told == verdicts(free, other)


def test_constants_that_are_mentioned_stay(steps: list[Step]) -> None:
    other = replace(CONSTANTS, elr_enabled=False)
    heartbeat = next(s for s in steps if s.action == "HandleHeartbeatRequest")
    assert Relevance(other, SPECS).judged(heartbeat).constants == other
    for name in PARTITION.unmentioned:
        assert constant_name(name) in cfg_constants(other)


@pytest.mark.slow
@pytest.mark.tlc
def test_renamed_steps_are_judged_alike(steps: list[Step]) -> None:
    """The bijections of the canonical form: brokers' steps under all names, all under values."""
    names = {0: 2, 1: 0, 2: 1}
    of_brokers = [step for step in steps if step.node != CONTROLLER]
    listed = [*of_brokers, *damaged(of_brokers)]
    renamed = [rename_step(CONSTANTS, step, names, lambda value: value + 50) for step in listed]
    assert sum(a != b for a, b in zip(listed, renamed, strict=True)) > len(listed) * 9 // 10
    assert verdicts(listed) == verdicts(renamed)


@pytest.mark.slow
@pytest.mark.tlc
def test_renumbered_steps_are_judged_alike(steps: list[Step]) -> None:
    """Broker epochs by their order, offsets of metadata moved."""
    of_brokers = [step for step in steps if step.node != CONTROLLER]
    listed = [*of_brokers, *damaged(of_brokers)]
    canonicaliser = Canonicaliser(CONSTANTS)
    same = {broker: broker for broker in CONSTANTS.brokers}
    renumbered = [
        rename_step(CONSTANTS, step, same, lambda value: value, canonicaliser.renumbering(step))
        for step in listed
    ]
    assert sum(a != b for a, b in zip(listed, renumbered, strict=True)) > len(listed) // 10
    assert verdicts(listed) == verdicts(renumbered)


def test_renamings_of_a_step_have_one_form(steps: list[Step]) -> None:
    canonicaliser = Canonicaliser(CONSTANTS)
    for step in steps:
        if step.node == CONTROLLER:
            continue
        form = canonicaliser.canonical(step)
        for names in ({0: 2, 1: 0, 2: 1}, {0: 1, 1: 0, 2: 2}):
            other = rename_step(CONSTANTS, step, names, lambda value: 7 * value)
            assert canonicaliser.canonical(other) == form


def test_what_a_heartbeat_does_not_mention_is_set_back(steps: list[Step]) -> None:
    relevance = Relevance(CONSTANTS, SPECS)
    kind = kind_of(CONSTANTS, 0)
    initial: BrokerRow = kind.initial(CONSTANTS)
    beats = [step for step in steps if step.action == "HandleSendHeartbeat"]
    for step in beats:
        reduced = relevance.relevant(step)
        assert reduced.before.log == reduced.after.log == initial.log
        assert reduced.before.status == step.before.status
        assert reduced.before.image.offset == step.before.image.offset
        assert reduced.sent == step.sent
    changed = beats[0]._replace(after=replace(beats[0].after, incarnation=77))
    assert relevance.relevant(changed).after.incarnation == 77


def test_handlers_that_make_rows_from_nothing_are_judged_on_all_fields() -> None:
    assert first_row(BROKER) in mentions_of("broker", "HandleBrokerCrash", SPECS).operators
    found = mentions_of("broker", "HandleSendHeartbeat", SPECS)
    assert first_row(BROKER) not in found.operators
    assert "brokerEpoch" in found.fields and "log" not in found.fields
    with pytest.raises(ToolError, match="no module defines Step_HandleNothing"):
        mentions_of("broker", "HandleNothing", SPECS)


MODULE = """\
---- MODULE Few ----
Reads(row) == row.a.b + (* row.comment *) Deeper(row)
Deeper(row) == LET x == row.c IN [row EXCEPT !.d = x, !.e.f = 1]
Makes(row) == [g |-> row]
Apart(row) == row.h
====
"""


def test_mentions_follow_what_definitions_build_on() -> None:
    modules: dict[str, Any] = {"Few": read_module(MODULE)}
    found = mentions("Reads", modules)
    assert found.operators >= {"Reads", "Deeper"} and "Apart" not in found.operators
    assert found.fields == {"a", "b", "c", "d", "e", "f"}
    assert found.whole == {"b", "c", "d", "f"}
    assert found.paths == {("a", "b"), ("e", "f")}
    assert mentions("Makes", modules).whole == {"g"}
    assert mentions("Reads", modules, {"Deeper": "Apart"}).fields == found.fields | {"h"}


ENTRIES = """\
---- MODULE Entries ----
One(n, row, m) == [row EXCEPT !.f[m.at] = Deeper(row.f[m.at], row.g[m.at])]
Deeper(f, g) == IF f.x THEN g ELSE f
Two(n, row, m) == row.f[m.at] + row.f[m.of]
Whole(n, row, m) == row.f[m.at] + Len(row.f)
Other(n, row, m) == row.f[row.at]
Within(n, row, m) == row.f[m.at] + Reads(row)
Reads(row) == row.f
====
"""


def test_a_function_may_be_mentioned_in_one_entry() -> None:
    modules: dict[str, Any] = {"Entries": read_module(ENTRIES)}
    assert mentions("One", modules).entries == {"f": "at", "g": "at"}
    for name in ("Two", "Whole", "Other", "Within"):
        assert mentions(name, modules).entries == {}


def test_all_of_an_instance_is_mentioned(tmp_path: Path) -> None:
    """Also by an operator of the same name in the module that has the instance."""
    (tmp_path / "Other.tla").write_text(
        "---- MODULE Other ----\nEXTENDS Base\nA(x) == x.a\nO(x) == x.o\n====\n"
    )
    (tmp_path / "Base.tla").write_text("---- MODULE Base ----\nB(x) == x.b\n====\n")
    text = "---- MODULE With ----\nM(V) == INSTANCE Other\nA(x) == M(x.v)!A(x)\nC(x) == x.c\n====\n"
    (tmp_path / "With.tla").write_text(text)
    found = mentions("A", read_modules(["With"], [tmp_path]))
    assert found.fields == {"a", "b", "o", "v"} and found.operators >= {"A", "B", "M", "O"}


def test_an_instance_without_a_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Other.tla").write_text("---- MODULE Other ----\nO(x) == x\n====\n")
    (tmp_path / "With.tla").write_text(
        "---- MODULE With ----\nINSTANCE Other\nA(x) == O(x)\n====\n"
    )
    with pytest.raises(ToolError, match="the module With has an INSTANCE without a name"):
        mentions("A", read_modules(["With"], [tmp_path]))
