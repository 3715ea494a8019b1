"""`conform` for a recording of a real cluster: what its metadata log and disks tell of its steps.

A recording is a folder that `kraftcheck record` wrote (live/recording.py). traces/observed says
what is judged, docs/real-clusters.md what cannot be.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from kraftcheck import exits
from kraftcheck.exits import BadInput
from kraftcheck.screen import Screen
from live.recording import HISTORY, RECORDING
from traces.formats import jsonlines
from traces.history import HistoryError
from traces.observed import controller, logs, records
from traces.observed.controller import Report
from traces.observed.logs import Defect

LISTED = 10


def is_recording(path: Path) -> bool:
    """A folder with a metadata log, or that log itself."""
    return path.name == records.NAME or (path / records.NAME).is_file()


def conform(
    path: Path,
    *,
    jar: str | None = None,
    backend: str = "auto",
    master: str | None = None,
    screen: Screen,
) -> int:
    """Judges a recording. Raises BadInput: a damaged file, or options that are about campaigns."""
    if jar or master or backend != "auto":
        raise BadInput("--jar, --backend and --master are for campaigns; rules judge a recording")
    folder = path.parent if path.name == records.NAME else path
    try:
        report = controller.judge(records.read(folder / records.NAME))
        replicas = logs.read(folder / logs.NAME) if (folder / logs.NAME).is_file() else []
        final = _final(folder)
    except (records.ObservedError, HistoryError) as error:
        raise BadInput(str(error)) from None
    defects = logs.judge(replicas, final)
    code = exits.VIOLATED if report.findings or defects else exits.HOLDS
    entries = sum(len(replica.records) for replica in replicas)
    _show(report, defects, f"{len(replicas)} replicas with {entries:,} records", code, screen)
    screen.document(_document(report, defects, len(replicas), entries, code))
    return code


def _final(folder: Path) -> dict[str, dict[int, Any]] | None:
    """By partition, what the last process read; None where it did not reach the end."""
    if not (folder / HISTORY).is_file() or not _is_complete(folder / RECORDING):
        return None
    operations = jsonlines.read(folder / HISTORY).operations
    last = max(operation.process for operation in operations)
    found: dict[str, dict[int, Any]] = {}
    for operation in operations:
        if operation.process == last and operation.f == "fetch" and operation.result:
            found.setdefault(str(operation.key), {}).update(operation.result)
    return found


def _is_complete(recording: Path) -> bool:
    try:
        return bool(msgspec.json.decode(recording.read_bytes())["complete"])
    except (OSError, msgspec.DecodeError, KeyError, TypeError):
        return False


def _show(report: Report, defects: list[Defect], disks: str, code: int, screen: Screen) -> None:
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
        ]
    )
    for found in report.findings[:LISTED]:
        screen.line(f"metadata offset {found.offset}, {found.subject}: {found.reason}")
    for defect in defects[:LISTED]:
        brokers = " and ".join(str(broker) for broker in defect.brokers)
        screen.line(f"disk of {brokers}, {defect.key}: {defect.name}: {defect.reason}")
    left = max(0, len(report.findings) - LISTED) + max(0, len(defects) - LISTED)
    if left:
        screen.line(f"and {left:,} more; --json has them all")


def _document(
    report: Report, defects: list[Defect], replicas: int, entries: int, code: int
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
    }
