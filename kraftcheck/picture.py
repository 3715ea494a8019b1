"""A run as a picture: whose lane each step stands in, and which messages went from where to where.

Runs of the reference and those of other implementations are brought to one form, `Seen`; the rest
knows neither. Messages are known by content: of those that are alike the first that was sent is
taken first, and one that is taken again was delivered twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from kraftcheck.artifacts import write_whole
from kraftcheck.exits import BadInput, refusing
from kraftcheck.reference.protocols import (
    LOGS_BY_READING,
    MESSAGES,
    AnyConstants,
    component_name,
    components_of,
    kind_of,
    nodes_of,
    protocol_of,
)
from kraftcheck.reference.runner.narrate import (
    field_words,
    narrate,
    render_input,
    render_options,
    says_nothing,
)
from kraftcheck.reference.runner.run import Run, Taken
from kraftcheck.reference.sim.family import brief
from kraftcheck.traces.foreign.reading import Fields, ForeignStep, ForeignTrace
from kraftcheck.traces.foreign.verdicts import ForeignVerdict
from kraftcheck.traces.report.run import Arrow, Lane, Picture, Step, render
from tla_utils import Record, Value
from tla_utils.values import render as in_tla

Notes = Mapping[int, list[str]]


class Place(NamedTuple):
    """A lane: a node of a component, or an address that is none."""

    component: int
    node: int


class Letter(NamedTuple):
    """An input or a message."""

    content: Hashable
    words: str
    ends: tuple[int, ...]
    """From where and to where; of what is read from a log that nodes share, the log; of what comes
    from nowhere, nothing.
    """


class Seen(NamedTuple):
    """A step. before, after: the fields of the row in words, as far as they are known."""

    number: int
    time: str
    place: Place
    action: str
    took: Letter
    sent: tuple[Letter, ...]
    ignored: str
    before: Mapping[str, str]
    after: Mapping[str, str]


def write_page(path: Path, drawn: Picture) -> None:
    """The page about a run. Raises BadInput: it has no step, or the page cannot be written."""
    if not drawn.steps:
        raise BadInput(f"{drawn.title}: the run has no step: there is nothing to draw")
    with refusing(OSError, of=path):
        write_whole(path, render(drawn))


def _picture(
    of: Sequence[AnyConstants],
    names: Sequence[str],
    seen: Sequence[Seen],
    said: Notes,
    **told: Any,
) -> Picture:
    """of, names: the components' constants, and what they are called.

    said: by a step's number. told: what else a picture has.
    """
    places = _places(of, seen)
    return Picture(
        lanes=_lanes(of, names, seen, places),
        steps=[
            Step(
                number=each.number,
                time=each.time,
                lane=places[each.place],
                action=each.action,
                input=each.took.words,
                sent=tuple([letter.words for letter in each.sent]),
                ignored=each.ignored,
                changed={k: v for k, v in each.after.items() if each.before.get(k) != v},
                said=tuple(said.get(each.number, ())),
            )
            for each in seen
        ],
        arrows=list(_arrows(of, seen, places)),
        **told,
    )


def _places(of: Sequence[AnyConstants], seen: Sequence[Seen]) -> dict[Place, int]:
    """Give the lanes from left to right.

    Each component has its nodes, those without a step too; then come addresses that are no nodes.
    """
    met = dict.fromkeys(each.place for each in seen)
    for component in dict.fromkeys(place.component for place in met):
        met |= dict.fromkeys(Place(component, node) for node in nodes_of(of[component]))
    for each in seen:
        for letter in (each.took, *each.sent):
            met |= dict.fromkeys(Place(each.place.component, end) for end in letter.ends)

    def order(place: Place) -> tuple[int, bool, int]:
        return place.component, place.node not in nodes_of(of[place.component]), place.node

    return {place: at for at, place in enumerate(sorted(met, key=order))}


def _lanes(
    of: Sequence[AnyConstants],
    names: Sequence[str],
    seen: Sequence[Seen],
    places: Mapping[Place, int],
) -> list[Lane]:
    first: dict[Place, Mapping[str, str]] = {}
    for each in seen:
        first.setdefault(each.place, each.before)
    found = []
    for place in places:
        constants, group = of[place.component], names[place.component]
        protocol = protocol_of(constants)
        name = protocol.spelt.get(place.node) or protocol.names.get(place.node, "")
        if not name and place.node in nodes_of(constants):
            name = f"{kind_of(constants, place.node).name} {place.node}"
        short = group.replace("the quorum", "Q").replace("partition ", "p")
        found.append(
            Lane(f"{short} {name or place.node}".strip(), group, dict(first.get(place, {})))
        )
    return found


def _arrows(
    of: Sequence[AnyConstants], seen: Sequence[Seen], places: Mapping[Place, int]
) -> Iterable[Arrow]:
    """Each message that was sent, and each input that came from an address."""
    waiting: dict[tuple[int, Hashable], list[Arrow]] = defaultdict(list)
    latest: dict[tuple[int, Hashable], int] = {}
    nodes = [nodes_of(each) for each in of]
    for at, step in enumerate(seen):
        component, taker = step.place.component, places[step.place]
        if step.took.ends:
            key = component, step.took.content
            left = waiting[key].pop(0).left if waiting[key] else latest.get(key)
            sender = places[Place(component, step.took.ends[0])]
            yield Arrow(step.took.words, sender, taker, left, at)
        for letter in step.sent:
            source, destination = letter.ends
            sender, receiver = (
                places[Place(component, source)],
                places[Place(component, destination)],
            )
            sent = Arrow(letter.words, sender, receiver, at, None)
            if destination not in nodes[component]:
                # Nobody there takes steps: it has arrived.
                yield sent._replace(taken=at)
            else:
                waiting[component, letter.content].append(sent)
                latest[component, letter.content] = at
    for left_over in waiting.values():
        yield from left_over


# -- Runs of the reference


def picture(title: str, run: Run, notes: Notes, found: Iterable[str]) -> Picture:
    """notes: what there is to say of steps, beside what they violate.

    found: what is wrong with the run as a whole.
    """
    result = run.result
    said = {step: list(each) for step, each in notes.items()}
    for each in result.violations:
        said.setdefault(each.step, []).append(f"{each.invariant}: {each.explanation}")
    of = components_of(result.constants)
    return _picture(
        of,
        [component_name(result.constants, at) for at in range(len(of))],
        [_taken(number, step) for number, step in enumerate(run.steps)],
        said,
        title=title,
        drawn=f"run {result.run} seed {result.seed}: {render_options(result.options)}",
        verdict=_ended(run, notes),
        found=[*dict.fromkeys(_in_short(step, said[step]) for step in sorted(said)), *found],
        lines=list(narrate(run)),
    )


def _ended(run: Run, notes: Notes) -> str:
    """How a run ended; one that violates nothing itself by what others say of its steps."""
    if run.result.violations or not notes:
        return run.result.verdict
    steps = "step is" if len(notes) == 1 else "steps are"
    return f"{len(notes):,} {steps} not allowed by the spec ({run.result.verdict})"


def _in_short(number: int, said: Sequence[str]) -> str:
    """What there is to say of a step in a line; steps of one cause say the same."""
    return said[0] if len(said) == 1 else f"step {number}: {': '.join(said[:2])}"


def _taken(number: int, step: Taken) -> Seen:
    return Seen(
        number=number,
        time=f"{step.time / 1e6:.6f} s",
        place=Place(step.component or 0, step.node),
        action=type(step.input).__name__,
        took=_letter(step.input),
        sent=tuple([_letter(message) for message in step.sent]),
        ignored=step.ignored,
        before=fields_of(step.before),
        after=fields_of(step.after),
    )


def _letter(message: Any) -> Letter:
    log = LOGS_BY_READING.get(type(message))
    ends: tuple[int, ...] = () if log is None else (log.address,)
    if isinstance(message, MESSAGES):
        ends = message.source, message.destination
    return Letter(message, render_input(message, field_words), ends)


def fields_of(item: msgspec.Struct, path: str = "") -> dict[str, str]:
    """A row's fields in words; those of what stands in a field under the names of both."""
    found: dict[str, str] = {}
    for name in item.__struct_fields__:
        value = getattr(item, name)
        if isinstance(value, msgspec.Struct) and value.__struct_config__.tag is None:
            found |= fields_of(value, f"{path}{name}.")
        else:
            found[path + name] = _shown(value)
    return found


