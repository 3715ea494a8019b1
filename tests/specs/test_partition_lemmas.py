"""What the proof of the partition assumes, and what models leave out, holds and can fail."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kraftcheck.specs import SPECS
from tests.specs.answers import answer
from tests.specs.cfgs import LIBRARIES
from tla_utils import ModuleText, TlcJob, TlcResult, read_manifest
from tla_utils.config import cfg_text

LEMMAS = ("FetchSound", "CutsNothing", "Appended", "RefusedIsGivenUp")
MODELS = SPECS / "partition" / "models"
ROOT = MODELS / "MCPartitionLemmas.tla"
FAULTY = """---- MODULE FaultyLemmas ----
EXTENDS MCPartitionLemmas
NeverDiverging(row, m) == FALSE
CutsAll(row, diverging) == 0
RevertsAlways(error) == TRUE
====
"""
pytestmark = [pytest.mark.tlc]


def checked(model: str, lemmas: tuple[str, ...], fault: str = "") -> TlcResult:
    """TLC on these lemmas at the bounds of a model; fault: a rule that is replaced."""
    text = cfg_text(read_manifest(SPECS / "models.toml").models[model].config)
    bounds = re.split(r"^INVARIANTS", text, flags=re.MULTILINE)[0]
    bounds += f"CONSTANTS\n{fault}" if fault else ""
    root: Path | ModuleText = ModuleText("FaultyLemmas", FAULTY) if fault else ROOT
    cfg = bounds + "INVARIANTS\n" + "".join(f"  {name}\n" for name in lemmas)
    return answer(TlcJob(module=root, cfg=cfg, libraries=LIBRARIES, deadlock=False, timeout_s=300))


def test_the_lemmas_hold() -> None:
    assert checked("partition-any-order", LEMMAS).verdict == "holds"


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        *("partition-crash", "partition-three", "partition-two-three-epochs"),
        "partition-late-responses",
    ],
)
def test_the_lemmas_hold_in_larger_models(model: str) -> None:
    assert checked(model, LEMMAS).verdict == "holds"


@pytest.mark.parametrize(
    ("lemma", "rule"),
    [
        ("FetchSound", "IsDiverging <- [PartitionRules] NeverDiverging"),
        ("CutsNothing", "TruncationPoint <- [PartitionRules] CutsAll"),
        ("Appended", "IsDiverging <- [PartitionRules] NeverDiverging"),
        ("RefusedIsGivenUp", "IsRevertingError <- [PartitionRules] RevertsAlways"),
    ],
)
def test_a_lemma_fails_where_its_rule_is_replaced(lemma: str, rule: str) -> None:
    result = checked("partition-two-three-epochs", (lemma,), f"  {rule}\n")
    assert (result.verdict, result.property) == ("violated", lemma)
