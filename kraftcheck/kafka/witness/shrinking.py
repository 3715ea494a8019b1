"""`witness shrink`: a schedule on which Kafka's classes do what they should not, made small.

Moves are left out as from a schedule of the reference (traces/counterexamples/minimising.py), and
Kafka makes what is left, in one JVM, whose nodes begin anew each time. What is kept fails alike:
the same property is violated, TLC refuses a step of the same action, or the same is wrong in the
run. Where the profile allows all that Kafka does, its bugs are not allowed any more: then the
schedule of a known bug is made small.

Law of this file: a step is refused iff TLC says so. TLC is not asked about steps that are the
reference's, too (comparing.py).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from kraftcheck import artifacts
from kraftcheck.exits import BadInput
from kraftcheck.kafka.live.witness.host import Host
from kraftcheck.kafka.witness import driving, following, junit, replaying
from kraftcheck.kafka.witness.chance import Component
from kraftcheck.kafka.witness.comparing import Differing
from kraftcheck.kafka.witness.driving import host_of, of_run
from kraftcheck.kafka.witness.junit.written import Wrong
from kraftcheck.kafka.witness.kafka import Kafka, tried
from kraftcheck.kafka.witness.speech import header
from kraftcheck.reference.protocols import components_of
from kraftcheck.reference.steered.failures import REJECTED, Failure, StepRejected
from kraftcheck.reference.steered.scripts import Script, write
from kraftcheck.screen import Screen
from kraftcheck.traces.counterexamples.minimising import Minimised, minimised, minimised_step
from kraftcheck.traces.foreign.batch import judge_batch, judge_steps
from kraftcheck.traces.foreign.profiles import Profile
from kraftcheck.traces.foreign.reading import ForeignTrace, read_foreign
from tla_utils import ToolError

ANYWHERE = '"start":"any","order":"by node"'
"""In the header of steps that are no run."""


class _Suspect(NamedTuple):
    """A step that the reference would not have taken."""

    part: int
    text: str
    """Its line."""
    made: int
    """How many moves had been made by then."""
    differing: Differing
    refused: bool | None
    """What TLC has said; None: it was not asked."""


class KafkasSteps:
    """What Kafka's classes do along schedules, and what TLC has said of it: minimising.Steps."""

    hopeful = True

    def __init__(
        self, component: Component, setting: Any, host: Host, profile: Profile | None, folder: Path
    ) -> None:
        """folder: where traces may be written."""
        self.profile = profile
        self._component, self._setting, self._host = component, setting, host
        self._constants = components_of(component.constants(setting))
        self._trace = folder / driving.TRACE
        self._verdicts: dict[tuple[int, str], bool] = {}
        self._waiting: dict[tuple[int, str], None] = {}
        self._sought: tuple[str, ...] | None = None
        """The fields in which the first step that was refused is not the reference's."""

    def judge_by(self, profile: Profile | None) -> None:
        """From now on."""
        self.profile = profile
        self._waiting |= dict.fromkeys(self._verdicts)
        self._verdicts.clear()

    def run(
        self, script: Script, moves: Sequence[str], hoped: str = ""
    ) -> tuple[tuple[str, ...], Failure | None]:
        """Hoped for are steps that differ in the fields in which the first one did.

        Where none is, what is wrong in the run as a whole is a failure, too.
        """
        schedule = self._component.begin(self._setting, self._host, True, compares=True)
        followed = following.follow(replace(script, moves=tuple(moves)), schedule)
        kept = tuple(schedule.moves)
        if followed.failure is not None:
            return kept, followed.failure
        suspects = self._suspects(schedule.parts)
        known = next((each for each in suspects if each.refused), None)
        if known is not None and self._sought is None:
            self._sought = known.differing.fields
        if hoped and (known is None or known.differing.action != hoped):
            known = next((each for each in suspects if self._is_hoped(each, hoped)), known)
        if known is not None:
            return kept[: known.made], self._rejection(known, kept)
        return kept, None if hoped else self._finding(schedule.parts, kept)

    def wrong(self, script: Script) -> tuple[Script, Wrong]:
        """The schedule up to its first wrong step, and the steps of nodes until then.

        Raises:
            BadInput: none is wrong by itself.
            ToolError: TLC cannot be used.
        """
        schedule: Any = self._component.begin(self._setting, self._host, True, compares=True)
        following.follow(script, schedule)
        self._suspects(schedule.parts)
        self.learn()
        refused = [each for each in self._suspects(schedule.parts) if each.refused]
        if not refused:
            raise BadInput("--junit-test: each step of a node is allowed by itself")
        steps = schedule.taken[: refused[0].differing.line]
        last = steps[-1]
        allowed = schedule.reference(last.node, last.before, last.input)
        return replace(script, moves=tuple(schedule.moves[: refused[0].made])), Wrong(
            steps, allowed
        )

    def learn(self) -> None:
        """Asks TLC about all steps that were met so far and are not the reference's."""
        for number, part in enumerate(self._component.parts):
            asked = [text for of, text in self._waiting if of == number]
            if asked:
                trace = self._written(number, [of_run(each, n) for n, each in enumerate(asked)])
                self._judge(number, part, asked, trace)
        self._waiting.clear()

    def _judge(self, number: int, part: Component, asked: list[str], trace: ForeignTrace) -> None:
        judged = judge_steps(trace, trace.steps, profile=self.profile)
        for doubt in judged.doubts:
            raise ToolError(f"a step of a {part.protocol.name} was not judged: {doubt.reason}")
        refused = judged.lines()
        # The first line of a trace is its header.
        for line, text in enumerate(asked, 2):
            self._verdicts[number, text] = line in refused

    def _suspects(self, parts: Sequence[following.Hosted]) -> list[_Suspect]:
        """In the order in which they were taken."""
        found = []
        for number, part in enumerate(parts):
            for differing in part.differing:
                text, made = part.lines[differing.line - 1]
                verdict = self._verdicts.get((number, text))
                if verdict is None:
                    self._waiting[number, text] = None
                found.append(_Suspect(number, text, made, differing, verdict))
        return sorted(found, key=lambda each: each.made)

    def _is_hoped(self, suspect: _Suspect, hoped: str) -> bool:
        differing = suspect.differing
        alike = self._sought in (None, differing.fields)
        return suspect.refused is None and differing.action == hoped and alike

    def _rejection(self, suspect: _Suspect, kept: tuple[str, ...]) -> StepRejected:
        action = suspect.differing.action
        method = self._component.parts[suspect.part].methods.get(action, "Kafka")
        what = "; ".join([method, *map(str, suspect.differing.differences)])
        return StepRejected(action, what, list(kept[: suspect.made]))

    def _finding(self, parts: Sequence[following.Hosted], kept: tuple[str, ...]) -> Failure | None:
        """What is wrong in a run of which each step is right by itself."""
        for number, (of, part) in enumerate(zip(self._component.parts, parts, strict=True)):
            if part.lines:
                trace = self._written(number, [of_run(text, 0) for text, _ in part.lines], False)
                found = judge_batch(trace, profile=self.profile, asked=[]).findings
                for each in sorted([*found, *of.left_open(trace)]):
                    # The first line of a trace is its header.
                    moves = list(kept[: part.lines[each.line - 2][1]])
                    said = each.explanation
                    return Failure(each.check, said, said, f"{each.check}: {said}", moves)
        return None

    def _written(self, part: int, lines: list[str], anywhere: bool = True) -> ForeignTrace:
        head = header(self._constants[part], "Kafka")
        head = f"{head[:-1]},{ANYWHERE}}}" if anywhere else head
        artifacts.write_whole(self._trace, "".join([head + "\n", *lines]))
        return read_foreign(self._trace)