def _shown(value: object) -> str:
    """A value in words: structs of a list on lines of their own, without what says nothing."""
    if isinstance(value, tuple):
        lines = any(isinstance(each, msgspec.Struct) for each in value)
        return ("\n" if lines else ", ").join(map(_shown, value))
    if not isinstance(value, msgspec.Struct):
        return brief(value)
    fields = {name: getattr(value, name) for name in value.__struct_fields__}
    words = [f"{k}={_shown(v)}" for k, v in fields.items() if not says_nothing(v)]
    tag = type(value).__name__ if value.__struct_config__.tag is not None or not words else ""
    return " ".join([tag, *words]).strip()


# -- Runs of other implementations


def foreign_picture(
    trace: ForeignTrace, judged: ForeignVerdict, asked: int | None = None
) -> Picture:
    """Draw a run.

    Unless one is asked for it is the run of the first line that something is wrong with, or else
    the first. Raises BadInput: there is no such run.
    """
    runs = {step.line: step.run for step in trace.steps}
    wrong = [each.line for each in judged.rejections] + [each.line for each in judged.findings]
    run = asked if asked is not None else runs[min(wrong, default=trace.steps[0].line)]
    if run not in runs.values():
        raise BadInput(f"{trace.path}: there is no run {run}")
    steps = [step for step in trace.steps if step.run == run]
    said: dict[int, list[str]] = defaultdict(list)
    for each in judged.rejections:
        said[each.line] += ["not allowed by the spec", *each.differences]
    for finding in judged.findings:
        said[finding.line].append(f"{finding.check}: {finding.explanation}")
    names = protocol_of(trace.constants).names
    seen = [_logged(step, names) for step in steps]
    return _picture(
        (trace.constants,),
        ("",),
        seen,
        said,
        title=f"{trace.path}, run {run}",
        drawn=f"steps of {trace.producer or 'another implementation'}, by their lines",
        verdict=judged.verdict,
        found=judged.reasons,
        lines=list(_told(seen, said)),
    )


