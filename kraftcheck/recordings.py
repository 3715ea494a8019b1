"""`conform` for a recording of a real cluster: what its metadata log and disks tell of its steps.

A recording is a folder that `kraftcheck record` wrote (kraftcheck/live/recording.py).
traces/observed says what is judged, docs/real-clusters.md what cannot be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from kraftcheck import exits
from kraftcheck.checking.terms import refuse_cut
from kraftcheck.exits import BadInput
from kraftcheck.live.journal import ANSWERS, HISTORY, RECORDING
from kraftcheck.osutil.files import read_bytes
from kraftcheck.reference.protocols import CLUSTER
from kraftcheck.screen import Screen
from kraftcheck.traces.formats import jsonlines
from kraftcheck.traces.history import HistoryError
from kraftcheck.traces.observed import records
from kraftcheck.traces.observed.verdicts import Defect, RecordingVerdict

LISTED = 10


def is_recording(path: Path) -> bool:
    """A folder that a recording was written to, or its metadata log."""
    return path.name == records.NAME or any(
        (path / name).is_file() for name in (RECORDING, records.NAME, ANSWERS)
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
    recording = _recording(folder)
    with exits.refusing(records.ObservedError, HistoryError):
        _refuse_cut_files(folder, recording)
        history = jsonlines.read(folder / HISTORY) if (folder / HISTORY).is_file() else None
        # What is recorded is the composition, so its judge has that name.
        judge = import_module(f"kraftcheck.traces.observed.{CLUSTER}").judge
        judged: RecordingVerdict = judge(folder, recording, history)
    if judged.findings or judged.defects or judged.contradictions:
        code = exits.VIOLATED
    else:
        code = exits.UNKNOWN if judged.unknown else exits.HOLDS
    _show(judged, code, screen)
    screen.document(_document(judged, code))
    return code


def _recording(folder: Path) -> Mapping[str, Any]:
    """What recording.json says; nothing where there is none that can be read."""
    try:
        told = msgspec.json.decode(read_bytes(folder / RECORDING))
    except (OSError, msgspec.DecodeError):
        return {}
    return told if isinstance(told, dict) else {}


def _refuse_cut_files(folder: Path, recording: Mapping[str, Any]) -> None:
    """Raises BadInput: a file has not the lines that were written; or OSError."""
    kept = recording.get("kept")
    written = {HISTORY: recording.get("lines"), **(kept if isinstance(kept, dict) else {})}
    for name, lines in written.items():
        if type(lines) is int and (folder / name).is_file():
            refuse_cut(folder / name, lines)


def _show(judged: RecordingVerdict, code: int, screen: Screen) -> None:
    steps = f"{judged.records:,} records, {judged.judged:,} steps of the controller"
    unjudged = ", ".join(f"{n:,} {what}" for what, n in sorted(judged.unjudged.items()))
    screen.facts(
        [
            ("verdict", exits.VERDICTS[code]),
            ("metadata", steps),
            *[("", f"{count:,} {what}") for what, count in sorted(judged.steps.items())],
            ("not judged", unjudged),
            ("disks", f"{judged.replicas} replicas with {judged.entries:,} records"),
            *[("", f"{count:,} times: {what}") for what, count in sorted(judged.compared.items())],
            ("brokers", f"{judged.answers:,} answers"),
            *[("", f"{count:,} times: {what}") for what, count in sorted(judged.asked.items())],
        ]
    )
    for found in judged.findings[:LISTED]:
        screen.line(f"metadata offset {found.offset}, {found.subject}: {found.reason}")
    _show_defects("disk", judged.defects, screen)
    _show_defects("answers", judged.contradictions, screen)
    wrong = (judged.findings, judged.defects, judged.contradictions)
    if left := sum(max(0, len(each) - LISTED) for each in wrong):
        screen.line(f"and {left:,} more; --json has them all")
    for why in dict.fromkeys(judged.left.values()):
        rules = ", ".join(rule for rule, reason in judged.left.items() if reason == why)
        screen.line(f"not judged: {rules}: {why}")
    for witness, why in judged.silent.items():
        screen.line(f"nothing judged of {witness}: {why}")
    if judged.unknown:
        screen.line(f"unknown: {judged.unknown}")


def _show_defects(what: str, defects: Sequence[Defect], screen: Screen) -> None:
    for each in defects[:LISTED]:
        brokers = " and ".join(str(broker) for broker in each.brokers)
        whose = f"{what} of {brokers}" if brokers else what
        screen.line(f"{whose}, {each.key}: {each.name}: {each.reason}")


def _document(judged: RecordingVerdict, code: int) -> dict[str, Any]:
    return {
        "verdict": exits.VERDICTS[code],
        "metadata_records": judged.records,
        "steps": dict(sorted(judged.steps.items())),
        "not_judged": dict(sorted(judged.unjudged.items())),
        "replicas": judged.replicas,
        "records_on_disks": judged.entries,
        "disks_judged": dict(sorted(judged.compared.items())),
        "findings": msgspec.to_builtins(judged.findings),
        "defects": msgspec.to_builtins(judged.defects),
        "answers": judged.answers,
        "answers_judged": dict(sorted(judged.asked.items())),
        "contradictions": msgspec.to_builtins(judged.contradictions),
        "rules_not_judged": dict(judged.left),
        "nothing_judged_of": list(judged.silent),
        "unknown": judged.unknown or None,
    }
