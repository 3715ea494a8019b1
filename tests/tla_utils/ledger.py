"""Recorded steps of the toy ledger (tests/tla_utils/specs): correct ones, and how to spoil them."""

from __future__ import annotations

import random
from pathlib import Path

from tla_utils.steps import StepFrame
from tla_utils.values import Record, Value

SPECS = Path(__file__).resolve().parent / "specs"
Step = dict[str, Value]


def frame(extra: str = "", module: str = "StepLedger") -> StepFrame:
    return StepFrame(module, [SPECS, SPECS / "library"], f"CONSTANT MaxGuess = 3\n{extra}")


def ledger_steps(count: int, seed: int = 1) -> list[Step]:
    """This many correct steps, all different."""
    rng = random.Random(seed)
    steps: dict[tuple[Value, ...], Step] = {}
    while len(steps) < count:
        row = Record(open=True, total=rng.randrange(1000), log=(), guess=0)
        for _ in range(8):
            step = _step(rng, row)
            steps.setdefault(tuple(step.values()), step)
            after = step["after"]
            assert isinstance(after, Record)
            row = after
    return list(steps.values())[:count]


def _step(rng: random.Random, before: Record) -> Step:
    action = rng.choice(["Add", "Toggle", "Guess"] if before.open else ["Toggle", "Guess"])
    given: Record = Record(kind="none")
    sent: frozenset[Value] = frozenset()
    if action == "Add":
        amount = rng.randrange(1, 9)
        assert isinstance(before.total, int) and isinstance(before.log, tuple)
        total = before.total + amount
        given = Record(kind="amount", amount=amount)
        after = before.replace(total=total, log=(*before.log, Record(kind="add", amount=amount)))
        sent = frozenset({Record(type="Added", total=total)})
    elif action == "Toggle":
        after = before.replace(open=not before.open)
    else:
        after = before.replace(guess=rng.randrange(4))
    return {"action": action, "before": before, "input": given, "after": after, "sent": sent}


def number_of(steps: list[Step], action: str, skip: int = 0) -> int:
    """The number of a step with this action."""
    return [i for i, step in enumerate(steps) if step["action"] == action][skip]


def spoiled(step: Step, **changes: Value) -> Step:
    """The step with other values in its after-row."""
    after = step["after"]
    assert isinstance(after, Record)
    return {**step, "after": after.replace(**changes)}


def without(row: Value, name: str) -> Record:
    """The row with one field less."""
    assert isinstance(row, Record)
    return Record({key: value for key, value in row.items() if key != name})