def _told(seen: Iterable[Seen], said: Notes) -> Iterable[str]:
    """Each step in a line, what it changed in a second one, and what there is to say of it."""
    for each in seen:
        line = f"{each.took.words}  ignored: {each.ignored}" if each.ignored else each.took.words
        sent = "; ".join(letter.words for letter in each.sent)
        yield f"{each.number:>6} {each.place.node:>3}  {_in_one(line)}" + (
            f"  => {_in_one(sent)}" if sent else ""
        )
        was = each.before
        changed = [(k, was[k], v) for k, v in each.after.items() if was.get(k, v) != v]
        if changed:
            words = [f"{name} {old or '-'} -> {new or '-'}" for name, old, new in changed]
            yield f"{'':>12}{_in_one('; '.join(words))}"
        for number, word in enumerate(said.get(each.number, ())):
            yield f"{'':>6} {'  ' if number else '!!'} {word}"


def _in_one(text: str) -> str:
    return " ".join(text.replace("\n", ", ").split())


def _logged(step: ForeignStep, names: Mapping[int, str]) -> Seen:
    hidden = Letter(None, "(not logged)", ())
    return Seen(
        number=step.line,
        time=f"line {step.line}",
        place=Place(0, step.node),
        action=step.action.removeprefix("Handle") or "(not logged)",
        took=hidden if step.input is None else _value_letter(step.input, names),
        sent=tuple([_value_letter(message, names) for message in step.sent or ()]),
        ignored=step.ignored or "",
        before=_values(step.before),
        after=_values(step.after),
    )


def _value_letter(message: Fields, names: Mapping[int, str]) -> Letter:
    fields = dict(message)
    name, source, destination = (fields.pop(k, None) for k in ("type", "source", "destination"))
    ends: tuple[int, ...] = ()
    words = [str(name)]
    if isinstance(source, int) and isinstance(destination, int):
        ends = source, destination
        words.append(f"{names.get(source, source)}>{names.get(destination, destination)}")
    words += [f"{k}={v}" for k, v in _values(fields).items()]
    return Letter(frozenset(message.items()), " ".join(words), ends)


def _values(fields: Mapping[str, Value]) -> dict[str, str]:
    return {name: _value_shown(value) for name, value in fields.items()}


def _value_shown(value: Value, inside: bool = False) -> str:
    """As `_shown`, of a value of the spec; what stands in another record is in brackets."""
    if isinstance(value, tuple):
        lines = not inside and any(isinstance(each, Record) for each in value)
        return ("\n" if lines else ", ").join(_value_shown(each, inside) for each in value)
    if isinstance(value, Record):
        told = {name: each for name, each in value.items() if not says_nothing(each)}
        name = told.pop("type", "") if told else "-"
        words = [str(name), *[f"{k}={_value_shown(v, inside=True)}" for k, v in told.items()]]
        said = " ".join(words).strip()
        return f"({said})" if inside and told else said
    if isinstance(value, frozenset) and any(isinstance(each, Record) for each in value):
        return f"{{{', '.join(sorted(_value_shown(each) for each in value))}}}"
    return value if isinstance(value, str) else in_tla(value)
