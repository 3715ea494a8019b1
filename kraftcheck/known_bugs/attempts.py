"""Attempts: inputs that rows did not have in their runs, and what the reference makes of them.

An attempt takes a row that some run had, and gives it an input

* that another moment of the runs had for the same node, or
* one that differs from such an input in one field: the value is one that another input of the same
  type had there (a text, such as an error: of any type), or it is one more, one less, or the other
  truth value.

A message of another moment is given as it was, and once more in the epoch that the row is in. Rows
and inputs are taken evenly from all shapes there are: which words they hold, which numbers are
defined, which lists are empty. Few rows are of the rare shapes, and there rules matter most.

Where such an input is no message (a crash, a timer), what becomes of the row is given one more that
is none: so every row is crashed and started again.

Law of this file: what is right is not decided here. Inputs that the reference asserts no cluster to
make are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from kraftcheck.known_bugs.witnesses import WATCHED, Hunt
from kraftcheck.reference.bugs.catalog import handlers_for
from kraftcheck.reference.kit.dispatch import action_name
from kraftcheck.reference.kit.fields import NOBODY
from kraftcheck.reference.kit.log import EpochEnd
from kraftcheck.reference.protocols import PROTOCOLS, kind_of
from kraftcheck.reference.runner.run import Run
from kraftcheck.reference.runner.scenarios import FAMILIES
from kraftcheck.traces.steps.symmetry import Step
from kraftcheck.traces.steps.translation import DISABLED

RUNS: Final = 60
ROWS: Final = 80
"""So many rows of each node are given inputs."""
INPUTS: Final = 1
"""So many inputs of each shape each of these rows is given."""
CHANGES: Final = 4
"""In so many ways the input of each recorded step is changed."""
AFTERWARDS: Final = 4
"""So many times as many rows are given a second input that is no message."""
MOST: Final = 3000
"""So many recorded steps are taken at most, evenly."""

Recorded: TypeAlias = dict[str, dict[tuple[int, Any, Any], Step]]
"""By kind of node, the distinct steps."""


def hunts(module: str) -> tuple[Hunt, ...]:
    """The runs whose rows and inputs are taken, for a module of rules.

    Their constants are fixed: they are judged together.
    """
    return tuple(
        Hunt(scenario=protocol.name, bug=None, options=dict(fixed))
        for protocol in PROTOCOLS
        if module in {rules.__name__ for rules in protocol.rules} and protocol.name in FAMILIES
        for fixed in FAMILIES[protocol.name].fixed
    )


class Differing(NamedTuple):
    """What a change makes otherwise of attempts on the rows of its runs."""

    tried: int
    """attempts."""
    steps: tuple[Step, ...]
    """Those that the correct reference takes otherwise, as the change does."""


def differing(module: str, bug: str, seed: int = 1) -> Differing:
    """Attempts on rows of the first runs with a substitution, held against the correct reference.

    Raises whatever the substitution raises, but for what handlers assert of their inputs.
    """
    tried, steps = 0, list[Step]()
    for hunt in hunts(module):
        own = msgspec.structs.replace(hunt, bug=bug, seed=seed)
        constants, of_kinds = recorded(own, RUNS)
        correct = Taking(constants, None)
        for known in of_kinds.values():
            for step in attempted(Taking(constants, bug), taken_steps(known), ROWS, CHANGES):
                tried += 1
                other = correct.step(step.node, step.before, step.input)
                if other is not None and other != step:
                    steps.append(step)
    return Differing(tried, tuple(steps))


def recorded(hunt: Hunt, runs: int) -> tuple[Any, Recorded]:
    """The constants that all runs of a hunt have, and their distinct steps."""
    recorded: Recorded = {}
    constants: Any = None
    for number in range(runs):
        run = hunt.run(WATCHED, number)
        constants = run.result.constants
        enter(run, recorded)
    return constants, recorded


def taken_steps(known: Mapping[tuple[int, Any, Any], Step]) -> list[Step]:
    return _thinned([known[key] for key in sorted(known, key=_order)], MOST)


def enter(run: Run, recorded: Recorded) -> None:
    for taken in run.steps:
        step = Step(
            taken.action, taken.node, taken.before, taken.input, taken.after, taken.sent,
            taken.ignored,
        )  # fmt: skip
        known = recorded.setdefault(kind_of(run.result.constants, taken.node).name, {})
        known[key_of(step)] = step


def key_of(step: Step) -> tuple[int, Any, Any]:
    return step.node, step.before, step.input


def _order(key: tuple[int, Any, Any]) -> tuple[int, bytes, bytes]:
    node, before, input = key
    return node, msgspec.json.encode(before), _encoded(input)


def _encoded(input: Any) -> bytes:
    return type(input).__name__.encode() + msgspec.json.encode(input)


def _thinned(items: Sequence[Any], most: int) -> list[Any]:
    """At most so many of them, evenly."""
    stride = max(1, -(-len(items) // most))
    return list(items[::stride])


# -- Attempts


def attempted(taking: Taking, recorded: Sequence[Step], rows: int, changes: int) -> Iterator[Step]:
    tried: set[tuple[int, Any, Any]] = set()
    known: dict[tuple[type, str], set[Any]] = {}
    _note({step.input for step in recorded}, known)
    for node in sorted({step.node for step in recorded}):
        own = [step for step in recorded if step.node == node]
        made: list[Step] = []
        for row, input in (*_elsewhere(own, known, rows), *_nearby(own, known, changes)):
            if (node, row, input) not in tried:
                tried.add((node, row, input))
                step = taking.step(node, row, input)
                if step is not None:
                    made.append(step)
                    yield step
        for row, input in _afterwards(own, [*own, *made], rows):
            step = taking.step(node, row, input)
            if step is not None and (node, row, input) not in tried:
                tried.add((node, row, input))
                yield step


Known = Mapping[tuple[type, str], set[Any]]


def _elsewhere(own: Sequence[Step], known: Known, rows: int) -> Iterator[tuple[Any, Any]]:
    """Rows with inputs of other moments, and with changed ones, of each type alike."""
    inputs = {step.input for step in own}
    changed = {other for input in inputs for other in _mutated(input, known)}
    alike = _by_shape(sorted(inputs | changed, key=_encoded))
    for at, row in enumerate(_evenly(dict.fromkeys(step.before for step in own), rows)):
        for each in alike:
            # Each row has others of them, so that together they have them all.
            stride = max(1, len(each) // INPUTS)
            for input in each[at % stride :: stride][:INPUTS]:
                yield row, input
                yield row, _of_its_epoch(row, input)


def _of_its_epoch(row: Any, input: Any) -> Any:
    """The input as it would be in the epoch that the row is in, if both name one."""
    epoch = getattr(row, "epoch", getattr(row, "leader_epoch", None))
    if epoch is None or not hasattr(input, "epoch"):
        return input
    return msgspec.structs.replace(input, epoch=epoch)


def _by_shape(values: Iterable[Any]) -> list[list[Any]]:
    """Those that are alike together, in order."""
    found: dict[Any, list[Any]] = {}
    for value in values:
        found.setdefault(_shape(value), []).append(value)
    return list(found.values())


def _shape(value: Any) -> Any:
    """Give the shape of a row or an input.

    It has the words, which of the numbers are defined, and which of the lists are empty.
    """
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value >= 0
    if isinstance(value, tuple):
        return bool(value)
    return type(value), *(_shape(getattr(value, name)) for name in value.__struct_fields__)


def _evenly(rows: Iterable[Any], most: int) -> list[Any]:
    """At most so many of them, of each shape alike."""
    waiting, found = _by_shape(rows), list[Any]()
    while waiting and len(found) < most:
        found += [each.pop(0) for each in waiting][: most - len(found)]
        waiting = [each for each in waiting if each]
    return found


def _nearby(own: Sequence[Step], known: Known, changes: int) -> Iterator[tuple[Any, Any]]:
    """Recorded steps with one field of the input changed."""
    for at, step in enumerate(own):
        changed = sorted(set(_mutated(step.input, known)), key=_encoded)
        stride = max(1, len(changed) // changes)
        for input in changed[at % stride :: stride][:changes]:
            yield step.before, input


def _afterwards(own: Sequence[Step], taken: Sequence[Step], rows: int) -> Iterator[tuple[Any, Any]]:
    """The rows that inputs which are no messages have made, with one of each type of these."""
    of_type = {type(step.input): step.input for step in own if not _is_message(step.input)}
    changed = [
        step.after for step in taken if not _is_message(step.input) and step.after != step.before
    ]
    for row in _thinned(list(dict.fromkeys(changed)), rows * AFTERWARDS):
        for input in of_type.values():
            yield row, input


def _is_message(input: Any) -> bool:
    return hasattr(input, "destination")


def _note(values: Iterable[Any], known: dict[tuple[type, str], set[Any]]) -> None:
    for value in values:
        for name in value.__struct_fields__:
            part = getattr(value, name)
            known.setdefault((type(value), name), set()).add(part)
            if isinstance(part, str):
                # An error of another answer is an error.
                known.setdefault((str, name), set()).add(part)
            if isinstance(part, msgspec.Struct):
                _note([part], known)


def _mutated(value: Any, known: Known) -> Iterator[Any]:
    """The value with one field changed."""
    for name in value.__struct_fields__:
        # A message goes where it goes; another receiver's are attempts of that one.
        if name == "destination":
            continue
        part = getattr(value, name)
        others = {other for other in known[type(value), name] if other != part}
        if isinstance(part, bool):
            others = {not part}
        elif isinstance(part, str):
            others |= known[str, name] - {part}
        elif isinstance(part, int) and name != "source":
            others |= {part + 1, max(-1, part - 1)}
        elif isinstance(part, msgspec.Struct) and type(part).__struct_fields__:
            others |= set(_mutated(part, known))
        for other in others - {part}:
            changed = msgspec.structs.replace(value, **{name: other})
            # No log ends nowhere in an epoch.
            half = isinstance(changed, EpochEnd) and NOBODY in (
                changed.epoch,
                changed.end_offset,
            )
            if not half:
                yield changed


class Taking:
    """What the reference makes of an attempt."""

    def __init__(self, constants: Any, bug: str | None) -> None:
        self._take = handlers_for(bug, constants)

    def step(self, node: int, row: Any, input: Any) -> Step | None:
        """The step, or None: the reference asserts that no cluster makes such an input."""
        try:
            outcome = self._take(node, row, input)
        except (AssertionError, LookupError, ValueError):
            return None
        action = action_name(type(input))
        if outcome is None:
            return Step(action, node, row, input, row, (), DISABLED)
        return Step(action, node, row, input, outcome.row, tuple(outcome.sent), outcome.ignored)
