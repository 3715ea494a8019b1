"""Steered runs: what their clients saw, held against what was promised; and their steps as a trace.

The runs themselves are in reference/steered, which knows no checkers.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import pyarrow as pa

from kraftcheck.reference.clients.promises import promised
from kraftcheck.reference.sim.operations import Operation
from kraftcheck.reference.sim.recorder import Recorder
from kraftcheck.reference.steered.moves import Log
from kraftcheck.reference.steered.scripts import Script
from kraftcheck.traces import schema, store
from kraftcheck.traces.checkers.arrow import from_arrow
from kraftcheck.traces.checkers.assessment import assess
from kraftcheck.traces.checkers.columns import LogBatch


def broken_promise(logs: Sequence[Log]) -> str:
    """Empty if what clients saw of each log is as consistent as promised, or what is missing.

    Each partition is held against its own faults (docs/reference/protocol-rules.md); the log of a
    quorum against what is promised to who asks any of its nodes.
    """
    for number, each in enumerate(logs):
        promise = promised(*each.promised)
        batch = _columns(each.close_history())
        found = assess(batch, [promise], gaps=each.has_control_records, complete=False)
        evidence = found.certificate(0)
        if not promise.nothing and evidence is not None:
            of = f" of partition {number}" if len(logs) > 1 else ""
            words = f"clients{of} were promised {promise.level.name}, and shown less"
            return f"{words}: {evidence.sentence}"
    return ""


def _columns(history: Sequence[Operation]) -> LogBatch:
    kind = schema.SCHEMAS["runs"].field("history").type
    names = [field.name for field in schema.OPERATION]
    rows = [dict(zip(names, each.fields(), strict=True)) for each in history]
    return from_arrow(pa.array([rows], kind))


SCRIPT = "schedule.moves"
"""In the folder of such a trace: the moves that it was recorded from."""


def write_trace(folder: Path, script: Script, text: str, recorder: Recorder) -> None:
    """The steps of one replayed script as a trace of one run; one of the same script is replaced.

    Raises TraceError: the folder holds something else, or cannot be written.
    """
    digest = sha256(text.encode()).hexdigest()
    campaign = store.Campaign(
        scenario=script.machine, seed=0, runs=1, bug=script.bug, options={"moves": digest}
    )
    if (folder / store.MANIFEST).exists():
        if store.read_manifest(folder).campaign != campaign:
            raise schema.TraceError(f"{folder} holds another trace")
        shutil.rmtree(folder)
    store.begin_trace(folder, campaign)
    store.write_part(folder, recorder.tables())
    (folder / SCRIPT).write_text(text, encoding="utf-8")
