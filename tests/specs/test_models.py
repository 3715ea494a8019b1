"""The manifest of models: complete, in order with the files, and its small tiers as it says."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kraftcheck.known_bugs import violations
from kraftcheck.known_bugs.entries import manifest_of
from kraftcheck.reference.bugs.catalog import CATALOG, OF_STORAGE
from kraftcheck.specs import SPECS
from tests.specs.answers import answer
from tla_utils import Model, ModuleText, RunOptions, TlcJob, check_models, read_manifest
from tla_utils.manifest import lint
from tla_utils.models import job_of, overlays_of

_NAMED = re.compile(r"^(\w+) ==", re.MULTILINE)
# In the modules of properties: what is a part of a property, and not one.
_PARTS = {"vars", "HistoryInit", "HistoryNext", "TraceAppends", "KnownCommitted", "Abstract"}
_PARTS |= {"ChosenLeader", "MinCopies"}
_PARTS |= {"NewlyCommitted", "ToldNow", "HandedOutNow", "Fates", "Epochs", "TxnStates"}
_PARTS |= {"Follows", "IsFirstOfId", "IsLastOfId", "IsMove", "CommittedNow", "Quorum", "Judged"}
_PARTS |= {"Records", "P", "Recorded", "Known", "commitVars", "IsCommitted", "DeletedNow"}
_PARTS |= {"GapFree", "Current", "GroupDeletedNow", "Successes"}
_OF_OPTIONS = {"TargetIsWhole", "StaticIdentity", "KeptIsNotFetched", "ReplacedHasLeft"}
"""Of static members: asked by the models of that option."""
_OF_AN_OPTION = {
    "groups-offsets-deleted": "NothingOfDeleted",
    "transactions-swept": "AbortedIsListed",
    "voters-bootstrap": "VotersAreKnown",
    "snapshots-standby": "ControllerStateIsReplay",
}
"""The models of other options, and what they alone ask."""
MANIFEST = manifest_of()
KNOWN = (*CATALOG, *OF_STORAGE)
_ROOTS = {
    "QuorumProperties": ("MCQuorum", "MCQuorumReduced", "MCQuorumLate", "MCQuorumLiveness"),
    "PartitionProperties": (
        *("MCPartition", "MCPartitionDeposed", "MCPartitionLife", "MCPartitionReduced"),
    ),
    "TransactionProperties": (
        *("MCTransactions", "MCTransactionsSwept", "MCTransactionsPipelined"),
        "MCTransactionProbes",
    ),
    "GroupProperties": ("MCGroups", "MCGroupsDeleted", "MCGroupsRebalance"),
    "GroupCommitsProperties": ("MCGroupCommits",),
    "GroupReplayProperties": ("MCGroupReplay", "MCGroupReplayAway"),
    "GroupOffsetsProperties": ("MCGroupOffsets",),
    "GroupMigrationProperties": ("MCGroupMigration",),
    "ClassicProperties": ("MCClassic",),
    "VoterProperties": ("MCVoters", "MCVotersDisks", "MCVotersOptions"),
    "SnapshotProperties": ("MCSnapshots",),
    "ReassignmentProperties": ("MCReassignment", "MCReassignmentMinIsr"),
    "HostingProperties": ("MCHosting", "MCHostingTransactions"),
    "MovingProperties": ("MCMoving", "MCMovingLife"),
    "DirectoryProperties": ("MCDirectories",),
    "CompactionProperties": ("MCCompaction",),
    "ShareProperties": ("MCShares",),
    "SessionProperties": ("MCSessions",),
    "ShareGroupProperties": ("MCShareGroup",),
    "ControllerProperties": ("MCControllers",),
    "StorageProperties": ("MCStorage", "MCStorageDeletes"),
}


def properties(module: str) -> list[str]:
    """Every named property of a protocol's module of properties, read from its text."""
    text = MANIFEST.module_text(module)
    names = [match[1] for match in _NAMED.finditer(text)]
    return [name for name in names if name not in _PARTS and not name.endswith("Step")]


def complaints(specs: Path) -> list[str]:
    unasked = {*_OF_OPTIONS, *_OF_AN_OPTION.values()}
    required = {
        root: [name for name in properties(module) if name not in unasked]
        for module, roots in _ROOTS.items()
        for root in roots
    }
    # Liveness is checked for itself; other models judge the safety of those states.
    liveness = (
        "MCPartitionLiveness",
        "MCTransactionsLiveness",
        "MCTransactionsRefused",
        "MCGroupsLiveness",
        "MCGroupMigrationLiveness",
        "MCClassicLiveness",
        "MCSharesLiveness",
        "MCVotersLiveness",
    )
    required |= {root: [] for root in liveness}
    # Refinements and others, of what these models' own modules say.
    required["MCPartitionTail"] = ["TailsOfCandidates", "DeposedIsNotElected", "TailLogRefined"]
    refined = ["OutcomesBegin", "OutcomesRefined", "PendingIsLocal"]
    required["MCTransactionOutcomes"] = refined
    required["MCStorageDeletes"] += ["DeletedStaysDeleted", "HwWithinLog"]
    required["MCMovingReads"] = ["ReadsAreCommitted"]
    cleaned = ["ElectableHasCommitted", "KeptIsReplayed", "CleansCommitted", "OffsetsStay"]
    required["MCCompactionEpochs"] = cleaned  # nobody loads there
    both = ["SameLog", "CandidateIsCovered", "LoadedIsReplayed", "LoadedIsLast"]
    required["MCPartitionCompacted"] = [*both, "KeptIsReplayed", "CleansCommitted"]
    return lint(read_manifest(specs / "models.toml"), required)


