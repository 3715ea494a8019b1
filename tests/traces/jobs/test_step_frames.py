"""Frames: made from what a kind of node declares, of the modules where its protocol lies."""

from __future__ import annotations

from pathlib import Path

from kraftcheck.reference.partition.protocol import BROKER, CONTROLLER_KIND
from kraftcheck.reference.quorum.protocol import VOTER
from kraftcheck.reference.quorum.types import Constants
from kraftcheck.reference.quorum.voters.protocol import CONTROLLER_KIND as CONTROLLER
from kraftcheck.specs import SPECS
from kraftcheck.traces.steps.translation import frame_text, libraries, shared_frame


def test_the_kits_own_modules_lie_in_its_specs() -> None:
    assert libraries(VOTER) == [SPECS / "quorum", SPECS / "quorum" / "steps", SPECS / "common"]


def test_a_protocol_that_extends_another_is_judged_by_the_modules_of_both() -> None:
    assert libraries(CONTROLLER) == [
        SPECS / "quorum" / "voters",
        SPECS / "quorum",
        SPECS / "common",
    ]


def test_a_frame_has_each_action_and_each_case() -> None:
    text = frame_text(BROKER)
    for label in BROKER.labels:
        assert f'action = "{label}" -> Step_{label}(n, row, input)' in text
    assert "HandleMetadataUpdate_Aside" in text and "InitialRow(n)" in text


def test_who_always_runs_is_delivered_everything() -> None:
    assert "~IsUp(step.before) THEN {}" in frame_text(BROKER, refusals=True)
    assert "THEN {} ELSE StepOf" not in frame_text(CONTROLLER_KIND, refusals=True)


def test_folders_that_a_protocol_does_not_have_are_left_out(tmp_path: Path) -> None:
    """TLC's driver refuses a folder that is not there; not so the protocol's own, without which
    there is nothing to judge by."""
    own = tmp_path / "quorum"
    assert libraries(VOTER, tmp_path) == [own]
    (own / "steps").mkdir(parents=True)
    assert libraries(VOTER, tmp_path) == [own, own / "steps"]


def test_constants_that_all_steps_share_stand_in_the_cfg() -> None:
    """Of several, each step says which: that costs TLC more."""
    one, other = (Constants(voters=(1, 2, 3), fetch_max_records=most) for most in (1, 2))
    alone, both = shared_frame(VOTER, [one]), shared_frame(VOTER, [one, other])
    assert not alone.given and "FetchMaxRecords = 1" in alone.constants
    assert len(both.given) == 2 and "FetchMaxRecords" not in both.constants
