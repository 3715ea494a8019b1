"""What is said of a foreign trace: the verdict by what was found, and why."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.traces.foreign.verdicts import Doubt, Finding, ForeignVerdict, Rejection

REJECTED = {"rejections": [Rejection(3, 0, 1, "HandleCrash", [])]}
FOUND = {"findings": [Finding(4, "SentOnce", "twice")]}
DOUBTED = {"doubts": [Doubt(5, "hides producer")]}


@pytest.mark.parametrize(
    ("mode", "said", "verdict", "reasons"),
    [
        ("batch", {}, "holds", []),
        ("batch", REJECTED, "violated", ["1 step rejected by the spec"]),
        ("chain", REJECTED | DOUBTED, "violated", ["1 chain rejected by the spec", "line 5:"]),
        ("chain", FOUND, "violated", ["line 4: SentOnce: twice"]),
        ("chain", DOUBTED, "unknown", ["line 5: hides producer"]),
    ],
)
def test_the_verdict_is_the_worst_and_has_its_reasons(
    mode: str, said: dict[str, Any], verdict: str, reasons: list[str]
) -> None:
    none: dict[str, Any] = {"rejections": [], "findings": [], "doubts": []}
    found = ForeignVerdict(
        mode=mode,
        producer="",
        steps=1,
        nodes=1,
        distinct=1,
        chains=[],
        not_asked=[],
        runs_of_tlc=1,
        cpu_seconds=0.0,
        **none | said,
    )
    assert found.verdict == verdict and len(found.reasons) == len(reasons)
    assert all(map(str.startswith, found.reasons, reasons))
