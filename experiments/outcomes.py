"""What came of a trial, by what each client API showed, and whether that was allowed.

Three ways to look at the same partition:

    produce  what producers were told, against the log as it was read at the end: kept, or what is
             wrong with it (lost, doubled, reordered)
    fetch    the level that producers and consumers together saw (traces/checkers/levels.py)
    latest   the level that producers and those who asked for the latest offset saw together

What is allowed is the promise for the configuration under what did happen to that partition, as
the metadata log tells it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from live import facts
from live.episode import Episode, Lane
from live.faults import DOWN
from reference.core.promises import Configuration, Envelope, Level, Promise, promised
from traces.checkers import log
from traces.checkers.columns import from_history
from traces.checkers.levels import levels_of
from traces.formats import jsonlines
from traces.history import OK, History, Operation

APIS = ("produce", "fetch", "latest")
KEPT, UNKNOWN = "kept", "unknown"


class Trial(msgspec.Struct, frozen=True):
    """One partition of an episode.

    election: clean or unclean, with min.insync.replicas. outcomes: by API. allowed: the strongest
    level of reads that is promised, and the defects of the log that are not ruled out. because: why
    not more. forbidden: APIs whose outcome is not allowed.
    """

    fault: str
    episode: int
    key: str
    acks: str
    election: str
    happened: dict[str, Any]
    level: str
    defects: tuple[str, ...]
    because: str
    outcomes: dict[str, str]
    forbidden: tuple[str, ...]


def trials_of(episode: Episode, fault: str, journal: Path) -> list[Trial]:
    """Each partition of each lane."""
    history = jsonlines.read(journal)
    finals = {at for at in episode.final if at is not None}
    fetches = _levels(history, {"append", "fetch"})
    latest = _levels(history, {"append", "latest"})
    produced = _produced(history.operations, finals)
    number = int(journal.stem.rpartition("-")[2])
    trials = []
    for lane, final in zip(episode.lanes, episode.final, strict=True):
        moves = facts.moves_of(lane.topic, episode.records)
        for at in range(lane.partitions):
            key = f"{lane.topic}-{at}"
            happened = _happened(episode, [m for m in moves if m.partition == at])
            promise = promised(_configuration(lane, episode), Envelope(**happened))
            read = {"fetch": fetches.get(key, UNKNOWN), "latest": latest.get(key, UNKNOWN)}
            outcomes = {"produce": produced.get(key, UNKNOWN), **read}
            if final is None:
                outcomes = dict.fromkeys(APIS, UNKNOWN)
            trials.append(
                Trial(
                    fault=fault,
                    episode=number,
                    key=key,
                    acks=lane.acks,
                    election=_election(lane),
                    happened=happened,
                    level=words(promise.level),
                    defects=_defects(promise),
                    because=promise.because,
                    outcomes=outcomes,
                    forbidden=tuple(
                        api for api, seen in outcomes.items() if not is_allowed(seen, promise)
                    ),
                )
            )
    return trials


def words(level: Level) -> str:
    """A level as options and reports name it."""
    return level.name.lower().replace("_", "-")


def _election(lane: Lane) -> str:
    kind = "unclean" if lane.unclean_election else "clean"
    return f"{kind}, min ISR {lane.min_insync_replicas}"


def _configuration(lane: Lane, episode: Episode) -> Configuration:
    return Configuration(
        acks=lane.acks,  # type: ignore[arg-type]
        idempotence=lane.idempotent,
        retries=lane.idempotent,
        min_insync_replicas=lane.min_insync_replicas,
        replication_factor=3,
        elr=facts.eligible_leaders(episode.records),
        unclean_election=lane.unclean_election,
        isolation="read_committed",
        one_client=False,
    )


def _happened(episode: Episode, moves: Sequence[facts.Move]) -> dict[str, Any]:
    """Of one partition."""
    fault = episode.fault
    if fault is None:
        return facts.envelope(moves, [], [], episode.session_ms)
    outage = facts.Outage(fault.node, fault.begin, fault.end)
    outages = [outage] if fault.kind in DOWN else []
    return facts.envelope(moves, [fault.kind], outages, episode.session_ms)


def _defects(promise: Promise) -> tuple[str, ...]:
    ruled_out = {
        "lost": promise.durable,
        "doubled": promise.exactly_once,
        "reordered": promise.ordered,
    }
    return tuple(name for name, out in ruled_out.items() if promise.nothing or not out)


def is_allowed(outcome: str, promise: Promise) -> bool:
    """outcome: of any API."""
    if outcome in (KEPT, UNKNOWN) or promise.nothing:
        return True
    levels = {words(level): level for level in Level}
    if outcome in levels:
        return levels[outcome] >= promise.level
    return set(outcome.split("+")) <= set(_defects(promise))


# -- What was seen


def _levels(history: History, verbs: Iterable[str]) -> dict[str, str]:
    """The level of each partition, as far as these operations show it."""
    wanted = {*verbs, "assign", "crash"}
    chosen = [operation for operation in history.operations if operation.f in wanted]
    batch = from_history(msgspec.structs.replace(history, operations=tuple(chosen)))
    levels = levels_of(log.judge(batch))
    return {
        str(batch.label(at)): words(levels.level(at)) if levels.exact[at] else UNKNOWN
        for at in range(batch.segments)
    }


def _produced(operations: Sequence[Operation], finals: set[int]) -> dict[str, str]:
    """What is wrong with each partition's log in the end."""
    appends: dict[str, list[Operation]] = {}
    logs: dict[str, dict[int, Any]] = {}
    for each in operations:
        if each.f == "append":
            appends.setdefault(str(each.key), []).append(each)
        elif each.f == "fetch" and each.process in finals and each.result:
            logs.setdefault(str(each.key), {}).update(each.result)
    return {key: defects_of(asked, logs.get(key, {})) for key, asked in appends.items()}


def defects_of(appends: Sequence[Operation], final: Mapping[int, Any]) -> str:
    """kept, or what is wrong, joined by +.

    lost: an acknowledged value is not there. doubled: one is there twice. reordered: one that was
    acknowledged before another was begun stands behind it.
    """
    acked = {each.argument: each for each in appends if each.outcome == OK}
    begun = {each.argument: each.invoked for each in appends}
    values = [final[offset] for offset in sorted(final)]
    found = []
    if acked.keys() - set(values):
        found.append("lost")
    if len(set(values)) < len(values):
        found.append("doubled")
    latest = -1
    for value in values:
        answered = acked[value].completed if value in acked else None
        if answered is not None and answered < latest:
            found.append("reordered")
            break
        latest = max(latest, begun.get(value, -1))
    return "+".join(found) or KEPT
