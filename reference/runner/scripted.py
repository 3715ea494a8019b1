"""A script made again, move by move, and what is then recorded of it.

A move that there is not when its turn comes is an error, or is left out and said to be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from kraftcheck.reference.bugs.catalog import bug
from kraftcheck.reference.cluster.sim.options import ClusterOptions
from kraftcheck.reference.cluster.steered.schedule import ClusterSchedule
from kraftcheck.reference.drivers.options import options_of
from kraftcheck.reference.drivers.script import ScriptedRun, begun
from kraftcheck.reference.partition.sim.options import OPTIONS, PartitionOptions
from kraftcheck.reference.partition.steered.schedule import PartitionSchedule
from kraftcheck.reference.partition.steered.world import Steering
from kraftcheck.reference.protocols import CLUSTER, CLUSTER_PARTS, parts_of
from kraftcheck.reference.quorum.sim import faults
from kraftcheck.reference.quorum.steered.schedule import Schedule
from kraftcheck.reference.quorum.types import Constants
from kraftcheck.reference.runner.run import Run, taken
from kraftcheck.reference.sim.recorder import Recorder, RunResult, Violation
from kraftcheck.reference.steered.failures import (
    Failure,
    NoProgress,
    PromiseBroken,
    Violation as InvariantViolated,
)
from kraftcheck.reference.steered.moves import Log
from kraftcheck.reference.steered.scripts import Script
from kraftcheck.traces.schema import PROGRESSED, STOPPED

AnySchedule: TypeAlias = Schedule | PartitionSchedule | ClusterSchedule | ScriptedRun
Judge: TypeAlias = Callable[[Sequence[Log]], str]
"""Whether clients of partitions, or of a quorum, saw what was promised: empty, or what is missing.
"""


class ImpossibleMove(ValueError):
    """index: of the move, from 0."""

    def __init__(self, index: int, words: str, near: list[str]) -> None:
        self.index = index
        hint = f"; the nearest that is: {near[0]!r:.120}" if near else ""
        super().__init__(f"{words!r:.160} is not possible here{hint}")


class QuorumSetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a steered quorum is made with."""

    voters: tuple[int, ...]
    fetch_max_records: int
    watched: bool = True


class Replayed(NamedTuple):
    schedule: AnySchedule
    made: tuple[str, ...]
    """The moves that were made."""
    skipped: tuple[ImpossibleMove, ...]
    """Those that were not possible."""
    failure: Failure | None


def begin(script: Script) -> AnySchedule:
    """The run before the first move. Raises ValueError: no such bug or setting; UnknownBug."""
    known = {"quorum": QuorumSetting, "partition": PartitionOptions, "cluster": ClusterOptions}
    plain = None if script.machine in (*CLUSTER_PARTS, CLUSTER) else parts_of(script.machine)[0]
    of = options_of(plain).of if plain else known[script.machine]
    strange = sorted(set(script.options) - set(of.__struct_fields__))
    if strange:
        raise ValueError(f"line 5: options: a {script.machine} has no {strange[0]!r:.40}")
    try:
        if plain is not None:
            return begun(plain, dict(script.options), script.bug)
        if script.machine == "cluster":
            options = msgspec.convert(dict(script.options), ClusterOptions, strict=False)
            if problem := faults.OPTIONS.problem(options.quorum):
                raise ValueError(f"line 5: options: {problem}")
            if options.shape.observing is True:
                raise ValueError("line 5: options: no broker of a steered cluster observes")
            return ClusterSchedule(options, script.bug)
        if script.machine == "partition":
            data = msgspec.convert(dict(script.options), PartitionOptions)
            return PartitionSchedule(data, script.bug and bug(script.bug, "partition").id)
        setting = msgspec.convert(dict(script.options), QuorumSetting)
    except msgspec.ValidationError as error:
        raise ValueError(f"line 5: options: {error}") from None
    constants = Constants(setting.voters, setting.fetch_max_records)
    own = script.bug and bug(script.bug, "quorum").id
    return Schedule(constants, own, watched=setting.watched)


