"""Judgings that cannot be trusted, as faults between a step and its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from kraftcheck.traces.steps import judge
from tla_utils import StepReport, StepTable, StepVerdict, steps as tla_steps
from tla_utils.runner import ModuleText


def judge_as_predecessor(monkeypatch: pytest.MonkeyPatch, every: int, at: int) -> None:
    """The module of a batch takes each so many-th step for the one before it."""
    whole = tla_steps.batch_module

    def faulty(frame: Any, definitions: str, steps: int, tail: str, *more: Any) -> ModuleText:
        read = "SB_step(SB_id)"
        assert read in tail
        wrong = f"SB_step(IF SB_id % {every} = {at} /\\ SB_id > 1 THEN SB_id - 1 ELSE SB_id)"
        return whole(frame, definitions, steps, tail.replace(read, wrong), *more)

    monkeypatch.setattr(tla_steps, "batch_module", faulty)


def accept_all(monkeypatch: pytest.MonkeyPatch, dropped: int = 0) -> None:
    """Every step is accepted, and the last so many have no verdict."""

    def check(frame: object, steps: StepTable, *_: object) -> StepReport:
        verdicts = [StepVerdict("accepted")] * (len(steps) - dropped)
        return StepReport(verdicts, len(steps), 1, 0.0, 0.0, 0.0, [])

    monkeypatch.setattr(judge, "check_steps", check)


def plant_none(monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
    """This module judges without canaries."""

    def none(steps: Sequence[Any], spoil: object) -> tuple[list[Any], Any]:
        return list(steps), np.zeros(len(steps), dtype=bool)

    monkeypatch.setattr(module, "planted_among", none)
