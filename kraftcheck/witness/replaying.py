"""Schedules on Kafka's classes: one, shown step by step, or all that are stored for a protocol.

Law of this file: what a schedule says of the reference with a bug is no word on Kafka; Kafka is
judged by what it did.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from kraftcheck import artifacts, exits
from kraftcheck.exits import BadInput
from kraftcheck.known_bugs import schedules
from kraftcheck.screen import Columns, Screen
from kraftcheck.witness import comparing, driving, following
from kraftcheck.witness.comparing import Differing
from kraftcheck.witness.departures import Met, Witnessed
from kraftcheck.witness.driving import (
    RESULT,
    TRACE,
    Component,
    all_judged,
    host_of,
    of_run,
    producer,
    traces_of,
)
from kraftcheck.witness.kafka import Kafka, tried
from kraftcheck.witness.speech import header
from reference.protocols import components_of
from reference.steered.failures import REJECTED
from reference.steered.scripts import Script
from traces.foreign.profiles import Profile

BUG_HEADS = ("schedule", "with its bug", ">moves", ">steps", "on Kafka", "entries")


class Played(NamedTuple):
    """A schedule as Kafka followed it. differing: by part, if they were compared, the steps that
    the reference would not have taken so; their lines are those of the trace. found: by part.
    """

    followed: following.Followed
    differing: list[list[Differing]]
    found: list[Witnessed]

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
    """Follows a schedule of this name, writes its steps, and has them judged; those that do not
    differ by the reference, if they are compared.

    Raises BadInput: wrong options, or no move is possible; or as driving.by_chance.
    """
    try:
        setting = component.setting(script.options)
    except msgspec.ValidationError as error:
        raise BadInput(f"{name}: options: {error}") from None
    constants = component.constants(setting)

    def work() -> following.Followed:
        with host_of(kafka, component.protocol, constants) as host:
            return following.follow(script, component.begin(setting, host, True, compares))

    followed = tried(work)
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
    profile = kafka.allowed(*(part.protocol.name for part in component.parts))
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
    for line in following.told(made.followed):
        screen.line(line)
    screen.line()
    if differential:
        screen.line(f"{sum(map(len, made.differing)):,} of {steps:,} steps differ")
        for part, differing in zip(component.parts, made.differing, strict=True):
            for line in comparing.told(differing, part.methods, driving.DIFFERING):
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


# -- All that are stored


def bugs(component: Component, *, kafka: Kafka, out: Path, jar: str | None, screen: Screen) -> int:
    """Every stored schedule of a protocol on Kafka, and what became of it. Raises as `played`."""
    driving.use_jar(jar)
    protocol = component.protocol
    machine = (protocol.witness and protocol.witness.under) or protocol.name
    profile = kafka.allowed(*(part.protocol.name for part in component.parts))
    every = schedules.every(machine)
    if not every:
        raise BadInput(f"no schedule of a {machine} is stored")
    place = artifacts.claim(out)
    columns = Columns(BUG_HEADS, [(n, s.violates, "00 of 00", "0000") for n, s in every])
    screen.line(columns.head)
    codes, documents = [], []
    for file, script in every:
        name = file.removesuffix(".moves")
        made = played(component, script, file, kafka, place / f"{name}.jsonl", profile, screen.note)
        document = _of_bug(name, script, made)
        screen.line(columns.row(_cells(document)))
        codes.append(made.code)
        documents.append(document)
    code = exits.worst(codes)
    document = {"verdict": exits.VERDICTS[code], "kafka": kafka.version, "schedules": documents}
    artifacts.write_json(place / RESULT, document)
    screen.document(document)
    return code


def _of_bug(name: str, script: Script, made: Played) -> dict[str, Any]:
    followed = made.followed
    return {
        "schedule": name,
        "with_its_bug": script.violates,
        "moves": len(script.moves),
        "made": followed.made,
        "left_out": followed.left_out,
        "steps": sum(len(part.lines) for part in followed.schedule.parts),
        "violates": made.violates,
        "refused": made.refused,
        "known": {met.name: len(met.lines) for met in made.met},
        "bugs": [met.name for met in made.met if met.of == "bug"],
        "stopped": followed.schedule.thrown,
        "verdict": exits.VERDICTS[made.code],
    }


def _cells(of: dict[str, Any]) -> Sequence[Any]:
    refused = ", ".join(f"{count} {action}" for action, count in of["refused"].items())
    on_kafka = of["violates"] or (f"refused: {refused}" if refused else "holds")
    moves = f"{of['made']} of {of['moves']}"
    known = ", ".join(of["known"]) or "none"
    violates = of["with_its_bug"] or "nothing"
    return [of["schedule"], violates, moves, of["steps"], on_kafka, known]


def actions(found: Witnessed) -> dict[str, int]:
    """How many steps of each action are refused."""
    names = [each.action for each in found.found.rejections]
    return {action: names.count(action) for action in sorted({*names})}