@pytest.mark.slow
def test_the_manifest_is_in_order() -> None:
    assert len(properties("QuorumProperties")) == 18
    assert len(properties("PartitionProperties")) == 24
    assert len(properties("TransactionProperties")) == 30
    assert len(properties("GroupProperties")) == 18
    assert len(properties("GroupCommitsProperties")) == 5
    assert len(properties("GroupReplayProperties")) == 3
    assert len(properties("GroupOffsetsProperties")) == 7
    assert len(properties("GroupMigrationProperties")) == 4
    assert len(properties("ClassicProperties")) == 6
    assert len(properties("VoterProperties")) == 17
    assert len(properties("SnapshotProperties")) == 18
    assert len(properties("ReassignmentProperties")) == 5
    assert len(properties("HostingProperties")) == 6
    assert len(properties("MovingProperties")) == 2
    assert len(properties("DirectoryProperties")) == 3
    assert len(properties("CompactionProperties")) == 4
    assert len(properties("ShareProperties")) == 22
    assert len(properties("StorageProperties")) == 7
    assert complaints(SPECS) == []


@pytest.mark.parametrize("option", ["static", "growing", "two-static", "deleted"])
def test_the_models_of_an_option_ask_all_of_it(option: str) -> None:
    found = [name for name in MANIFEST.models if name.startswith(f"groups-{option}")]
    assert len(found) > 1
    for model in found:
        assert {*_asked(model)} >= _OF_OPTIONS, model


@pytest.mark.parametrize("model", _OF_AN_OPTION)
def test_the_model_of_an_option_asks_what_is_of_it_alone(model: str) -> None:
    assert _OF_AN_OPTION[model] in _asked(model)


def _asked(model: str) -> list[str]:
    config = MANIFEST.models[model].config
    return [*config.invariants, *config.properties]


@pytest.mark.slow
def test_a_property_that_a_model_forgets_is_told(tmp_path: Path) -> None:
    copy = tmp_path / "specs"
    shutil.copytree(SPECS, copy)
    table = copy / "quorum" / "models.toml"
    head, found, rest = table.read_text("utf-8").partition("[quorum-reduced]")
    old = 'invariants.drop = ["VoteOnce"'
    assert old in rest
    table.write_text(head + found + rest.replace(old, f'{old}, "LogMatching"', 1), "utf-8")
    told = "\n".join(complaints(copy))
    assert "quorum-reduced" in told and "LogMatching" in told


def test_every_bug_that_tlc_can_see_has_a_model_that_shows_it() -> None:
    shown: dict[str, set[str]] = {}
    for model in MANIFEST.models.values():
        if model.bug and model.property:
            shown.setdefault(model.bug, set()).add(model.property)
    seen = {bug.id: set(bug.properties) for bug in KNOWN if "tlc" in bug.detectors}
    assert {bug for bug in seen if not shown.get(bug, set()) & seen[bug]} == set()


CHECKED = [model.name for model in MANIFEST.select((), ["small", "bugs"])]


@pytest.mark.tlc
@pytest.mark.parametrize("name", CHECKED)
def test_tlc_finds_what_the_manifest_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What TLC found of a bug in these very specs it need not find again (the folders `found`), nor
    what it said of the other models (answers.py).
    """
    if violations.is_current(MANIFEST, MANIFEST.models[name]):
        return
    monkeypatch.setattr("tla_utils.models.run_tlc", answer)
    (result,) = check_models(MANIFEST, MANIFEST.select([name]))
    assert result.matches, result.reason


def control_of(model: Model) -> TlcJob:
    """The search for what a bug violates, without the bug, as deep as the counterexample is."""
    bugs = "\n".join(overlays_of(MANIFEST, model).values())
    kept = [
        each
        for each in model.config.substituted
        if not re.search(rf"^{each[2]}\b", bugs, re.MULTILINE)
    ]
    assert len(kept) < len(model.config.substituted)
    constraints = [*model.config.constraints, "WithinLength"]
    config = replace(model.config, substituted=kept, constraints=constraints)
    control = replace(model, config=config, workers=1)
    extended = ", ".join([model.module, *model.overlays, "TLC"])
    within = f'WithinLength == TLCGet("level") < {model.length}'
    text = f"---- MODULE Control ----\nEXTENDS {extended}\n{within}\n====\n"
    return replace(job_of(MANIFEST, control, RunOptions()), module=ModuleText("Control", text))


BUGS = [
    each.name for each in MANIFEST.models.values() if each.length and overlays_of(MANIFEST, each)
]


@pytest.mark.tlc
@pytest.mark.parametrize("name", BUGS)
def test_without_its_bug_a_model_violates_nothing_so_soon(name: str) -> None:
    """What is violated all the same shows no bug."""
    result = answer(control_of(MANIFEST.models[name]))
    assert result.verdict == "holds", f"{result.property} is violated without the bug"


def test_another_spec_has_to_be_searched_again(tmp_path: Path) -> None:
    copy = tmp_path / "specs"
    shutil.copytree(SPECS, copy)
    manifest, rules = read_manifest(copy / "models.toml"), copy / "quorum" / "QuorumRules.tla"
    z01, z30 = manifest.models["Z01"], manifest.models["Z30"]
    same, text = violations.digest_of(manifest, z01), rules.read_text("utf-8")
    rules.write_text(text.replace("EXTENDS", "(* A remark. *)\nEXTENDS", 1), "utf-8")
    assert violations.digest_of(manifest, z01) == same
    kept = violations.digest_of(manifest, z30)
    rules.write_text(text.replace("LogOk(row, m) ==", "LogOk(row, m) == TRUE \\/", 1), "utf-8")
    assert violations.digest_of(manifest, z01) != same
    assert not violations.is_current(manifest, z01)
    assert violations.digest_of(manifest, z30) == kept
