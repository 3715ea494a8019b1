"""Steps of transactions as they are judged: TLC says the same of them as of what was recorded.

What is taken from them is said in relevance.py, beginnings.py and canonical.py, by the declarations
of their kinds of nodes. Steps are recorded, or damaged in one place of their outcome.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from reference.kit import fields
from reference.protocols import AnyConstants, kind_of
from reference.runner.run import simulate_part
from reference.transactions.messages import ConsumerFetch, Fetched, LogEntry, Produce
from reference.transactions.protocol import PARTITION_KIND, READER_KIND, TRANSACTIONS
from reference.transactions.types import (
    Constants,
    Follower,
    Producer,
    Read,
    Reader,
    initial_partition,
)
from specs import SPECS
from tla_utils import CheckOptions, check_steps
from traces.jobs.abstraction import Abstraction
from traces.jobs.canonical import Canonicaliser, Step
from traces.jobs.columns import Part
from traces.jobs.judge import as_columns
from traces.jobs.protocols import decoder_of, decoder_of_inputs
from traces.jobs.relevance import Relevance
from traces.jobs.step_frames import shared_frame

Recorded = tuple[AnyConstants, Step]
OPTIONS: tuple[dict[str, Any], ...] = (
    {"version": 2, "replicas": 2, "read_committed": (21,), "read_uncommitted": (31,)},
    {"version": 2, "replicas": 2, "offsets": (12,), "recovers": True, "max_epoch": 1},
    {"version": 1, "replicas": 2, "recovers": True, "ids_expire": True, "read_committed": (21,)},
    {"version": 1, "replicas": 1, "hears_errors": True, "max_epoch": 1, "offsets": (12,)},
)
BY_NODE = {"sequences"}


@cache
def recorded(options: int) -> tuple[Recorded, ...]:
    """Of each action some steps, early and late ones."""
    part = Part(simulate_part("transactions", 5, 0, 6, options=OPTIONS[options]))
    by_action: dict[str, list[int]] = defaultdict(list)
    for number, action in enumerate(part.action):
        by_action[action].append(number)
    chosen = [at for each in by_action.values() for at in each[:: max(1, len(each) // 12)]]
    return tuple(
        [(part.constants[int(part.step_constants[at])], part.step(at)) for at in sorted(chosen)]
    )


def damaged(step: Step, chance: random.Random) -> Step:
    """The step with one number, or one member, of its outcome changed."""
    if step.sent and chance.random() < 0.3:
        at = chance.randrange(len(step.sent))
        message = _damaged(step.sent[at], chance)
        return step._replace(sent=(*step.sent[:at], message, *step.sent[at + 1 :]))
    return step._replace(after=_damaged(step.after, chance))


def _damaged(item: Any, chance: random.Random) -> Any:
    """Another one of its type."""
    places = [name for name in item.__struct_fields__ if _can_change(getattr(item, name))]
    name = chance.choice(places)
    value = getattr(item, name)
    of_structs = isinstance(value, tuple) and isinstance(value[0], msgspec.Struct)
    if of_structs and (name == "read" or chance.random() < 0.8):
        at = chance.randrange(len(value))
        if _can_change(value[at]):
            other = (*value[:at], _damaged(value[at], chance), *value[at + 1 :])
            return replace(item, **{name: other})
    if name in BY_NODE:
        at = chance.randrange(len(value))
        return replace(item, **{name: (*value[:at], 7, *value[at + 1 :])})
    if isinstance(value, tuple):
        return replace(item, **{name: value[1:] if chance.random() < 0.5 else value[:-1]})
    if isinstance(value, msgspec.Struct):
        return replace(item, **{name: _damaged(value, chance)})
    other = not value if isinstance(value, bool) else value + chance.choice((-1, 1, 2))
    return replace(item, **{name: other})


def _can_change(value: Any) -> bool:
    if isinstance(value, msgspec.Struct):
        return any(_can_change(getattr(value, name)) for name in value.__struct_fields__)
    return isinstance(value, int) or (isinstance(value, tuple) and bool(value))


def has_form(constants: AnyConstants, step: Step) -> bool:
    """Damage may put something into a set that is there."""
    nodes = len(constants.partitions)
    return all(fields.has_form(each, nodes) for each in (step.after, *step.sent))


def verdicts(steps: Sequence[Recorded]) -> list[str]:
    """What TLC says of each."""
    answers = [""] * len(steps)
    by_kind: dict[str, list[int]] = defaultdict(list)
    for at, (constants, step) in enumerate(steps):
        by_kind[kind_of(constants, step.node).name].append(at)
    for kind in TRANSACTIONS.kinds:
        mine = by_kind.get(kind.name, [])
        if not mine:
            continue
        several = list(dict.fromkeys([steps[at][0] for at in mine]))
        forms = [Abstraction(constants) for constants in several]
        columns = []
        for at in mine:
            given = several.index(steps[at][0])
            columns.append({**as_columns(forms[given], steps[at][1]), "given": given + 1})
        report = check_steps(shared_frame(kind, several, SPECS), columns, CheckOptions(parallel=1))
        for at, verdict in zip(mine, report.verdicts, strict=True):
            answers[at] = verdict.verdict
    return answers


def as_judged(constants: AnyConstants, step: Step) -> Recorded:
    """The step whose verdict the step gets."""
    judged = Relevance(constants, SPECS).judged(step)
    form = Canonicaliser(judged.constants).of_pieces(judged.step)
    row, input = decoder_of(type(step.before)), decoder_of_inputs(judged.constants)
    return judged.constants, Step(
        form.action,
        form.node,
        row(form.before),
        input(form.input) if form.input else None,
        row(form.after),
        tuple([input(each) for each in form.sent]),
        form.ignored,
    )


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.parametrize("options", range(len(OPTIONS)))
def test_tlc_says_the_same_of_what_is_judged(options: int) -> None:
    steps = recorded(options)
    assert len({step.action for _, step in steps}) >= 20
    chance = random.Random(options)
    broken = [(c, damaged(step, chance)) for c, step in steps for _ in range(3)]
    broken = [each for each in broken if has_form(*each)]
    listed = [*steps, *broken]
    judged = [as_judged(*each) for each in listed]
    assert sum(a != b for a, b in zip(listed, judged, strict=True)) > len(listed) // 2
    whole, parts = verdicts(listed), verdicts(judged)
    differing = [i for i, (a, b) in enumerate(zip(whole, parts, strict=True)) if a != b]
    assert not differing, (listed[differing[0]], judged[differing[0]], whole[differing[0]])
    assert set(whole[: len(steps)]) == {"accepted"}
    assert Counter(whole[len(steps) :])["rejected"] > len(broken) * 9 // 10
