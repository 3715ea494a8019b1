"""The catalogue: complete, consistent in itself, with core and with specs/bugs."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import get_args

import pytest

from reference.bugs.catalog import (
    CATALOG,
    LIVENESS_PROPERTIES,
    Bug,
    Detector,
    OutOfScope,
    UnknownBug,
    bug,
    rules_for,
)
from reference.bugs.partition_catalog import PARTITION_CATALOG
from reference.bugs.probing import Consulted
from reference.core.invariants import INVARIANT_NAMES
from reference.core.quorum import QuorumHandlers
from reference.core.rules import RULES, QuorumRules
from tests.reference.core.builders import THREE
from tests.reference.core.walks import walk

IN_SCOPE = [each for each in CATALOG if each.in_scope]
by_id = pytest.mark.parametrize("entry", IN_SCOPE, ids=lambda entry: entry.id)


def test_the_zoo_is_complete() -> None:
    assert [each.id for each in CATALOG] == [f"Z{n:02d}" for n in range(1, 22)] + ["Z68"]
    assert [each.id for each in CATALOG if not each.in_scope] == [
        *("Z11", "Z17", "Z18", "Z19", "Z21")
    ]


@pytest.mark.parametrize("entry", CATALOG, ids=lambda entry: entry.id)
def test_an_entry_says_what_there_is_to_say(entry: Bug) -> None:
    assert entry.title and entry.source and entry.story.endswith(".")
    assert "\n" not in entry.title + entry.story
    assert {entry.property, *entry.also} <= {*INVARIANT_NAMES, *LIVENESS_PROPERTIES}
    assert (entry.klass == "safety") == (entry.property in INVARIANT_NAMES)
    assert set(entry.detectors) <= set(get_args(Detector))
    assert entry.in_scope == (not entry.scope) == bool(entry.detectors) == bool(entry.rules)
    assert 1 <= entry.voters <= 5


def test_every_liveness_property_is_some_bugs() -> None:
    named = {name for each in CATALOG for name in (each.property, *each.also)}
    assert set(LIVENESS_PROPERTIES) == named - set(INVARIANT_NAMES)


@by_id
def test_a_bug_is_rules_replaced_and_nothing_else(entry: Bug) -> None:
    assert entry.replacement is not None
    own = {name for name in vars(entry.replacement) if not name.startswith("__")}
    assert own == set(entry.rules) <= set(RULES)
    for name, replaced in entry.rules.items():
        assert inspect.signature(replaced) == inspect.signature(getattr(QuorumRules, name))


@by_id
def test_its_file_and_class_bear_its_id(entry: Bug) -> None:
    assert entry.replacement is not None
    module = entry.replacement.__module__.rpartition(".")[2]
    assert entry.replacement.__name__.lower() == module.replace("_", "")
    assert module.startswith(entry.id.lower())


# --- Looking up


def test_a_bug_is_found_by_its_id() -> None:
    assert bug("Z05").title == bug("z05").title
    assert type(rules_for("Z05", THREE)) is bug("Z05").replacement
    assert type(rules_for(None, THREE)) is QuorumRules


@pytest.mark.parametrize(
    ("asked", "near"),
    [("Z1", "Z01"), ("z99", "Z09"), ("Z22", "Z21"), ("fetch", "Z07, Z08"), ("", "Z01 to Z68")],
)
def test_an_unknown_id_is_answered_with_the_nearest(asked: str, near: str) -> None:
    with pytest.raises(UnknownBug, match=near):
        bug(asked)


def test_what_is_out_of_scope_says_why() -> None:
    with pytest.raises(OutOfScope, match="Z17 cannot be replayed: it needs directory ids"):
        rules_for("Z17", THREE)


# --- The probe (that every bug does something is in test_witnesses.py)


def test_a_probe_that_was_never_asked_is_not_effective() -> None:
    consulted = Consulted()
    rules_for("Z05", THREE, consulted)
    assert not consulted.effective
    assert consulted.asked == {"covers_own_epoch": 0}


@by_id
def test_probing_changes_no_answer(entry: Bug) -> None:
    plain = QuorumHandlers(THREE, rules_for(entry.id, THREE))
    probed = QuorumHandlers(THREE, rules_for(entry.id, THREE, Consulted()))
    for one, other in zip(walk(plain, 3, 80), walk(probed, 3, 80), strict=True):
        assert one.outcome == other.outcome


# --- Elsewhere


def overlay(path: Path) -> set[str]:
    """The rules that an overlay of specs/bugs defines (`Z01_PersistedQuorumState`), or handlers
    (`Z44_Step_HandleReplicaFetchResponse`).
    """
    names = re.findall(r"^Z\d\d_(?:Step_)?(\w+)", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() for name in names}


def disagreements(specs: Path) -> list[str]:
    """Overlays that no entry matches, or that replace other rules than it."""
    found = []
    classes = {e.replacement.__name__: {*e.rules} for e in IN_SCOPE if e.replacement is not None}
    for each in PARTITION_CATALOG:
        if each.replacement is not None:
            classes[each.replacement.__name__] = {*each.rules, *each.handlers}
    for path in sorted(specs.glob("bugs/Z*.tla")):
        replaced = classes.get(path.stem)
        if replaced is None:
            found.append(f"{path.stem}: not in the catalogue")
        elif overlay(path) != replaced:
            found.append(f"{path.stem}: replaces {sorted(overlay(path))}")
    return found


def test_the_overlays_of_the_specs_replace_the_same_rules(specs_dir: Path) -> None:
    assert len(list(specs_dir.glob("bugs/Z*.tla"))) > 10
    assert disagreements(specs_dir) == []


def test_an_overlay_that_differs_is_reported(tmp_path: Path) -> None:
    (tmp_path / "bugs").mkdir()
    (tmp_path / "bugs" / "Z99Planted.tla").write_text("Z99_LogOk(row, m) == TRUE\n", "utf-8")
    name = "Z06VoteWithoutLogCheck"
    (tmp_path / "bugs" / f"{name}.tla").write_text("Z06_VoteGranted(row, m) == TRUE\n", "utf-8")
    assert disagreements(tmp_path) == [
        f"{name}: replaces ['vote_granted']",
        "Z99Planted: not in the catalogue",
    ]


def test_core_knows_of_no_bug(repo_root: Path) -> None:
    files = sorted((repo_root / "reference" / "core").glob("*.py"))
    assert files
    for path in files:
        text = path.read_text("utf-8")
        assert "reference.bugs " not in text and "import reference.bugs" not in text
        assert not re.search(r"\bZ\d\d\b", text), path
