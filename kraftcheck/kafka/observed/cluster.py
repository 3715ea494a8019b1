"""A recording of a cluster as a whole: each witness by itself, and one against the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kraftcheck.kafka.observed import (
    answers,
    controller,
    logs,
    marks,
    records,
    transaction_answers,
    transactions,
    txnlog,
    views,
)
from kraftcheck.kafka.observed.marks import Acked
from kraftcheck.kafka.observed.records import ObservedError
from kraftcheck.kafka.observed.verdicts import RecordingVerdict
from kraftcheck.traces.history import OK, History

WITNESSES: Final = {
    "the controller": "no metadata log, or none of its steps",
    "disks": "they were not copied",
    "brokers": "nobody asked them (`kraftcheck record --observe` does)",
}
"""Who tells of a recording, and why one does not."""

GONE: Final = "a row of the transaction log was seen on a disk, and is gone"


def judge(folder: Path, recording: Mapping[str, Any], history: History | None) -> RecordingVerdict:
    """By whatever there is of metadata log, disks and answers.

    recording: what is said of it. history: what clients saw. Raises ObservedError: a damaged file,
    or nothing of the three.
    """
    written = _written(folder)
    report = controller.judge(written)
    replicas = logs.read(folder / logs.NAME) if (folder / logs.NAME).is_file() else []
    told = answers.read(folder / answers.NAME) if (folder / answers.NAME).is_file() else []
    acked = _acked(history) if history and _is_durable(recording) else []
    said = marks.judge(told, acked, replicas)
    at_rest = recording.get("at_rest", True) is True
    quiet = at_rest and recording.get("complete") is True
    ended, spoken = _transactions(folder, recording, replicas, told, written, quiet)
    asked = {**said.asked, **_asked_of_views(told, written), **_meant(spoken.asked)}
    if not written and not any(asked.values()):
        raise ObservedError(f"{folder / answers.NAME}: no broker ever answered; nothing to judge")
    final = _final(history) if history and recording.get("complete") is True else None
    as_one = _written_as_one(history) if history else ()
    entries = sum(len(replica.records) for replica in replicas)
    counts = (report.judged, entries, sum(asked.values()))
    silent = {
        name: why for (name, why), count in zip(WITNESSES.items(), counts, strict=True) if not count
    }
    unknown = _unknown(recording) if replicas and history else ""
    return RecordingVerdict(
        records=report.records,
        steps=report.steps,
        unjudged=report.unjudged,
        findings=report.findings,
        replicas=len(replicas),
        entries=entries,
        defects=[*logs.judge(replicas, final, as_one, at_rest=at_rest), *ended.defects],
        answers=len(told),
        asked=asked,
        contradictions=[*views.judge(told, written), *said.defects, *spoken.defects],
        compared=_meant(ended.asked),
        left={**ended.left, **spoken.left},
        silent=silent,
        unknown="nothing was judged" if len(silent) == len(WITNESSES) else unknown,
    )


def _transactions(
    folder: Path,
    recording: Mapping[str, Any],
    replicas: Sequence[logs.Replica],
    told: Sequence[answers.Answer],
    written: Sequence[records.Record],
    at_rest: bool,
) -> tuple[transactions.Report, transactions.Report]:
    """Judge what the logs and the brokers say of transactions.

    Nothing where no client was to have any.
    """
    there = (folder / txnlog.NAME).is_file()
    if not there and not recording.get("configuration", {}).get("transactions"):
        nothing = transactions.Report(Counter(), [], {})
        return nothing, nothing
    coordinators = txnlog.read(folder / txnlog.NAME) if there else None
    anew = views.made_again(written)
    ended = transactions.judge(coordinators, replicas, anew=anew, at_rest=at_rest)
    log = txnlog.log_of(coordinators) if coordinators else None
    if log is not None:
        ended.asked[GONE] = len(log.gone)
    whole = replicas if all(each.batches or not each.transactions for each in replicas) else []
    # What is said of a transactional id is of no topic.
    once = [each for each in told if logs.topic_of(each.key) not in anew]
    return ended, transaction_answers.judge(once, whole, log, at_rest=at_rest)


def _meant(asked: Mapping[str, int]) -> dict[str, int]:
    """By what a rule asks instead of its name."""
    meaning = {**transactions.RULES, **transaction_answers.RULES}
    return {
        f"{name}: {meaning[name]}" if name in meaning else name: count
        for name, count in asked.items()
    }


def _asked_of_views(
    told: Sequence[answers.Answer], written: Sequence[records.Record]
) -> dict[str, int]:
    asked = {}
    if written and told:
        states = sum(each.what == answers.PARTITION and each.error is None for each in told)
        asked["state that the metadata log has"] = states
        if came := views.back(written):
            ends = sum(e.what == answers.LOG_END and (e.key, e.broker) in came for e in told)
            asked["end of a replica that came, or came back"] = ends
    if told:
        quorum = sum(each.what == answers.QUORUM and each.error is None for each in told)
        asked["state of the quorum"] = quorum
    return asked


def _unknown(recording: Mapping[str, Any]) -> str:
    """Why it is not known whether what clients read in the end is what lies on disks."""
    if recording.get("at_rest", True) is not True:
        return "the cluster did not come to rest, so where its logs end was not judged"
    if recording.get("complete") is not True:
        return "the recording is incomplete, so disks were not held against what was read"
    return ""


def _written(folder: Path) -> list[records.Record]:
    """The metadata log; empty where it is not ours to read and brokers were asked instead."""
    if (folder / answers.NAME).is_file() and not (folder / records.NAME).is_file():
        return []
    if not (folder / records.NAME).is_file():
        raise ObservedError(
            f"{folder}: neither a metadata log nor answers of brokers, so nothing tells of steps; "
            "`kraftcheck record --observe` asks them, or `check` judges what clients saw"
        )
    return records.read(folder / records.NAME)


def _acked(history: History) -> list[Acked]:
    return [
        Acked(str(each.key), each.result, each.completed)
        for each in history.operations
        if each.f == "append" and each.outcome == OK
        if each.result is not None and each.completed is not None
    ]


def _written_as_one(history: History) -> list[list[tuple[str, Any]]]:
    """What clients wrote in transactions, however those ended."""
    groups: dict[int, list[tuple[str, Any]]] = {}
    for each in history.operations:
        if each.f == "append":
            groups.setdefault(each.group, []).append((str(each.key), each.argument))
    return list(groups.values())


def _is_durable(recording: Mapping[str, Any]) -> bool:
    """Whether an acknowledged record is committed, and what is committed stays."""
    configuration, envelope = recording.get("configuration", {}), recording.get("envelope", {})
    return configuration.get("acks") == "all" and not any(
        envelope.get(loss, 1) for loss in ("unclean_moves", "lossy", "disks_lost")
    )


def _final(history: History) -> dict[str, dict[int, Any]]:
    """By partition, what the last process read."""
    last = max(operation.process for operation in history.operations)
    found: dict[str, dict[int, Any]] = {}
    for operation in history.operations:
        if operation.process == last and operation.f == "fetch" and operation.result:
            found.setdefault(str(operation.key), {}).update(operation.result)
    return found
