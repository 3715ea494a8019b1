"""What no model of a bearable size can notice, a recorded step does: the rules of STEPS_ONLY."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kraftcheck.reference.quorum.protocol import VOTER
from kraftcheck.reference.quorum.types import initial_row
from kraftcheck.traces.steps.symmetry import Step
from kraftcheck.traces.steps.translation import Abstraction, as_columns, step_frame
from tests.reference.quorum.builders import THREE, fetch_request, handlers, leader_of, log_of, taken
from tests.specs.forced import STEPS_ONLY
from tla_utils import check_steps

pytestmark = pytest.mark.tlc


def steps() -> list[Step]:
    """First rows, and a leader that hears the second of three voters: a complete round (Q15)."""
    leader = leader_of(1, 1, log_of(1))
    fetch = fetch_request(2, 1, epoch=1)
    heard = taken(handlers().step(1, leader, fetch))
    first = initial_row(THREE)
    return [
        Step("Init", 1, first, None, first, (), ""),
        Step("HandleFetchRequest", 1, leader, fetch, heard.row, heard.sent, heard.ignored),
    ]


def judged(module: str, override: str, folder: Path) -> list[str]:
    frame = step_frame(VOTER, THREE, module=module)
    frame = replace(
        frame, libraries=[folder, *frame.libraries], constants=frame.constants + override
    )
    form = Abstraction(THREE)
    report = check_steps(frame, [as_columns(form, step) for step in steps()])
    return [each.verdict for each in report.verdicts]


@pytest.mark.parametrize(("rule", "parameters", "value"), STEPS_ONLY)
def test_a_forced_rule_shows(rule: str, parameters: str, value: str, tmp_path: Path) -> None:
    (tmp_path / "StepForced.tla").write_text(
        "---- MODULE StepForced ----\nEXTENDS QuorumHandlers\n"
        f"Forced_{rule}({parameters}) == {value}\n====\n",
        "utf-8",
    )
    assert judged("StepForced", "", tmp_path) == ["accepted", "accepted"]
    override = f"\nCONSTANT {rule} <- [QuorumRules] Forced_{rule}\n"
    assert judged("StepForced", override, tmp_path) == ["accepted", "rejected"]
