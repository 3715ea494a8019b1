"""What the runs of a part have met that may be new: the answers that guide a campaign.

    pair        two decisions that a node took one after the other. A decision is an action, why
                it ignored its input, if it did, and how each rule that it asked answered
                (reference/runner/watching.py)
    sometimes   a named condition that runs should come to (reference/kit/sometimes.py)

Steps of one decision differ by values: offsets, epochs, what logs hold. There are a hundred
decisions and thousands of pairs where there are hundreds of thousands of classes of steps, most of
which no other campaign meets.

Conditions, and each rule with each answer, are FEATURES as others are (coverage.py), where count is
in how many runs. In MET a thing is a number of 64 bits: of so many that one is taken for another is
as likely as anything.

A condition that raises is told as a feature of kind `raised`, and holds of nothing.

Steps are remembered while runs are simulated, so most decisions are taken once for many runs. Where
rules do not guide a campaign, `rules_met` executes its first runs once more, each step anew, while
every decision is watched (reference/runner/watching.py). What is asked of so few runs is which
answers were ever given, not how often.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kraftcheck.reference.kit.sometimes import Sometimes
from kraftcheck.reference.runner.run import execute_run
from kraftcheck.reference.runner.scenarios import protocols_under
from kraftcheck.reference.runner.watching import rules_of, watched
from kraftcheck.traces.jobs.coverage import FEATURES
from kraftcheck.traces.steps.record import Ints, Part, decode_step_constants
from kraftcheck.traces.store import Campaign

RULE, SOMETIMES, RAISED = "rule", "sometimes", "raised"

MET: Final = pa.schema([("run", pa.int64()), ("thing", pa.uint64())])
"""What each run met, once."""

_MIX: Final = np.uint64(0x9E3779B97F4A7C15)


def conditions_of(scenario: str, options: Mapping[str, Any]) -> list[Sometimes]:
    """The conditions that runs of a scenario should come to, of which these options are asked."""
    under = protocols_under(scenario, options)
    return [each for protocol in under for each in protocol.sometimes]


def sometimes(part: Part, scenario: str, options: Mapping[str, Any]) -> dict[tuple[str, str], Ints]:
    """Give the runs that came to each condition, by kind and name.

    Runs are named by their place in the part. Kind `raised` has those in which a condition could
    not be asked.
    """
    by_type: dict[str, list[Sometimes]] = {}
    for condition in conditions_of(scenario, options):
        for of in condition.inputs:
            by_type.setdefault(of.__name__, []).append(condition)
    met = np.unique(part.taken)
    taken = met[~part.ill_formed[met]].tolist()
    rows, inputs, types = part.rows, part.inputs, part.input_types
    code = part.step_constants.tolist()
    constants = {
        number: decode_step_constants(part.constants_texts[number])
        for number in {code[step]: None for step in taken}
    }
    found: dict[tuple[str, str], list[int]] = {}
    for step in taken:
        node, before, input, after, sent = part.parts_of_steps[step]
        for condition in by_type.get(types[input], ()):
            messages = tuple([inputs[at] for at in sent])
            given = constants[code[step]], node, rows[before], inputs[input], rows[after], messages
            told = _asked(condition, given)
            if told is not None:
                found.setdefault(told, []).append(step)
    return {told: _runs_with(part, steps) for told, steps in sorted(found.items())}


def _asked(condition: Sometimes, given: tuple[Any, ...]) -> tuple[str, str] | None:
    """What is told of a step: that the condition holds of it, or that it raised; else None."""
    try:
        return (SOMETIMES, condition.name) if condition.holds(*given) else None
    except Exception as error:  # What others wrote may raise anything.
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        return RAISED, f"{condition.name}: {type(error).__name__}: {error} ({where})"


def _runs_with(part: Part, steps: Sequence[int]) -> Ints:
    """The places of the runs that took one of these steps."""
    among = np.zeros(len(part.node), dtype=np.bool_)
    among[list(steps)] = True
    return np.unique(part.run_at[among[part.taken]])


def rules(part: Part, decided: Sequence[frozenset[str]]) -> dict[tuple[str, str], Ints]:
    """The same of rules. decided: of each step, which were asked and how they answered."""
    found: dict[str, list[int]] = {}
    for step, told in enumerate(decided):
        for name in told:
            found.setdefault(name, []).append(step)
    return {(RULE, name): _runs_with(part, steps) for name, steps in sorted(found.items())}


def features_of(part: Part, named: Mapping[tuple[str, str], Ints]) -> pa.Table:
    """What has a name, as FEATURES."""
    rows = [
        {"kind": kind, "name": name, "count": len(of), "first_run": int(part.run[of[0]])}
        for (kind, name), of in named.items()
    ]
    return pa.Table.from_pylist(rows, schema=FEATURES)


def met(
    part: Part, decided: Sequence[frozenset[str]], named: Mapping[tuple[str, str], Ints]
) -> pa.Table:
    """MET of a part, by run and thing.

    decided: as of `rules`; named: the conditions, as of `sometimes`.
    """
    number = cache(_number)
    decisions = np.array(
        [
            number(part.action[step], part.ignored[step], *sorted(told))
            for step, told in enumerate(decided)
        ],
        dtype=np.uint64,
    )
    order, first = part.by_node
    taken, run_at = decisions[part.taken[order]], part.run_at[order]
    pairs = (taken[:-1] * _MIX ^ taken[1:])[~first[1:]]
    conditions = {name: of for (kind, name), of in named.items() if kind == SOMETIMES}
    runs = np.concatenate([run_at[1:][~first[1:]], *conditions.values()])
    things = np.concatenate(
        [pairs, *[np.full(len(of), number(name)) for name, of in conditions.items()]]
    )
    order = np.lexsort((things, runs))
    runs, things = runs[order], things[order]
    new = np.ones(len(runs), dtype=np.bool_)
    new[1:] = (runs[1:] != runs[:-1]) | (things[1:] != things[:-1])
    return pa.table([part.run[runs[new]], things[new]], schema=MET)


def _number(*words: str) -> np.uint64:
    data = "\0".join(words).encode()
    return np.uint64(int.from_bytes(blake2b(data, digest_size=8).digest(), "little"))


# --- Rules, where they do not guide ---

WATCHED_RUNS: Final = 100
"""Of each campaign, so many runs are executed again."""


def rules_met(campaign: Campaign, first_run: int, runs: int) -> pa.Table:
    """Give FEATURES of kind `rule` for the first WATCHED_RUNS runs.

    count says in how many of them.
    """
    found: dict[str, list[int]] = {}
    for run in range(first_run, min(first_run + runs, WATCHED_RUNS)):
        met: set[str] = set()
        with watched(rules_of(campaign.scenario, campaign.options), met.add):
            options = dict(campaign.options) or None
            execute_run(campaign.scenario, campaign.seed, run, campaign.bug, options)
        for name in met:
            found.setdefault(name, []).append(run)
    rows = [
        {"kind": RULE, "name": name, "count": len(of), "first_run": of[0]}
        for name, of in sorted(found.items())
    ]
    return pa.Table.from_pylist(rows, schema=FEATURES)
