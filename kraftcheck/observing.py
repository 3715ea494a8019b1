"""`conform` for a recording of a real cluster: what its metadata log and disks tell of its steps.

A recording is a folder that `kraftcheck record` wrote (live/recording.py). traces/observed says
what is judged, docs/real-clusters.md what cannot be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from kraftcheck import exits
from kraftcheck.exits import BadInput
from kraftcheck.screen import Screen
from live.recording import HISTORY, RECORDING
from system.files import read_bytes
from traces.formats import jsonlines
from traces.history import OK, History, HistoryError
from traces.observed import answers, controller, logs, marks, records, views
from traces.observed.controller import Report
from traces.observed.logs import Defect
from traces.observed.marks import Acked

LISTED = 10


def is_recording(path: Path) -> bool:
    """A folder that a recording was written to, or its metadata log."""
    return path.name == records.NAME or any(
        (path / name).is_file() for name in (RECORDING, records.NAME)
    )


def conform(
    path: Path,
    *,
    jar: str | None = None,
    backend: str = "auto",
    master: str | None = None,
    screen: Screen,
) -> int:
    """Judges a recording, by whatever there is of metadata log, disks and answers.

    Raises BadInput: a damaged file, nothing of the three, or options that are about campaigns.
    """
    if jar or master or backend != "auto":
        raise BadInput("--jar, --backend and --master are for campaigns; rules judge a recording")
    folder = path.parent if path.name == records.NAME else path
    try:
        written = _written(folder)
        report = controller.judge(written)
        replicas = logs.read(folder / logs.NAME) if (folder / logs.NAME).is_file() else []
        history = _history(folder)
        said = _said(folder, written, replicas, history)
        if not written and not any(said.asked.values()):
            raise BadInput(f"{folder / answers.NAME}: no broker ever answered; nothing to judge")
    except (records.ObservedError, HistoryError) as error:
        raise BadInput(str(error)) from None
    recording = _recording(folder)
    complete = recording.get("complete") is True
    final = _final(history) if history and complete else None
    written_as_one = _transactions(history) if history else ()
    at_rest = recording.get("at_rest", True) is True
    defects = logs.judge(replicas, final, written_as_one, at_rest=at_rest)
    unjudged = _unjudged(report, replicas, said)
    unknown = _unknown(recording) if replicas and history else None
    if len(unjudged) == len(WITNESSES):
        unknown = "nothing was judged"
    if report.findings or defects or said.defects:
        code = exits.VIOLATED
    else:
        code = exits.UNKNOWN if unknown else exits.HOLDS
    entries = sum(len(replica.records) for replica in replicas)
    disks = f"{len(replicas)} replicas with {entries:,} records"
    _show(report, defects, disks, said, code, screen)
    for each in unjudged:
        screen.line(f"nothing judged of {each}: {WITNESSES[each]}")
    if unknown:
        screen.line(f"unknown: {unknown}")
    document = _document(report, defects, len(replicas), entries, said, code)
    screen.document({**document, "nothing_judged_of": unjudged, "unknown": unknown})
    return code


WITNESSES: Final = {
    "the controller": "no metadata log, or none of its steps",
    "disks": "they were not copied",
    "brokers": "nobody asked them (`kraftcheck record --observe` does)",
}
"""Who tells of a recording, and why one does not."""


def _unjudged(report: Report, replicas: Sequence[logs.Replica], said: Said) -> list[str]:
    told = (report.judged, sum(len(each.records) for each in replicas), sum(said.asked.values()))
    return [name for name, count in zip(WITNESSES, told, strict=True) if not count]


def _unknown(recording: Mapping[str, Any]) -> str | None:
    """Why it is not known whether what clients read in the end is what lies on disks."""
    if recording.get("at_rest", True) is not True:
        return "the cluster did not come to rest, so where its logs end was not judged"
    if recording.get("complete") is not True:
        return "the recording is incomplete, so disks were not held against what was read"
    return None


def _written(folder: Path) -> list[records.Record]:
    """The metadata log; empty where it is not ours to read and brokers were asked instead."""
    if (folder / answers.NAME).is_file() and not (folder / records.NAME).is_file():
        return []
    if not (folder / records.NAME).is_file():
        raise BadInput(
            f"{folder}: neither a metadata log nor answers of brokers, so nothing tells of steps; "
            "`kraftcheck record --observe` asks them, or `check` judges what clients saw"
        )
    return records.read(folder / records.NAME)


class Said(NamedTuple):
    """What came of the answers of brokers. asked: how often each rule was."""

    answers: int = 0
    asked: Mapping[str, int] = {}
    defects: Sequence[Defect] = ()


def _said(
    folder: Path,
    written: Sequence[records.Record],
    replicas: Sequence[logs.Replica],
    history: History | None,
) -> Said:
    """Judges what brokers said meanwhile, where they were asked."""
    if not (folder / answers.NAME).is_file():
        return Said()
    told = answers.read(folder / answers.NAME)
    acked = _acked(history) if history and _is_durable(_recording(folder)) else []
    judged = marks.judge(told, acked, replicas)
    asked = dict(judged.asked)
    if written:
        states = sum(each.what == answers.PARTITION and each.error is None for each in told)
        asked["state that the metadata log has"] = states
    quorum = sum(each.what == answers.QUORUM and each.error is None for each in told)
    asked["state of the quorum"] = quorum
    return Said(len(told), asked, [*views.judge(told, written), *judged.defects])


def _acked(history: History) -> list[Acked]:
    return [
        Acked(str(each.key), each.result, each.completed)
        for each in history.operations
        if each.f == "append" and each.outcome == OK
        if each.result is not None and each.completed is not None
    ]


def _transactions(history: History) -> list[list[tuple[str, Any]]]:
    """What clients wrote as one, however that ended."""
    groups: dict[int, list[tuple[str, Any]]] = {}
    for each in history.operations:
        if each.f == "append":
            groups.setdefault(each.group, []).append((str(each.key), each.argument))
    return [written for written in groups.values() if len(written) > 1]


def _is_durable(recording: Mapping[str, Any]) -> bool:
    """Whether an acknowledged record is committed, and what is committed stays."""
    configuration, envelope = recording.get("configuration", {}), recording.get("envelope", {})
    return configuration.get("acks") == "all" and not any(
        envelope.get(loss, 1) for loss in ("unclean_moves", "lossy", "disks_lost")
    )


def _history(folder: Path) -> History | None:
    return jsonlines.read(folder / HISTORY) if (folder / HISTORY).is_file() else None


def _final(history: History) -> dict[str, dict[int, Any]]:
    """By partition, what the last process read."""
    last = max(operation.process for operation in history.operations)
    found: dict[str, dict[int, Any]] = {}
    for operation in history.operations:
        if operation.process == last and operation.f == "fetch" and operation.result:
            found.setdefault(str(operation.key), {}).update(operation.result)
    return found


def _recording(folder: Path) -> Mapping[str, Any]:
    """What recording.json says; nothing where there is none that can be read."""
    try:
        told = msgspec.json.decode(read_bytes(folder / RECORDING))
    except (OSError, msgspec.DecodeError):
        return {}
    return told if isinstance(told, dict) else {}


def _show(
    report: Report, defects: list[Defect], disks: str, said: Said, code: int, screen: Screen
) -> None:
    verdict = exits.VERDICTS[code]
    screen.facts(
        [
            ("verdict", verdict),
            ("metadata", f"{report.records:,} records, {report.judged:,} steps of the controller"),
            *[("", f"{count:,} {what}") for what, count in sorted(report.steps.items())],
            (
                "not judged",
                ", ".join(f"{n:,} {what}" for what, n in sorted(report.unjudged.items())),
            ),
            ("disks", disks),
            ("brokers", f"{said.answers:,} answers"),
            *[("", f"{count:,} times: {what}") for what, count in sorted(said.asked.items())],
        ]
    )
    for found in report.findings[:LISTED]:
        screen.line(f"metadata offset {found.offset}, {found.subject}: {found.reason}")
    for defect in defects[:LISTED]:
        brokers = " and ".join(str(broker) for broker in defect.brokers)
        screen.line(f"disk of {brokers}, {defect.key}: {defect.name}: {defect.reason}")
    for defect in said.defects[:LISTED]:
        brokers = " and ".join(str(broker) for broker in defect.brokers)
        screen.line(f"answers of {brokers}, {defect.key}: {defect.name}: {defect.reason}")
    left = sum(max(0, len(each) - LISTED) for each in (report.findings, defects, said.defects))
    if left:
        screen.line(f"and {left:,} more; --json has them all")


def _document(
    report: Report, defects: list[Defect], replicas: int, entries: int, said: Said, code: int
) -> dict[str, Any]:
    return {
        "verdict": exits.VERDICTS[code],
        "metadata_records": report.records,
        "steps": dict(sorted(report.steps.items())),
        "not_judged": dict(sorted(report.unjudged.items())),
        "replicas": replicas,
        "records_on_disks": entries,
        "findings": [msgspec.to_builtins(each) for each in report.findings],
        "defects": [msgspec.to_builtins(each) for each in defects],
        "answers": said.answers,
        "answers_judged": dict(sorted(said.asked.items())),
        "contradictions": [msgspec.to_builtins(each) for each in said.defects],
    }
