"""A run as a picture: whose lane each step stands in, and which messages went from where to where.

Messages are recorded by content. Of those that are alike the first that was sent is taken first,
and one that is taken again was delivered twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from kraftcheck.artifacts import write_whole
from kraftcheck.exits import BadInput
from reference.protocols import (
    LOGS_BY_READING,
    MESSAGES,
    component_name,
    components_of,
    kind_of,
    nodes_of,
    protocol_of,
)
from reference.runner.narrate import narrate, render_input, render_options, says_nothing
from reference.runner.run import Run, Taken
from reference.sim.family import brief
from traces.report.run import Arrow, Lane, Picture, Step, render

Notes = Mapping[int, list[str]]


class Place(NamedTuple):
    """A lane: a node of a component, or an address that is none."""

    component: int
    node: int


def write_page(path: Path, title: str, run: Run, notes: Notes, found: Iterable[str]) -> None:
    """The page about a run. notes: what there is to say of steps; found: what is wrong with the
    run. Raises BadInput: it has no step, or the page cannot be written.
    """
    if not run.steps:
        raise BadInput(f"{title}: the run has no step: there is nothing to draw")
    text = render(picture(title, run, notes, found))
    try:
        write_whole(path, text)
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None


def picture(title: str, run: Run, notes: Notes, found: Iterable[str]) -> Picture:
    result = run.result
    said = {step: list(each) for step, each in notes.items()}
    for violation in result.violations:
        said.setdefault(violation.step, []).append(
            f"{violation.invariant}: {violation.explanation}"
        )
    places = _places(run)
    return Picture(
        title=title,
        drawn=f"run {result.run} seed {result.seed}: {render_options(result.options)}",
        verdict=result.verdict,
        found=[*[each for of in sorted(said) for each in said[of][:1]], *found],
        lanes=_lanes(run, places),
        steps=[
            _step(number, step, places, said.get(number, ()))
            for number, step in enumerate(run.steps)
        ],
        arrows=list(_arrows(run, places)),
        lines=list(narrate(run)),
    )


def _places(run: Run) -> dict[Place, int]:
    """The lanes, from left to right: of each component whoever takes a step, then addresses that
    are no nodes."""
    met: dict[Place, None] = {}
    for step in run.steps:
        component = step.component or 0
        met[Place(component, step.node)] = None
        for message in (step.input, *step.sent):
            met |= dict.fromkeys(Place(component, at) for at in _ends(message))
    constants = components_of(run.result.constants)

    def order(place: Place) -> tuple[int, bool, int]:
        return place.component, place.node not in nodes_of(constants[place.component]), place.node

    return {place: at for at, place in enumerate(sorted(met, key=order))}


def _ends(message: Any) -> tuple[int, ...]:
    """The addresses of a message; of what is read from a log that nodes share, the log's."""
    if isinstance(message, MESSAGES):
        return message.source, message.destination
    log = LOGS_BY_READING.get(type(message))
    return () if log is None else (log.address,)


def _lanes(run: Run, places: Mapping[Place, int]) -> list[Lane]:
    constants = run.result.constants
    first: dict[Place, Any] = {}
    for step in run.steps:
        first.setdefault(Place(step.component or 0, step.node), step.before)
    found = []
    for place in places:
        of = components_of(constants)[place.component]
        name = protocol_of(of).names.get(place.node, str(place.node))
        if place in first and place.node not in protocol_of(of).names:
            name = f"{kind_of(of, place.node).name} {name}"
        group = component_name(constants, place.component)
        short = group.replace("the quorum", "Q").replace("partition ", "p")
        row = _fields(first[place]) if place in first else {}
        found.append(Lane(f"{short} {name}".strip(), group, row))
    return found


def _fields(item: msgspec.Struct, path: str = "") -> dict[str, str]:
    """A row's fields in words; those of what stands in a field under the names of both."""
    found: dict[str, str] = {}
    for name in item.__struct_fields__:
        value = getattr(item, name)
        if isinstance(value, msgspec.Struct) and value.__struct_config__.tag is None:
            found |= _fields(value, f"{path}{name}.")
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


def _step(number: int, step: Taken, places: Mapping[Place, int], said: Iterable[str]) -> Step:
    before, after = _fields(step.before), _fields(step.after)
    return Step(
        number=number,
        time=f"{step.time / 1e6:.6f}",
        lane=places[Place(step.component or 0, step.node)],
        action=type(step.input).__name__,
        input=render_input(step.input),
        sent=tuple([render_input(message) for message in step.sent]),
        ignored=step.ignored,
        changed={name: value for name, value in after.items() if before[name] != value},
        said=tuple(said),
    )


def _arrows(run: Run, places: Mapping[Place, int]) -> Iterable[Arrow]:
    """Each message that was sent, and each input that came from an address."""
    waiting: dict[tuple[int, Any], list[int]] = defaultdict(list)
    sent: dict[tuple[int, Any], int] = {}
    nodes = [nodes_of(each) for each in components_of(run.result.constants)]
    for number, step in enumerate(run.steps):
        component = step.component or 0
        if ends := _ends(step.input):
            key = component, step.input
            left = waiting[key].pop(0) if waiting[key] else sent.get(key)
            sender = places[Place(component, ends[0])]
            taker = places[Place(component, step.node)]
            yield Arrow(render_input(step.input), sender, taker, left, number)
        for message in step.sent:
            waiting[component, message].append(number)
            sent[component, message] = number
            if message.destination not in nodes[component]:
                # Nobody there takes steps: it has arrived.
                waiting[component, message].pop()
                yield _arrow(message, component, places, number, number)
    for (component, message), numbers in waiting.items():
        for number in numbers:
            yield _arrow(message, component, places, number, None)


def _arrow(
    message: Any, component: int, places: Mapping[Place, int], left: int, taken: int | None
) -> Arrow:
    sender, receiver = [places[Place(component, at)] for at in _ends(message)]
    return Arrow(render_input(message), sender, receiver, left, taken)