def replay(script: Script, judge: Judge, skip: bool = False) -> Replayed:
    """Makes all moves, and then demands progress and what was promised.

    skip: leave out what is not possible. Raises ImpossibleMove without it; as `begin`.
    """
    schedule = begin(script)
    skipped: list[ImpossibleMove] = []
    failure: Failure | None = None
    made: list[str] = []
    try:
        for index, words in enumerate(script.moves):
            move = next((each for each in schedule.possible() if each.words == words), None)
            if move is None:
                if not skip:
                    possible = [each.words for each in schedule.possible()]
                    raise ImpossibleMove(index, words, get_close_matches(words, possible, n=1))
                skipped.append(ImpossibleMove(index, words, []))
                continue
            made.append(words)
            move.make()
        failure = in_the_end(schedule, judge)
    except Failure as found:
        failure = found
    return Replayed(schedule, tuple(made), tuple(skipped), failure)


def in_the_end(schedule: AnySchedule, judge: Judge) -> Failure | None:
    """Heals everything: whether it gets on, and clients saw what was promised."""
    try:
        if reason := schedule.progress():
            return NoProgress(reason, schedule.moves)
    except Failure as failure:
        return failure
    quorum = [schedule] if isinstance(schedule, Schedule) else []
    if reason := judge(quorum or partitions_of(schedule)):
        return PromiseBroken(reason, schedule.moves)
    return None


def partitions_of(schedule: AnySchedule) -> list[Steering]:
    if isinstance(schedule, Schedule | ScriptedRun):
        return []
    return [schedule] if isinstance(schedule, PartitionSchedule) else [*schedule.partitions]


def recorded(replayed: Replayed, number: int = 0) -> tuple[Run, Recorder]:
    """What a replay has recorded, as one run of this number that is closed. To be called once."""
    schedule, failure = replayed.schedule, replayed.failure
    recorder = schedule.recorder
    recorder.first_run = number
    steps = len(recorder.steps.items)
    violations, verdict = [], PROGRESSED
    if isinstance(failure, InvariantViolated):
        violations, verdict = [Violation(failure.name, steps - 1, failure.what)], STOPPED
    elif isinstance(failure, NoProgress):
        verdict = failure.reason
    recorder.close_run(
        RunResult(
            run=number,
            seed=0,
            constants=schedule.constants,
            options=schedule.options,
            handler_calls=steps,
            verdict=verdict,
            violations=violations,
            history=_history(schedule),
            statistics=_statistics(schedule),
        )
    )
    return Run(recorder.results[0], taken(recorder)), recorder


def _history(schedule: AnySchedule) -> list[Any]:
    """All operations; each is of a process of its own, in whatever partition."""
    if isinstance(schedule, Schedule):
        return schedule.close_history()
    history: list[Any] = [*schedule.clients.history] if isinstance(schedule, ScriptedRun) else []
    for number, partition in enumerate(partitions_of(schedule)):
        for operation in partition.close_history():
            operation.partition = number
            operation.process = len(history)
            history.append(operation)
    return history


def _statistics(schedule: AnySchedule) -> dict[str, int]:
    """What happened, as far as promises ask for it; of several partitions, at its worst."""
    if isinstance(schedule, Schedule | ScriptedRun):
        return {"duration": schedule.now_us()}
    worst: dict[str, int] = {}
    for partition in partitions_of(schedule):
        envelope = partition.losses.envelope()
        for name, count in {**partition.statistics(), "partitions": partition.losses.cuts}.items():
            worst[name] = max(worst.get(name, 0), count)
        worst["zombies"] = max(worst["zombies"], int(envelope.zombie))
    return worst


# --- What the machines have in common, for those who know none of them

MOST_VOTERS: Final = 7


def usual_options(machine: str) -> dict[str, Any]:
    """The options that a machine must be told."""
    return {"voters": [1, 2, 3], "fetch_max_records": 1} if machine == "quorum" else {}


def option_of(machine: str, name: str, text: str) -> Any:
    """The value of an option that is written as NAME=text, as `simulate` reads it."""
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    if (machine, name) == ("quorum", "voters") and isinstance(value, int):
        return [*range(1, min(value, MOST_VOTERS + 1) + 1)]
    # Some are words that look like numbers.
    return text if (machine, name) == ("partition", "acks") else value


def problem(schedule: AnySchedule) -> str:
    """Why `simulate` would refuse the options of a schedule; empty if it would not."""
    if isinstance(schedule, PartitionSchedule):
        return OPTIONS.problem(schedule.options)
    if isinstance(schedule, Schedule) and len(schedule.constants.nodes) > MOST_VOTERS:
        return f"more than {MOST_VOTERS} voters"
    return ""
