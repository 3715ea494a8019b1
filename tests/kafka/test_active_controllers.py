"""Kafka's QuorumController takes the steps of `reference/controllers`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from experiments.by_classes import run_java
from kraftcheck.reference.controllers.messages import (
    CLIENTS,
    METADATA_LOG,
    BatchCommitted,
    ControllerResponse,
    LeaderAndEpoch,
    WriteEvent,
)
from kraftcheck.reference.controllers.types import MetadataLog
from kraftcheck.reference.kit.fields import NOBODY
from kraftcheck.reference.runner.run import Run, simulate_run

pytestmark = pytest.mark.kafka

PROGRAM = Path(__file__).with_name("controllers") / "ActiveControllers.java"
RUNS = 40
Told = tuple[str, dict[str, Any]]
"""An event, and what the reference makes of it."""


def walks(run: Run) -> Iterator[list[Told]]:
    """What happens to each controller of a run."""
    of: dict[int, list[Told]] = {}
    log = MetadataLog(0, NOBODY, (), 0)
    for step in run.steps:
        if step.node == METADATA_LOG:
            log = step.after
        elif step.node != CLIENTS and step.action != "Init":
            own = of.setdefault(step.node, [("new", {"answers": [], "epoch": -1, "end": 0})])
            own.append((words(step.input, log), told(step.after, step.sent, own[-1][1]["end"])))
    yield from of.values()


def words(input: Any, log: MetadataLog) -> str:
    match input:
        case WriteEvent(writes):
            return "write" if writes else "read"
        case BatchCommitted(end=end, epoch=epoch):
            return f"commit {end} {epoch} {int(log.records[end - 1].controller != NOBODY)}"
        case LeaderAndEpoch(leader=leader, epoch=epoch, end=end):
            return f"renounce {epoch}" if leader == NOBODY else f"claim {epoch} {end}"
    raise AssertionError(input)


def told(row: Any, sent: tuple[Any, ...], end: int) -> dict[str, Any]:
    """end: where the log ended for an active controller; a standby expects nothing."""
    answers = [[m.operation, m.error] for m in sent if isinstance(m, ControllerResponse)]
    return {
        "answers": sorted(answers),
        "epoch": row.epoch or -1,
        "end": row.end if row.epoch else end,
    }


def differences(bug: str | None, folder: Path) -> list[tuple[Any, Any]]:
    """What Kafka's controller makes otherwise, with the event."""
    runs = [simulate_run("controllers", 3, run, bug, {"watched": False}) for run in range(RUNS)]
    events = [*chain.from_iterable(chain.from_iterable(map(walks, runs)))]
    file = folder / "events"
    file.write_text("".join(f"{text}\n" for text, _ in events), encoding="utf-8")
    found = run_java(PROGRAM, [str(file)], None)
    assert len(found) == len(events) > 3000
    pairs = zip(events, found, strict=True)
    return [(event, made) for event, made in pairs if made != event[1]]


def test_kafka_answers_what_the_reference_answers(tmp_path: Path) -> None:
    assert differences(None, tmp_path) == []


@pytest.mark.parametrize("bug", ["Z461", "Z462", "Z463", "Z465"])
def test_a_bug_is_another_controller(bug: str, tmp_path: Path) -> None:
    assert differences(bug, tmp_path)
