"""The reduced composition against the asynchronous one, and its variants against each other.

docs/reference/reductions.md argues for each reduction. Here they are compared where both sides
complete: the correct rules hold in all, and a bug breaks the same property in all.
"""

from __future__ import annotations

import pytest

from tests.specs.cfgs import run

pytestmark = pytest.mark.tlc

_REDUCED = """SPECIFICATION MCSpec
CONSTANTS
  Voters = {{n1, n2, n3}}
  FetchMaxRecords = 1
  MaxEpoch = 1
  MaxRecords = 1
  MaxCrashes = {crashes}
  SeparateResponses = {separate}
  RestingProspective = {resting}
  KeepAnswers = {keep}
SYMMETRY Symmetry
CONSTRAINT WithinEpochs
INVARIANTS
  {property}
"""

_MESSAGES = """SPECIFICATION MCSpec
CONSTANTS
  Voters = {{n1, n2, n3}}
  FetchMaxRecords = 1
  MaxEpoch = 1
  MaxRecords = 0
  MaxCrashes = {crashes}
  Moves = {{"Vote", "Election"}}
VIEW AliveView
SYMMETRY Symmetry
CONSTRAINT WithinEpochs
INVARIANTS
  {property}
"""

VARIANTS = {
    "fused": ("FALSE", "FALSE", "FALSE"),
    "fused, answers kept": ("FALSE", "FALSE", "TRUE"),
    "separate responses": ("TRUE", "FALSE", "FALSE"),
    "resting Prospective": ("FALSE", "TRUE", "FALSE"),
}

# Bugs that one epoch shows: the rules, the property, lossy crashes.
BUGS = {
    "Z01": (("PersistedQuorumState",), "ElectionSafety", 1),
    "Z13": (("VotedWithinEpoch",), "ElectionSafety", 0),
    "Z15": (("EpochAfterResigned",), "NoIllegalState", 0),
    "Z16": (("MayAnnounceLeader",), "AnnouncedLeaderIsCaughtUp", 0),
}


def _overrides(bug: str) -> str:
    return "".join(f"  {rule} <- [QuorumRules] {bug}_{rule}\n" for rule in BUGS[bug][0])


@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_shows_the_bug(variant: str, bug: str) -> None:
    separate, resting, keep = VARIANTS[variant]
    _, broken, crashes = BUGS[bug]
    cfg = _REDUCED.format(
        separate=separate, resting=resting, keep=keep, crashes=crashes, property=broken
    )
    found = run("MCQuorumReduced, QuorumBugs", cfg, override=_overrides(bug))
    assert (found.verdict, found.property) == ("violated", broken)


@pytest.mark.parametrize("bug", ["Z01", "Z13"])
def test_messages_show_the_same_bug(bug: str) -> None:
    _, _, crashes = BUGS[bug]
    cfg = _MESSAGES.format(crashes=crashes, property="VoteOnce")
    found = run("MCQuorum, QuorumBugs", cfg, override=_overrides(bug))
    assert (found.verdict, found.property) == ("violated", "VoteOnce")


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_correct_rules_hold_in_every_variant(variant: str) -> None:
    separate, resting, keep = VARIANTS[variant]
    cfg = _REDUCED.format(
        separate=separate, resting=resting, keep=keep, crashes=0, property="ElectionSafety"
    )
    found = run("MCQuorumReduced", cfg + "  NoIllegalState\n  LogMatching\n")
    assert found.verdict == "holds"
