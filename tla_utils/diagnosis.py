"""Why a step was rejected: what the specification would have allowed instead.

For each step asked about, TLC evaluates the frame's `Outcomes(step)` and prints it; here the
outcomes are compared with what was recorded, field by field, down to the places that differ. The
differences are those against the *nearest* outcomes, the ones that differ in the fewest places;
if several are equally near, a place shows what each of them would have had there.

An outcome is a record whose fields stand for columns of the step, under the same name or as
`StepFrame.outcome_columns` says. Columns that no outcome mentions are inputs and are not compared.

Law of this file: it explains verdicts and never changes one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tla_utils.errors import ToolError
from tla_utils.output import TlcResult
from tla_utils.runner import TlcJob, run_tlc
from tla_utils.steps import (
    DEFAULT_OPTIONS,
    CheckOptions,
    StepFrame,
    batch_cfg,
    batch_module,
    complaint,
)
from tla_utils.steptable import Batch, Row, Step, StepTable
from tla_utils.values import Function, Record, Value, render

ABSENT: Final = "<absent>"
PRESENT: Final = "<present>"

# One run of TLC explains this many steps: a start of it costs more than hundreds of them. Sets of
# outcomes are printed in full, so not tens of thousands.
STEPS_PER_RUN = 1000


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where a step and the nearest outcomes differ."""

    path: str
    """The place, such as "after.role" or "after.log[2].value"."""
    recorded: str
    """The TLA+ text of what the step has there."""
    allowed: tuple[str, ...]
    """The texts of what the nearest outcomes have there, sorted. "<absent>" stands for nothing. In
    sets each element that only one side has is a place, such as "sent element <<1>>", unless one
    element stands in for one other: then the two are compared, at "sent{}".
    """

    def __str__(self) -> str:
        return f"{self.path}: recorded {self.recorded}, spec allows {{{', '.join(self.allowed)}}}"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the specification allows in place of a step."""

    number: int
    """Of the step (from 0)."""
    outcomes: list[Value] = field(default_factory=list)
    """All outcomes it allows, in the order of their text."""
    differences: list[Difference] = field(default_factory=list)
    """Against the nearest ones."""
    error: str = ""
    """TLC's words if it could not evaluate Outcomes."""

    @property
    def lines(self) -> list[str]:
        """The diagnosis in words, one line for each difference."""
        if self.error:
            return [f"evaluation error: {self.error}"]
        if not self.outcomes:
            return ["no outcome allowed: the action is disabled here"]
        if not self.differences:
            return ["Outcomes holds the recorded outcome, yet Allowed rejects the step"]
        return [str(difference) for difference in self.differences]


def diagnose(
    frame: StepFrame,
    steps: StepTable | Iterable[Step],
    numbers: Sequence[int] | None = None,
    options: CheckOptions = DEFAULT_OPTIONS,
) -> list[Diagnosis]:
    """Explain steps: the outcomes that the specification allows, and the nearest differences.

    Args:
        frame: what TLC evaluates for a step.
        steps: all steps.
        numbers: numbers of the steps to explain, from 0; by default all.
        options: how TLC runs.

    Returns:
        The diagnoses, in the order of `numbers`.

    Raises:
        ToolError: as for `check_steps`, or the fields of an outcome are not columns.
    """
    table = steps if isinstance(steps, StepTable) else StepTable.from_steps(steps)
    batch = Batch(table)
    asked = list(range(len(table))) if numbers is None else list(numbers)
    rows = list(dict.fromkeys(batch.row_of_step[number] for number in asked))
    answers: dict[Row, list[Value] | str] = {}
    for start in range(0, len(rows), STEPS_PER_RUN):
        answers |= _outcomes(frame, batch, rows[start : start + STEPS_PER_RUN], options)
    return [_explain(frame, n, table[n], answers[batch.row_of_step[n]]) for n in asked]


def _explain(
    frame: StepFrame, number: int, step: Mapping[str, Value], answer: list[Value] | str
) -> Diagnosis:
    if isinstance(answer, str):
        return Diagnosis(number, error=answer)
    return Diagnosis(number, answer, nearest_differences(frame, step, answer))


def _outcomes(
    frame: StepFrame, batch: Batch, rows: list[Row], options: CheckOptions
) -> dict[Row, list[Value] | str]:
    """For each row its outcomes, or TLC's words if they cannot be evaluated."""
    answers: dict[Row, list[Value] | str] = {}
    waiting = list(rows)
    runs = 0
    while waiting:
        if runs > options.extra_runs:
            reason = "not evaluated: TLC failed on too many other steps"
            return answers | dict.fromkeys(waiting, reason)
        runs += 1
        result = _ask(frame, batch, waiting, options)
        told = _told(result, len(waiting))
        for number, outcomes in told.items():
            answers[waiting[number - 1]] = outcomes
        if result.stopped or result.errors:
            # The step that TLC was at gets the reason; without one, none of the rest can be told.
            reason = result.stopped or complaint(result)
            at = (result.error_state or {}).get("SB_id")
            failed = [waiting[at - 1]] if type(at) is int and at >= 1 else waiting
            answers |= {row: reason for row in failed if row not in answers}
        elif len(told) != len(waiting) or not result.complete:
            raise ToolError(f"TLC told {len(told)} of {len(waiting)} outcomes: cannot explain them")
        waiting = [row for row in waiting if row not in answers]
    return answers


