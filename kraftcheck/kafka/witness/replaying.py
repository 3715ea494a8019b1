"""Schedules on Kafka's classes: one, shown step by step, or all that are stored for a protocol.

Law of this file: what a schedule says of the reference with a bug is no word on Kafka; Kafka is
judged by what it did.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

from kraftcheck import artifacts, exits
from kraftcheck.exits import BadInput
from kraftcheck.kafka.live.witness.jars import class_path
from kraftcheck.kafka.witness import comparing, driving, following
from kraftcheck.kafka.witness.chance import Component
from kraftcheck.kafka.witness.comparing import Differing
from kraftcheck.kafka.witness.departures import Met, Witnessed
from kraftcheck.kafka.witness.driving import (
    RESULT,
    TRACE,
    all_judged,
    host_of,
    of_run,
    producer,
    traces_of,
)
from kraftcheck.kafka.witness.kafka import Kafka, driver, tried
from kraftcheck.kafka.witness.speech import header
from kraftcheck.known_bugs import schedules
from kraftcheck.markdown import table
from kraftcheck.reference.protocols import components_of
from kraftcheck.reference.sim.schedules import Schedule
from kraftcheck.reference.steered.failures import REJECTED
from kraftcheck.reference.steered.scripts import Script
from kraftcheck.schedules import as_moves, either
from kraftcheck.screen import Columns, Screen
from kraftcheck.traces.counterexamples.retold import retold
from kraftcheck.traces.foreign.profiles import Profile

BUG_HEADS = ("schedule", "with its bug", ">moves", ">steps", "on Kafka", "entries")
PAGE = "schedules.md"


class Played(NamedTuple):
    """A schedule as Kafka followed it."""

    followed: following.Followed
    differing: list[list[Differing]]
    """By part, if they were compared, the steps that the reference would not have taken so; their
    lines are those of the trace.
    """
    found: list[Witnessed]
    """By part."""

    @property
    def violates(self) -> str:
        failure = self.followed.failure
        return failure.name if failure else ""

    @property
    def met(self) -> list[Met]:
        return [met for each in self.found for met in each.met]

    @property
    def refused(self) -> dict[str, int]:
        """How many steps of each action are."""
        return {action: count for each in self.found for action, count in actions(each).items()}

    def does(self, wrong: str) -> bool:
        """Whether that is wrong which a script says that it violates; of no name: no property."""
        findings = {f.check for of in self.found for f in (*of.found.findings, *of.in_vain)}
        steps = {f"{REJECTED}{action}" for action in self.refused}
        return wrong == self.violates or (not self.violates and wrong in findings | steps)

    @property
    def code(self) -> int:
        codes = [exits.code_of(each.verdict) for each in self.found]
        return exits.worst([*codes, exits.VIOLATED if self.violates else exits.HOLDS])


def played(
    component: Component,
    script: Script,
    name: str,
    kafka: Kafka,
    trace: Path,
    profile: Profile | None,
    note: Callable[[str], None] = lambda what: None,
    compares: bool = False,
) -> Played:
    """Follow a schedule of this name, write its steps, and have them judged.

    Those that do not differ are judged by the reference, if they are compared.

    Raises BadInput: wrong options, or no move is possible; or as driving.by_chance.
    """
    setting = component.setting_of(script, name)
    constants = component.constants(setting)

    def work() -> following.Followed:
        with host_of(kafka, component.protocol, constants) as host:
            return following.follow(script, component.begin(setting, host, True, compares))

    try:
        followed = tried(work)
    except BadInput as error:
        raise BadInput(f"{name}: {error}") from None
    parts = followed.schedule.parts
    if not followed.made:
        first = f"the first is {followed.left_out[0]!r:.120}"
        raise BadInput(f"{name}: none of its moves is possible on Kafka, {first}")
    for of, part in zip(component.parts, parts, strict=True):
        if not part.lines:
            raise BadInput(f"{name}: its moves take no step of a {of.protocol.name}: add some")
    by = producer(kafka, component.protocol)
    for path, of, part in zip(
        traces_of(trace, component), components_of(constants), parts, strict=True
    ):
        said = [header(of, by) + "\n", *(of_run(text, 0) for text, _ in part.lines)]
        artifacts.write_whole(path, "".join(said))
    # The first line of a trace is its header.
    differing = [[e._replace(line=e.line + 1) for e in part.differing] for part in parts]
    only = differing if compares else None
    return Played(followed, differing, all_judged(component, trace, profile, note, only))


def replay(
    component: Component,
    script: Script,
    path: Path,
    *,
    kafka: Kafka,
    out: Path | None,
    jar: str | None,
    screen: Screen,
    differential: bool = False,
) -> int:
    """A schedule of moves on Kafka, from this file. Raises as `played`."""
    driving.use_jar(jar)
    profile = kafka.allowed(*component.names)
    return followed(component, script, path, kafka, profile, screen, out, differential)


def followed(
    component: Component,
    script: Script,
    path: Path,
    kafka: Kafka,
    profile: Profile | None,
    screen: Screen,
    out: Path | None = None,
    differential: bool = False,
    facts: Sequence[tuple[str, str]] = (),
    told: Mapping[str, Any] | None = None,
) -> int:
    """As `replay`, by this profile. facts, told: what is said of the schedule besides."""
    place = artifacts.claim(out) if out else None
    with tempfile.TemporaryDirectory() as folder:
        trace = (place or Path(folder)) / TRACE
        made = played(
            *(component, script, str(path), kafka, trace, profile, screen.note, differential)
        )
    schedule, failure = made.followed.schedule, made.followed.failure
    steps = sum(len(part.lines) for part in schedule.parts)
    for line in following.step_lines(made.followed):
        screen.line(line)
    screen.line()
    if differential:
        screen.line(f"{sum(map(len, made.differing)):,} of {steps:,} steps differ")
        for part, differing in zip(component.parts, made.differing, strict=True):
            for line in comparing.difference_lines(differing, part.methods, driving.DIFFERING):
                screen.line(line)
    done = f"{made.followed.made} of {len(script.moves)} made, {steps} steps"
    shown = [*facts, ("moves", done)]
    shown += [("violated", f"{failure.name}: {failure.sentence}")] if failure else []
    document = {
        **(told or {}),
        "schedule": str(path),
        "moves": len(script.moves),
        "made": made.followed.made,
        "left_out": made.followed.left_out,
        "violates": made.violates,
        "as_said": made.does(script.violates),
        "differing": driving.of_differing([*chain(*made.differing)]) if differential else None,
    }
    return driving.concluded(
        *(made.found, component, kafka, profile, shown, document),
        *(schedule.thrown, [], place, screen, failure),
    )


# -- Many


class Given(NamedTuple):
    """A schedule, what it violates with its bug, and what drives the classes that it moves."""

    name: str
    violates: str
    component: Component | None
    script: Script | None
    refused: str = ""
    """Why it cannot be followed, in one line; then there is no such thing."""


def scheduled(path: Path, kafka: Kafka) -> tuple[Component, Script]:
    """What drives the classes that a schedule moves, and the schedule. Raises BadInput."""
    return _of(path, either(path), kafka)


def _of(path: Path, read: Script | Schedule, kafka: Kafka) -> tuple[Component, Script]:
    machine = read.machine if isinstance(read, Script) else read.scenario
    module = driver(machine, f"{path}: a schedule of {machine}")
    # Whose moves have words of their own retells them itself.
    return module.component(kafka), as_moves(path, read, getattr(module, "retold", retold))


def _given(names: Sequence[str], kafka: Kafka) -> Iterator[Given]:
    """The schedules of these files, and all that are stored for these protocols.

    Raises BadInput: a protocol has none, or a file is none.
    """
    for name in names:
        path = Path(name)
        if path.is_file():
            read = either(path)
            try:
                yield Given(path.name, read.violates, *_of(path, read, kafka))
            except BadInput as error:
                why = str(error).removeprefix(f"{path}: ")
                yield Given(path.name, read.violates, None, None, why)
            continue
        component: Component = driver(name, name).component(kafka)
        every = schedules.every(component.machine)
        if not every:
            raise BadInput(f"no schedule of a {component.machine} is stored")
        yield from (Given(stored, script.violates, component, script) for stored, script in every)


def bugs(
    names: Sequence[str],
    *,
    kafka: Kafka,
    out: Path,
    jar: str | None,
    screen: Screen,
    differential: bool = False,
) -> int:
    """Follow every stored schedule of these protocols, and those of these files, on Kafka.

    What became of each goes to `witness.json`, and to the table of `page`. A schedule that cannot
    be followed is told so, unless there is no other. differential: TLC judges the steps that the
    reference would not have taken so. Raises BadInput, and as `played`.
    """
    driving.use_jar(jar)
    every = [*_given(names, kafka)]
    place = artifacts.claim(out)
    columns = Columns(BUG_HEADS, [(g.name, g.violates, "00 of 00", "0000") for g in every])
    screen.line(columns.head)
    codes: list[int] = []
    told: list[dict[str, Any]] = []
    for given in every:
        document, code = _tried(given, kafka, place, screen, differential)
        screen.line(columns.row(_cells(document)))
        codes += [] if code is None else [code]
        told.append(document)
    if not codes:
        raise BadInput(told[0]["not_followed"] if told else "no schedule: name one, or a protocol")
    code = exits.worst(codes)
    document = {"verdict": exits.VERDICTS[code], "kafka": kafka.version, "schedules": told}
    artifacts.write_json(place / RESULT, document)
    artifacts.write_whole(place / PAGE, page(told))
    screen.document(document)
    return code


def _tried(
    given: Given, kafka: Kafka, place: Path, screen: Screen, compares: bool
) -> tuple[dict[str, Any], int | None]:
    """What became of a schedule, and the exit code; None: it was not followed."""
    name = Path(given.name).stem
    why = given.refused
    if given.component and given.script:
        component, trace = given.component, place / f"{name}.jsonl"
        # Without the classes none can be followed.
        tried(partial(class_path, kafka.version, kafka.jars, component.protocol.name))
        profile = kafka.allowed(*component.names)
        try:
            made = played(
                *(component, given.script, given.name, kafka, trace, profile, screen.note, compares)
            )
            return _of_bug(name, given.script, made), made.code
        except BadInput as error:
            why = str(error).removeprefix(f"{given.name}: ")
    return {"schedule": name, "with_its_bug": given.violates, "not_followed": why}, None


def _of_bug(name: str, script: Script, made: Played) -> dict[str, Any]:
    followed = made.followed
    return {
        "schedule": name,
        "with_its_bug": script.violates,
        "not_followed": "",
        "moves": len(script.moves),
        "made": followed.made,
        "left_out": followed.left_out,
        "parts_at": followed.parts_at,
        "steps": sum(len(part.lines) for part in followed.schedule.parts),
        "violates": made.violates,
        "refused": made.refused,
        "known": {met.name: len(met.lines) for met in made.met},
        "bugs": [met.name for met in made.met if met.of == "bug"],
        "stopped": followed.schedule.thrown,
        "verdict": exits.VERDICTS[made.code],
    }


def _cells(of: dict[str, Any]) -> Sequence[Any]:
    violates = of["with_its_bug"] or "nothing"
    if of["not_followed"]:
        return [of["schedule"], violates, None, None, f"not followed: {of['not_followed']}", None]
    moves = f"{of['made']} of {of['moves']}"
    known = ", ".join(of["known"]) or "none"
    return [of["schedule"], violates, moves, of["steps"], _on_kafka(of), known]


def _on_kafka(of: dict[str, Any]) -> str:
    """What became of a schedule that was followed, in words."""
    refused = ", ".join(f"{count} {action}" for action, count in of["refused"].items())
    said = of["violates"] or (f"refused: {refused}" if refused else "holds")
    parts = f"parts at move {of['parts_at']}, `{of['left_out'][0]:.60}`" if of["parts_at"] else ""
    return f"{said}; {parts}" if parts else said


def page(told: Sequence[dict[str, Any]]) -> str:
    """What became of schedules, in Markdown: a table, and those not followed by reason."""
    rows = [_cells(of) for of in told if not of["not_followed"]]
    left: dict[str, list[str]] = {}
    for of in told:
        if of["not_followed"]:
            # The move that is not driven differs; what is not driven is the reason.
            reason = of["not_followed"].rpartition(": ")[2]
            left.setdefault(reason, []).append(of["schedule"])
    items = [_item(f"- {reason}: {', '.join(names)}") for reason, names in left.items()]
    return "\n".join([table([head.removeprefix(">") for head in BUG_HEADS], rows), *items, ""])


def _item(text: str) -> str:
    """Of a list, in lines as documents have them."""
    return fill(text, 100, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)


def actions(found: Witnessed) -> dict[str, int]:
    """How many steps of each action are refused."""
    names = [each.action for each in found.found.rejections]
    return {action: names.count(action) for action in sorted({*names})}