def small(
    script: Script,
    steps: KafkasSteps,
    attempts: int,
    told: Callable[[int], None] | None = None,
) -> Minimised:
    """The smallest schedule found within so many attempts on which Kafka does the same wrong.

    Raises ValueError: it does nothing wrong; ToolError: TLC cannot be used.
    """
    failure = _wrong(script, steps)
    if failure is None and steps.profile is not None:
        bugs = [entry.name for entry in steps.profile.entries if entry.of == "bug"]
        steps.judge_by(steps.profile.less(*bugs))
        failure = _wrong(script, steps)
    if failure is None:
        raise ValueError("Kafka does nothing wrong on it: there is nothing to shrink")
    script = replace(script, violates=failure.name)
    if failure.name.startswith(REJECTED):
        return minimised_step(script, steps, attempts, told)
    return minimised(script, attempts, told, steps.run)


def _wrong(script: Script, steps: KafkasSteps) -> Failure | None:
    steps.run(script, script.moves)
    steps.learn()
    return steps.run(script, script.moves)[1]


def shrink(
    component: Component,
    script: Script,
    path: Path,
    *,
    kafka: Kafka,
    out: Path | None,
    attempts: int,
    junit_test: Path | None = None,
    jar: str | None,
    screen: Screen,
) -> int:
    """A schedule of moves on Kafka, from this file, made smaller, kept beside it, and judged whole.

    Args:
        junit_test: a file for the schedule as a test for Kafka's own repository.

    Raises:
        BadInput: Kafka does nothing wrong on it, or it cannot be said as a test; or as
            replaying.played.
    """
    if junit_test is not None and component.protocol.name not in junit.PROTOCOLS:
        name = component.protocol.name
        raise BadInput(f"--junit-test is for a quorum or a partition, not for {name}")
    driving.use_jar(jar)
    profile = kafka.allowed(*component.names)
    setting = component.setting_of(script, path)
    script = replace(script, bug=None)
    target = out or path.with_suffix(".small.moves")
    if target.is_dir():
        raise BadInput(f"{target}: it is a folder: name a file")

    def work() -> tuple[Minimised, Profile | None, Wrong | None]:
        with (
            host_of(kafka, component.protocol, component.constants(setting)) as host,
            tempfile.TemporaryDirectory() as folder,
            screen.progress("shrinking", attempts) as meter,
        ):
            steps = KafkasSteps(component, setting, host, profile, Path(folder))
            # A test has one node, so it is about one step.
            whole = script if junit_test is None else steps.wrong(script)[0]
            smaller = small(whole, steps, attempts, lambda done: meter.update(done))
            wrong = None if junit_test is None else steps.wrong(smaller.script)[1]
            return smaller, steps.profile, wrong

    try:
        found, judged_by, wrong = tried(work)
    except ValueError as error:
        raise BadInput(f"{path}: {error}") from None
    target.parent.mkdir(parents=True, exist_ok=True)
    artifacts.write_whole(target, write(found.script))
    failure, before = found.failure, len(script.moves)
    test = _tested(junit_test, wrong, failure.name)
    now = f"{before} moves, now {len(found.script.moves)}, after {found.attempts:,} attempts"
    facts = [
        *(("what", failure.name), ("", failure.what)),
        *(("shrunk", now), ("schedule", str(target)), *test),
        *((f"{number:4}", words) for number, words in enumerate(found.script.moves, 1)),
    ]
    told = {
        "wrong": failure.name,
        "moves_before": before,
        "shrunk": list(found.script.moves),
        "attempts": found.attempts,
    }
    of = (component, found.script, target)
    return replaying.followed(*of, kafka, judged_by, screen, facts=facts, told=told)


def _tested(place: Path | None, wrong: Wrong | None, violates: str) -> list[tuple[str, str]]:
    """Writes the test, if one is asked for; what is said of it."""
    if place is None or wrong is None:
        return []
    artifacts.write_whole(place, junit.render(wrong, place, violates))
    return [("test", str(place))]