def _ask(frame: StepFrame, batch: Batch, rows: list[Row], options: CheckOptions) -> TlcResult:
    # The set is written anew element by element, so that TLC prints it and not a formula for it.
    tail = (
        'SB_Told == SB_id = 0 \\/ PrintT(<<"SB", SB_id, '
        "{outcome : outcome \\in Outcomes(SB_step(SB_id))}>>)\n"
    )
    job = TlcJob(
        module=batch_module(frame, batch.definitions(rows), len(rows), tail, extends=["TLC"]),
        cfg=batch_cfg(frame, "SB_Told"),
        libraries=frame.libraries,
        heap_mb=options.heap_mb,
        timeout_s=options.timeout_s,
        deadlock=False,
    )
    return run_tlc(job)


def _told(result: TlcResult, steps: int) -> dict[int, list[Value]]:
    told: dict[int, list[Value]] = {}
    for printed in result.printed_values():
        match printed:
            case ("SB", int(number), frozenset() as outcomes) if 1 <= number <= steps:
                told[number] = sorted(outcomes, key=render)
    return told


def nearest_differences(
    frame: StepFrame, step: Mapping[str, Value], outcomes: Sequence[Value]
) -> list[Difference]:
    """Say where the step differs from the outcomes nearest to it.

    Empty if it is one of them, or if there are none. Raises ToolError for outcomes that are no
    records of columns.
    """
    compared = [_differing(*_sides(frame, step, outcome)) for outcome in outcomes]
    if not compared:
        return []
    least = min(len(places) for places in compared)
    nearest = [places for places in compared if len(places) == least]
    differences = []
    for path, (recorded, _) in sorted(nearest[0].items()):
        allowed = {places[path][1] if path in places else recorded for places in nearest}
        differences.append(Difference(path, recorded, tuple(sorted(allowed))))
    return differences


def _sides(frame: StepFrame, step: Mapping[str, Value], outcome: Value) -> tuple[Record, Record]:
    """The recorded and the allowed side, under the names of the columns."""
    if not isinstance(outcome, Record):
        raise ToolError(f"Outcomes of {frame.module} gave {render(outcome)}, which is no record")
    allowed = {frame.outcome_columns.get(name, name): value for name, value in outcome.items()}
    for column in allowed:
        if column not in step:
            raise ToolError(
                f"Outcomes of {frame.module} has the field {column}, which is no column of the "
                "steps: rename it with outcome_columns"
            )
    return Record({column: step[column] for column in allowed}), Record(allowed)


def _differing(recorded: Record, allowed: Record) -> dict[str, tuple[str, str]]:
    """Path -> (recorded, allowed) for the innermost places where two values differ."""
    places: dict[str, tuple[str, str]] = {}
    for column in allowed:
        _compare(column, recorded[column], allowed[column], places)
    return places


def _compare(path: str, left: Value, right: Value, places: dict[str, tuple[str, str]]) -> None:
    match left, right:
        case (Record(), Record()):
            _compare_keys((path + ".", ""), dict(left), dict(right), places)
        case (Function(), Function()):
            _compare_keys((path + "[", "]"), _by_text(left), _by_text(right), places)
        case (tuple(), tuple()):
            _compare_keys((path + "[", "]"), _by_position(left), _by_position(right), places)
        case (frozenset(), frozenset()):
            _compare_sets(path, _elements(left), _elements(right), places)
        case _:
            if render(left) != render(right):
                places[path] = (render(left), render(right))


def _by_text(pairs: Function) -> dict[str, Value]:
    return {render(key): value for key, value in pairs.items()}


def _by_position(sequence: tuple[Value, ...]) -> dict[str, Value]:
    # TLA+ counts the elements of a sequence from 1, and so does the path.
    return {str(position): value for position, value in enumerate(sequence, start=1)}


def _elements(members: frozenset[Value]) -> dict[str, Value]:
    return {render(member): member for member in members}


def _compare_sets(
    path: str, left: dict[str, Value], right: dict[str, Value], places: dict[str, tuple[str, str]]
) -> None:
    extra, missing = sorted(left.keys() - right.keys()), sorted(right.keys() - left.keys())
    if len(extra) == len(missing) == 1:
        # One element was exchanged for another: often the same message with one field wrong.
        _compare(f"{path}{{}}", left[extra[0]], right[missing[0]], places)
        return
    for text in extra:
        places[f"{path} element {text}"] = (PRESENT, ABSENT)
    for text in missing:
        places[f"{path} element {text}"] = (ABSENT, PRESENT)


def _compare_keys(
    around: tuple[str, str],
    left: Mapping[str, Value],
    right: Mapping[str, Value],
    places: dict[str, tuple[str, str]],
) -> None:
    for key in dict.fromkeys([*left, *right]):
        place = f"{around[0]}{key}{around[1]}"
        if key not in left:
            places[place] = (ABSENT, render(right[key]))
        elif key not in right:
            places[place] = (render(left[key]), ABSENT)
        else:
            _compare(place, left[key], right[key], places)
